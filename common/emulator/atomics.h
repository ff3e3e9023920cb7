// Atomics, reductions, and what other strong accesses and fences mean for the order between
// threads.
#ifndef EMULATOR_ATOMICS_H
#define EMULATOR_ATOMICS_H

#include "warp.h"

// s[0] is the address, s[1] the operand, of a comparison what is compared with, and s[2] the new
// value; d[0] becomes the old one. Lanes take their turns in order.
operation access_atomic;

// membar, fence.
operation fence;

// Before a strong access, and after it: of these lanes, to global memory or, by offsets from the
// start of the window, to shared memory.
void strong_begin(struct warp *warp, const struct instruction *instruction, uint32_t lanes);
void strong_end(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                bool shared, const uint64_t addresses[LANES]);

#endif
