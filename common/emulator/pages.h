// Memory that the host and kernels share: at one address for both, and never again at that address.
#ifndef EMULATOR_PAGES_H
#define EMULATOR_PAGES_H

#include <stdint.h>

// Zeroed pages with room for `bytes`, and a page behind them that nobody can touch. NULL where
// there is no memory left.
void *pages_new(uint64_t bytes);

// Gives the memory back and keeps the addresses, so that a pointer to them can only crash.
void pages_retire(void *pages, uint64_t bytes);

#endif
