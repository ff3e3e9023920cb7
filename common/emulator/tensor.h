// Tensor cores: the product of a 16x8 and an 8x8 matrix in TF32, added to float32, by the lanes of
// a warp together.
//
// How they round is in no manual. What is computed here equals, bit for bit, what an H200 computed
// in 14080 sums of all kinds (tests/emulator/programs/tensor_cores.cu):
// - The low 13 bits of operands are ignored.
// - The products are exact. They and the old value are cut off, toward zero, at 2^-TENSOR_KEPT of
// what the
//   largest of the nine exponents stands for; an exponent of a product is the sum of its factors'.
// - The sum of what is left is exact, and cut to float32's 24 bits, toward zero.
// - A sum of 0 is +0, any NaN 0x7fffffff, and what is too large infinite.
#ifndef EMULATOR_TENSOR_H
#define EMULATOR_TENSOR_H

#include "warp.h"

enum {
    TENSOR_A = 4, // registers of a lane
    TENSOR_B = 2,
    TENSOR_KEPT = 25, // bits of a term below the largest exponent
};

// The instruction has more operands than one here has room for, so it is three, in this order: A's
// registers s[0] to s[3], with the mask in s[4]; B's, s[0] and s[1]; then those of the old values
// and of the new, s[0] to s[3] and d[0] to d[3].
operation take_a, take_b, multiply_matrices;

// The last one's work; without `adds` the old values count as 0.
void tensor_multiply(struct warp *warp, const struct instruction *instruction, bool adds);

#endif
