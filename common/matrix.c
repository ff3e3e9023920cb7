#include "matrix.h"

#include <math.h>
#include <string.h>

// 32 random bits that belong to a key and an index, the same whenever they are asked for. The three
// lines of mixing are the "lowbias32" of C. Wellons, "Prospecting for Hash Functions", 2018.
static inline uint32_t random_bits(uint32_t key, int64_t index)
{
    const uint32_t low = (uint32_t)index, high = (uint32_t)(index >> 32);
    uint32_t bits = key ^ low * 0x9e3779b1U ^ high * 0x85ebca77U;

    bits = (bits ^ bits >> 16) * 0x7feb352dU;
    bits = (bits ^ bits >> 15) * 0x846ca68bU;
    return bits ^ bits >> 16;
}

static uint32_t row_key(const struct matrix *matrix, int64_t row)
{
    return random_bits(random_bits((unsigned char)matrix->name, matrix->seed), row);
}

// The number of odd integers in [-bound, bound] is bound + 1.
static inline float odd_integer(uint32_t bits, int bound)
{
    const int which = (int)((uint64_t)bits * (uint64_t)(bound + 1) >> 32);

    return (float)(2 * which - bound);
}

static inline float uniform(uint32_t bits)
{
    return (float)((int32_t)(bits >> 8) - (1 << 23)) * 0x1p-23F;
}

// Zeros, for 0 * infinity is not 0; and one infinity of each sign and a NaN, where kernels mask: in
// the first and in the last row and column.
static float special(const struct matrix *matrix, int64_t row, int64_t col, uint32_t bits)
{
    if (row == matrix->rows - 1 && col == matrix->cols - 1)
        return INFINITY;
    if (row == 0 && col == matrix->cols / 2)
        return -INFINITY;
    if (row == matrix->rows / 2 && col == 0)
        return NAN;
    return bits % 4 == 0 ? 0 : uniform(bits);
}

// `count` elements of a row, from column `col` on.
static void row_values(const struct matrix *matrix, int64_t row, int64_t col, int64_t count,
                       float *out)
{
    const uint32_t key = row_key(matrix, row);
    int64_t i;

    for (i = 0; i < count; i++) {
        const uint32_t bits = random_bits(key, col + i);

        if (matrix->content == CONTENT_ODD)
            out[i] = odd_integer(bits, matrix->bound);
        else if (matrix->content == CONTENT_UNIFORM)
            out[i] = uniform(bits);
        else if (matrix->content == CONTENT_MAGNITUDE)
            out[i] = fabsf(uniform(bits));
        else
            out[i] = special(matrix, row, col + i, bits);
    }
}

float element_value(const struct matrix *matrix, int64_t row, int64_t col)
{
    float value;

    row_values(matrix, row, col, 1, &value);
    return value;
}

float canary(const struct matrix *matrix, int64_t word)
{
    const uint32_t owner = (uint32_t)(unsigned char)matrix->name << 8;
    const uint32_t bits = 0x7fc00000U | random_bits(owner, word) >> 10;
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

bool is_element(const struct matrix *matrix, struct position at)
{
    return at.row >= 0 && at.row < matrix->rows && at.col < matrix->cols;
}

int64_t run_length(const struct matrix *matrix, struct position at, int64_t most)
{
    const int64_t end = is_element(matrix, at) ? matrix->cols : matrix->ld;

    return end - at.col < most ? end - at.col : most;
}

double words_needed(const struct matrix *matrix)
{
    const double around = (double)matrix->offset + 2 * (double)matrix->guard;

    if (matrix->rows == 0 || matrix->cols == 0)
        return fmax(around, 1); // so that the matrix has an address
    return around + (double)(matrix->rows - 1) * (double)matrix->ld + (double)matrix->cols;
}

int64_t matrix_words(const struct matrix *matrix)
{
    return (int64_t)words_needed(matrix); // exact: what fits in memory has less than 53 bits
}

void matrix_image(const struct matrix *matrix, int64_t first, int64_t count, float *out)
{
    struct position at;
    int64_t done, run, i;

    for (done = 0; done < count; done += run) {
        at = position_of(matrix, first + done);
        run = run_length(matrix, at, count - done);
        if (is_element(matrix, at) && matrix->content != CONTENT_NOTHING) {
            row_values(matrix, at.row, at.col, run, out + done);
        } else {
            for (i = 0; i < run; i++)
                out[done + i] = canary(matrix, first + done + i);
        }
    }
}

float *matrix_elements(const struct matrix *matrix)
{
    return matrix->words + matrix->guard + matrix->offset;
}
