// Step 01: naive
//
// One thread computes one element of C. threadIdx.x runs along a row, so the 32 threads of a warp
// read 32 neighbours of B and write 32 neighbours of C: 4 sectors of 32 bytes a request, where
// neighbours in a column would take 32. All of them read the same element of A, one sector.
// Cost: every product loads both of its operands, an element of A n times and one of B m times.
//
// Build and run: make step01 && ./step01          Chapter: docs/01-naive.md
#include "step.h"

enum {
    TILE_M = 8,
    TILE_N = 32, // a warp's width: one row of the tile is one warp
    THREADS = TILE_M * TILE_N,
};

// [store]
// Writes one element of C. With beta = 0 the old value is not read: it may be NaN.
static __device__ void store(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
// [/store]

static __global__ __launch_bounds__(THREADS) void step_sgemm(struct sgemm problem)
{
    // [tile]
    // The grid has one dimension, because grid.y ends at 65535: tiles are numbered row by row.
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const int64_t row = (int64_t)(blockIdx.x / tiles_across) * TILE_M + threadIdx.x / TILE_N;
    const int64_t col = (int64_t)(blockIdx.x % tiles_across) * TILE_N + threadIdx.x % TILE_N;
    // [/tile]

    // [product]
    if (row >= problem.m || col >= problem.n)
        return; // the last tiles hang over the edge of C

    float sum = 0;
    // lab: add up row `row` of A times column `col` of B, k terms (about 2 lines)
    for (int64_t p = 0; p < problem.k; p++)
        sum += problem.A[row * problem.lda + p] * problem.B[p * problem.ldb + col];
    // end lab
    store(&problem.C[row * problem.ldc + col], problem.alpha, sum, problem.beta);
    // [/product]
}

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    const int64_t tiles = tile_count(problem, TILE_M, TILE_N);
    struct sgemm p = *problem;

    if (tiles == 0)
        return cudaSuccess;
    if (tiles > INT32_MAX)
        return cudaErrorInvalidConfiguration; // grid.x ends at 2^31 - 1
    if (p.alpha == 0 || p.k == 0) {
        p.alpha = 0; // 0 times a product of no terms: the kernel reads neither A nor B
        p.k = 0;
    }
    step_sgemm<<<(unsigned)tiles, THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}

const struct step step01 = {
    .number = 1,
    .name = "naive",
    .title = "naive",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = 0,
    .threads = THREADS,
    .minimum_capability = 0,
    .kernels = {{"", (const void *)step_sgemm}},
    .prepare = NULL,
    .launch = launch,
    .release = NULL,
};
