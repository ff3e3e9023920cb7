// The command line.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

// The dimensions and leading dimensions of one product, in elements (see struct sgemm).
struct shape {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
};

// A sweep over m = n = k = first, first + step, ... up to last. No sweep: step is 0.
struct sweep {
    int64_t first, last, step;
};

enum {
    UNSET = -1, // a number that the command line does not give
    MAX_REPEATS = 1000,
};

struct options {
    int64_t m, n, k, size; // UNSET where not given, and so for the leading dimensions
    int64_t lda, ldb, ldc;
    int64_t offset[3]; // of A, B and C, in elements from an aligned address
    float alpha, beta;
    struct sweep sweep;
    bool verify_only, no_verify;
    bool warm;       // time with whatever the run before left in L2
    bool power;      // also measure power and energy
    bool no_guards;  // allocations that end where the matrices end
    int64_t repeats; // timed pairs of launches; UNSET: until the spread is small
    int64_t seed;
    int64_t device;
    bool emulate;           // run on the emulator even where there is a GPU
    int64_t schedule;       // of the emulator: 0 in order, else a permutation of warps and blocks
    int64_t shared_base;    // of the emulator: where shared memory starts; UNSET: as the GPU has it
    bool lines;             // on the emulator: report line by line
    const char *figure;     // path of a drawing by the emulator; NULL where not given
    int64_t line;           // of the source: the access that it shows; UNSET where not given
    int64_t default_size;   // the first of the sizes that run where none is given
    const char *csv, *json; // paths; NULL where not given
    bool list, help, version;
    char error[200]; // what is wrong with the command line, and what is allowed
};

// Reads the command line; `emulated` says which program's. Returns false where it is no good, and
// options->error says why in one line. The strings in `options` are those of argv. Numbers are read
// in the C locale: the program never calls setlocale.
bool parse_options(struct options *options, bool emulated, int argc, char **argv);

// How many shapes a run goes through, and each of them in ascending order: the last is the largest.
int64_t shape_count(const struct options *options);
struct shape shape_at(const struct options *options, int64_t index);

// The text of --help on stdout, for the step with this name and title.
void print_help(const char *program, const char *title);

#endif
