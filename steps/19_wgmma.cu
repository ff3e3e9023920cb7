// Step 19: wgmma
//
// On Hopper tensor cores take the work of four warps at once, a warpgroup: wgmma multiplies 64x8
// elements of A, from registers, by 8x128 of B, from shared memory, while the warps go on. Numbers
// are split in two as in step 15: those of B when they are packed, those of A when they are read.
// Cost: as in step 15 three times the products, and an arithmetic that is not quite float32's:
// infinities become NaN, and so do numbers within 2^-12 of the largest; below 2^-112 small parts
// lose bits. And B is packed as two matrices.
//
// Build and run: make step19 && ./step19          Chapter: docs/19-wgmma.md
#include "step.h"

enum {
    TILE_M = 256,
    TILE_N = 128,
    TILE_K = 32,
    MULTIPLYING = 256,           // threads that multiply: two warpgroups
    THREADS = MULTIPLYING + 128, // and a third, of whose threads one copies
    // Of an SM's four parts, 16384 registers each, one would have 3 of 9 warps: 170 for a thread,
    // in eights 168, fewer than 192 sums and 32 operands need. So those that multiply get what the
    // others give back, whole warpgroups of 4 warps.
    MULTIPLYING_REGISTERS = 240,
    COPYING_REGISTERS = 24,
    // One instruction of a warpgroup, wgmma: 64x128 elements of C from 64x8 of A and 8x128 of B.
    WGMMA_M = 64,
    WGMMA_K = 8,
    SUMS = WGMMA_M * TILE_N / 128,                  // a thread's elements of these: 64
    PARTS = TILE_M / WGMMA_M / (MULTIPLYING / 128), // that a warpgroup computes: 2
    WGMMAS_K = TILE_K / WGMMA_K,                    // of them for a pair of tiles: 4
    STAGES = 3,                                     // pairs of tiles in the ring
    BAND = 8,                                       // rows of tiles that are computed together
    PACK_TERMS = 32,                                // terms that a block packs
    PACK_THREADS = 256,
    PACK_LOADS = TILE_M * PACK_TERMS / PACK_THREADS, // elements of A that a thread packs: 32
    PACK_APART = PACK_THREADS / PACK_TERMS,          // rows between two of them: 8
    PACK_SHARERS = PACK_THREADS / TILE_N,            // threads that share a column of B: 2
};

// [tiles]
// Terms in fours: 4 of a row of A or a column of B are 16 bytes, and 8 neighbouring rows of them
// 128 bytes in a row, as tensor cores want them. Of B first the large parts, then the small ones.
struct tiles {
    float a[TILE_K / 4][TILE_M][4];
    float b[2][TILE_K / 4][TILE_N][4];
};
// [/tiles]

static_assert(PACK_THREADS == TILE_M, "a thread writes a row of A");
static_assert(PACK_TERMS == TILE_K, "a block packs a tile");

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
// A and B as they are copied. For each row of tiles a panel, in which its tiles of A come one after
// the other, and for each column of tiles the same with B.
struct panels {
    const float *a, *b;
    int64_t terms; // k, rounded up to whole tiles
};
// [/panels]

// [store]
// Writes two neighbours in a row of C, of which cols lie in it: with one instruction if rows start
// and end at multiples of 8 bytes. The 4 lanes of a row write 32 bytes, a sector. With beta = 0
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

// [shared]
// Addresses in shared memory are 32 bits wide.
static __device__ unsigned address_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
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

// [split]
// x as the sum of two TF32 numbers, but for 2^-23 of it: the nearest, and what is left, which a
// subtraction gives exactly, cut to the bits that TF32 has.
static __device__ void split(float x, unsigned *large, unsigned *small)
{
    *large = (__float_as_uint(x) + 0x1000) & 0xffffe000;
    *small = __float_as_uint(x - __uint_as_float(*large)) & 0xffffe000;
}
// [/split]

// [wgmma]
// Where the tensor cores find a matrix in shared memory. Its pieces of 8 rows x 16 bytes are 128
// bytes apart along the rows, and a row of pieces, 16 bytes for each of the tile's, along k. (PTX
// ISA, matrix descriptor: all in units of 16 bytes, without swizzling.)
static __device__ uint64_t descriptor(const float *matrix, int rows)
{
    const uint64_t along_k = rows * 16, along_rows = 128;

    return address_of(matrix) / 16 | along_k / 16 << 16 | along_rows / 16 << 32;
}

#define FOUR(sum)    "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])
#define SIXTEEN(sum) FOUR(sum), FOUR(&(sum)[4]), FOUR(&(sum)[8]), FOUR(&(sum)[12])

// Starts to add the product of a 64x8 and an 8x128 matrix, both in TF32; with `more` false the sums
// begin with it. With q = lane / 4 and r = lane % 4, a lane of warp w has
//   of A: (16w + q, r), (16w + q + 8, r), (16w + q, r + 4), (16w + q + 8, r + 4);
//   of the sums, for each j: (16w + q, 8j + 2r), (16w + q, 8j + 2r + 1), and both 8 rows below.
static __device__ void wgmma(float sum[SUMS], const unsigned a[4], uint64_t b, bool more)
{
    asm volatile("{\n\t"
                 ".reg .pred more;\n\t"
                 "setp.ne.u32 more, %69, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, more, 1, 1;\n\t"
                 "}"
                 : SIXTEEN(sum), SIXTEEN(&sum[16]), SIXTEEN(&sum[32]), SIXTEEN(&sum[48])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)more));
}

// Before the first: what it reads and writes is there. The sums may hold anything, which the
// compiler has to be told: it would make zeros of them.
static __device__ void begin_wgmmas(float sum[SUMS])
{
#pragma unroll
    for (int x = 0; x < SUMS; x++)
        asm volatile("" : "=f"(sum[x]));
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

// After the last: waits for all.
static __device__ void end_wgmmas(float sum[SUMS])
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
#pragma unroll
    for (int x = 0; x < SUMS; x++)
        asm volatile("" : "+f"(sum[x])); // for the compiler: not read before
}
// [/wgmma]

// [multiply]
// Adds the products of a pair of tiles, of whose elements of A this lane's first is at (q, r) of
// the rows that its warpgroup multiplies. Tensor cores cut off what does not fit in their sums: so
// theirs begin anew with each pair, and the long sum is made by additions of float32, which round.
static __device__ void multiply(float accumulator[SUMS], const float *a,
                                const float (*b)[TILE_K / 4][TILE_N][4])
{
    unsigned large[WGMMAS_K][4], small[WGMMAS_K][4];
    float sum[SUMS];

#pragma unroll
    for (int p = 0; p < WGMMAS_K; p++)
        for (int x = 0; x < 4; x++)
            split(a[((p * 2 + x / 2) * TILE_M + x % 2 * 8) * 4], &large[p][x], &small[p][x]);
#pragma unroll
    for (int p = 0; p < WGMMAS_K; p++)
        for (int x = 0; x < 4; x++) // for the compiler: made before the fence
            asm volatile("" : "+r"(large[p][x]), "+r"(small[p][x]));
    begin_wgmmas(sum);
    // lab: add the three products, the small ones first (about 9 lines)
#pragma unroll
    for (int p = 0; p < WGMMAS_K; p++)
        wgmma(sum, small[p], descriptor(b[0][p * 2][0], TILE_N), p > 0);
#pragma unroll
    for (int p = 0; p < WGMMAS_K; p++)
        wgmma(sum, large[p], descriptor(b[1][p * 2][0], TILE_N), true);
#pragma unroll
    for (int p = 0; p < WGMMAS_K; p++)
        wgmma(sum, large[p], descriptor(b[0][p * 2][0], TILE_N), true);
    // end lab
    end_wgmmas(sum);
#pragma unroll
    for (int x = 0; x < SUMS; x++)
        accumulator[x] += sum[x];
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
        const float *b = &panels.b[position.across * TILE_N * 2 * panels.terms];
        for (int64_t term = 0; term < panels.terms; term += TILE_K) {
            struct tiles *const to = &ring->tiles[place.stage];
            // lab: wait until this pair has been read, then copy the next there (about 4 lines)
            wait_for(&ring->empty[place.stage], place.parity ^ 1);
            arrive_and_expect(&ring->full[place.stage], sizeof *to);
            copy_bulk(to->a[0][0], &a[term * TILE_M], sizeof to->a, &ring->full[place.stage]);
            copy_bulk(to->b[0][0][0], &b[term * 2 * TILE_N], sizeof to->b,
                      &ring->full[place.stage]);
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

    // What it computes: PARTS times 64 rows, and of them as wgmma gives a thread the sums.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * PARTS * WGMMA_M + warp % 4 * 16 + lane / 4;
    const int col = lane % 4 * 2;
    float accumulator[PARTS][SUMS] = {{0}};

    // [loop]
    // One round a pair of tiles. While one warpgroup adds up, the tensor cores work for the other.
    for (int64_t left = terms; left > 0; left -= TILE_K) {
        const struct tiles *const tiles = &ring->tiles[place.stage];
        wait_for(&ring->full[place.stage], place.parity);
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            multiply(accumulator[part], &tiles->a[0][row + part * WGMMA_M][lane % 4], tiles->b);
        release_tiles(ring, place);
        place = after(place);
    }
    // [/loop]

    // [epilogue]
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
        for (int x = 0; x < SUMS; x += 2) {
            const int64_t c_row = tile_row + row + part * WGMMA_M + x / 2 % 2 * 8;
            const int c_col = col + x / 4 * 8;
            if (c_row < problem.m)
                store2(&problem.C[c_row * problem.ldc + tile_col + c_col], problem.alpha,
                       &accumulator[part][x], problem.beta, cols - c_col, aligned);
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
// Packs a tile of A. A warp reads 32 terms of a row, 128 bytes, and writes 4 terms of 32 rows. In
// between, rows of 257 floats: 32 banks, both ways.
static __device__ void pack_a(struct sgemm problem, float *to, int64_t terms, int64_t block)
{
    __shared__ float tile[PACK_TERMS][TILE_M + 1];
    const int64_t groups = terms / PACK_TERMS;
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
    float4 *const packed = (float4 *)&to[block * TILE_M * TILE_K];
    const int row = threadIdx.x;
#pragma unroll
    for (int x = 0; x < PACK_TERMS / 4; x++)
        packed[x * TILE_M + row] = make_float4(tile[4 * x][row], tile[4 * x + 1][row],
                                               tile[4 * x + 2][row], tile[4 * x + 3][row]);
}

// The same of B, each element as two.
static __device__ void pack_b(struct sgemm problem, float *to, int64_t terms, int64_t block)
{
    const int64_t groups = terms / PACK_TERMS;
    const int64_t tile_col = block / groups * TILE_N, first = block % groups * PACK_TERMS;
    const int col = threadIdx.x % TILE_N, start = threadIdx.x / TILE_N;
    const float *from = &problem.B[first * problem.ldb + tile_col + col];
    const int rows =
        tile_col + col < problem.n ? (int)min(problem.k - first, (int64_t)PACK_TERMS) : 0;
    uint4 *const packed = (uint4 *)&to[block * TILE_N * 2 * TILE_K];

#pragma unroll
    for (int x = start; x < PACK_TERMS / 4; x += PACK_SHARERS) {
        unsigned large[4], small[4];
        for (int p = 0; p < 4; p++)
            split(4 * x + p < rows ? from[(4 * x + p) * problem.ldb] : 0, &large[p], &small[p]);
        packed[x * TILE_N + col] = make_uint4(large[0], large[1], large[2], large[3]);
        packed[(x + TILE_K / 4) * TILE_N + col] =
            make_uint4(small[0], small[1], small[2], small[3]);
    }
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
        panel_size(problem->m, TILE_M, problem->k) + 2 * panel_size(problem->n, TILE_N, problem->k);

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
    const bool aligned = (uintptr_t)p.C % 8 == 0 && (p.ldc | p.n) % 2 == 0;
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

const struct step step19 = {
    .number = 19,
    .name = "wgmma",
    .title = "wgmma",
    .tile_m = TILE_M,
    .tile_n = TILE_N,
    .tile_k = TILE_K,
    .threads = THREADS,
    .dynamic_shared = RING,
    .arithmetic = "3xTF32",
    .minimum_capability = 90,
    .no_later = true,
    .kernels = {{"", (const void *)step_sgemm}, {"packing", (const void *)step_pack, PACK_THREADS}},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};
