// Step 02: shared-memory tiling
//
// A block computes a 128x128 tile of C: for every 8 terms of its sums it copies a 128x8 tile of A
// and an 8x128 tile of B into shared memory, so that each element fetched is used 128 times. A
// thread reads 8 elements of each tile and adds their 64 products to 64 sums that it keeps in
// registers.
// Cost: 8 KiB of shared memory, 64 registers of sums a thread, two barriers for every 8 terms.
//
// Build and run: make step02 && ./step02          Chapter: docs/02-shared-memory-tiling.md
#include "step.h"

enum {
    TILE_M = 128,
    TILE_N = 128,
    TILE_K = 8,
    THREADS = 256,
    THREAD_M = 8,                        // rows of C that a thread computes
    THREAD_N = 8,                        // columns
    A_LOADS = TILE_M * TILE_K / THREADS, // elements of A that a thread fetches for a tile: 4
    B_LOADS = TILE_K * TILE_N / THREADS, // and of B: 4
    A_APART = THREADS / TILE_K,          // rows between two of them: 32
    B_APART = 32,                        // columns between two of them: a warp's width
};

struct tiles {
    float a[TILE_M][TILE_K];
    float b[TILE_K][TILE_N];
};

static_assert(TILE_M / THREAD_M * (TILE_N / THREAD_N) == THREADS, "the threads cover the tile");

// Writes one element of C. With beta = 0 the old value is not read: it may be NaN.
static __device__ void store(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

// [fetch]
// Reads this thread's share of a tile of A: elements of one column. Outside the matrix they are 0,
// so that they add nothing; rows_left counts the rows that the tile has from a on.
static __device__ void fetch_a(float fetched[A_LOADS], const float *a, int64_t lda, int rows_left,
                               bool inside_k)
{
    for (int i = 0; i < A_LOADS; i++)
        fetched[i] = inside_k && A_APART * i < rows_left ? a[A_APART * i * lda] : 0;
}

// The same for a tile of B: elements of one row.
static __device__ void fetch_b(float fetched[B_LOADS], const float *b, int cols_left, bool inside_k)
{
    for (int i = 0; i < B_LOADS; i++)
        fetched[i] = inside_k && B_APART * i < cols_left ? b[B_APART * i] : 0;
}
// [/fetch]

// [fill]
// Writes what this thread fetched into the tiles.
static __device__ void fill(struct tiles *tiles, const float a[A_LOADS], const float b[B_LOADS])
{
    for (int i = 0; i < A_LOADS; i++)
        tiles->a[threadIdx.x / TILE_K + A_APART * i][threadIdx.x % TILE_K] = a[i];
    for (int i = 0; i < B_LOADS; i++)
        tiles->b[threadIdx.x / 32][threadIdx.x % 32 + B_APART * i] = b[i];
}
// [/fill]

// [fragments]
// Reads column p of the A tile and row p of the B tile, as far as this thread needs them.
static __device__ void load_fragments(float frag_a[THREAD_M], float frag_b[THREAD_N],
                                      const struct tiles *tiles, int p, int row, int col)
{
    for (int i = 0; i < THREAD_M; i++)
        frag_a[i] = tiles->a[row + i][p];
    for (int j = 0; j < THREAD_N; j++)
        frag_b[j] = tiles->b[p][col + j];
}
// [/fragments]

// [multiply]
// Adds the outer product of the fragments: 64 products from 16 operands.
static __device__ void multiply(float accumulator[THREAD_M][THREAD_N], const float frag_a[THREAD_M],
                                const float frag_b[THREAD_N])
{
    for (int i = 0; i < THREAD_M; i++)
        for (int j = 0; j < THREAD_N; j++)
            accumulator[i][j] += frag_a[i] * frag_b[j];
}
// [/multiply]

// Two blocks on a multiprocessor at a time: at most 128 registers a thread.
static __global__ __launch_bounds__(THREADS, 2) void step_sgemm(struct sgemm problem)
{
    __shared__ struct tiles tiles;

    // [tile]
    // The grid has one dimension, because grid.y ends at 65535: tiles are numbered row by row.
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const int64_t tile_row = (int64_t)(blockIdx.x / tiles_across) * TILE_M;
    const int64_t tile_col = (int64_t)(blockIdx.x % tiles_across) * TILE_N;
    const int rows = (int)min(problem.m - tile_row, (int64_t)TILE_M); // that lie in C
    const int cols = (int)min(problem.n - tile_col, (int64_t)TILE_N);
    // [/tile]

    // What this thread fetches: a warp reads 4 rows of 8 elements of A, and 32 elements of one row
    // of B, 4 sectors of 32 bytes each.
    const int a_row = threadIdx.x / TILE_K, a_col = threadIdx.x % TILE_K;
    const int b_row = threadIdx.x / 32, b_col = threadIdx.x % 32;
    const float *a = problem.A + (tile_row + a_row) * problem.lda + a_col;
    const float *b = problem.B + b_row * problem.ldb + tile_col + b_col;
    float fetched_a[A_LOADS], fetched_b[B_LOADS];

    // What it computes: THREAD_M x THREAD_N elements of C from (row, col) of the tile on.
    const int row = threadIdx.x / (TILE_N / THREAD_N) * THREAD_M;
    const int col = threadIdx.x % (TILE_N / THREAD_N) * THREAD_N;
    float *c = problem.C + (tile_row + row) * problem.ldc + tile_col + col;
    float accumulator[THREAD_M][THREAD_N] = {{0}};
    float frag_a[THREAD_M], frag_b[THREAD_N];

    // [loop]
    for (int64_t k_left = problem.k; k_left > 0; k_left -= TILE_K) {
        const int k_here = (int)min(k_left, (int64_t)TILE_K); // terms that these tiles hold
        // lab: fetch a tile of A and of B, fill them in between two barriers (about 7 lines)
        fetch_a(fetched_a, a, problem.lda, rows - a_row, a_col < k_here);
        fetch_b(fetched_b, b, cols - b_col, b_row < k_here);
        a += TILE_K;
        b += TILE_K * problem.ldb;
        // Before the first barrier threads may still read the tiles of the round before; after the
        // second the tiles are complete.
        __syncthreads();
        fill(&tiles, fetched_a, fetched_b);
        __syncthreads();
        // end lab
        // Unrolled, because an array can be kept in registers only if its indices are constants.
#pragma unroll
        for (int p = 0; p < TILE_K; p++) {
            load_fragments(frag_a, frag_b, &tiles, p, row, col);
            multiply(accumulator, frag_a, frag_b);
        }
    }
    // [/loop]

    // [epilogue]
#pragma unroll
    for (int i = 0; i < THREAD_M; i++, c += problem.ldc)
#pragma unroll
        for (int j = 0; j < THREAD_N; j++)
            if (row + i < rows && col + j < cols)
                store(&c[j], problem.alpha, accumulator[i][j], problem.beta);
    // [/epilogue]
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

const struct step step02 = {
    .number = 2,
    .name = "shared_memory_tiling",
    .title = "shared-memory tiling",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .minimum_capability = 0,
    .kernels = {{"", (const void *)step_sgemm}},
    .prepare = NULL,
    .launch = launch,
    .release = NULL,
};
