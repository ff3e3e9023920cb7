// Step 09: cp.async, 128x256
//
// cp.async copies from global to shared memory without a register and without waiting. The
// registers that step 07 fetched into, and its stores, are gone; a tile of C twice as wide and 16x8
// of it a thread take their place: 128 products from 24 operands, where step 07 makes 64 from 16.
// Cost: compute capability 8.0, and registers for only one block a multiprocessor: half the warps.
//
// Build and run: make step09 && ./step09          Chapter: docs/09-cp-async-128x256.md
#include "step.h"

enum {
    TILE_M = 128,
    TILE_N = 256,
    TILE_K = 8,
    THREADS = 256,
    THREAD_M = 16, // rows of C that a thread computes
    THREAD_N = 8,  // columns
    LANES_M = 4,   // a warp's lanes, 4 down and 8 across
    LANES_N = 8,
    WARP_M = LANES_M * THREAD_M,         // rows of C that a warp computes: 64
    WARP_N = LANES_N * THREAD_N,         // columns: 64
    A_LOADS = TILE_M * TILE_K / THREADS, // elements of A that a thread copies for a tile: 4
    B_LOADS = TILE_K * TILE_N / THREADS, // and of B: 8
    A_APART = THREADS / TILE_K,          // rows between two of them: 32
    B_APART = 32,                        // columns between two of them: a warp's width
    // Lanes 0 to 7 write to 8 rows of the A tile, and the 4 groups of 8 to neighbours in each. A
    // row of 132 floats begins 4 banks after the one before: all 32 banks, one turn.
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
static_assert(TILE_M / THREAD_M * (TILE_N / THREAD_N) == THREADS, "the threads cover the tile");

// Writes one element of C. With beta = 0 the old value is not read: it may be NaN.
static __device__ void store(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

// [shared]
// Addresses in shared memory are 32 bits wide. These are of term p, row or column i of a pair of
// tiles that starts at `tiles`.
static __device__ unsigned a_address(unsigned tiles, int p, int i)
{
    return tiles + sizeof(float) * (p * A_TILE_LD + i);
}

static __device__ unsigned b_address(unsigned tiles, int p, int j)
{
    return tiles + sizeof(float) * (TILE_K * A_TILE_LD + p * TILE_N + j);
}

// Four neighbours in shared memory, aligned to 16 bytes: one instruction.
static __device__ void load4(float value[4], unsigned shared)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                 : "r"(shared)
                 : "memory");
}

// Copies size bytes, at most 4 or 16, and writes zeros for the rest: with 0 nothing is read. .ca
// goes through the L1 cache; .cg, for 16 bytes only, passes it by.
static __device__ void copy1(unsigned shared, const float *global, int size)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(shared), "l"(global), "r"(size)
                 : "memory");
}

static __device__ void copy4(unsigned shared, const float *global, int size)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared), "l"(global), "r"(size)
                 : "memory");
}

// Waits for this thread's own copies only: the others' are complete after the barrier that follows.
static __device__ void wait_for_copies(void)
{
    asm volatile("cp.async.wait_all;" : : : "memory");
}
// [/shared]

// [copy]
// Starts the copies of this thread's share of a tile of A: elements of one column. Outside the
// matrix they are 0, so that they add nothing; rows_left counts the rows that the tile has from a
// on.
static __device__ void copy_a(unsigned tiles, const float *a, int64_t lda, int rows_left,
                              bool inside_k)
{
    for (int i = 0; i < A_LOADS; i++)
        copy1(a_address(tiles, threadIdx.x % TILE_K, threadIdx.x / TILE_K + A_APART * i),
              &a[A_APART * i * lda], inside_k && A_APART * i < rows_left ? 4 : 0);
}

// The same for a tile of B: elements of one row, in fours if rows start and end at multiples of 16
// bytes.
static __device__ void copy_b(unsigned tiles, const float *b, int cols_left, bool inside_k,
                              bool aligned)
{
    for (int i = 0; i < B_LOADS; i += aligned ? 4 : 1) {
        const int left = inside_k ? max(0, cols_left - B_APART * i) : 0;
        if (aligned)
            copy4(b_address(tiles, threadIdx.x / 32, threadIdx.x % 32 * 4 + B_APART * i),
                  &b[B_APART * i], 4 * min(4, left));
        else
            copy1(b_address(tiles, threadIdx.x / 32, threadIdx.x % 32 + B_APART * i),
                  &b[B_APART * i], 4 * min(1, left));
    }
}
// [/copy]

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
                                      unsigned tiles, int p, int row, int col)
{
    for (int i = 0; i < THREAD_M; i += 4)
        load4(&frag_a[i], a_address(tiles, p, row + patch_row(i)));
    for (int j = 0; j < THREAD_N; j += 4)
        load4(&frag_b[j], b_address(tiles, p, col + patch_col(j)));
}
// [/fragments]

// [multiply]
// Adds the outer product of the fragments: 128 products from 24 operands. Rows are taken to and
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

// Computes one tile. aligned is a constant where this is called, so that each kernel holds one way.
static __device__ __forceinline__ void compute_tile(struct sgemm problem, bool aligned)
{
    // [buffers]
    __shared__ union {
        struct tiles tiles[2];
        float staged[THREADS / 32][16][STAGED_LD]; // 16 rows of 32 a warp, after the loop
    } shared;
    const unsigned first = (unsigned)__cvta_generic_to_shared(&shared.tiles[0]);
    const unsigned second = (unsigned)__cvta_generic_to_shared(&shared.tiles[1]);
    // [/buffers]

    // [tile]
    // The grid has one dimension, because grid.y ends at 65535: tiles are numbered row by row.
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const int64_t tile_row = (int64_t)(blockIdx.x / tiles_across) * TILE_M;
    const int64_t tile_col = (int64_t)(blockIdx.x % tiles_across) * TILE_N;
    const int rows = (int)min(problem.m - tile_row, (int64_t)TILE_M); // that lie in C
    const int cols = (int)min(problem.n - tile_col, (int64_t)TILE_N);
    // [/tile]

    // What this thread copies: a warp takes 4 rows of 8 elements of A, 4 sectors of 32 bytes, and
    // of one row of B 128 elements, 16 sectors, or 32, 4 sectors.
    const int a_row = threadIdx.x / TILE_K, a_col = threadIdx.x % TILE_K;
    const int b_row = threadIdx.x / 32, b_col = threadIdx.x % 32 * (aligned ? 4 : 1);
    const float *a = problem.A + (tile_row + a_row) * problem.lda + a_col;
    const float *b = problem.B + b_row * problem.ldb + tile_col + b_col;

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
    copy_a(first, a, problem.lda, rows - a_row, a_col < problem.k);
    copy_b(first, b, cols - b_col, b_row < problem.k, aligned);
    wait_for_copies();
    __syncthreads();
    load_fragments(frag_a[0], frag_b[0], first, 0, row, col);
    const unsigned flip = first ^ second;
    unsigned current = first;
    // One round a pair of tiles. In the last, k_left is not positive: zeros are fetched, never
    // read.
    for (int64_t k_left = problem.k - TILE_K; k_left > -TILE_K; k_left -= TILE_K) {
        const int k_here = (int)min(k_left, (int64_t)TILE_K); // terms left for the next tiles
        // lab: start the copies of the next tiles: k_left terms remain for them (about 4 lines)
        a += TILE_K;
        b += TILE_K * problem.ldb;
        copy_a(current ^ flip, a, problem.lda, rows - a_row, a_col < k_here);
        copy_b(current ^ flip, b, cols - b_col, b_row < k_here, aligned);
        // end lab
#pragma unroll
        for (int p = 1; p < TILE_K; p++) {
            load_fragments(frag_a[p % 2], frag_b[p % 2], current, p, row, col);
            multiply(accumulator, frag_a[(p - 1) % 2], frag_b[(p - 1) % 2]);
        }
        // lab: wait for the copies and switch to the other buffer (about 3 lines)
        wait_for_copies();
        __syncthreads(); // the next tiles are complete, and nobody reads these any more
        current ^= flip; // before any offset is added: at any base, a ^ (a ^ b) is b
        // end lab
        load_fragments(frag_a[0], frag_b[0], current, 0, row, col);
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
            for (int x = 0; x < 16; x++)
                staged[lane_row + x / 4][lane_col + x % 4] = accumulator[i + x / 4][j + x % 4];
            __syncwarp();
            for (int x = 0; x < 16; x++)
                if (c_row + x < problem.m && c_col < problem.n)
                    store(&problem.C[(c_row + x) * problem.ldc + c_col], problem.alpha,
                          staged[x][lane], problem.beta);
            __syncwarp();
        }
    // [/epilogue]
}

static __global__ __launch_bounds__(THREADS, 1) void step_sgemm(struct sgemm problem)
{
    compute_tile(problem, false);
}

static __global__ __launch_bounds__(THREADS, 1) void step_sgemm_aligned(struct sgemm problem)
{
    compute_tile(problem, true);
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
    if ((uintptr_t)p.B % 16 == 0 && p.ldb % 4 == 0 && p.n % 4 == 0)
        step_sgemm_aligned<<<(unsigned)tiles, THREADS, 0, stream>>>(p);
    else
        step_sgemm<<<(unsigned)tiles, THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}

const struct step step09 = {
    .number = 9,
    .name = "cp_async_128x256",
    .title = "cp.async, 128x256",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .minimum_capability = 80,
    .kernels = {{"16-byte copies of B", (const void *)step_sgemm_aligned},
                {"4-byte copies", (const void *)step_sgemm}},
    .prepare = NULL,
    .launch = launch,
    .release = NULL,
};
