// Loads and stores.
#ifndef EMULATOR_ACCESS_H
#define EMULATOR_ACCESS_H

#include "warp.h"

operation access_global, access_shared, access_local, access_generic;

// Parameters of the kernel, at a known place or at the one that s[0] says; and parameters and
// results of calls.
operation load_parameter, load_any_parameter, access_frame;

// The addresses in s[index] plus `offset`, of a 32-bit or a 64-bit register.
void lane_addresses(const struct warp *warp, int slot, bool wide, int64_t offset,
                    uint64_t out[LANES]);

// The same in the shared window, whose addresses have 32 bits.
void shared_addresses(const struct warp *warp, int slot, bool wide, int64_t offset,
                      uint32_t out[LANES]);

// These check an access by the active lanes to `bytes` bytes at each address and find these on the
// host. Inactive lanes get an address that some active lane has. A fault where an access is outside
// every allocation, outside shared memory, or misaligned.
void locate_global(struct warp *warp, const struct instruction *instruction, uint32_t active,
                   uint64_t addresses[LANES], uint32_t bytes, bool write, uint8_t *at[LANES]);

// Addresses of the shared window, which become offsets from its start.
void locate_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                   uint32_t addresses[LANES], uint32_t bytes, bool write, uint8_t *at[LANES]);

// Both for some of the lanes, those that are together in one of the two: finds the bytes on the
// host, checks and notes the access. Addresses become offsets where `shared`. Returns these lanes.
// A fault where a generic address is one of local memory or of a parameter.
uint32_t locate_memory(struct warp *warp, const struct instruction *instruction, uint32_t active,
                       uint64_t addresses[LANES], bool *shared, uint8_t *at[LANES]);

// For the system: reads bytes at a generic address as the lane sees them. No check looks at that.
void read_bytes(struct warp *warp, const struct instruction *instruction, int lane,
                uint64_t address, void *out, uint64_t bytes);

#endif
