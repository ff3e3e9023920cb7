// A matrix in device memory, and every word around it.
//
// An allocation is a guard, then the elements with the padding between their rows, then a guard.
// What each of its words holds is a pure function of the matrix's description and the word's index.
// So the host can fill a matrix, or say what a launch has changed, one chunk at a time and with no
// copy of its own, whatever the size.
#ifndef MATRIX_H
#define MATRIX_H

#include <stdbool.h>
#include <stdint.h>

enum {
    // The least that is before and after a matrix, and what the rest is a multiple of: of any
    // alignment that matters.
    GUARD_WORDS = 256,
    MOST_GUARDED = 1 << 20, // of a row
};

// What the elements hold. Everything around them holds canaries: NaNs whose payload tells where
// they belong, so that a read of them shows, and a write over them, too.
enum content {
    CONTENT_NOTHING,   // canaries, as if the matrix were not there
    CONTENT_ODD,       // odd integers in [-bound, bound]: no zeros, and products stay odd
    CONTENT_UNIFORM,   // multiples of 2^-23 in [-1, 1)
    CONTENT_MAGNITUDE, // the absolute values of CONTENT_UNIFORM
    CONTENT_SPECIAL,   // CONTENT_UNIFORM with zeros, infinities and a NaN planted in it
};

struct matrix {
    char name;          // 'A', 'B' or 'C'; matrices with different names have different elements
    int64_t rows, cols; // elements
    int64_t ld;         // elements from one row to the next
    int64_t offset;     // elements from an aligned address to the first
    int64_t guard;      // words before and after: a multiple of GUARD_WORDS, or 0
    enum content content;
    int bound; // of CONTENT_ODD: odd, >= 1
    int64_t seed;
    float *words; // device memory: the whole allocation
};

// Where a word lies. It is an element where 0 <= row < rows and 0 <= col < cols.
struct position {
    int64_t row, col; // row < 0: before the first element
};

struct position position_of(const struct matrix *matrix, int64_t word);
bool is_element(const struct matrix *matrix, struct position at);

// How many words from `at` on, up to `most`, are in the same row and as it is: elements, or
// padding.
int64_t run_length(const struct matrix *matrix, struct position at, int64_t most);

// Words of the whole allocation: as a number that nobody has checked yet against memory, and as one
// that fits there.
double words_needed(const struct matrix *matrix);
int64_t matrix_words(const struct matrix *matrix);

// The value that an element holds (not for CONTENT_NOTHING), and the canary at a word.
float element_value(const struct matrix *matrix, int64_t row, int64_t col);
float canary(const struct matrix *matrix, int64_t word);

// Writes what words [first, first + count) of the allocation hold to `out`, on the host.
void matrix_image(const struct matrix *matrix, int64_t first, int64_t count, float *out);

// The address of element (0, 0) on the device.
float *matrix_elements(const struct matrix *matrix);

#endif
