// cvt between any two types of numbers.
#ifndef EMULATOR_CONVERT_H
#define EMULATOR_CONVERT_H

#include "warp.h"

operation convert;

// The type with this name, "s32" or the like. False where there is none.
bool find_number_type(struct text name, enum number_type *type);

#endif
