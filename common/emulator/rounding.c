#include "rounding.h"

#include <fenv.h>
#include <math.h>
#include <stdbool.h>

// By enum rounding.
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

// The operands and the result are volatile, so that the compiler computes neither earlier nor later
// than where the mode is set.
#define ROUNDED(T, name, parameters, first, second, third, expression)                             \
    T name parameters                                                                              \
    {                                                                                              \
        const volatile T x = (first), y = (second), z = (third);                                   \
        (void)y;                                                                                   \
        (void)z;                                                                                   \
        fesetround(modes[rounding]);                                                               \
        const volatile T result = expression;                                                      \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }

ROUNDED(float, add_f32, (enum rounding rounding, float a, float b), a, b, 0, x + y)
ROUNDED(float, multiply_f32, (enum rounding rounding, float a, float b), a, b, 0, x *y)
ROUNDED(float, divide_f32, (enum rounding rounding, float a, float b), a, b, 0, x / y)
ROUNDED(float, fma_f32, (enum rounding rounding, float a, float b, float c), a, b, c, fmaf(x, y, z))
ROUNDED(float, sqrt_f32, (enum rounding rounding, float a), a, 0, 0, sqrtf(x))
ROUNDED(double, add_f64, (enum rounding rounding, double a, double b), a, b, 0, x + y)
ROUNDED(double, multiply_f64, (enum rounding rounding, double a, double b), a, b, 0, x *y)
ROUNDED(double, divide_f64, (enum rounding rounding, double a, double b), a, b, 0, x / y)
ROUNDED(double, fma_f64, (enum rounding rounding, double a, double b, double c), a, b, c,
        fma(x, y, z))
ROUNDED(double, sqrt_f64, (enum rounding rounding, double a), a, 0, 0, sqrt(x))

double round_whole(enum rounding rounding, double value)
{
    switch (rounding) {
    case ROUND_ZERO:
        return trunc(value);
    case ROUND_DOWN:
        return floor(value);
    case ROUND_UP:
        return ceil(value);
    default:
        return rint(value);
    }
}

double round_to(enum rounding rounding, double value, int precision, int least)
{
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    frexp(value, &exponent);
    const int unit = exponent - precision > least ? exponent - precision : least;
    return ldexp(round_whole(rounding, ldexp(value, -unit)), unit);
}

double round_integer(enum rounding rounding, uint64_t magnitude, int negative, int precision)
{
    int shift = 0;
    while (magnitude >> shift >> precision != 0)
        shift++;
    const uint64_t rest = magnitude - (magnitude >> shift << shift);
    const uint64_t half = shift > 0 ? UINT64_C(1) << (shift - 1) : 0;
    uint64_t kept = magnitude >> shift;
    if (rounding == ROUND_NEAREST)
        kept += shift > 0 && (rest > half || (rest == half && (kept & 1) != 0));
    else
        kept += rest != 0 && rounding == (negative ? ROUND_DOWN : ROUND_UP);
    const double result = ldexp((double)kept, shift);
    return negative ? -result : result;
}
