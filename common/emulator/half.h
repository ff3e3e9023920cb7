// 16-bit floating point: float16, and bfloat16, which is the upper half of a float32.
#ifndef EMULATOR_HALF_H
#define EMULATOR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double from_half(uint16_t bits)
{
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 0x3ff;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

// Rounds to the nearest, to even where two are. A NaN becomes 0x7fff, as on a GPU.
static inline uint16_t to_half(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value))
        return 0x7fff;
    if (size >= 65520) // from here on infinity is nearer than 65504
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return sign | (uint16_t)rint(size * 0x1p24);
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    const uint64_t rest = bits & ((UINT64_C(1) << 42) - 1);
    uint64_t result = (bits >> 42) - ((UINT64_C(1023) - 15) << 10);
    result += rest > UINT64_C(1) << 41 || (rest == UINT64_C(1) << 41 && (result & 1) != 0);
    return sign | (uint16_t)result;
}

// Into [0, 1], a NaN to 0; and at least 0, a NaN to 0x7fff.
static inline uint16_t saturate_half(uint16_t bits)
{
    return bits > 0x7c00 ? 0 : bits > 0x3c00 ? 0x3c00 : bits;
}

static inline uint16_t relu_half(uint16_t bits)
{
    return (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits & 0x8000 ? 0 : bits;
}

static inline float from_bfloat(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint16_t to_bfloat(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// a * b + c, rounded once. The product of two float16 is exact in float64. A sum that is not gets
// an odd last bit, which keeps the second rounding from meeting a tie that is none.
static inline uint16_t fma_half(uint16_t a, uint16_t b, uint16_t c)
{
    const double product = from_half(a) * from_half(b);
    const double addend = from_half(c);
    double sum = product + addend;
    const double part = sum - product;
    const double rest = (product - (sum - part)) + (addend - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (isfinite(sum) && rest != 0 && (bits & 1) == 0)
        bits += (rest > 0) == (sum > 0) ? 1 : UINT64_MAX;
    memcpy(&sum, &bits, sizeof sum);
    return to_half(sum);
}

#endif
