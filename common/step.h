// The interface between a step (steps/*.cu) and the harness (common/*.c).
//
// A step is a kernel, the functions that start it, and one descriptor, `const struct step stepNN`.
// The harness verifies and times whatever the descriptor names; it knows nothing else of a step.
#ifndef STEP_H
#define STEP_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One product, C := alpha * A * B + beta * C, in float32. All three matrices are in device memory
// and row-major: element (i, j) of A is A[i * lda + j]. Lengths are in elements, not bytes.
//   A is m x k, lda >= max(1, k);  B is k x n, ldb >= max(1, n);  C is m x n, ldc >= max(1, n).
// m, n and k may be 0. Pointers are aligned to 4 bytes, and to no more than that. What lies between
// the end of a row and the next row belongs to the caller: its value never changes the result, and
// it is never written.
// As in BLAS: with alpha = 0 or k = 0 neither A nor B is read; with beta = 0 C is not read.
struct sgemm {
    int64_t m, n, k;
    float alpha;
    const float *A;
    int64_t lda;
    const float *B;
    int64_t ldb;
    float beta;
    float *C;
    int64_t ldc;
    void *workspace; // the step's own, between prepare and release; NULL before
};

// A kernel that a step may start, for the runtime's queries (registers, shared memory, occupancy).
struct step_kernel {
    const char *path;     // when it runs, in a few words; "" where the step has only one
    const void *function; // NULL ends the list
    int threads;          // of a block that is not the step's, and asks for no shared memory; or 0
};

enum {
    STEP_KERNELS = 4, // room in a descriptor, the closing NULL included
    STEP_TEXT = 400,  // room that describe() has
};

struct step {
    int number;        // 1 for step01
    const char *name;  // as in the file's name: "inline_ptx"
    const char *title; // as a person writes it: "inline PTX"

    // A block of `threads` threads computes a tile of tile_m x tile_n elements of C, reading tile_k
    // columns of A and rows of B at a time; tile_k is 0 where operands are not read in tiles.
    // Where a step has no kernel of its own, `threads` is 0 and the tile the smallest that it
    // starts.
    int tile_m, tile_n, tile_k, threads;
    int dynamic_shared; // bytes of shared memory that a launch asks for, beside what is declared

    // What it computes with, where that is not float32: "3xTF32". Errors have to be as small, but a
    // NaN may stand for an infinity. NULL otherwise.
    const char *arithmetic;

    int minimum_capability; // compute capability times ten, 80 for 8.0; 0 where any will do
    bool no_later;          // it is built for that one alone: no later GPU can run it
    struct step_kernel kernels[STEP_KERNELS];

    // Before the first launch: makes problem->workspace, and leaves nothing of that to be done on
    // the device. Not timed. NULL where nothing is needed.
    cudaError_t (*prepare)(struct sgemm *problem);
    // Starts every kernel that the product takes on the stream and returns without waiting. May be
    // called any number of times between prepare and release; everything it starts is timed.
    cudaError_t (*launch)(const struct sgemm *problem, cudaStream_t stream);
    // After the last launch has finished: frees what prepare made. NULL where prepare is.
    cudaError_t (*release)(struct sgemm *problem);

    // Writes in a few words what a prepared problem runs, or where an error of prepare or launch
    // came from. Left out where the kernels say it all.
    void (*describe)(const struct sgemm *problem, char *text, size_t size);

    // For sgemm(), which chooses among steps. Left out, a block computes whole tiles, and a
    // workspace serves only a problem of the same matrices.
    int sharing_blocks; // blocks on a multiprocessor among which tiles are cut into shares
    int least_share;    // terms of k that a share has at least
    bool reusable;      // a workspace serves any problem, one after the other
};

// Whether a GPU of this compute capability, 90 for 9.0, can run the step.
static inline bool step_runs_on(const struct step *step, int capability)
{
    return step->no_later ? capability == step->minimum_capability
                          : capability >= step->minimum_capability;
}

// The number of tile_m x tile_n tiles that cover C: 0 where m or n is 0.
static inline int64_t tile_count(const struct sgemm *problem, int tile_m, int tile_n)
{
    return ((problem->m + tile_m - 1) / tile_m) * ((problem->n + tile_n - 1) / tile_n);
}

extern const struct step step01, step02, step03, step04, step05, step06, step07, step08, step09,
    step10, step11, step13, step14, step15, step16, step17, step18, step19;

#ifdef __cplusplus
}
#endif

#endif
