// Instructions of four warps together, the warpgroup (PTX ISA, "wgmma" and "setmaxnreg").
#ifndef EMULATOR_WARPGROUP_H
#define EMULATOR_WARPGROUP_H

#include "warp.h"

// How many registers a thread may have from here on, detail.registers: nothing depends on it here.
operation set_registers;

#endif
