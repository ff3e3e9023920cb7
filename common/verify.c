#include "verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const double EXACT_LIMIT = 0x1p24; // float32 holds every whole number up to here

const char *pass_name(enum pass pass)
{
    static const char *const names[] = {"exact pass", "rounding pass", "last timed run",
                                        "special values"};

    return names[pass];
}

// A factor below 32 with at most four significant bits: p * 2^e with p odd and below 16. Sets the
// unit, 2^e. The unit of 0 is as large as any.
static bool is_short(float factor, double *unit)
{
    int exponent, digits;
    const float fraction = fabsf(frexpf(factor, &exponent)); // in [1/2, 1)

    *unit = EXACT_LIMIT;
    if (factor == 0)
        return true;
    if (16 * fraction != floorf(16 * fraction) || exponent < -3 || exponent > 5)
        return false;
    for (digits = (int)(16 * fraction); digits % 2 == 0; digits /= 2)
        exponent++;
    *unit = ldexp(1, exponent - 4);
    return true;
}

// `factor`, or `replacement` with its sign where that would use up too many of a float32's bits.
static float short_factor(float factor, float replacement, double *unit)
{
    if (is_short(factor, unit))
        return factor;
    is_short(replacement, unit);
    return copysignf(replacement, factor);
}

struct exact_plan plan_exact_pass(int64_t k, float alpha, float beta)
{
    struct exact_plan plan;
    double alpha_unit, beta_unit, unit, largest;

    plan.alpha = short_factor(alpha, 1.5F, &alpha_unit);
    plan.beta = short_factor(beta, 0.5F, &beta_unit);
    unit = fmin(alpha_unit, beta_unit);

    // Exact in whatever order it is added up: no partial result beyond 2^24 units. Where k is too
    // large for that even with ones, the signs are what keeps it there: k of them, random, add up
    // to a few times sqrt(k).
    for (plan.bound = 31; plan.bound > 1; plan.bound -= 2) {
        largest = (double)k * plan.bound * plan.bound * fabs((double)plan.alpha) +
                  plan.bound * fabs((double)plan.beta);
        if (largest <= EXACT_LIMIT * unit)
            break;
    }
    return plan;
}

double rounding_tolerance(float alpha, float magnitude, float beta, float c)
{
    const double product = fabs((double)alpha) * (double)magnitude;
    const double old = beta != 0 ? fabs((double)beta * (double)c) : 0;

    return 8 * 0x1p-24 * (product + old) + 0x1p-147;
}

bool values_agree(float got, float want, double tolerance)
{
    if (isnan(want))
        return isnan(got);
    if (isinf(want))
        return got == want;
    return got == want || fabs((double)got - (double)want) <= tolerance; // never true of a NaN
}

bool lost_infinity(float got, float want)
{
    return isnan(got) && isinf(want);
}

struct verdict start_verdict(enum pass pass, int tile_m, int tile_n, int64_t cols)
{
    const size_t tiles_across = (size_t)((cols + tile_n - 1) / tile_n);
    struct verdict verdict = {.pass = pass, .tile_m = tile_m, .tile_n = tile_n, .tile_row = -1};

    verdict.tile_seen = calloc(tiles_across + 1, 1);
    if (verdict.tile_seen == NULL)
        fail(EXIT_CUDA, "out of host memory: %zu bytes, one a tile across C", tiles_across + 1);
    return verdict;
}

void end_verdict(struct verdict *verdict)
{
    free(verdict->tile_seen);
    verdict->tile_seen = NULL;
}

// Notes the tile of a wrong element, each once: elements come row by row, so that only one row of
// tiles has to be remembered.
static void note_tile(struct verdict *verdict, const struct matrix *C, struct position at)
{
    const struct position tile = {at.row / verdict->tile_m, at.col / verdict->tile_n};

    if (tile.row != verdict->tile_row) {
        memset(verdict->tile_seen, 0, (size_t)(C->cols / verdict->tile_n) + 1);
        verdict->tile_row = tile.row;
    }
    if (verdict->tile_seen[tile.col])
        return;
    verdict->tile_seen[tile.col] = 1;
    if (verdict->wrong_tiles < TILES_NAMED)
        verdict->tiles[verdict->wrong_tiles] = tile;
    verdict->wrong_tiles++;
}

static bool same_bits(float left, float right)
{
    uint32_t left_bits, right_bits;

    memcpy(&left_bits, &left, sizeof left);
    memcpy(&right_bits, &right, sizeof right);
    return left_bits == right_bits;
}

static void note_outside(struct verdict *verdict, const struct matrix *matrix, struct position at,
                         float got)
{
    if (verdict->outside++ > 0)
        return;
    verdict->outside_matrix = matrix->name;
    verdict->outside_first = at;
    verdict->outside_got = got;
}

// What C held at this word before the launch.
static float value_before(const struct matrix *C, struct position at, int64_t word)
{
    return C->content == CONTENT_NOTHING ? canary(C, word) : element_value(C, at.row, at.col);
}

static void compare_element(struct verdict *verdict, const struct product *product,
                            struct position at, int64_t word, float got, float want,
                            float magnitude)
{
    const float before = product->beta != 0 ? value_before(product->C, at, word) : 0;
    double tolerance = 0;

    if (verdict->pass != PASS_EXACT)
        tolerance = rounding_tolerance(product->alpha, magnitude, product->beta, before);
    if (values_agree(got, want, tolerance) && (verdict->pass == PASS_SPECIAL || !isnan(got)))
        return;
    if (verdict->infinities_lost && lost_infinity(got, want))
        return;
    if (verdict->wrong++ == 0) {
        verdict->first = at;
        verdict->got = got;
        verdict->want = want;
        verdict->tolerance = tolerance;
        verdict->unwritten = same_bits(got, value_before(product->C, at, word));
    }
    note_tile(verdict, product->C, at);
}

void compare_product(struct verdict *verdict, const struct product *product, int64_t first,
                     int64_t count, const float *got, const float *want, const float *magnitude)
{
    const struct matrix *C = product->C;
    struct position at;
    int64_t i = 0, end;

    while (i < count) {
        at = position_of(C, first + i);
        end = i + run_length(C, at, count - i);
        if (is_element(C, at)) {
            for (; i < end; i++, at.col++) {
                if (got[i] != want[i]) // true of a NaN
                    compare_element(verdict, product, at, first + i, got[i], want[i], magnitude[i]);
            }
        } else {
            for (; i < end; i++, at.col++) {
                if (!same_bits(got[i], canary(C, first + i)))
                    note_outside(verdict, C, at, got[i]);
            }
        }
    }
}

void compare_untouched(struct verdict *verdict, const struct matrix *matrix, int64_t first,
                       int64_t count, const float *got, const float *want)
{
    int64_t i;

    if (memcmp(got, want, (size_t)count * sizeof *got) == 0)
        return;
    for (i = 0; i < count; i++) {
        if (!same_bits(got[i], want[i]))
            note_outside(verdict, matrix, position_of(matrix, first + i), got[i]);
    }
}

bool all_right(const struct verdict *verdict)
{
    return verdict->wrong == 0 && verdict->outside == 0;
}

// For printf: a double, and a NaN without a sign.
static double shown(float value)
{
    return isnan(value) ? fabs((double)value) : (double)value;
}

static void report_elements(const struct verdict *verdict, const struct matrix *C)
{
    const int64_t tiles_down = (C->rows + verdict->tile_m - 1) / verdict->tile_m;
    const int64_t tiles_across = (C->cols + verdict->tile_n - 1) / verdict->tile_n;
    int i;

    fprintf(stderr, "        first: C[%" PRId64 "][%" PRId64 "] = %.9g, wanted %.9g",
            verdict->first.row, verdict->first.col, shown(verdict->got), shown(verdict->want));
    if (verdict->unwritten)
        fprintf(stderr, " (as before the launch: not written%s)",
                C->content == CONTENT_NOTHING ? ", or read at beta 0" : "");
    else if (verdict->tolerance > 0 && isfinite(verdict->got) && isfinite(verdict->want))
        fprintf(stderr, ", off by %.2g where rounding explains %.2g",
                fabs((double)verdict->got - (double)verdict->want), verdict->tolerance);
    fprintf(stderr, "\n        in %" PRId64 " of %" PRId64 " tiles (%dx%d), row and column:",
            verdict->wrong_tiles, tiles_down * tiles_across, verdict->tile_m, verdict->tile_n);
    for (i = 0; i < verdict->wrong_tiles && i < TILES_NAMED; i++)
        fprintf(stderr, " (%" PRId64 ", %" PRId64 ")", verdict->tiles[i].row,
                verdict->tiles[i].col);
    fprintf(stderr, "%s\n", verdict->wrong_tiles > TILES_NAMED ? " ..." : "");
}

static void report_outside(const struct verdict *verdict, const struct product *product)
{
    const char name = verdict->outside_matrix;
    const struct matrix *matrix = name == 'A' ? product->A : name == 'B' ? product->B : product->C;
    const struct position at = verdict->outside_first;
    const char *where = "between two rows";

    if (is_element(matrix, at))
        where = "an input, never to be written";
    else if (at.row < 0)
        where = "before the first row";
    else if (at.row >= matrix->rows - 1)
        where = "behind the last element";
    fprintf(stderr,
            "        words changed outside C: %" PRId64 ", the first at row %" PRId64
            ", column %" PRId64 " of %c = %.9g\n"
            "        (%s: %c is %" PRId64 "x%" PRId64 ", ld%c = %" PRId64 ")\n",
            verdict->outside, at.row, at.col, name, shown(verdict->outside_got), where, name,
            matrix->rows, matrix->cols, name + ('a' - 'A'), matrix->ld);
}

void report_verdict(const struct verdict *verdict, const struct product *product)
{
    const struct matrix *C = product->C;

    complain("WRONG at m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " (%s): %" PRId64 " of %" PRId64
             " elements wrong%s",
             C->rows, C->cols, product->A->cols, pass_name(verdict->pass), verdict->wrong,
             C->rows * C->cols, verdict->wrong == 0 ? ", but memory outside C was changed" : "");
    if (verdict->wrong > 0)
        report_elements(verdict, C);
    if (verdict->outside > 0)
        report_outside(verdict, product);
}
