// Registers that the hardware provides, and constants.
#ifndef EMULATOR_SPECIALS_H
#define EMULATOR_SPECIALS_H

#include "warp.h"

// Gives the registers of the warp's frame that hold constants their values: all of them, or only
// those that differ from block to block.
void set_constants(struct warp *warp, bool all);

// d[0] becomes the special register detail.special, one of those that change while a kernel runs.
operation read_special;

#endif
