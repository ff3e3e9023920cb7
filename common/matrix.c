#include "matrix.h"

#include <math.h>
#include <string.h>

// Scrambles 64 bits so that each bit of the result depends on all of them: the output function of
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
static uint64_t scramble(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

// 64 random bits that belong to an element, the same whenever they are asked for.
static uint64_t element_bits(const struct matrix *matrix, int64_t row, int64_t col)
{
    const uint64_t key = matrix->seed << 8 ^ (uint64_t)(unsigned char)matrix->name;

    return scramble(key + (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)col * UINT64_C(0xd1342543de82ef95));
}

// The number of odd integers in [-bound, bound] is bound + 1.
static float odd_integer(uint64_t bits, int64_t bound)
{
    const int64_t which = (int64_t)((bits >> 32) * (uint64_t)(bound + 1) >> 32);

    return (float)(2 * which - bound);
}

static float uniform(uint64_t bits)
{
    return (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-23F;
}

// Zeros, for 0 * infinity is not 0; and one infinity of each sign and a NaN, where kernels mask: in
// the first and in the last row and column.
static float special(const struct matrix *matrix, int64_t row, int64_t col, uint64_t bits)
{
    if (row == matrix->rows - 1 && col == matrix->cols - 1)
        return INFINITY;
    if (row == 0 && col == matrix->cols / 2)
        return -INFINITY;
    if (row == matrix->rows / 2 && col == 0)
        return NAN;
    return bits % 4 == 0 ? 0 : uniform(bits);
}

float element_value(const struct matrix *matrix, int64_t row, int64_t col)
{
    const uint64_t bits = element_bits(matrix, row, col);

    switch (matrix->content) {
    case CONTENT_ODD:
        return odd_integer(bits, matrix->bound);
    case CONTENT_UNIFORM:
        return uniform(bits);
    case CONTENT_MAGNITUDE:
        return fabsf(uniform(bits));
    case CONTENT_SPECIAL:
        return special(matrix, row, col, bits);
    default:
        return NAN;
    }
}

float canary(const struct matrix *matrix, int64_t word)
{
    const uint64_t owner = (uint64_t)(unsigned char)matrix->name << 56;
    const uint32_t bits = UINT32_C(0x7fc00000) | (uint32_t)(scramble(owner ^ (uint64_t)word) >> 42);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

struct position position_of(const struct matrix *matrix, int64_t word)
{
    const int64_t index = word - matrix->guard - matrix->offset; // counted from element (0, 0)
    struct position at = {index / matrix->ld, index % matrix->ld};

    if (at.col < 0) { // C rounds towards zero, rows count downwards
        at.row--;
        at.col += matrix->ld;
    }
    return at;
}

void next_position(const struct matrix *matrix, struct position *at)
{
    if (++at->col == matrix->ld) {
        at->col = 0;
        at->row++;
    }
}

bool is_element(const struct matrix *matrix, struct position at)
{
    return at.row >= 0 && at.row < matrix->rows && at.col < matrix->cols;
}

double matrix_span(int64_t rows, int64_t cols, int64_t ld)
{
    return rows > 0 && cols > 0 ? (double)(rows - 1) * (double)ld + (double)cols : 0;
}

int64_t matrix_words(const struct matrix *matrix)
{
    return (int64_t)matrix_span(matrix->rows, matrix->cols, matrix->ld) + matrix->offset +
           2 * matrix->guard;
}

void matrix_image(const struct matrix *matrix, int64_t first, int64_t count, float *out)
{
    struct position at = position_of(matrix, first);
    int64_t i;

    for (i = 0; i < count; i++) {
        if (is_element(matrix, at) && matrix->content != CONTENT_NOTHING)
            out[i] = element_value(matrix, at.row, at.col);
        else
            out[i] = canary(matrix, first + i);
        next_position(matrix, &at);
    }
}

float *matrix_elements(const struct matrix *matrix)
{
    return matrix->words + matrix->guard + matrix->offset;
}
