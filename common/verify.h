// Is this C the product of A and B? Pure host functions: nothing here needs a device.
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "reference.h"

enum pass {
    PASS_EXACT,    // odd integers so small that every sum is exact: all bits must agree
    PASS_ROUNDING, // uniform numbers: within a bound on what rounding can do
    PASS_TIMED,    // the same, of the last timed run
    PASS_SPECIAL,  // infinities and NaNs: where they are wanted, and nowhere else
};

// In a message: "exact pass".
const char *pass_name(enum pass pass);

// What the exact pass runs with. Alpha and beta are the caller's where they keep sums exact; others
// are replaced by 1.5 and 0.5 with the same sign, and 0 stays 0.
struct exact_plan {
    float alpha, beta;
    int bound; // of the odd integers in A, B and C
};
struct exact_plan plan_exact_pass(int64_t k, float alpha, float beta);

// How far `got` may lie from `want`: 8 * 2^-24 * (|alpha| * magnitude + |beta * c|), magnitude
// being the sum of |a * b|. In pure float32 arithmetic the difference stays under half of it; with
// operands rounded to TF32 its mean is over four times as much. Below float32's normal range, where
// roundings no longer shrink with the numbers, four times the smallest number is added.
double rounding_tolerance(float alpha, float magnitude, float beta, float c);

// NaN agrees with NaN alone, an infinity with itself; other numbers within the tolerance.
bool values_agree(float got, float want, double tolerance);

// Whether a NaN stands for an infinity, as it may where a step does not compute in float32.
bool lost_infinity(float got, float want);

enum {
    TILES_NAMED = 4 // of the tiles with wrong elements, the first few
};

// What a comparison has found. Start from start_verdict().
struct verdict {
    enum pass pass;
    bool infinities_lost; // may be: a NaN in its place is not wrong
    int tile_m, tile_n;
    int64_t wrong; // elements
    struct position first;
    float got, want;
    double tolerance;
    bool unwritten; // the first wrong element still holds what was there before the launch

    int64_t wrong_tiles;
    struct position tiles[TILES_NAMED]; // tile row, tile column
    unsigned char *tile_seen;           // of the row of tiles being compared, one a tile
    int64_t tile_row;

    int64_t outside; // words around C, or in A or B, that the launch changed
    char outside_matrix;
    struct position outside_first;
    float outside_got;
};

// A verdict that has found nothing yet, on tiles of tile_m x tile_n elements of C. It owns memory:
// end_verdict() frees it.
struct verdict start_verdict(enum pass pass, int tile_m, int tile_n, int64_t cols);
void end_verdict(struct verdict *verdict);

// Compares words [first, first + count) of C's allocation after the launch, `got`, with `want`
// element by element and with the canaries around them. C's description is that of before the
// launch. Chunks must come in ascending order. `magnitude` is not read in the exact pass.
void compare_product(struct verdict *verdict, const struct product *product, int64_t first,
                     int64_t count, const float *got, const float *want, const float *magnitude);

// Compares words [first, first + count) of A or B after the launch with what they were: `want`.
void compare_untouched(struct verdict *verdict, const struct matrix *matrix, int64_t first,
                       int64_t count, const float *got, const float *want);

bool all_right(const struct verdict *verdict);

// Says on stderr what is wrong, where, and what was wanted.
void report_verdict(const struct verdict *verdict, const struct product *product);

#endif
