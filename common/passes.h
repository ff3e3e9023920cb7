// The verification passes, on the device: what verify.h judges is made here.
#ifndef PASSES_H
#define PASSES_H

#include <stdbool.h>

#include "bench.h"
#include "verify.h"

// The product of the bench's matrices as they are described now.
struct product current_product(const struct bench *bench, float alpha, float beta);

// Fills A, B and C for one product. What the product does not read is filled with NaN: A and B
// where alpha or k is 0, C where beta is. Sets bench->want to the same as C.
void fill_product(struct bench *bench, const struct product *product, enum content content,
                  int64_t seed);

// Compares C after the step's launch with what is wanted, and A, B and all padding with what they
// were; says on stderr what is wrong. What is wanted is cuBLAS's result, for which bench->want has
// to hold what C held before, or the float64 reference in the special pass and where the product
// reads no operands. Afterwards A, B, bench->want and bench->scratch hold something else.
bool judge_result(struct bench *bench, enum pass pass, const struct product *product);

enum {
    SPECIAL_MOST = 196, // rows, columns and terms of the special pass: no multiple of a tile
};

// Verifies the step on `shape`, which is the bench's, with these factors: the exact pass with the
// factors of `plan`, the rounding pass, and the special pass on the first SPECIAL_MOST rows,
// columns and terms. False at the first that fails.
bool verify_step(struct bench *bench, const struct shape *shape, float alpha, float beta,
                 const struct exact_plan *plan);

#endif
