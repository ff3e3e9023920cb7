// Step 08: texture loads
//
// Tiles are fetched through textures, 16 bytes a thread: 2 fetches a tile where step 07 takes 8
// loads. A texture knows its size and answers 0 past the end of the matrix, so rows need no bounds
// test; past the end of a row it answers with the next row, so k still needs one.
// Cost: a matrix must be aligned and not too large; where one is not, the loads of step 07 run.
//
// Build and run: make step08 && ./step08          Chapter: docs/08-texture-loads.md
#include "step.h"

#include <stdlib.h>

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
// A float from global memory if inside, else 0. The predicate skips the load, not the instruction:
// no branch. "+f" because the register keeps its 0; "memory" keeps other accesses in their places.
static __device__ float load_global(const float *global, bool inside)
{
    float value = 0;

    asm volatile("{\n"
                 "    .reg .pred inside;\n"
                 "    setp.ne.s32 inside, %2, 0;\n"
                 "    @inside ld.global.f32 %0, [%1];\n"
                 "}"
                 : "+f"(value)
                 : "l"(global), "r"((int)inside)
                 : "memory");
    return value;
}

// Reads this thread's share of a tile of A: 4 neighbours in a column. Outside the matrix they are
// 0, so that they add nothing; rows_left counts the rows that the tile has from a on.
static __device__ void fetch_a(float fetched[A_LOADS], const float *a, int64_t lda, int rows_left,
                               bool inside_k)
{
    for (int i = 0; i < A_LOADS; i++)
        fetched[i] = load_global(&a[i * lda], inside_k && i < rows_left);
}

// The same for a tile of B: elements of one row.
static __device__ void fetch_b(float fetched[B_LOADS], const float *b, int cols_left, bool inside_k)
{
    for (int i = 0; i < B_LOADS; i++)
        fetched[i] = load_global(&b[B_APART * i], inside_k && B_APART * i < cols_left);
}

// Reads 4 neighbours through a texture; 0 where the texture has no such texel, as for -1.
static __device__ void fetch4(float fetched[4], cudaTextureObject_t texture, int texel)
{
    float4 v;

    // lab: read texel number texel (about 2 lines)
    tex1Dfetch(&v, texture, texel);
    fetched[0] = v.x, fetched[1] = v.y, fetched[2] = v.z, fetched[3] = v.w;
    // end lab
}
// [/fetch]

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

static __device__ void store4(unsigned shared, const float value[4])
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared), "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3])
                 : "memory");
}

static __device__ void store1(unsigned shared, float value)
{
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(shared), "f"(value) : "memory");
}
// [/shared]

// [fill]
// Writes what this thread fetched into the tiles.
static __device__ void fill(unsigned tiles, const float a[A_LOADS], const float b[B_LOADS])
{
    store4(a_address(tiles, threadIdx.x % TILE_K, threadIdx.x / TILE_K * A_LOADS), a);
    for (int i = 0; i < B_LOADS; i++)
        store1(b_address(tiles, threadIdx.x / 32, threadIdx.x % 32 + B_APART * i), b[i]);
}

// The same of what fetch4 reads: 4 neighbours in a row of A, 4 in a row of B.
static __device__ void fill4(unsigned tiles, const float a[4], const float b[4])
{
    for (int i = 0; i < 4; i++)
        store1(a_address(tiles, threadIdx.x % 2 * 4 + i, threadIdx.x / 2), a[i]);
    store4(b_address(tiles, threadIdx.x / 32, threadIdx.x % 32 * 4), b);
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
                                      unsigned tiles, int p, int row, int col)
{
    for (int i = 0; i < THREAD_M; i += 4)
        load4(&frag_a[i], a_address(tiles, p, row + patch_row(i)));
    for (int j = 0; j < THREAD_N; j += 4)
        load4(&frag_b[j], b_address(tiles, p, col + patch_col(j)));
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

struct textures {
    cudaTextureObject_t a, b;
};

// Computes one tile. textured is a constant where this is called, so that each kernel holds one
// way.
static __device__ __forceinline__ void compute_tile(struct sgemm problem, bool textured,
                                                    struct textures textures)
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

    // What this thread fetches: a warp reads 16 rows of 8 elements of A through its texture, and
    // 128 elements of one row of B, 16 sectors of 32 bytes each; without textures it reads as in
    // step 07.
    const int a_row = textured ? threadIdx.x / 2 : threadIdx.x / TILE_K * A_LOADS;
    const int a_col = textured ? threadIdx.x % 2 * 4 : threadIdx.x % TILE_K;
    const int b_row = threadIdx.x / 32, b_col = threadIdx.x % 32 * (textured ? 4 : 1);
    int a_texel = (int)((tile_row + a_row) * problem.lda + a_col) / 4;
    int b_texel = (int)(b_row * problem.ldb + tile_col + b_col) / 4;
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
    if (textured) {
        fetch4(fetched_a, textures.a, a_col < problem.k ? a_texel : -1);
        fetch4(fetched_b, textures.b, b_texel);
        fill4(first, fetched_a, fetched_b);
    } else {
        fetch_a(fetched_a, a, problem.lda, rows - a_row, a_col < problem.k);
        fetch_b(fetched_b, b, cols - b_col, b_row < problem.k);
        fill(first, fetched_a, fetched_b);
    }
    __syncthreads();
    load_fragments(frag_a[0], frag_b[0], first, 0, row, col);
    const unsigned flip = first ^ second;
    unsigned current = first;
    // One round a pair of tiles. In the last, k_left is not positive: zeros are fetched, never
    // read.
    for (int64_t k_left = problem.k - TILE_K; k_left > -TILE_K; k_left -= TILE_K) {
        const int k_here = (int)min(k_left, (int64_t)TILE_K); // terms left for the next tiles
        a += TILE_K;
        b += TILE_K * problem.ldb;
        if (textured) {
            a_texel += TILE_K / 4;
            b_texel += TILE_K / 4 * (int)problem.ldb;
            // lab: fetch the next tiles through the textures (about 2 lines)
            fetch4(fetched_a, textures.a, a_col < k_here ? a_texel : -1);
            fetch4(fetched_b, textures.b, b_texel);
            // end lab
        } else {
            fetch_a(fetched_a, a, problem.lda, rows - a_row, a_col < k_here);
            fetch_b(fetched_b, b, cols - b_col, b_row < k_here);
        }
#pragma unroll
        for (int p = 1; p < TILE_K; p++) {
            load_fragments(frag_a[p % 2], frag_b[p % 2], current, p, row, col);
            multiply(accumulator, frag_a[(p - 1) % 2], frag_b[(p - 1) % 2]);
        }
        if (textured)
            fill4(current ^ flip, fetched_a, fetched_b);
        else
            fill(current ^ flip, fetched_a, fetched_b);
        __syncthreads(); // the next tiles are complete, and nobody reads these any more
        current ^= flip; // before any offset is added: at any base, a ^ (a ^ b) is b
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

static __global__ __launch_bounds__(THREADS, 2) void step_sgemm(struct sgemm problem)
{
    compute_tile(problem, false, (struct textures){0, 0});
}

static __global__ __launch_bounds__(THREADS, 2) void step_sgemm_textures(struct sgemm problem,
                                                                         struct textures textures)
{
    compute_tile(problem, true, textures);
}

// [texture]
// Makes a texture over a matrix, in texels of 4 floats; it stays 0 where the matrix allows none.
static cudaError_t make_texture(cudaTextureObject_t *texture, const float *matrix, int64_t rows,
                                int64_t cols, int64_t ld)
{
    struct cudaResourceDesc resource = {};
    struct cudaTextureDesc reading = {};
    int device, alignment, texels;

    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&alignment, cudaDevAttrTextureAlignment, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&texels, cudaDevAttrMaxTexture1DLinearWidth, device) != cudaSuccess)
        return cudaGetLastError();
    // Tiles hang over the edge by less than TILE_M rows: elements there, too, are counted by an
    // int.
    if ((uintptr_t)matrix % alignment != 0 || cols % 4 != 0 || ld % 4 != 0 ||
        ld / 4 > min(texels, INT32_MAX / 4) / (rows + TILE_M))
        return cudaSuccess;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = (void *)matrix;
    resource.res.linear.desc = cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
    resource.res.linear.sizeInBytes = ((rows - 1) * ld + cols) * sizeof(float);
    return cudaCreateTextureObject(texture, &resource, &reading, NULL);
}
// [/texture]

static cudaError_t prepare(struct sgemm *p)
{
    struct textures *textures;

    if (p->alpha == 0 || p->m == 0 || p->n == 0 || p->k == 0)
        return cudaSuccess; // nothing will be read
    p->workspace = textures = (struct textures *)calloc(1, sizeof *textures);
    if (textures == NULL)
        return cudaErrorMemoryAllocation;
    const cudaError_t error = make_texture(&textures->a, p->A, p->m, p->k, p->lda);
    return error != cudaSuccess ? error : make_texture(&textures->b, p->B, p->k, p->n, p->ldb);
}

static cudaError_t release(struct sgemm *p)
{
    struct textures *textures = (struct textures *)p->workspace;

    if (textures == NULL)
        return cudaSuccess;
    const cudaError_t error_a = textures->a ? cudaDestroyTextureObject(textures->a) : cudaSuccess;
    const cudaError_t error_b = textures->b ? cudaDestroyTextureObject(textures->b) : cudaSuccess;
    free(textures);
    p->workspace = NULL;
    return error_a != cudaSuccess ? error_a : error_b;
}

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    const int64_t tiles = tile_count(problem, TILE_M, TILE_N);
    const struct textures *textures = (const struct textures *)problem->workspace;
    struct sgemm p = *problem;

    if (tiles == 0)
        return cudaSuccess;
    if (tiles > INT32_MAX)
        return cudaErrorInvalidConfiguration; // grid.x ends at 2^31 - 1
    if (p.alpha == 0 || p.k == 0) {
        p.alpha = 0; // 0 times a product of no terms: the kernel reads neither A nor B
        p.k = 0;
    }
    if (textures != NULL && textures->a != 0 && textures->b != 0)
        step_sgemm_textures<<<(unsigned)tiles, THREADS, 0, stream>>>(p, *textures);
    else
        step_sgemm<<<(unsigned)tiles, THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}

const struct step step08 = {
    .number = 8,
    .name = "texture_loads",
    .title = "texture loads",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .minimum_capability = 0,
    .kernels = {{"textures", (const void *)step_sgemm_textures},
                {"loads of step 07", (const void *)step_sgemm}},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};
