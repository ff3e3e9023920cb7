// Types of numbers, and what conversions and sums with a carry do with them.
#ifndef EMULATOR_NUMBERS_H
#define EMULATOR_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "rounding.h"

enum number_type {
    TYPE_U8,
    TYPE_S8,
    TYPE_U16,
    TYPE_S16,
    TYPE_U32,
    TYPE_S32,
    TYPE_U64,
    TYPE_S64,
    TYPE_F16,
    TYPE_BF16,
    TYPE_F32,
    TYPE_F64,
};

// cvt.
struct conversion {
    enum number_type from, to;
    enum rounding rounding;
    bool whole;              // round to a whole number
    bool saturate;           // clamp: a float to [0, 1], an integer to what its type holds
    bool flush;              // of float32: what is too small for a normal number is 0
    bool wide_from, wide_to; // the register has 64 bits
};

// add.cc, subc, madc.hi.cc and so on: a sum of `a` or a product a * b, and another operand.
struct carrying {
    bool multiplies; // a * b + c instead of a + b
    bool high;       // the upper half of the product
    bool is_signed;  //
    bool subtracts;  // a - b; the carry is a borrow
    bool reads;      // adds the carry of an earlier instruction
    bool writes;     // leaves a carry
    bool wide;       // 64 bits instead of 32
};

#endif
