// Turns a kernel's statements into instructions that can be executed.
#ifndef EMULATOR_DECODE_H
#define EMULATOR_DECODE_H

#include "warp.h"

// The decoded form of the kernel, made on the first call and kept with it. Always succeeds: what is
// not known becomes an instruction that is a fault when it is executed.
struct code *decode(struct kernel *kernel);

#endif
