// Device memory: allocations, their bytes, and which of those have ever been written.
//
// Device addresses are no host addresses: they lie where no host pointer can, so that host code
// which follows one crashes as it would beside a GPU. Memory that kernels and the host share has
// the address that the host knows it by. No address is ever given out twice: what points into freed
// memory stays recognizable. A gap separates neighbours.
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "pages.h"
#include "text.h"

enum memory_kind {
    MEMORY_DEVICE,     // cudaMalloc
    MEMORY_VARIABLE,   // of a module
    MEMORY_ARRAY,      // cudaMallocArray
    MEMORY_MANAGED,    // cudaMallocManaged
    MEMORY_PINNED,     // cudaMallocHost
    MEMORY_REGISTERED, // the host's own, between cudaHostRegister and cudaHostUnregister
};

// What the kernel that is running has done with an allocation: bits.
enum memory_use {
    USED_TO_READ = 1,
    USED_TO_WRITE = 2,
};

struct allocation {
    enum memory_kind kind;
    uint64_t address, bytes;
    uint64_t first, last; // kernels may touch [first, last), device addresses
    uint8_t *host;        // the bytes; NULL once freed
    uint8_t *valid;       // one bit a byte, set once written; NULL where all have been
    bool touched;         // by the kernel that is running; and what that has touched before this
    struct allocation *next_touched;
    struct shadow *shadow;  // who touched it during this launch; NULL between launches
    unsigned flags;         // what the host asked for when it allocated this
    uint8_t used;           // enum memory_use
    enum host_may host_may; // where the host shares it: what it may do now
    const char *taken_by;   // and who has restricted that
    char name[64];          // "" where nobody has named it
    const char *made_by;    // the function that the program has called for it, or NULL
    int number;             // of those calls: 1 is the first
};

// A new allocation of `bytes` > 0 bytes, but of a variable, every byte 0xff (a NaN). None
// is valid in device memory; in memory that the host can write all count as written. At least
// 512-byte aligned. NULL where the host's memory has run out.
struct allocation *memory_allocate(enum memory_kind kind, uint64_t bytes);

// The program has called this function, a name that lives on, for the new allocation.
void memory_made_by(struct allocation *allocation, const char *function);

// Lets kernels touch memory of the host's. It must not overlap with any live allocation.
struct allocation *memory_register(void *host, uint64_t bytes);

// A module's variable: zeroed, valid, named; if it is managed, the host can touch it, too. Returns
// its device address.
uint64_t memory_allocate_variable(struct text name, uint64_t bytes, bool managed);

// Ends an allocation's life: gives the bytes back, but for those that were the host's own.
void memory_release(struct allocation *allocation);

// Ends all but the modules' variables and registered memory.
void memory_release_all(void);

// The live allocation that holds the address, or that starts there, or NULL.
struct allocation *memory_holding(uint64_t address);
struct allocation *memory_starting(uint64_t address);

// Whether any byte of [address, address + bytes) lies in a live allocation.
bool memory_overlaps(uint64_t address, uint64_t bytes);

// The allocation, live or freed, that holds the address or is nearest to it; NULL where there has
// never been one.
struct allocation *memory_nearest(uint64_t address);

// Where the bytes [address, address + bytes) lie on the host; NULL where they are not all in one
// live allocation.
uint8_t *memory_host(uint64_t address, uint64_t bytes);

// Whether host code can follow a pointer with this value, as far as the emulator knows.
bool memory_is_host(uint64_t address);

// Whether the allocation is one for the host and for kernels that the emulator has made.
bool memory_is_shared(const struct allocation *allocation);

// Notes what a kernel does. May be called by several threads at a time.
static inline void memory_note_use(struct allocation *allocation, bool write)
{
    const uint8_t bit = write ? USED_TO_WRITE : USED_TO_READ;
    if ((__atomic_load_n(&allocation->used, __ATOMIC_RELAXED) & bit) == 0)
        __atomic_fetch_or(&allocation->used, bit, __ATOMIC_RELAXED);
}

// Copies and fills by the host. The ranges must be in live allocations (memory_host tells).
void memory_write(uint64_t address, const void *from, uint64_t bytes);
void memory_fill(uint64_t address, int value, uint64_t bytes);
void memory_written(uint64_t address, uint64_t bytes); // what the host has put there in another way
void memory_copy(uint64_t to, uint64_t from, uint64_t bytes); // copies what is valid, too

// Whether all of the bytes at this offset have been written; and marks them as written. Both may be
// called by several threads at a time.
bool memory_valid(const struct allocation *allocation, uint64_t offset, uint64_t bytes);
void memory_mark(struct allocation *allocation, uint64_t offset, uint64_t bytes);

// Whether any of them has.
bool memory_any_valid(const struct allocation *allocation, uint64_t offset, uint64_t bytes);

// Calls `visit` for each live allocation, the oldest first.
void memory_visit(void (*visit)(struct allocation *allocation, void *context), void *context);

// Bytes of the device in live allocations.
uint64_t memory_used(void);

// How many allocations that somebody must free are live, and their bytes. Returns what to call the
// first one.
const char *memory_leaks(int *count, uint64_t *bytes);

#endif
