// Step 15: tensor cores
//
// Tensor cores multiply TF32: float32 with 11 bits of precision in place of 24. Here each operand
// is split in two such numbers, a large and a small one, and three of their four products are added
// up: small * large, large * small, large * large. What is left out is 2^-22 of a product at most,
// and mostly less. Cost: three times the products, and an arithmetic that is not quite float32's:
// infinities become NaN, and so do numbers within 2^-12 of the largest; below 2^-112 small parts
// lose bits.
//
// Build and run: make step15 && ./step15          Chapter: docs/15-tensor-cores.md
#include "step.h"

enum {
    TILE_M = 128,
    TILE_N = 128,
    TILE_K = 16,
    THREADS = 128,
    WARP_M = 64, // rows of C that a warp computes
    WARP_N = 64, // columns
    // One instruction of a warp, mma: 16x8 elements of C from 16x8 of A and 8x8 of B.
    MMA_M = 16,
    MMA_N = 8,
    MMA_K = 8,
    MMAS_M = WARP_M / MMA_M, // of them that cover the warp's elements: 4 down
    MMAS_N = WARP_N / MMA_N, // 8 across
    MMAS_K = TILE_K / MMA_K, // and 2 deep
    STAGES = 4,              // pairs of tiles in the ring
    BAND = 8,                // rows of tiles that are computed together
    // A warp reads 8 rows x 4 columns of the A tile at a time, and 4 rows x 8 columns of the B
    // tile. Rows of 20 floats begin 20 banks apart, rows of 136 floats 8: all 32 banks, one turn.
    A_TILE_LD = TILE_K + 4,
    B_TILE_LD = TILE_N + 8,
};

struct tiles {
    __align__(16) float a[TILE_M][A_TILE_LD];
    float b[TILE_K][B_TILE_LD];
};

static_assert(A_TILE_LD % 4 == 0 && B_TILE_LD % 4 == 0, "rows start at multiples of 16 bytes");
static_assert(TILE_M / WARP_M * (TILE_N / WARP_N) * 32 == THREADS, "the warps cover the tile");

enum {
    RING = STAGES * (int)sizeof(struct tiles) // bytes
};

// [store]
// Writes two neighbours in a row of C, of which cols lie in it: with one instruction if rows start
// and end at multiples of 16 bytes. The 4 lanes of a row write 32 bytes, a sector. With beta = 0
// the old values are not read: they may be NaN.
static __device__ void store2(float *c, float alpha, const float sum[2], float beta, int cols,
                              bool aligned)
{
    if (aligned && cols > 0) {
        const float2 old = beta == 0 ? make_float2(0, 0) : *(const float2 *)c;
        *(float2 *)c = make_float2(alpha * sum[0] + beta * old.x, alpha * sum[1] + beta * old.y);
    }
    for (int x = 0; x < 2; x++)
        if (!aligned && x < cols)
            c[x] = beta == 0 ? alpha * sum[x] : alpha * sum[x] + beta * c[x];
}
// [/store]

// [copy]
// Copies size bytes, at most 4 or 16, and writes zeros for the rest: with 0 nothing is read. .ca
// goes through the L1 cache; .cg, for 16 bytes only, passes it by.
static __device__ void copy1(float *shared, const float *global, int size)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global), "r"(size)
                 : "memory");
}

static __device__ void copy4(float *shared, const float *global, int size)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global), "r"(size)
                 : "memory");
}

// Starts this thread's copies of a tile, in fours if rows start and end at multiples of 16 bytes:
// one every `apart` rows, from its first on, of which so many rows lie in the matrix. The others
// become zeros.
static __device__ __forceinline__ void copy_tile(float *to, int to_ld, int to_rows,
                                                 const float *from, int64_t ld, int rows, int apart,
                                                 bool aligned)
{
    // Unrolled, it would need registers for addresses that the sums have taken: 255 are the most.
#pragma unroll 1
    for (int i = 0; i < to_rows; i += apart) {
        if (aligned)
            copy4(&to[i * to_ld], &from[i * ld], i < rows ? 16 : 0);
        else
            copy1(&to[i * to_ld], &from[i * ld], i < rows ? 4 : 0);
    }
}

// How many of a tile's terms there are, where so many are left.
static __device__ int terms_of(int64_t left)
{
    return (int)max(min(left, (int64_t)TILE_K), (int64_t)0);
}

// Starts this thread's copies of a pair of tiles, from the elements at a and b on. Of the tiles,
// rows of A, terms, and columns of B lie in the matrices: one element or four of A and of B at a
// time, as many rows apart as the block's threads cover.
static __device__ __forceinline__ void copy_pair(struct tiles *to, struct sgemm problem,
                                                 const float *a, const float *b, int rows,
                                                 int terms, int cols, bool aligned)
{
    const int width = aligned ? 4 : 1;
    const int a_row = threadIdx.x * width / TILE_K, a_col = threadIdx.x * width % TILE_K;
    const int b_row = threadIdx.x * width / TILE_N, b_col = threadIdx.x * width % TILE_N;

    copy_tile(&to->a[a_row][a_col], A_TILE_LD, TILE_M, &a[a_row * problem.lda + a_col], problem.lda,
              a_col < terms ? rows - a_row : 0, THREADS * width / TILE_K, aligned);
    copy_tile(&to->b[b_row][b_col], B_TILE_LD, TILE_K, &b[b_row * problem.ldb + b_col], problem.ldb,
              b_col < cols ? terms - b_row : 0, THREADS * width / TILE_N, aligned);
}

// Closes a group: the copies that this thread has started since the last.
static __device__ void close_group(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// Waits until of this thread's groups only the youngest STAGES - 2 may be unfinished. The other
// threads' are as far after the barrier that follows.
static __device__ void wait_for_copies(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(STAGES - 2) : "memory");
}
// [/copy]

// [split]
// x as the sum of two TF32 numbers, but for 2^-23 of it: the nearest, and what is left, which a
// subtraction gives exactly, cut to the bits that TF32 has. (cvt.rna.tf32.f32 rounds as well, in
// three instructions, as it takes care of infinities.)
static __device__ void split(float x, unsigned *large, unsigned *small)
{
    *large = (__float_as_uint(x) + 0x1000) & 0xffffe000;
    *small = __float_as_uint(x - __uint_as_float(*large)) & 0xffffe000;
}
// [/split]

// [mma]
// Adds the product of a 16x8 and an 8x8 matrix, both in TF32, spread over the warp's registers as
// the instruction wants them. With q = lane / 4 and r = lane % 4, a lane has
//   of A: (q, r), (q + 8, r), (q, r + 4), (q + 8, r + 4);   of B: (r, q), (r + 4, q);
//   of the sums: (q, 2r), (q, 2r + 1), (q + 8, 2r), (q + 8, 2r + 1).
static __device__ void mma(float sum[4], const unsigned a[4], const unsigned b[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// [/mma]

// [multiply]
// Adds the products of a pair of tiles, of whose elements this lane's first are a, at (q, r) of the
// warp's part, and b, at (r, q). Tensor cores cut off what does not fit in their sums: so theirs
// begin at zero with each pair, and the long sum is made by additions of float32, which round.
static __device__ void multiply(float accumulator[MMAS_M][MMAS_N][4], const float *a,
                                const float *b)
{
    unsigned large_a[MMAS_K][MMAS_M][4], small_a[MMAS_K][MMAS_M][4];

#pragma unroll
    for (int p = 0; p < MMAS_K; p++)
        for (int i = 0; i < MMAS_M; i++)
            for (int x = 0; x < 4; x++)
                split(a[(i * MMA_M + x % 2 * 8) * A_TILE_LD + p * MMA_K + x / 2 * 4],
                      &large_a[p][i][x], &small_a[p][i][x]);
#pragma unroll
    for (int j = 0; j < MMAS_N; j++) {
        float sum[MMAS_M][4] = {{0}};
        for (int p = 0; p < MMAS_K; p++) {
            unsigned large_b[2], small_b[2];
            for (int x = 0; x < 2; x++)
                split(b[(p * MMA_K + x * 4) * B_TILE_LD + j * MMA_N], &large_b[x], &small_b[x]);
            // lab: add the three products, the small ones first (about 6 lines)
            for (int i = 0; i < MMAS_M; i++)
                mma(sum[i], small_a[p][i], large_b);
            for (int i = 0; i < MMAS_M; i++)
                mma(sum[i], large_a[p][i], small_b);
            for (int i = 0; i < MMAS_M; i++)
                mma(sum[i], large_a[p][i], large_b);
            // end lab
        }
        for (int i = 0; i < MMAS_M; i++)
            for (int x = 0; x < 4; x++)
                accumulator[i][j][x] += sum[i][x];
    }
}
// [/multiply]

// Computes one tile. aligned is a constant where this is called, so that each kernel holds one way.
static __device__ __forceinline__ void compute_tile(struct sgemm problem, bool aligned)
{
    extern __shared__ struct tiles ring[]; // STAGES of them

    // [tile]
    // Tiles are numbered down the columns of a band of BAND rows, then band by band: the blocks
    // that run at a time share rows of A and columns of B, which so come from the L2 cache.
    const unsigned tiles_down = (unsigned)((problem.m + TILE_M - 1) / TILE_M);
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const unsigned band = blockIdx.x / (BAND * tiles_across) * BAND;
    const unsigned in_band = blockIdx.x % (BAND * tiles_across);
    const unsigned height = min((unsigned)BAND, tiles_down - band);
    const int64_t tile_row = (int64_t)(band + in_band % height) * TILE_M;
    const int64_t tile_col = (int64_t)(in_band / height) * TILE_N;
    // [/tile]

    const int rows = (int)min(problem.m - tile_row, (int64_t)TILE_M); // that lie in C
    const int cols = (int)min(problem.n - tile_col, (int64_t)TILE_N);

    const float *a = problem.A + tile_row * problem.lda, *b = problem.B + tile_col;

    // What it computes: the warp's part of the tile, and in that the lane's of each instruction.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + lane / 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N;
    float accumulator[MMAS_M][MMAS_N][4] = {{{0}}};

    // [start]
    int64_t left = problem.k; // terms whose copies have not been started; negative at the end
    for (int stage = 0; stage < STAGES - 1; stage++) {
        copy_pair(&ring[stage], problem, a, b, rows, terms_of(left), cols, aligned);
        close_group();
        a += TILE_K;
        b += TILE_K * problem.ldb;
        left -= TILE_K;
    }
    // [/start]

    // [loop]
    // One round a pair of tiles. In the last STAGES - 1 there are no more terms to copy: zeros are
    // written, never read.
    int current = 0, filling = STAGES - 1;
    for (; left > -(STAGES - 1) * TILE_K; left -= TILE_K) {
        wait_for_copies(); // the current tiles are complete,
        __syncthreads();   // and nobody reads those of the round before any more
        copy_pair(&ring[filling], problem, a, b, rows, terms_of(left), cols, aligned);
        close_group();
        a += TILE_K;
        b += TILE_K * problem.ldb;
        multiply(accumulator, &ring[current].a[row][lane % 4],
                 &ring[current].b[lane % 4][col + lane / 4]);
        filling = current;
        current = current == STAGES - 1 ? 0 : current + 1;
    }
    // [/loop]

    // [epilogue]
#pragma unroll
    for (int i = 0; i < MMAS_M; i++)
#pragma unroll
        for (int j = 0; j < MMAS_N; j++)
#pragma unroll
            for (int x = 0; x < 4; x += 2) {
                const int c_row = row + i * MMA_M + x / 2 * 8;
                const int c_col = col + j * MMA_N + lane % 4 * 2;
                if (c_row < rows)
                    store2(&problem.C[(tile_row + c_row) * problem.ldc + tile_col + c_col],
                           problem.alpha, &accumulator[i][j][x], problem.beta, cols - c_col,
                           aligned);
            }
    // [/epilogue]
}

static __global__ __launch_bounds__(THREADS, 2) void step_sgemm(struct sgemm problem)
{
    compute_tile(problem, false);
}

static __global__ __launch_bounds__(THREADS, 2) void step_sgemm_aligned(struct sgemm problem)
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
    const bool aligned = ((uintptr_t)p.A | (uintptr_t)p.B | (uintptr_t)p.C) % 16 == 0 &&
                         (p.lda | p.ldb | p.ldc | p.k | p.n) % 4 == 0;
    void (*const kernel)(struct sgemm) = aligned ? step_sgemm_aligned : step_sgemm;
    const cudaError_t error = // more than 48 KiB have to be asked for
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, RING);
    if (error != cudaSuccess)
        return error;
    kernel<<<(unsigned)tiles, THREADS, RING, stream>>>(p);
    return cudaGetLastError();
}

const struct step step15 = {
    .number = 15,
    .name = "tensor_cores",
    .title = "tensor cores",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .dynamic_shared = RING,
    .arithmetic = "3xTF32",
    .minimum_capability = 80,
    .kernels = {{"16 bytes at a time", (const void *)step_sgemm_aligned},
                {"4 bytes at a time", (const void *)step_sgemm}},
    .prepare = NULL,
    .launch = launch,
    .release = NULL,
};
