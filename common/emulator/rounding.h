// float32 and float64 arithmetic that rounds in any direction.
#ifndef EMULATOR_ROUNDING_H
#define EMULATOR_ROUNDING_H

#include <stdint.h>

enum rounding {
    ROUND_NEAREST, // to even where two are equally near
    ROUND_ZERO,
    ROUND_DOWN,
    ROUND_UP,
};

float add_f32(enum rounding rounding, float a, float b);
float multiply_f32(enum rounding rounding, float a, float b);
float divide_f32(enum rounding rounding, float a, float b);
float fma_f32(enum rounding rounding, float a, float b, float c);
float sqrt_f32(enum rounding rounding, float a);
double add_f64(enum rounding rounding, double a, double b);
double multiply_f64(enum rounding rounding, double a, double b);
double divide_f64(enum rounding rounding, double a, double b);
double fma_f64(enum rounding rounding, double a, double b, double c);
double sqrt_f64(enum rounding rounding, double a);

// A whole number.
double round_whole(enum rounding rounding, double value);

// The number of `precision` bits, none of them worth less than 2^least. There is no greatest
// exponent.
double round_to(enum rounding rounding, double value, int precision, int least);

// The same of a whole number with 64 bits and a sign.
double round_integer(enum rounding rounding, uint64_t magnitude, int negative, int precision);

#endif
