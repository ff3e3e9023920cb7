// Products of warpgroups: of a 64x16 and a 16x16 matrix, each in two parts of 8 terms.
#include "cases.h"
#include "mbarriers.h"

enum {
    THREADS = 128,
    M = 64,
    N = 16,
    K = 16,
    PARTS = K / 8,
    SUMS = M * N / THREADS, // of a thread
    ROUNDS = 4,
    STAGES = 2,
    CORE = 32,        // floats of a core matrix, 8 rows of 4
    A_LEADING = 1024, // bytes from a core matrix to the next one along k
    B_LEADING = 256,
    STRIDE = 128, // and to the next one along m or n
};

enum mistake {
    NONE,
    NO_FENCE,
    FENCE_TOO_EARLY,
    READ_EARLY,
    WRITE_EARLY,
    NO_COMMIT,
    LAST_GROUP_LEFT,
    NO_END,
    STORE_EARLY,
    STORE_LATE,
    NO_MBARRIER,
    SWIZZLED,
    STRANGE_BITS,
    OUTSIDE,
    WARP_MISSING,
    LANES_MISSING,
    OTHER_DESCRIPTOR,
    OTHER_PLACE,
};

struct tiles {
    float a[M * K], b[N * K];
};

// Both tiles, which lie together.
static __device__ void fetch(struct tiles *to, const struct tiles *from, unsigned mbarrier)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];"
        :
        : "r"(shared_address(to)), "l"(from), "r"((int)sizeof *to), "r"(mbarrier)
        : "memory");
}

static __device__ void fence_proxy(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The compiler, too, is to write the sums before the fence.
static __device__ void fence(float sums[SUMS])
{
    for (int i = 0; i < SUMS; i++)
        asm volatile("" : "+f"(sums[i])::"memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

static __device__ void wait_all(void)
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static __device__ uint64_t descriptor(const void *tile, int leading)
{
    return (uint64_t)(shared_address(tile) >> 4) | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(STRIDE >> 4) << 32;
}

static __device__ void product(float sums[SUMS], uint64_t a, uint64_t b, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, adds, 1, 1;\n"
                 "}"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]),
                   "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
                 : "l"(a), "l"(b), "r"(adds)
                 : "memory");
}

// The same with both matrices negated, and only the first 8 columns of B.
static __device__ void narrow_product(float sums[SUMS], uint64_t a, uint64_t b)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.eq.b32 adds, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3}, %4, %5, adds, -1, -1;\n"
                 "}"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "l"(a), "l"(b)
                 : "memory");
}

// A in registers.
static __device__ void fragment_product(float sums[SUMS], const unsigned a[4], uint64_t b)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.eq.b32 adds, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, adds, 1, 1;\n"
                 "}"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]),
                   "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}

// What the thread's sum with this number belongs to.
static __device__ int row_of(int sum)
{
    return (int)threadIdx.x % THREADS / 4 % 8 + (int)threadIdx.x % THREADS / 32 * 16 +
           sum / 2 % 2 * 8;
}

static __device__ int col_of(int sum)
{
    return sum / 4 * 8 + (int)threadIdx.x % 4 * 2 + sum % 2;
}

static __device__ void store(float *out, const float sums[SUMS])
{
    for (int i = 0; i < SUMS; i++)
        out[row_of(i) * N + col_of(i)] = sums[i];
}

// The host's part --------------------------------------------------------------------------------

// Where an element is in a tile of whole core matrices.
static int place(int rows, int row, int term)
{
    return (term / 4 * (rows / 8) + row / 8) * CORE + row % 8 * 4 + term % 4;
}

static float a_element(int round, int row, int term)
{
    return (float)((row * 3 + term * 5 + round) % 7 - 3);
}

static float b_element(int round, int col, int term)
{
    return (float)((col * 5 + term * 2 + round) % 9 - 4);
}

static struct tiles *new_tiles(int rounds)
{
    static struct tiles host[ROUNDS];
    struct tiles *device;

    for (int round = 0; round < rounds; round++)
        for (int term = 0; term < K; term++) {
            for (int row = 0; row < M; row++)
                host[round].a[place(M, row, term)] = a_element(round, row, term);
            for (int col = 0; col < N; col++)
                host[round].b[place(N, col, term)] = b_element(round, col, term);
        }
    cudaMalloc((void **)&device, (size_t)rounds * sizeof *host);
    cudaMemcpy(device, host, (size_t)rounds * sizeof *host, cudaMemcpyHostToDevice);
    return device;
}

static float wanted(int rounds, int row, int col)
{
    float sum = 0;

    for (int round = 0; round < rounds; round++)
        for (int term = 0; term < K; term++)
            sum += a_element(round, row, term) * b_element(round, col, term);
    return sum;
}

static void compare(const float *out, int rounds, int columns)
{
    float host[M * N];

    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int row = 0; row < M; row++)
        for (int col = 0; col < columns; col++)
            if (host[row * N + col] != wanted(rounds, row, col))
                exit(1);
}

// One product ------------------------------------------------------------------------------------

static __global__ void once(const struct tiles *data, float *out, enum mistake mistake)
{
    __shared__ __align__(128) struct tiles tiles;
    __shared__ uint64_t full;
    const unsigned mbarrier = shared_address(&full);
    uint64_t a = descriptor(tiles.a, A_LEADING);
    uint64_t b = descriptor(tiles.b, B_LEADING);
    float sums[SUMS];

    if (threadIdx.x == 0) {
        init(mbarrier, 1);
        show_to_copies();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        fetch(&tiles, data, mbarrier);
    if (mistake != NO_MBARRIER)
        wait(mbarrier, 0);
    for (int i = 0; i < SUMS; i++)
        sums[i] = (float)threadIdx.x;
    if (mistake != NO_FENCE)
        fence(sums);
    if (mistake == FENCE_TOO_EARLY)
        asm volatile("mov.f32 %0, 0f00000000;" : "+f"(sums[0]));
    if (mistake == SWIZZLED)
        a |= (uint64_t)1 << 62;
    if (mistake == STRANGE_BITS)
        b |= (uint64_t)1 << 15;
    if (mistake == OUTSIDE)
        b += sizeof tiles >> 4;
    if (mistake == OTHER_DESCRIPTOR && threadIdx.x / 32 == 2)
        a += 8;
    if ((mistake == WARP_MISSING && threadIdx.x / 32 == 3) ||
        (mistake == LANES_MISSING && threadIdx.x >= 112))
        return;
    if (mistake == OTHER_PLACE && threadIdx.x / 32 == 1)
        narrow_product(sums, a, b);
    else
        product(sums, a, b, 0);
    if (mistake == LAST_GROUP_LEFT)
        commit();
    product(sums, a + 2 * A_LEADING / 16, b + 2 * B_LEADING / 16, 1);
    if (mistake != NO_COMMIT)
        commit();
    if (mistake == READ_EARLY)
        out[threadIdx.x] = sums[3];
    if (mistake == WRITE_EARLY)
        asm volatile("mov.f32 %0, 0f00000000;" : "+f"(sums[5]));
    if (mistake == STORE_EARLY)
        tiles.a[threadIdx.x] = 0;
    if (mistake == NO_END)
        return;
    if (mistake == LAST_GROUP_LEFT)
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else
        wait_all();
    if (mistake == STORE_LATE && threadIdx.x < 32)
        tiles.a[threadIdx.x] = 0;
    store(out, sums);
}

static void run_threads(enum mistake mistake, int threads)
{
    struct tiles *data = new_tiles(1);
    float *out = numbers(M * N);
    once<<<2, threads>>>(data, out, mistake);
    compare(out, 1, N);
    cudaFree(data);
    cudaFree(out);
}

static void run(enum mistake mistake)
{
    struct tiles *data = new_tiles(1);
    float *out = numbers(M * N);
    once<<<1, THREADS>>>(data, out, mistake);
    compare(out, 1, N);
    cudaFree(data);
    cudaFree(out);
}

static void multiplied(void)
{
    run(NONE);
}

static void no_fence(void)
{
    run(NO_FENCE);
}

static void fence_too_early(void)
{
    run(FENCE_TOO_EARLY);
}

static void read_early(void)
{
    run(READ_EARLY);
}

static void write_early(void)
{
    run(WRITE_EARLY);
}

static void no_commit(void)
{
    run(NO_COMMIT);
}

static void last_group_left(void)
{
    run(LAST_GROUP_LEFT);
}

static void no_end(void)
{
    run(NO_END);
}

static void store_early(void)
{
    run(STORE_EARLY);
}

static void store_late(void)
{
    run(STORE_LATE);
}

static void no_mbarrier(void)
{
    run(NO_MBARRIER);
}

static void swizzled(void)
{
    run(SWIZZLED);
}

static void strange_bits(void)
{
    run(STRANGE_BITS);
}

static void outside(void)
{
    run(OUTSIDE);
}

static void warp_missing(void)
{
    run(WARP_MISSING);
}

static void lanes_missing(void)
{
    run(LANES_MISSING);
}

static void other_descriptor(void)
{
    run(OTHER_DESCRIPTOR);
}

static void other_place(void)
{
    run(OTHER_PLACE);
}

static void three_warps(void)
{
    run_threads(NONE, 96);
}

// Operands that threads have stored --------------------------------------------------------------

static __global__ void stored(const struct tiles *data, float *out, int shown, int barrier)
{
    __shared__ __align__(128) struct tiles tiles;
    float sums[SUMS];

    for (int i = (int)threadIdx.x; i < M * K; i += THREADS)
        tiles.a[i] = data->a[i];
    for (int i = (int)threadIdx.x; i < N * K; i += THREADS)
        tiles.b[i] = data->b[i];
    if (shown)
        fence_proxy();
    if (barrier)
        __syncthreads();
    for (int i = 0; i < SUMS; i++)
        sums[i] = 0;
    fence(sums);
    for (int part = 0; part < PARTS; part++) {
        const uint64_t a = descriptor(&tiles.a[part * 2 * A_LEADING / 4], A_LEADING);
        const uint64_t b = descriptor(&tiles.b[part * 2 * B_LEADING / 4], B_LEADING);
        narrow_product(sums, a, b);
    }
    commit();
    wait_all();
    store(out, sums);
}

static void run_stored(int shown, int barrier)
{
    struct tiles *data = new_tiles(1);
    float *out = numbers(M * N);
    stored<<<1, THREADS>>>(data, out, shown, barrier);
    compare(out, 1, 8);
    cudaFree(data);
    cudaFree(out);
}

static void stored_and_shown(void)
{
    run_stored(1, 1);
}

static void stored_not_shown(void)
{
    run_stored(0, 1);
}

static void stored_no_barrier(void)
{
    run_stored(1, 0);
}

// A in registers ---------------------------------------------------------------------------------

static __global__ void fragments(const struct tiles *data, float *out, int early)
{
    __shared__ __align__(128) struct tiles tiles;
    float sums[SUMS];
    unsigned a[4];

    for (int i = (int)threadIdx.x; i < N * K; i += THREADS)
        tiles.b[i] = data->b[i];
    fence_proxy();
    __syncthreads();
    for (int i = 0; i < SUMS; i++)
        sums[i] = 0;
#pragma unroll 1
    for (int part = 0; part < PARTS; part++) {
        for (int i = 0; i < 4; i++) {
            const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
            const int core = (2 * part + i / 2) * (M / 8) + 2 * warp + i % 2;
            a[i] = __float_as_uint(data->a[core * CORE + lane]);
        }
        fence(sums);
        fragment_product(sums, a, descriptor(&tiles.b[part * 2 * B_LEADING / 4], B_LEADING));
        commit();
        if (early)
            asm volatile("mov.b32 %0, 0;" : "+r"(a[2]));
        wait_all();
    }
    store(out, sums);
}

static void run_fragments(int early)
{
    struct tiles *data = new_tiles(1);
    float *out = numbers(M * N);
    fragments<<<1, THREADS>>>(data, out, early);
    compare(out, 1, N);
    cudaFree(data);
    cudaFree(out);
}

static void a_in_registers(void)
{
    run_fragments(0);
}

static void a_changed_early(void)
{
    run_fragments(1);
}

// A ring of tiles --------------------------------------------------------------------------------

enum ring_mistake {
    RING_RIGHT,
    ONE_WARP_SAYS,     // for its warpgroup, which is right
    EMPTY_BEFORE_WAIT, // the tiles may still be read
    STAGING_NOT_SHOWN, // tiles are overwritten that threads have written
    STAGING_SHOWN,
};

struct ring {
    struct tiles tiles[STAGES];
    uint64_t full[STAGES], empty[STAGES];
};

static __device__ void produce(struct ring *ring, const struct tiles *data)
{
    for (int round = 0; round < ROUNDS; round++) {
        const int stage = round % STAGES;
        wait(shared_address(&ring->empty[stage]), (round / STAGES & 1) ^ 1);
        fetch(&ring->tiles[stage], &data[round], shared_address(&ring->full[stage]));
    }
}

static __device__ void consume(struct ring *ring, float sums[SUMS], enum ring_mistake mistake)
{
    for (int i = 0; i < SUMS; i++)
        sums[i] = 0;
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
        const int stage = round % STAGES;
        const unsigned empty = shared_address(&ring->empty[stage]);
        const uint64_t a = descriptor(ring->tiles[stage].a, A_LEADING);
        const uint64_t b = descriptor(ring->tiles[stage].b, B_LEADING);
        wait(shared_address(&ring->full[stage]), round / STAGES & 1);
        fence(sums);
        for (int part = 0; part < PARTS; part++)
            product(sums, a + part * 2 * A_LEADING / 16, b + part * 2 * B_LEADING / 16, 1);
        commit();
        if (mistake == EMPTY_BEFORE_WAIT)
            arrive(empty);
        wait_all();
        if (mistake != EMPTY_BEFORE_WAIT && (mistake != ONE_WARP_SAYS || threadIdx.x == 0))
            arrive(empty);
    }
}

static __global__ void ring_of_tiles(const struct tiles *data, float *out,
                                     enum ring_mistake mistake)
{
    __shared__ __align__(128) struct ring ring;
    float sums[SUMS];

    if (mistake == STAGING_NOT_SHOWN || mistake == STAGING_SHOWN)
        ring.tiles[0].a[threadIdx.x] = 1;
    if (mistake == STAGING_SHOWN)
        fence_proxy();
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            init(shared_address(&ring.full[stage]), 1);
            init(shared_address(&ring.empty[stage]), mistake == ONE_WARP_SAYS ? 1 : THREADS);
        }
        show_to_copies();
    }
    __syncthreads();
    if (threadIdx.x == THREADS)
        produce(&ring, data);
    if (threadIdx.x >= THREADS)
        return;
    consume(&ring, sums, mistake);
    store(out, sums);
}

static void run_ring(enum ring_mistake mistake)
{
    struct tiles *data = new_tiles(ROUNDS);
    float *out = numbers(M * N);
    ring_of_tiles<<<1, THREADS + 32>>>(data, out, mistake);
    compare(out, ROUNDS, N);
    cudaFree(data);
    cudaFree(out);
}

static void ring(void)
{
    run_ring(RING_RIGHT);
}

static void ring_one_warp_says(void)
{
    run_ring(ONE_WARP_SAYS);
}

static void ring_empty_before_wait(void)
{
    run_ring(EMPTY_BEFORE_WAIT);
}

static void ring_staging_not_shown(void)
{
    run_ring(STAGING_NOT_SHOWN);
}

static void ring_staging_shown(void)
{
    run_ring(STAGING_SHOWN);
}

static const struct test_case cases[] = {
    {"multiplied", multiplied},
    {"no_fence", no_fence},
    {"fence_too_early", fence_too_early},
    {"read_early", read_early},
    {"write_early", write_early},
    {"no_commit", no_commit},
    {"last_group_left", last_group_left},
    {"no_end", no_end},
    {"store_early", store_early},
    {"store_late", store_late},
    {"no_mbarrier", no_mbarrier},
    {"swizzled", swizzled},
    {"strange_bits", strange_bits},
    {"outside", outside},
    {"warp_missing", warp_missing},
    {"lanes_missing", lanes_missing},
    {"other_descriptor", other_descriptor},
    {"other_place", other_place},
    {"three_warps", three_warps},
    {"stored_and_shown", stored_and_shown},
    {"stored_not_shown", stored_not_shown},
    {"stored_no_barrier", stored_no_barrier},
    {"a_in_registers", a_in_registers},
    {"a_changed_early", a_changed_early},
    {"ring", ring},
    {"ring_one_warp_says", ring_one_warp_says},
    {"ring_empty_before_wait", ring_empty_before_wait},
    {"ring_staging_not_shown", ring_staging_not_shown},
    {"ring_staging_shown", ring_staging_shown},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
