// Operands of tensor cores, of kinds that show how they round: from a generator of numbers, so that
// every run has the same.
#ifndef TENSOR_OPERANDS_H
#define TENSOR_OPERANDS_H

#include <stdint.h>

enum {
    KINDS = 11,
};

static uint32_t next_random(void)
{
    static uint64_t state = 88172645463325252;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

// An infinity, a NaN, a zero, a subnormal number, a large one; or a number like any other.
static uint32_t special(uint32_t sign, uint32_t fraction)
{
    switch (next_random() % 12) {
    case 0:
        return sign | 0x7f800000;
    case 1:
        return 0x7fc00000 | (next_random() & 0x803fffff);
    case 2:
        return sign;
    case 3:
        return sign | (next_random() & 0x7fffff);
    case 4:
        return sign | 0x7f000000 | fraction;
    default:
        return sign | (67 + next_random() % 120) << 23 | fraction;
    }
}

// A TF32 number; of kind 10 with bits behind it that are to be ignored.
static uint32_t number(int kind)
{
    static const int spreads[] = {1, 4, 12, 26, 60}; // of exponents, by kind
    const uint32_t sign = next_random() & 0x80000000, random = next_random();
    uint32_t fraction = random & 0x7fe000, exponent = 127;

    if (kind < 5)
        exponent -= next_random() % spreads[kind];
    else if (kind == 5)
        fraction = next_random() % 3 == 0 ? fraction : 0; // often a power of two
    else if (kind == 6)
        exponent = 1 + next_random() % 100; // products underflow
    else if (kind == 7)
        return special(sign, fraction);
    else if (kind == 8)
        exponent = next_random() % 70; // subnormal ones, too
    else if (kind == 9)
        exponent = 150 + next_random() % 60; // products overflow
    else {
        fraction = random & 0x7fffff;
        exponent -= next_random() % 8;
    }
    return sign | exponent << 23 | fraction;
}

// An old value: none, or one of the same kind with all of float32's bits; or 2^-30 to 2^30 times
// it.
static uint32_t old_value(int kind, int way)
{
    uint32_t value = number(kind);
    int exponent = (int)(value >> 23 & 255);

    if (way == 0)
        return 0;
    if (kind != 7)
        value |= next_random() & 0x1fff;
    if (way == 1)
        return value;
    exponent += (int)(next_random() % 60) - 30;
    exponent = exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
    return (value & 0x807fffff) | (uint32_t)exponent << 23;
}

#endif
