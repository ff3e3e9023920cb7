// Step 06: coalesced store
//
// A warp that stores its accumulators as they lie touches 16 sectors of 32 bytes a request, and
// uses 8 bytes of each. It now rearranges them first, 16 rows of 32 at a time, through the shared
// memory that the tiles no longer need; a request is then 32 neighbours of one row, 4 sectors.
// Cost: a barrier, and a pass through shared memory at the end of the kernel.
//
// Build and run: make step06 && ./step06          Chapter: docs/06-coalesced-store.md
#include "step.h"

enum {
    TILE_M = 128,
    TILE_N = 128,
    TILE_K = 8,
    THREADS = 256,
    THREAD_M = 8, // rows of C that a thread computes
    THREAD_N = 8, // columns
    LANES_M = 4,  // a warp's lanes, 4 down and 8 across
    LANES_N = 8,
    WARP_M = LANES_M * THREAD_M,         // rows of C that a warp computes: 32
    WARP_N = LANES_N * THREAD_N,         // columns: 64
    A_LOADS = TILE_M * TILE_K / THREADS, // elements of A that a thread fetches for a tile: 4
    B_LOADS = TILE_K * TILE_N / THREADS, // and of B: 4
    B_APART = 32,                        // columns between two of them: a warp's width
    // Lanes 0 to 7 store to 8 rows of the A tile, 16 bytes each. If a row had 128 floats, all would
    // begin at bank 0, and the stores would take 8 turns; with 132 each begins 4 banks after the
    // one before: one turn.
    A_TILE_LD = TILE_M + 4,
    // A row of 32 and one more. With 32 the compiler stores 16 bytes at a time, which ties the
    // accumulators to groups of four registers all through the loop; an odd length spares most of
    // that. Bank conflicts it leaves as they are: 4 lanes share each bank, for one store a square.
    STAGED_LD = 32 + 1,
};

struct tiles {
    __align__(16) float a[TILE_K][A_TILE_LD];
    float b[TILE_K][TILE_N];
};

static_assert(A_TILE_LD % 4 == 0 && TILE_N % 4 == 0, "rows start at multiples of 16 bytes");
static_assert(A_LOADS == 4, "a thread's share of A is one 16-byte store");
static_assert(TILE_M / THREAD_M * (TILE_N / THREAD_N) == THREADS, "the threads cover the tile");

// Writes one element of C. With beta = 0 the old value is not read: it may be NaN.
static __device__ void store(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

// [fetch]
// Reads this thread's share of a tile of A: 4 neighbours in a column. Outside the matrix they are
// 0, so that they add nothing; rows_left counts the rows that the tile has from a on.
static __device__ void fetch_a(float fetched[A_LOADS], const float *a, int64_t lda, int rows_left,
                               bool inside_k)
{
    for (int i = 0; i < A_LOADS; i++)
        fetched[i] = inside_k && i < rows_left ? a[i * lda] : 0;
}

// The same for a tile of B: elements of one row.
static __device__ void fetch_b(float fetched[B_LOADS], const float *b, int cols_left, bool inside_k)
{
    for (int i = 0; i < B_LOADS; i++)
        fetched[i] = inside_k && B_APART * i < cols_left ? b[B_APART * i] : 0;
}
// [/fetch]

// Four neighbours in shared memory, aligned to 16 bytes: one instruction.
static __device__ void load4(float value[4], const float *shared)
{
    const float4 v = *(const float4 *)shared;

    value[0] = v.x, value[1] = v.y, value[2] = v.z, value[3] = v.w;
}

static __device__ void store4(float *shared, const float value[4])
{
    *(float4 *)shared = make_float4(value[0], value[1], value[2], value[3]);
}

// [fill]
// Writes what this thread fetched into the tiles.
static __device__ void fill(struct tiles *tiles, const float a[A_LOADS], const float b[B_LOADS])
{
    store4(&tiles->a[threadIdx.x % TILE_K][threadIdx.x / TILE_K * A_LOADS], a);
    for (int i = 0; i < B_LOADS; i++)
        tiles->b[threadIdx.x / 32][threadIdx.x % 32 + B_APART * i] = b[i];
}
// [/fill]

// [patch]
// The rows and columns of a thread's patch, counted from its first: squares of 4x4, 16 rows and 32
// columns apart, because the squares of the warp's other lanes lie between them.
static __device__ int patch_row(int i)
{
    return i / 4 * 4 * LANES_M + i % 4;
}

static __device__ int patch_col(int j)
{
    return j / 4 * 4 * LANES_N + j % 4;
}
// [/patch]

// [fragments]
// Reads term p of the tiles, a row of each, as far as this thread needs them.
static __device__ void load_fragments(float frag_a[THREAD_M], float frag_b[THREAD_N],
                                      const struct tiles *tiles, int p, int row, int col)
{
    for (int i = 0; i < THREAD_M; i += 4)
        load4(&frag_a[i], &tiles->a[p][row + patch_row(i)]);
    for (int j = 0; j < THREAD_N; j += 4)
        load4(&frag_b[j], &tiles->b[p][col + patch_col(j)]);
}
// [/fragments]

// [multiply]
// Adds the outer product of the fragments: 64 products from 16 operands. Rows are taken to and
// fro, so that an instruction finds one of its operands where the one before had it.
static __device__ void multiply(float accumulator[THREAD_M][THREAD_N], const float frag_a[THREAD_M],
                                const float frag_b[THREAD_N])
{
    for (int i = 0; i < THREAD_M; i++)
        for (int x = 0; x < THREAD_N; x++) {
            const int j = i % 2 == 0 ? x : THREAD_N - 1 - x;
            accumulator[i][j] += frag_a[i] * frag_b[j];
        }
}
// [/multiply]

// Two blocks on a multiprocessor at a time: at most 128 registers a thread.
static __global__ __launch_bounds__(THREADS, 2) void step_sgemm(struct sgemm problem)
{
    // [buffers]
    __shared__ union {
        struct tiles tiles[2];
        float staged[THREADS / 32][16][STAGED_LD]; // 16 rows of 32 a warp, after the loop
    } shared;
    struct tiles *const tiles = shared.tiles;
    // [/buffers]

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
    const int a_row = threadIdx.x / TILE_K * A_LOADS, a_col = threadIdx.x % TILE_K;
    const int b_row = threadIdx.x / 32, b_col = threadIdx.x % 32;
    const float *a = problem.A + (tile_row + a_row) * problem.lda + a_col;
    const float *b = problem.B + b_row * problem.ldb + tile_col + b_col;
    float fetched_a[A_LOADS], fetched_b[B_LOADS];

    // [lanes]
    // What it computes: THREAD_M x THREAD_N elements of C, the first at (row, col) of the tile.
    // Lanes 0, 2, 4 ... 14 read the same 4 elements of A, lanes 0, 1, 16 and 17 the same 4 of B.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_row = lane / 16 * 8 + lane % 2 * 4;
    const int lane_col = lane / 2 % 8 * 4;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + lane_row;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane_col;
    // [/lanes]
    float accumulator[THREAD_M][THREAD_N] = {{0}};
    float frag_a[2][THREAD_M], frag_b[2][THREAD_N];

    // [loop]
    fetch_a(fetched_a, a, problem.lda, rows - a_row, a_col < problem.k);
    fetch_b(fetched_b, b, cols - b_col, b_row < problem.k);
    fill(&tiles[0], fetched_a, fetched_b);
    __syncthreads();
    load_fragments(frag_a[0], frag_b[0], &tiles[0], 0, row, col);
    int current = 0;
    // One round a pair of tiles. In the last, k_left is not positive: zeros are fetched, never
    // read.
    for (int64_t k_left = problem.k - TILE_K; k_left > -TILE_K; k_left -= TILE_K) {
        const int k_here = (int)min(k_left, (int64_t)TILE_K); // terms left for the next tiles
        a += TILE_K;
        b += TILE_K * problem.ldb;
        fetch_a(fetched_a, a, problem.lda, rows - a_row, a_col < k_here);
        fetch_b(fetched_b, b, cols - b_col, b_row < k_here);
#pragma unroll
        for (int p = 1; p < TILE_K; p++) {
            load_fragments(frag_a[p % 2], frag_b[p % 2], &tiles[current], p, row, col);
            multiply(accumulator, frag_a[(p - 1) % 2], frag_b[(p - 1) % 2]);
        }
        fill(&tiles[current ^ 1], fetched_a, fetched_b);
        __syncthreads(); // the next tiles are complete, and nobody reads these any more
        current ^= 1;
        load_fragments(frag_a[0], frag_b[0], &tiles[current], 0, row, col);
        multiply(accumulator, frag_a[1], frag_b[1]);
    }
    // [/loop]

    // [epilogue]
    // Of the squares accumulator[i .. i + 3][j .. j + 3] a warp holds 16 rows of 32 neighbours.
    float(*staged)[STAGED_LD] = shared.staged[warp];
    __syncthreads(); // no warp reads the tiles any more
#pragma unroll
    for (int i = 0; i < THREAD_M; i += 4)
#pragma unroll
        for (int j = 0; j < THREAD_N; j += 4) {
            const int64_t c_row = tile_row + (row - lane_row + patch_row(i));
            const int64_t c_col = tile_col + (col - lane_col + patch_col(j) + lane);
            // lab: stage the square, then store it by rows (about 8 lines)
            for (int x = 0; x < 16; x++)
                staged[lane_row + x / 4][lane_col + x % 4] = accumulator[i + x / 4][j + x % 4];
            __syncwarp();
            for (int x = 0; x < 16; x++)
                if (c_row + x < problem.m && c_col < problem.n)
                    store(&problem.C[(c_row + x) * problem.ldc + c_col], problem.alpha,
                          staged[x][lane], problem.beta);
            __syncwarp();
            // end lab
        }
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

const struct step step06 = {
    .number = 6,
    .name = "coalesced_store",
    .title = "coalesced store",
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
