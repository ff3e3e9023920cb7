// The product in float64, on the host: slow, and independent of any GPU.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdint.h>

#include "matrix.h"

// C := alpha * A * B + beta * C with these matrices' contents, C's being that before the product.
struct product {
    const struct matrix *A, *B, *C;
    float alpha, beta;
};

// True where the product reads neither A nor B: alpha = 0 or k = 0.
bool reads_no_operands(const struct product *product);

// For the words [first, first + count) of C's allocation that are elements: what C must hold, and
// the sum of |a * b| over k. The other words of the two arrays are left as they are.
void reference_product(const struct product *product, int64_t first, int64_t count, float *want,
                       float *magnitude);

#endif
