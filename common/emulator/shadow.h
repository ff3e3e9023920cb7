// Who touched which memory, and when: finds races, reads of what was never written, and reads of a
// cp.async's destination before its wait.
//
// Two accesses to the same granule by different threads, one of them a write, are ordered where a
// barrier of the block lies between them, or, inside a warp, a __syncwarp. Blocks are never
// ordered.
#ifndef EMULATOR_SHADOW_H
#define EMULATOR_SHADOW_H

#include "footprint.h"
#include "memory.h"

// Of one granule: its last write, and the reads since the last barrier. (Where exact.c looks: its
// last plain write, and the first of what that knows of other accesses.)
struct shadow {
    uint64_t write, read;
};

// Checks and notes an access to shared memory, whose footprint has just been found. `first` is the
// first active lane's address, from the start of the window.
void shadow_shared_read(struct warp *warp, const struct instruction *instruction, uint64_t first,
                        uint32_t bytes);
void shadow_shared_write(struct warp *warp, const struct instruction *instruction, uint64_t first,
                         uint32_t bytes);

// A cp.async to this address: from when it is asked for until it is waited for the bytes are
// pending.
void shadow_pending(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes);
void shadow_arrived(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes, bool valid);

// The same of an access to an allocation in global memory; a device address.
void shadow_global_read(struct warp *warp, const struct instruction *instruction, uint64_t first,
                        uint32_t bytes, struct allocation *allocation);
void shadow_global_write(struct warp *warp, const struct instruction *instruction, uint64_t first,
                         uint32_t bytes, struct allocation *allocation);

#endif
