// Step 13: bulk copies
//
// On Hopper one instruction of one thread copies thousands of bytes into shared memory, and an
// mbarrier, a barrier in shared memory, counts the bytes that have come. So one warp does nothing
// but copy, and eight do nothing but multiply: it waits until a pair of tiles has been read, they
// wait until one has come, and the block never waits as a whole. But bytes come as they lie: so
// another kernel packs A and B into tiles before, A transposed, with zeros beyond their edges.
// Cost: A and B are written and read once more, and there is a workspace for them. It is built for
// sm_90a, which is for GPUs of compute capability 9.0 and no others.
//
// Build and run: make step13 && ./step13          Chapter: docs/13-bulk-copies.md
#include "step.h"

enum {
    TILE_M = 128,
    TILE_N = 256,
    TILE_K = 16,
    MULTIPLYING = 256,           // threads that multiply
    THREADS = MULTIPLYING + 128, // a warpgroup more, of whose threads one copies
    // Of an SM's four parts, 16384 registers each, one would have 3 of 9 warps: 170 for a thread,
    // in eights 168, fewer than 128 sums and 48 operands need. So those that multiply get what the
    // others give back, whole warpgroups of 4 warps.
    MULTIPLYING_REGISTERS = 240,
    COPYING_REGISTERS = 24,
    THREAD_M = 16, // rows of C that a thread computes
    THREAD_N = 8,  // columns
    LANES_M = 4,   // a warp's lanes, 4 down and 8 across
    LANES_N = 8,
    WARP_M = LANES_M * THREAD_M, // rows of C that a warp computes: 64
    WARP_N = LANES_N * THREAD_N, // columns: 64
    STAGES = 4,                  // pairs of tiles in the ring
    BAND = 8,                    // rows of tiles that are computed together
    // Lanes write to 4 rows, every fourth element of each. Rows of 65 floats: 32 banks.
    STAGING_LD = WARP_N + 1,
    PACK_TERMS = 32, // terms that a block packs, of a row of tiles
    PACK_THREADS = 256,
    PACK_LOADS = TILE_M * PACK_TERMS / PACK_THREADS, // elements of A that a thread packs: 16
    PACK_APART = PACK_THREADS / PACK_TERMS,          // rows between two of them: 8
};

struct tiles {
    float a[TILE_K][TILE_M];
    float b[TILE_K][TILE_N];
};

static_assert(TILE_M / THREAD_M * (TILE_N / THREAD_N) == MULTIPLYING, "the threads cover the tile");
static_assert(PACK_THREADS == TILE_N, "a thread packs a column of B");

// [ring]
// A pair of tiles has two mbarriers. One lets through when the tiles have come, the other when all
// warps have read them.
struct ring {
    struct tiles tiles[STAGES];
    uint64_t full[STAGES], empty[STAGES];
};
// [/ring]

enum {
    RING = (int)sizeof(struct ring) // bytes
};

// [panels]
// A and B as they are copied. For each row of tiles a panel, in which terms come one after the
// other, each with the TILE_M elements that the tiles have of it, and for each column of tiles the
// same with TILE_N. So a tile is one piece, and the next follows it.
struct panels {
    const float *a, *b;
    int64_t terms; // k, rounded up to whole tiles
};
// [/panels]

// [store]
// Writes four neighbours in a row of C that starts and ends at multiples of 16 bytes, with one
// instruction. The 8 lanes of a row write 128 bytes, 4 sectors, so that step 06's way through
// shared memory has nothing left to gain. With beta = 0 the old values are not read: they may be
// NaN.
static __device__ void store4(float *c, float alpha, const float sum[4], float beta)
{
    const float4 old = beta == 0 ? make_float4(0, 0, 0, 0) : *(const float4 *)c;
    float4 v = make_float4(sum[0], sum[1], sum[2], sum[3]);
    // Copies that the compiler cannot see through, so that the sums need not be in groups of four
    // registers all through the loop (docs/register-banks.md).
    asm volatile("" : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w));
    *(float4 *)c = make_float4(alpha * v.x + beta * old.x, alpha * v.y + beta * old.y,
                               alpha * v.z + beta * old.z, alpha * v.w + beta * old.w);
}

static __device__ void store1(float *c, float alpha, float sum, float beta)
{
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
// [/store]

// [shared]
// Addresses in shared memory are 32 bits wide.
static __device__ unsigned address_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// Four neighbours in shared memory, aligned to 16 bytes: one instruction.
static __device__ void load4(float value[4], const float *shared)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                 : "r"(address_of(shared))
                 : "memory");
}
// [/shared]

// [mbarrier]
// An mbarrier waits for arrivals, and for bytes if it has been told of some. When none is missing
// any more its phase ends, and the next begins, for as many arrivals. Phases are even and odd in
// turn, the first is even: parity 0.
static __device__ void make_mbarrier(uint64_t *mbarrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(address_of(mbarrier)), "r"(arrivals)
                 : "memory");
}

static __device__ void arrive(uint64_t *mbarrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"(address_of(mbarrier))
                 : "memory");
}

// Arrives, and tells of bytes that are to come in this phase.
static __device__ void arrive_and_expect(uint64_t *mbarrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(address_of(mbarrier)), "r"(bytes)
                 : "memory");
}

// Whether the phase of this parity has ended; may wait for a while. Before its first phase an
// mbarrier is as if an odd one had ended.
static __device__ bool has_ended(uint64_t *mbarrier, unsigned parity)
{
    unsigned ended;

    asm volatile("{\n\t"
                 ".reg .pred ended;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, ended;\n\t"
                 "}"
                 : "=r"(ended)
                 : "r"(address_of(mbarrier)), "r"(parity)
                 : "memory");
    return ended != 0;
}

static __device__ void wait_for(uint64_t *mbarrier, unsigned parity)
{
    while (!has_ended(mbarrier, parity))
        ;
}
// [/mbarrier]

// [bulk]
// Copies bytes, a multiple of 16, from a multiple of 16 to another. The mbarrier is told as they
// come.
static __device__ void copy_bulk(float *shared, const float *global, int bytes, uint64_t *mbarrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :
                 : "r"(address_of(shared)), "l"(global), "r"(bytes), "r"(address_of(mbarrier))
                 : "memory");
}
// [/bulk]

// [place]
// A place in the ring, and the parity of the phases that its mbarriers are in when one gets there.
struct place {
    unsigned stage, parity;
};

static __device__ struct place after(struct place place)
{
    const bool last = place.stage == STAGES - 1;
    const struct place next = {last ? 0 : place.stage + 1, last ? place.parity ^ 1 : place.parity};

    return next;
}
// [/place]

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

// [tile]
// Where a tile of C is, in tiles. They are numbered down the columns of a band of BAND rows, then
// band by band: the blocks that run at a time share rows of A and columns of B, which so come from
// the L2 cache.
struct position {
    int64_t down, across;
};

static __device__ struct position position_of(unsigned tile, struct sgemm problem)
{
    const unsigned tiles_down = (unsigned)((problem.m + TILE_M - 1) / TILE_M);
    const unsigned tiles_across = (unsigned)((problem.n + TILE_N - 1) / TILE_N);
    const unsigned band = tile / (BAND * tiles_across) * BAND;
    const unsigned in_band = tile % (BAND * tiles_across);
    const unsigned height = min((unsigned)BAND, tiles_down - band);
    const struct position position = {band + in_band % height, in_band / height};

    return position;
}
// [/tile]

// [produce]
// What the thread that copies does: one pair of tiles after the other, for all tiles of C that the
// block computes. It is up to STAGES pairs ahead, at the end of a tile in the next.
static __device__ void produce(struct sgemm problem, struct panels panels, unsigned tiles,
                               struct ring *ring)
{
    struct place place = {0, 0};

    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const struct position position = position_of(tile, problem);
        const float *a = &panels.a[position.down * TILE_M * panels.terms];
        const float *b = &panels.b[position.across * TILE_N * panels.terms];
        for (int64_t term = 0; term < panels.terms; term += TILE_K) {
            struct tiles *const to = &ring->tiles[place.stage];
            // lab: wait until this pair has been read, then copy the next there (about 4 lines)
            wait_for(&ring->empty[place.stage], place.parity ^ 1);
            arrive_and_expect(&ring->full[place.stage], sizeof *to);
            copy_bulk(to->a[0], &a[term * TILE_M], sizeof to->a, &ring->full[place.stage]);
            copy_bulk(to->b[0], &b[term * TILE_N], sizeof to->b, &ring->full[place.stage]);
            // end lab
            place = after(place);
        }
    }
}
// [/produce]

// Says for a warp that it has read a pair of tiles: one lane does, when all have.
static __device__ void release_tiles(struct ring *ring, struct place place)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        arrive(&ring->empty[place.stage]);
}

// Computes a tile of C, whose pairs of tiles begin at this place. Returns the place after them.
static __device__ __forceinline__ struct place compute_tile(struct sgemm problem, int64_t terms,
                                                            struct position position, bool aligned,
                                                            struct ring *ring, struct place place)
{
    const int64_t tile_row = position.down * TILE_M, tile_col = position.across * TILE_N;
    const int cols = (int)min(problem.n - tile_col, (int64_t)TILE_N); // that lie in C

    // What it computes: THREAD_M x THREAD_N elements of C, the first at (row, col) of the tile.
    // Lanes 0, 2, 4 ... 14 read the same 4 elements of A, lanes 0, 1, 16 and 17 the same 4 of B.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + lane / 16 * 8 + lane % 2 * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    float accumulator[THREAD_M][THREAD_N] = {{0}};
    float frag_a[2][THREAD_M], frag_b[2][THREAD_N];
    struct place before = place;

    // [loop]
    // One round a pair of tiles. A round asks for the next pair long before it needs it, so that
    // the answer is there; and releases the pair before some terms after its last was read.
    if (terms > 0) {
        wait_for(&ring->full[place.stage], place.parity);
        load_fragments(frag_a[0], frag_b[0], &ring->tiles[place.stage], 0, row, col);
    }
    for (int64_t left = terms; left > 0; left -= TILE_K) {
        const struct place next = left > TILE_K ? after(place) : place; // the last reads its own
        bool come = false;
#pragma unroll
        for (int p = 0; p < TILE_K; p++) {
            if (p == 3 && left < terms)
                release_tiles(ring, before);
            if (p == TILE_K / 2)
                come = has_ended(&ring->full[next.stage], next.parity);
            if (p == TILE_K - 1 && !come)
                wait_for(&ring->full[next.stage], next.parity);
            load_fragments(frag_a[(p + 1) % 2], frag_b[(p + 1) % 2],
                           &ring->tiles[p + 1 < TILE_K ? place.stage : next.stage],
                           (p + 1) % TILE_K, row, col);
            multiply(accumulator, frag_a[p % 2], frag_b[p % 2]);
        }
        before = place;
        place = after(place);
    }
    if (terms > 0)
        release_tiles(ring, before);
    // [/loop]

    // [epilogue]
    if (aligned) {
#pragma unroll
        for (int i = 0; i < THREAD_M; i++)
#pragma unroll
            for (int j = 0; j < THREAD_N; j += 4) {
                const int64_t c_row = tile_row + row + patch_row(i);
                const int c_col = col + patch_col(j);
                if (c_row < problem.m && c_col < cols)
                    store4(&problem.C[c_row * problem.ldc + tile_col + c_col], problem.alpha,
                           &accumulator[i][j], problem.beta);
            }
        return place;
    }
    // Four neighbours of a thread would be written one by one, each time with every fourth element
    // of the other lanes: each sector four times. So they go through shared memory, as in step 06,
    // and a warp writes 32 neighbours in a row: once for each of its 4 rows of lanes.
    __shared__ float staging[MULTIPLYING / 32][LANES_M][STAGING_LD];
    const int lane_row = lane / 16 * 2 + lane % 2;
    const int first_row = row - 4 * lane_row, first_col = warp % (TILE_N / WARP_N) * WARP_N;
#pragma unroll
    for (int i = 0; i < THREAD_M; i++) {
        __syncwarp(); // what was there has been read
#pragma unroll
        for (int j = 0; j < THREAD_N; j++)
            staging[warp][lane_row][col - first_col + patch_col(j)] = accumulator[i][j];
        __syncwarp();
#pragma unroll
        for (int y = 0; y < LANES_M; y++) {
            const int64_t c_row = tile_row + first_row + 4 * y + patch_row(i);
#pragma unroll
            for (int x = lane; x < WARP_N; x += 32)
                if (c_row < problem.m && first_col + x < cols)
                    store1(&problem.C[c_row * problem.ldc + tile_col + first_col + x],
                           problem.alpha, staging[warp][y][x], problem.beta);
        }
    }
    // [/epilogue]
    return place;
}

// [roles]
static __global__ __launch_bounds__(THREADS, 1) void step_sgemm(struct sgemm problem,
                                                                struct panels panels,
                                                                unsigned tiles, bool aligned)
{
    extern __shared__ __align__(16) struct ring ring[]; // bulk copies go to multiples of 16

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            make_mbarrier(&ring->full[stage], 1);
            make_mbarrier(&ring->empty[stage], MULTIPLYING / 32);
        }
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); // bulk copies see them, too
    }
    __syncthreads();
    if (threadIdx.x >= MULTIPLYING) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"((int)COPYING_REGISTERS));
        if (threadIdx.x == MULTIPLYING)
            produce(problem, panels, tiles, ring);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"((int)MULTIPLYING_REGISTERS));
        struct place place = {0, 0};
        for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            place = compute_tile(problem, panels.terms, position_of(tile, problem), aligned, ring,
                                 place);
    }
}
// [/roles]

// [pack]
// Packs PACK_TERMS terms of a row of tiles of A. A warp reads 32 terms of a row, 128 bytes, and
// writes 32 rows of a term. In between, rows of 129 floats: 32 banks, both ways.
static __device__ void pack_a(struct sgemm problem, float *to, int64_t terms, int64_t block)
{
    __shared__ float tile[PACK_TERMS][TILE_M + 1];
    const int64_t groups = (terms + PACK_TERMS - 1) / PACK_TERMS;
    const int64_t tile_row = block / groups * TILE_M, first = block % groups * PACK_TERMS;
    const int p = threadIdx.x % PACK_TERMS, i = threadIdx.x / PACK_TERMS;
    const float *from = &problem.A[(tile_row + i) * problem.lda + first + p];
    const int rows = first + p < problem.k ? (int)min(problem.m - tile_row, (int64_t)TILE_M) : 0;
    float value[PACK_LOADS];

#pragma unroll
    for (int x = 0; x < PACK_LOADS; x++)
        value[x] = i + PACK_APART * x < rows ? from[PACK_APART * x * problem.lda] : 0;
#pragma unroll
    for (int x = 0; x < PACK_LOADS; x++)
        tile[p][i + PACK_APART * x] = value[x];
    __syncthreads();
    to += tile_row * terms + first * TILE_M;
#pragma unroll
    for (int x = threadIdx.x; x < PACK_TERMS * TILE_M; x += PACK_THREADS)
        if (x < (terms - first) * TILE_M)
            to[x] = tile[x / TILE_M][x % TILE_M];
}

// The same of a column of tiles of B. Its rows stay rows.
static __device__ void pack_b(struct sgemm problem, float *to, int64_t terms, int64_t block)
{
    const int64_t groups = (terms + PACK_TERMS - 1) / PACK_TERMS;
    const int64_t tile_col = block / groups * TILE_N, first = block % groups * PACK_TERMS;
    const int64_t col = tile_col + threadIdx.x;
    const float *from = &problem.B[first * problem.ldb + col];
    const int rows = col < problem.n ? (int)min(problem.k - first, (int64_t)PACK_TERMS) : 0;
    float value[PACK_TERMS];

#pragma unroll
    for (int p = 0; p < PACK_TERMS; p++)
        value[p] = p < rows ? from[p * problem.ldb] : 0;
    to += tile_col * terms + first * TILE_N + threadIdx.x;
#pragma unroll
    for (int p = 0; p < PACK_TERMS; p++)
        if (p < terms - first)
            to[p * TILE_N] = value[p];
}

static __global__ __launch_bounds__(PACK_THREADS) void step_pack(struct sgemm problem, float *a,
                                                                 float *b, int64_t terms,
                                                                 unsigned blocks_for_a)
{
    if (blockIdx.x < blocks_for_a)
        pack_a(problem, a, terms, blockIdx.x);
    else
        pack_b(problem, b, terms, blockIdx.x - blocks_for_a);
}
// [/pack]

static int64_t divide_up(int64_t x, int64_t by)
{
    return (x + by - 1) / by;
}

// Elements of the panels of A, or of B.
static int64_t panel_size(int64_t lines, int tile, int64_t k)
{
    return divide_up(lines, tile) * tile * divide_up(k, TILE_K) * TILE_K;
}

static cudaError_t prepare(struct sgemm *problem)
{
    const int64_t size =
        panel_size(problem->m, TILE_M, problem->k) + panel_size(problem->n, TILE_N, problem->k);

    return cudaMalloc(&problem->workspace, max(size, (int64_t)1) * sizeof(float));
}

static cudaError_t release(struct sgemm *problem)
{
    return cudaFree(problem->workspace);
}

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    const int64_t tiles = tile_count(problem, TILE_M, TILE_N);
    struct sgemm p = *problem;

    if (tiles == 0)
        return cudaSuccess;
    if (p.alpha == 0 || p.k == 0) {
        p.alpha = 0; // 0 times a product of no terms: the kernels read neither A nor B
        p.k = 0;
    }
    const int64_t groups = divide_up(p.k, PACK_TERMS);
    const int64_t blocks_for_a = divide_up(p.m, TILE_M) * groups;
    const int64_t blocks_for_b = divide_up(p.n, TILE_N) * groups;
    if (tiles > INT32_MAX || blocks_for_a + blocks_for_b > INT32_MAX)
        return cudaErrorInvalidConfiguration; // grid.x ends at 2^31 - 1
    const bool aligned = (uintptr_t)p.C % 16 == 0 && (p.ldc | p.n) % 4 == 0;
    float *const a = (float *)p.workspace, *const b = a + panel_size(p.m, TILE_M, p.k);
    const struct panels panels = {a, b, divide_up(p.k, TILE_K) * TILE_K};
    int device, sms;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) // more than 48 KiB have to be asked for
        error = cudaFuncSetAttribute(step_sgemm, cudaFuncAttributeMaxDynamicSharedMemorySize, RING);
    if (error != cudaSuccess)
        return error;
    if (groups > 0)
        step_pack<<<(unsigned)(blocks_for_a + blocks_for_b), PACK_THREADS, 0, stream>>>(
            p, a, b, panels.terms, (unsigned)blocks_for_a);
    step_sgemm<<<(unsigned)min(tiles, (int64_t)sms), THREADS, RING, stream>>>(
        p, panels, (unsigned)tiles, aligned);
    return cudaGetLastError();
}

const struct step step13 = {
    .number = 13,
    .name = "bulk_copies",
    .title = "bulk copies",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .dynamic_shared = RING,
    .minimum_capability = 90,
    .no_later = true,
    .kernels = {{"", (const void *)step_sgemm}, {"packing", (const void *)step_pack, PACK_THREADS}},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};
