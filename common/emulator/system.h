// Functions that kernels call and the system provides: printf and what a failed assert calls.
#ifndef EMULATOR_SYSTEM_H
#define EMULATOR_SYSTEM_H

#include "warp.h"

// What carries out a call of this function, which has no body; NULL where it is not one of these.
operation *find_system_function(const struct kernel *function, const struct call *call);

#endif
