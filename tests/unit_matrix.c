// What the words of a matrix hold, and the float64 reference.
#include "matrix.h"

#include <stdlib.h>

#include "reference.h"
#include "tap.h"

enum {
    WORDS = 1000,
    ROWS = 5,
    COLS = 7,
    ELEMENTS = ROWS * COLS,
    OFFSET = 13, // more than a row
    LD = 11,
    GUARD = 32,
};

static bool same_bits(float left, float right)
{
    uint32_t bits[2];

    memcpy(&bits[0], &left, sizeof left);
    memcpy(&bits[1], &right, sizeof right);
    return bits[0] == bits[1];
}

static struct matrix example(enum content content)
{
    struct matrix matrix = {.name = 'A',
                            .rows = ROWS,
                            .cols = COLS,
                            .ld = LD,
                            .offset = OFFSET,
                            .guard = GUARD,
                            .content = content,
                            .bound = 31,
                            .seed = 1};

    return matrix;
}

static void check_layout(void)
{
    const struct matrix matrix = example(CONTENT_UNIFORM);
    float words[WORDS];
    const int64_t count = matrix_words(&matrix);
    int i, elements = 0, canaries = 0;

    is_integer(count, GUARD + OFFSET + (ROWS - 1) * LD + COLS + GUARD, "words of an allocation");
    matrix_image(&matrix, 0, count, words);
    for (i = 0; i < ELEMENTS; i++)
        elements += words[GUARD + OFFSET + i / COLS * LD + i % COLS] ==
                    element_value(&matrix, i / COLS, i % COLS);
    is_integer(elements, ELEMENTS, "elements lie at row * ld + col");
    for (i = 0; i < count; i++)
        canaries += same_bits(words[i], canary(&matrix, i));
    is_integer(canaries, count - ELEMENTS, "all other words are canaries");
    is_integer(position_of(&matrix, GUARD + OFFSET).row, 0, "row of the first element");
    is_integer(position_of(&matrix, GUARD + OFFSET - 1).row, -1, "row of the word before it");
    is_integer(position_of(&matrix, GUARD + OFFSET - 1).col, 10, "column of the word before it");
    is_integer(position_of(&matrix, 0).row, -5, "row of the first word");
}

static void check_chunks(void)
{
    const struct matrix matrix = example(CONTENT_SPECIAL);
    float whole[WORDS], parts[WORDS];
    const int64_t count = matrix_words(&matrix);
    int64_t first;

    matrix_image(&matrix, 0, count, whole);
    for (first = 0; first < count; first += 3)
        matrix_image(&matrix, first, count - first < 3 ? count - first : 3, parts + first);
    ok(memcmp(whole, parts, (size_t)count * sizeof *whole) == 0, "chunks make up the whole");
}

static void check_empty(void)
{
    struct matrix matrix = example(CONTENT_UNIFORM);
    float words[WORDS];
    int64_t i, canaries = 0;

    matrix.rows = 0;
    is_integer(matrix_words(&matrix), GUARD + OFFSET + GUARD,
               "a matrix without rows has its guards");
    matrix_image(&matrix, 0, matrix_words(&matrix), words);
    for (i = 0; i < matrix_words(&matrix); i++)
        canaries += same_bits(words[i], canary(&matrix, i));
    is_integer(canaries, GUARD + OFFSET + GUARD, "and nothing but canaries");
    matrix.offset = matrix.guard = 0;
    is_integer(matrix_words(&matrix), 1, "one word, so that there is an address");
    matrix.rows = matrix.ld = INT64_C(1) << 40;
    is_number(words_needed(&matrix), 0x1p80, "needed may be more than there can be");
}

static void check_odd_integers(void)
{
    struct matrix matrix = example(CONTENT_ODD);
    int seen[64] = {0};
    int64_t i, right = 0, different = 0;

    for (i = 0; i < 10000; i++) {
        const float value = element_value(&matrix, i / 100, i % 100);

        right += fabsf(value) <= 31 && fmodf(fabsf(value), 2) == 1;
        seen[(int)value + 32]++;
    }
    is_integer(right, 10000, "odd integers within the bound");
    for (i = 0; i < 64; i++)
        different += seen[i] > 10000 / 32 / 2 && seen[i] < 10000 / 32 * 2;
    is_integer(different, 32, "all of them, and each about as often");
    matrix.bound = 1;
    for (i = right = 0; i < 1000; i++)
        right += fabsf(element_value(&matrix, i, 0)) == 1;
    is_integer(right, 1000, "with a bound of 1, ones of both signs");
}

// A kernel that takes a neighbour for the element itself must be seen to be wrong.
static void check_neighbours(void)
{
    static const enum content contents[] = {CONTENT_ODD, CONTENT_UNIFORM};
    static const int chance[] = {32, 1 << 24}; // one in so many is equal by chance
    int64_t i, j;
    size_t c;

    for (c = 0; c < 2; c++) {
        const struct matrix matrix = example(contents[c]);
        int64_t across = 0, down = 0;

        for (i = 0; i < 100; i++) {
            for (j = 0; j < 100; j++) {
                const float value = element_value(&matrix, i, j);

                across += value == element_value(&matrix, i, j + 1);
                down += value == element_value(&matrix, i + 1, j);
            }
        }
        ok(across <= 2 * 10000 / chance[c], "neighbouring columns differ");
        ok(down <= 2 * 10000 / chance[c], "neighbouring rows differ");
    }
}

static void check_uniform(void)
{
    const struct matrix matrix = example(CONTENT_UNIFORM);
    struct matrix magnitude = example(CONTENT_MAGNITUDE);
    struct matrix other = example(CONTENT_UNIFORM);
    int64_t i, within = 0, absolute = 0, same_name = 0, same_seed = 0, low_bits = 0;
    double sum = 0, squares = 0;

    for (i = 0; i < 100000; i++) {
        const float value = element_value(&matrix, i / 300, i % 300);

        within += value >= -1 && value < 1 && value * 0x1p23F == rintf(value * 0x1p23F);
        low_bits += fmodf(fabsf(value) * 0x1p23F, 2) == 1;
        absolute += element_value(&magnitude, i / 300, i % 300) == fabsf(value);
        sum += value;
        squares += (double)value * value;
    }
    is_integer(within, 100000, "multiples of 2^-23 in [-1, 1)");
    is_integer(absolute, 100000, "magnitudes are their absolute values");
    ok(fabs(sum / 100000) < 0.01 && fabs(squares / 100000 - 1.0 / 3) < 0.01, "mean and variance");
    ok(labs((long)low_bits - 50000) < 1000, "every second has its last bit set");
    for (i = 0; i < 1000; i++) {
        other.name = 'B';
        same_name += element_value(&other, i, i) == element_value(&matrix, i, i);
        other.name = 'A';
        other.seed = 2;
        same_seed += element_value(&other, i, i) == element_value(&matrix, i, i);
        other.seed = 1;
    }
    ok(same_name == 0 && same_seed == 0, "another matrix or seed, other numbers");
}

static void check_special(void)
{
    const struct matrix matrix = example(CONTENT_SPECIAL);
    int i, zeros = 0, nans = 0, infinities = 0;

    for (i = 0; i < ELEMENTS; i++) {
        const float value = element_value(&matrix, i / COLS, i % COLS);

        zeros += value == 0;
        nans += isnan(value) != 0;
        infinities += isinf(value) != 0;
    }
    ok(zeros > 2 && zeros < 18, "special values: zeros");
    is_integer(nans, 1, "one NaN");
    is_integer(infinities, 2, "two infinities");
}

static void check_canaries(void)
{
    const struct matrix matrix = example(CONTENT_NOTHING);
    struct matrix other = example(CONTENT_NOTHING);
    int64_t i, nans = 0, repeated = 0, shared = 0;

    other.name = 'C';
    for (i = 0; i < 1000; i++) {
        nans += isnan(canary(&matrix, i)) != 0;
        repeated += same_bits(canary(&matrix, i), canary(&matrix, i + 1));
        shared += same_bits(canary(&matrix, i), canary(&other, i));
    }
    is_integer(nans, 1000, "canaries are NaNs");
    is_integer(repeated, 0, "no canary is its neighbour's");
    is_integer(shared, 0, "no canary is another matrix's");
}

static void check_reference(void)
{
    struct matrix A = example(CONTENT_UNIFORM), B = A, C = A;
    struct product product = {.A = &A, .B = &B, .C = &C, .alpha = 0.3F, .beta = -2};
    float want[WORDS], magnitude[WORDS];
    double sum = 0, sum_of_magnitudes = 0;
    int p;

    B.name = 'B';
    C.name = 'C';
    A.cols = B.rows = 9;
    C.guard = C.offset = 0;
    reference_product(&product, 0, matrix_words(&C), want, magnitude);
    for (p = 0; p < 9; p++) {
        const double term = (double)element_value(&A, 3, p) * element_value(&B, p, 5);

        sum += term;
        sum_of_magnitudes += fabs(term);
    }
    is_number(want[3 * LD + 5], (float)((double)0.3F * sum - 2 * (double)element_value(&C, 3, 5)),
              "reference");
    is_number(magnitude[3 * LD + 5], (float)sum_of_magnitudes, "sum of magnitudes");
    product.alpha = 0;
    A.content = B.content = CONTENT_NOTHING;
    reference_product(&product, 0, matrix_words(&C), want, magnitude);
    is_number(want[3 * LD + 5], -2 * element_value(&C, 3, 5), "alpha = 0 reads neither A nor B");
    product.beta = 0;
    C.content = CONTENT_NOTHING;
    reference_product(&product, 0, matrix_words(&C), want, magnitude);
    is_number(want[3 * LD + 5], 0, "beta = 0 does not read C");
}

int main(void)
{
    check_layout();
    check_chunks();
    check_empty();
    check_odd_integers();
    check_neighbours();
    check_uniform();
    check_special();
    check_canaries();
    check_reference();
    return finish();
}
