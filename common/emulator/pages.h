// Memory of two kinds.
//
// Memory that fills with use: however much there is of it, only what has been touched takes memory
// of the host's.
//
// And memory that the host and the device share: at one address for both, and never again at that
// address. The emulator sees it at another address of its own, where nothing the host may or may
// not do counts.
#ifndef EMULATOR_PAGES_H
#define EMULATOR_PAGES_H

#include <stdint.h>

enum host_may {
    HOST_MAY_NOTHING,
    HOST_MAY_READ,
    HOST_MAY_WRITE, // and read
};

// At least `bytes` bytes, all 0, or all 0xff. NULL where there is no memory left. pages_free takes
// the same number.
void *pages_zeroed(uint64_t bytes);
void *pages_poisoned(uint64_t bytes);
void pages_free(void *pages, uint64_t bytes);

// Zeroed pages with room for `bytes`, and a page behind them that nobody can touch. *own is where
// the emulator sees them. NULL where there is no memory left.
void *pages_new(uint64_t bytes, uint8_t **own);

// What the host may do from now on. It ends with SIGSEGV where it does more.
void pages_allow(void *pages, uint64_t bytes, enum host_may what);

// Gives the memory back and keeps the addresses, so that a pointer to them can only crash.
void pages_retire(void *pages, uint8_t *own, uint64_t bytes);

#endif
