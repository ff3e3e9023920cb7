// Step 17: square patches
//
// The same tiles with half as many threads, each with 8x8 elements of C in place of 8x4. What a
// thread reads from shared memory for each term, 12 floats for 32 products, is 16 for 64: a third
// fewer loads, and half as many of all the instructions that every thread repeats.
// Cost: half as many threads add up the parts of a tile, so that the smallest products are slower.
//
// Build and run: make step17 && ./step17          Chapter: docs/17-square-patches.md
#include "step.h"

// [constants]
enum {
    TILE_M = 64,
    TILE_N = 64,
    TILE_K = 8,
    THREADS = 64,
    THREAD_M = 8, // rows of C that a thread computes
    THREAD_N = 8, // columns
    LANES_M = 4,  // a warp's lanes, 4 down and 8 across
    LANES_N = 8,
    WARP_M = LANES_M * THREAD_M,         // rows of C that a warp computes: 32
    WARP_N = LANES_N * THREAD_N,         // columns: 64
    A_LOADS = TILE_M * TILE_K / THREADS, // elements of A that a thread copies for a tile: 8
    B_LOADS = TILE_K * TILE_N / THREADS, // and of B: 8
    A_APART = THREADS / TILE_K,          // rows between two of them: 8
    B_APART = THREADS / TILE_K,          // columns between two of them: 8
    STAGES = 4,                          // pairs of tiles in the ring
    BAND = 8,                            // rows of tiles that are computed together
    FEW_STEPS = 8,                       // too few for a share: adding it up would take longer
    BLOCKS_AN_SM = 4,                    // of 64 threads with at most 256 registers
    MOST_BLOCKS = 1024,
    // Lanes 0 to 7 write to 8 rows of the A tile, and the 4 groups of 8 to neighbours in each. A
    // row of 68 floats begins 4 banks after the one before: all 32 banks, one turn.
    A_TILE_LD = TILE_M + 4,
};
// [/constants]

struct tiles {
    __align__(16) float a[TILE_K][A_TILE_LD];
    float b[TILE_K][TILE_N];
};

static_assert(A_TILE_LD % 4 == 0 && TILE_N % 4 == 0, "rows start at multiples of 16 bytes");
static_assert(TILE_M / THREAD_M * (TILE_N / THREAD_N) == THREADS, "the threads cover the tile");

enum {
    RING = STAGES * (int)sizeof(struct tiles) // bytes
};

// [schedule]
// How the work is divided. Tiles before `whole` are computed by a block each. The steps of the
// others, a pair of tiles of A and B each, are numbered through, and each of the first `shares`
// blocks gets an equal share of them.
struct schedule {
    int64_t steps; // of a tile
    unsigned tiles, whole, shares;
};

// The first step of a block's share, and the block whose share holds a step.
static __device__ int64_t share_start(struct schedule schedule, unsigned block)
{
    const int64_t all = (schedule.tiles - schedule.whole) * schedule.steps;

    return min(block, schedule.shares) * all / schedule.shares;
}

static __device__ unsigned share_of(struct schedule schedule, int64_t step)
{
    const int64_t all = (schedule.tiles - schedule.whole) * schedule.steps;

    return (unsigned)(((step + 1) * schedule.shares - 1) / all);
}
// [/schedule]

// A block's part of a tile: the steps from first to last - 1.
struct part {
    unsigned tile;
    int64_t first, last;
};

// What blocks leave of their parts, each thread its sums, in the order of its registers. A share
// has two parts at most that are not whole tiles: the end of one tile, and the start of another.
struct workspace {
    unsigned finished[MOST_BLOCKS]; // parts of the tile that starts in a block's share
    float sums[][2][THREAD_M * THREAD_N][THREADS];
};

// [store]
// Writes four neighbours in a row of C, of which cols lie in it: with one instruction if rows start
// and end at multiples of 16 bytes. The 8 lanes of a row write 128 bytes, 4 sectors, so that step
// 06's way through shared memory has nothing left to gain. With beta = 0 the old values are not
// read: they may be NaN.
static __device__ void store4(float *c, float alpha, const float sum[4], float beta, int cols,
                              bool aligned)
{
    if (aligned && cols > 0) {
        const float4 old = beta == 0 ? make_float4(0, 0, 0, 0) : *(const float4 *)c;
        float4 v = make_float4(sum[0], sum[1], sum[2], sum[3]);
        // Copies that the compiler cannot see through. Without them it keeps the sums where this
        // store will need them, in groups of four registers, all through the loop: an FFMA then
        // takes 1.8 cycles for its operands, with them 1.2 (docs/register-banks.md).
        asm volatile("" : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w));
        *(float4 *)c = make_float4(alpha * v.x + beta * old.x, alpha * v.y + beta * old.y,
                                   alpha * v.z + beta * old.z, alpha * v.w + beta * old.w);
    }
    for (int x = 0; x < 4; x++)
        if (!aligned && x < cols)
            c[x] = beta == 0 ? alpha * sum[x] : alpha * sum[x] + beta * c[x];
}
// [/store]

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

// Closes a group: the copies that this thread has started since the last.
static __device__ void close_group(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// Waits until of this thread's groups only the youngest STAGES - 3 may be unfinished: 1. The other
// threads' are as far after the barrier that follows.
static __device__ void wait_for_copies(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(STAGES - 3) : "memory");
}

static __device__ void wait_for_all_copies(void)
{
    asm volatile("cp.async.wait_all;" : : : "memory");
}

// The pair of tiles that comes after this one in the ring, which starts at first.
static __device__ unsigned after(unsigned tiles, unsigned first)
{
    const unsigned size = sizeof(struct tiles);

    return tiles == first + (STAGES - 1) * size ? first : tiles + size;
}
// [/shared]

// [copy]
// Starts the copies of this thread's share of a tile of A: elements of one column, from the places
// that are so far from a. With inside false there are no more terms: zeros, and nothing is read.
static __device__ void copy_a(unsigned tiles, const float *a, const int64_t from[A_LOADS],
                              bool inside)
{
    for (int i = 0; i < A_LOADS; i++)
        copy1(a_address(tiles, threadIdx.x % TILE_K, threadIdx.x / TILE_K + A_APART * i),
              &a[from[i]], inside ? 4 : 0);
}

// The same for a tile of B: elements of one row, in fours if rows start and end at multiples of 16
// bytes.
static __device__ void copy_b(unsigned tiles, const float *b, const int64_t from[B_LOADS],
                              bool inside, bool aligned)
{
    for (int i = 0; i < B_LOADS; i += aligned ? 4 : 1) {
        if (aligned)
            copy4(b_address(tiles, threadIdx.x / B_APART, threadIdx.x % B_APART * 4 + B_APART * i),
                  &b[from[i]], inside ? 16 : 0);
        else
            copy1(b_address(tiles, threadIdx.x / B_APART, threadIdx.x % B_APART + B_APART * i),
                  &b[from[i]], inside ? 4 : 0);
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

// [combine]
// Leaves this block's sums of a part. True in the block that is the last to do so for its tile,
// with the sums of all its parts, added in the order of k.
static __device__ bool combine(float accumulator[THREAD_M][THREAD_N], struct workspace *workspace,
                               struct schedule schedule, struct part part)
{
    const int64_t start = (part.tile - schedule.whole) * schedule.steps;
    const unsigned from = share_of(schedule, start);
    const unsigned to = share_of(schedule, start + schedule.steps - 1);
    const int thread = threadIdx.x;

#pragma unroll
    for (int x = 0; x < THREAD_M * THREAD_N; x++)
        workspace->sums[blockIdx.x][blockIdx.x == from][x][thread] =
            accumulator[x / THREAD_N][x % THREAD_N];
    // lab: count this part; go on only in the last block (about 7 lines)
    __syncthreads(); // this block's sums are written
    bool last = false;
    if (thread == 0) {
        __threadfence(); // and there for all before the part counts
        last = atomicInc(&workspace->finished[from], to - from) == to - from; // then it is 0 again
        __threadfence(); // and nothing is read before it has been counted
    }
    if (!__syncthreads_or(last))
        return false;
    // end lab
    // Two parts at a time: the way to the L2 cache and back takes as long for twice as many loads.
    for (unsigned block = from; block <= to; block += 2) {
        float next[THREAD_M * THREAD_N];
#pragma unroll
        for (int x = 0; x < THREAD_M * THREAD_N; x++)
            next[x] = block < to ? workspace->sums[block + 1][0][x][thread] : 0;
#pragma unroll
        for (int x = 0; x < THREAD_M * THREAD_N; x++) {
            float *const sum = &accumulator[x / THREAD_N][x % THREAD_N];
            *sum = (block == from ? 0 : *sum) + workspace->sums[block][block == from][x][thread];
            *sum += next[x];
        }
    }
    return true;
}
// [/combine]

// Computes a part of a tile. aligned is a constant where this is called, so that each kernel holds
// one way.
static __device__ __forceinline__ void compute_part(struct sgemm problem, struct schedule schedule,
                                                    struct part part, bool aligned)
{
    extern __shared__ struct tiles ring[]; // STAGES of them
    const unsigned first = (unsigned)__cvta_generic_to_shared(ring);

    // [tile]
    // Tiles are numbered down the columns of a band of BAND rows, then band by band: the blocks
    // that run at a time share rows of A and columns of B, which so come from the L2 cache.
    const unsigned tiles_down = (unsigned)((problem.m + TILE_M - 1) / TILE_M);
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const unsigned band = part.tile / (BAND * tiles_across) * BAND;
    const unsigned in_band = part.tile % (BAND * tiles_across);
    const unsigned height = min((unsigned)BAND, tiles_down - band);
    const int64_t tile_row = (int64_t)(band + in_band % height) * TILE_M;
    const int64_t tile_col = (int64_t)(in_band / height) * TILE_N;
    const int cols = (int)min(problem.n - tile_col, (int64_t)TILE_N); // that lie in C
    // [/tile]

    // What this thread copies: a warp takes 4 rows of 8 elements of A, 4 sectors of 32 bytes, and
    // of four rows of B 32 elements each, 16 sectors, or 8, 4 sectors.
    const int a_row = threadIdx.x / TILE_K, a_col = threadIdx.x % TILE_K;
    const int b_row = threadIdx.x / B_APART, b_col = threadIdx.x % B_APART * (aligned ? 4 : 1);
    // [from]
    // The pointers are the same for the whole block, and move on; the distances are a thread's own,
    // and stay. A row or column that C does not have is read where its last one is.
    const float *a = problem.A, *b = problem.B;
    const int64_t last_row = problem.m - 1, last_col = problem.n - (aligned ? 4 : 1);
    int64_t a_from[A_LOADS], b_from[B_LOADS];
    for (int i = 0; i < A_LOADS; i++)
        a_from[i] = min(tile_row + a_row + A_APART * i, last_row) * problem.lda + a_col;
    for (int i = 0; i < B_LOADS; i++)
        b_from[i] = b_row * problem.ldb + min(tile_col + b_col + B_APART * i, last_col);
    // [/from]

    // What it computes: THREAD_M x THREAD_N elements of C, the first at (row, col) of the tile.
    // Lanes 0, 2, 4 ... 14 read the same 4 elements of A, lanes 0, 1, 16 and 17 the same 4 of B.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + lane / 16 * 8 + lane % 2 * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    float accumulator[THREAD_M][THREAD_N] = {{0}};
    float frag_a[2][THREAD_M], frag_b[2][THREAD_N];

    // [start]
    // The first tiles have what is left over when the others are full: 1 to TILE_K terms.
    const int leftover = problem.k == 0 ? 0 : (int)((problem.k - 1) % TILE_K) + 1;
    const int64_t end = leftover + (part.last - 1) * TILE_K; // of the part's terms
    int terms = part.first == 0 ? leftover : TILE_K;
    int64_t copied = part.first == 0 ? 0 : leftover + (part.first - 1) * TILE_K;
    a += copied;
    b += copied * problem.ldb;
    unsigned filling = first, current = first;
    for (int stage = 0; stage < STAGES - 1; stage++) {
        const bool inside = copied < end;
        copy_a(filling, a, a_from, inside && a_col < terms);
        copy_b(filling, b, b_from, inside && b_row < terms, aligned);
        close_group();
        a += terms;
        b += terms * problem.ldb;
        copied += terms;
        filling = after(filling, first);
        terms = TILE_K;
    }
    wait_for_copies();
    __syncthreads();
    load_fragments(frag_a[0], frag_b[0], first, 0, row, col);
    // [/start]

    // [loop]
    // One round a pair of tiles. In the last STAGES - 1 there are no more terms to copy: zeros are
    // written, never read.
    const int64_t enough = end + (STAGES - 1) * TILE_K;
    while (copied < enough) {
        const unsigned next = after(current, first);
#pragma unroll
        for (int p = 0; p < TILE_K; p++) {
            if (p == TILE_K / 2 - 1) {
                // lab: wait, then copy into the tiles that the round before has read (about 9 lines)
                wait_for_copies(); // the next tiles are complete,
                __syncthreads();   // and nobody reads those of the round before any more
                copy_a(filling, a, a_from, copied < end);
                copy_b(filling, b, b_from, copied < end, aligned);
                close_group();
                a += TILE_K;
                b += TILE_K * problem.ldb;
                copied += TILE_K;
                filling = after(filling, first);
                // end lab
            }
            load_fragments(frag_a[(p + 1) % 2], frag_b[(p + 1) % 2],
                           p + 1 < TILE_K ? current : next, (p + 1) % TILE_K, row, col);
            multiply(accumulator, frag_a[p % 2], frag_b[p % 2]);
        }
        current = next;
    }
    // [/loop]

    if (part.last - part.first < schedule.steps &&
        !combine(accumulator, (struct workspace *)problem.workspace, schedule, part))
        return;

        // [epilogue]
#pragma unroll
    for (int i = 0; i < THREAD_M; i++)
#pragma unroll
        for (int j = 0; j < THREAD_N; j += 4) {
            const int64_t c_row = tile_row + row + patch_row(i);
            const int64_t c_col = tile_col + col + patch_col(j);
            if (c_row < problem.m)
                store4(&problem.C[c_row * problem.ldc + c_col], problem.alpha, &accumulator[i][j],
                       problem.beta, cols - col - patch_col(j), aligned);
        }
    // [/epilogue]
}

// [persist]
// A block computes its share, then whole tiles: the shares end in waiting for memory, which then
// falls between other blocks' arithmetic.
static __device__ __forceinline__ void compute(struct sgemm problem, struct schedule schedule,
                                               bool aligned)
{
    int64_t step = share_start(schedule, blockIdx.x);
    const int64_t end = share_start(schedule, blockIdx.x + 1);

    for (unsigned tile = blockIdx.x; step < end || tile < schedule.whole;) {
        struct part part = {tile, 0, schedule.steps};
        if (step < end) {
            part.tile = schedule.whole + (unsigned)(step / schedule.steps);
            part.first = step % schedule.steps;
            part.last = min(schedule.steps, part.first + end - step);
            step += part.last - part.first;
        } else
            tile += gridDim.x;
        compute_part(problem, schedule, part, aligned);
        wait_for_all_copies(); // the zeros at the end
        __syncthreads();       // nobody reads the ring any more
    }
}
// [/persist]

static __global__ __launch_bounds__(THREADS, BLOCKS_AN_SM) void step_sgemm(struct sgemm problem,
                                                                           struct schedule schedule)
{
    compute(problem, schedule, false);
}

static __global__ __launch_bounds__(THREADS,
                                    BLOCKS_AN_SM) void step_sgemm_aligned(struct sgemm problem,
                                                                          struct schedule schedule)
{
    compute(problem, schedule, true);
}

// As many as run at a time.
static cudaError_t count_blocks(int *blocks)
{
    int device, sms = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    *blocks = BLOCKS_AN_SM * sms < MOST_BLOCKS ? BLOCKS_AN_SM * sms : MOST_BLOCKS;
    return error;
}

static cudaError_t prepare(struct sgemm *problem)
{
    int blocks;
    cudaError_t error = count_blocks(&blocks);

    if (error == cudaSuccess)
        error =
            cudaMalloc(&problem->workspace, sizeof(struct workspace) +
                                                blocks * sizeof((struct workspace *)NULL)->sums[0]);
    if (error == cudaSuccess)
        error = cudaMemset(problem->workspace, 0, sizeof(struct workspace));
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

static cudaError_t release(struct sgemm *problem)
{
    return cudaFree(problem->workspace);
}

// [plan]
// Full rounds of tiles stay whole. The others are cut, unless shares would be too small; where it
// costs at most a twentieth of the blocks, shares end where tiles do, which leaves less to add up.
static struct schedule plan(const struct sgemm *problem, unsigned tiles, unsigned blocks)
{
    const int64_t steps = problem->k == 0 ? 1 : (problem->k + TILE_K - 1) / TILE_K;
    const unsigned whole = tiles / blocks * blocks, cut = tiles - whole;
    const int64_t most = max((int64_t)max(cut, 1U), cut * steps / FEW_STEPS);
    const unsigned shares = (unsigned)min((int64_t)blocks, most);
    const unsigned even = cut == 0 ? shares : shares / cut * cut;
    const bool few_lost = (shares - even) * 20 <= shares;
    const struct schedule schedule = {steps, tiles, whole, few_lost ? even : shares};

    return schedule;
}
// [/plan]

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    const int64_t tiles = tile_count(problem, TILE_M, TILE_N);
    struct sgemm p = *problem;

    if (tiles == 0)
        return cudaSuccess;
    if (tiles > INT32_MAX)
        return cudaErrorInvalidConfiguration; // tiles are numbered in 32 bits
    if (p.alpha == 0 || p.k == 0) {
        p.alpha = 0; // 0 times a product of no terms: the kernel reads neither A nor B
        p.k = 0;
    }
    const bool aligned =
        ((uintptr_t)p.B | (uintptr_t)p.C) % 16 == 0 && (p.ldb | p.ldc | p.n) % 4 == 0;
    void (*const kernel)(struct sgemm, struct schedule) = aligned ? step_sgemm_aligned : step_sgemm;
    int blocks;
    cudaError_t error = count_blocks(&blocks);
    if (error == cudaSuccess) // more than 48 KiB have to be asked for
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, RING);
    if (error != cudaSuccess)
        return error;
    const struct schedule schedule = plan(&p, (unsigned)tiles, (unsigned)blocks);
    const unsigned grid = schedule.whole == 0 ? schedule.shares : (unsigned)blocks;
    kernel<<<grid, THREADS, RING, stream>>>(p, schedule);
    return cudaGetLastError();
}

const struct step step17 = {
    .number = 17,
    .name = "square_patches",
    .title = "square patches",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .dynamic_shared = RING,
    .minimum_capability = 80,
    .kernels = {{"16 bytes at a time", (const void *)step_sgemm_aligned},
                {"4 bytes at a time", (const void *)step_sgemm}},
    .prepare = prepare,
    .launch = launch,
    .release = release,
    .sharing_blocks = BLOCKS_AN_SM,
    .least_share = FEW_STEPS * TILE_K,
    .reusable = true,
};
