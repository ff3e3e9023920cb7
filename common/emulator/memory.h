// Device memory: allocations, their bytes, and which of those have ever been written.
//
// Device addresses are no host addresses: they lie where no host pointer can, so that host code
// which follows one crashes as it would beside a GPU. No address is ever given out twice: what
// points into freed memory stays recognizable. A gap separates neighbours.
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

struct allocation {
    uint64_t address, bytes;
    uint64_t first, last;  // kernels may touch [first, last), device addresses
    uint8_t *host;         // the bytes; NULL once freed
    uint8_t *valid;        // one bit a byte, set once written; NULL where all have been
    struct shadow *shadow; // who touched it during this launch; NULL between launches
    bool variable;         // belongs to a module, not to a cudaMalloc
    char name[64];         // "" where nobody has named it
};

// A new allocation of `bytes` > 0 bytes, every one 0xff (a NaN) and none valid. Returns its device
// address, 512-byte aligned, or 0 where the host's memory has run out.
uint64_t memory_allocate(uint64_t bytes);

// A module's variable: zeroed, valid, named. Returns its device address.
uint64_t memory_allocate_variable(struct text name, uint64_t bytes);

// False where no live allocation starts at this address.
bool memory_release(uint64_t address);

// The live allocation that holds the address, or NULL.
struct allocation *memory_holding(uint64_t address);

// The allocation, live or freed, that holds the address or is nearest to it; NULL where there has
// never been one.
struct allocation *memory_nearest(uint64_t address);

// Where the bytes [address, address + bytes) lie on the host; NULL where they are not all in one
// live allocation.
uint8_t *memory_host(uint64_t address, uint64_t bytes);

bool memory_is_device(uint64_t address);

// Copies and fills by the host. The ranges must be in live allocations (memory_host tells).
void memory_write(uint64_t address, const void *from, uint64_t bytes);
void memory_fill(uint64_t address, int value, uint64_t bytes);
void memory_written(uint64_t address, uint64_t bytes); // what the host has put there in another way
void memory_copy(uint64_t to, uint64_t from, uint64_t bytes); // copies what is valid, too

// Whether all of the bytes at this offset have been written; and marks them as written. Both may be
// called by several threads at a time.
bool memory_valid(const struct allocation *allocation, uint64_t offset, uint64_t bytes);
void memory_mark(struct allocation *allocation, uint64_t offset, uint64_t bytes);

// Calls `visit` for each live allocation, the oldest first.
void memory_visit(void (*visit)(struct allocation *allocation, void *context), void *context);

// Bytes in live allocations.
uint64_t memory_used(void);

// How many allocations of cudaMalloc are live, and their bytes. Returns what to call the first one.
const char *memory_leaks(int *count, uint64_t *bytes);

#endif
