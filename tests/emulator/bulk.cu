// mbarriers, and bulk copies that they count.
#include "cases.h"
#include "mbarriers.h"

enum {
    THREADS = 64,
    TILE_BYTES = THREADS * sizeof(float),
    STAGES = 2,
    ROUNDS = 6,
    FOREVER = 1 << 20,
};

enum mistake {
    NONE,
    NO_INIT,
    NO_FENCE,
    NO_BARRIER,
    INIT_TWICE,
    INIT_FOR_NOBODY,
    INVAL,
    INVAL_AND_INIT,
    STORE_OVER_MBARRIER,
    LOAD_OF_MBARRIER,
    COPY_OVER_MBARRIER,
    MISPLACED_MBARRIER,
    MBARRIER_OUTSIDE,
    NO_WAIT,
    ONE_WAITS,
    WRONG_PARITY,
    STRANGE_PARITY,
    EXPECT_MORE,
    EXPECT_LESS,
    EXPECT_ONE_OF_TWO,
    EXPECT_TOO_MUCH,
    EXPECT_LATER,
    NO_ARRIVAL,
    ARRIVE_TWICE,
    STORE_TO_DESTINATION,
    TWO_TO_DESTINATION,
    NO_END,
    CHANGE_SOURCE,
    CHANGE_SOURCE_AFTER_WAIT,
};

static __device__ void inval(unsigned mbarrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(mbarrier) : "memory");
}

static __device__ void arrive_relaxed(unsigned mbarrier)
{
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];"
                 :
                 : "r"(mbarrier)
                 : "memory");
}

static __device__ void arrive_expecting(unsigned mbarrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(mbarrier), "r"(bytes)
                 : "memory");
}

static __device__ void expect(unsigned mbarrier, int bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(mbarrier), "r"(bytes)
                 : "memory");
}

static __device__ void copy(const void *to, const void *from, int bytes, unsigned mbarrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];"
        :
        : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(mbarrier)
        : "memory");
}

// mbarriers alone --------------------------------------------------------------------------------

// Every thread writes, arrives, waits, and reads what another has written.
static __global__ void meet(float *out, int relaxed, int arrivals)
{
    __shared__ uint64_t full;
    __shared__ float tile[THREADS];
    const unsigned mbarrier = shared_address(&full);

    if (threadIdx.x == 0)
        init(mbarrier, arrivals);
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        tile[threadIdx.x] = (float)(round + (int)threadIdx.x);
        if (relaxed)
            arrive_relaxed(mbarrier);
        else
            arrive(mbarrier);
        wait(mbarrier, round & 1);
        out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
}

static void run_meet(int relaxed, int arrivals)
{
    float *out = numbers(THREADS);
    float host[THREADS];
    meet<<<1, THREADS>>>(out, relaxed, arrivals);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (float)(ROUNDS - 1 + THREADS - 1 - i))
            exit(1);
    cudaFree(out);
}

static void all_arrive(void)
{
    run_meet(0, THREADS);
}

static void arrive_without_order(void)
{
    run_meet(1, THREADS);
}

static void one_never_arrives(void)
{
    run_meet(0, THREADS + 1);
}

// The first half does not wait for the second.
static void half_arrives(void)
{
    run_meet(0, THREADS / 2);
}

// The state that an arrival gives, and several arrivals at once.
static __global__ void states(float *out)
{
    __shared__ uint64_t full;
    __shared__ float tile[THREADS];
    const unsigned mbarrier = shared_address(&full);

    if (threadIdx.x == 0)
        init(mbarrier, 3 * THREADS);
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        tile[threadIdx.x] = (float)threadIdx.x;
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     ".reg .b64 state;\n"
                     "mbarrier.arrive.release.cta.shared::cta.b64 state, [%0], 3;\n"
                     "again: mbarrier.test_wait.acquire.cta.shared::cta.b64 done, [%0], state;\n"
                     "@!done bra again;\n"
                     "}"
                     :
                     : "r"(mbarrier)
                     : "memory");
        out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
}

static void arrival_states(void)
{
    float *out = numbers(THREADS);
    states<<<1, THREADS>>>(out);
    cudaFree(out);
}

// One copy ---------------------------------------------------------------------------------------

struct shapes {
    int from, to, bytes; // where the copy begins, in bytes; and how many
};

static __device__ void make(unsigned mbarrier, enum mistake mistake)
{
    if (mistake == MISPLACED_MBARRIER)
        init(mbarrier + 4, 1);
    if (mistake == MBARRIER_OUTSIDE)
        init(mbarrier + (1 << 20), 1);
    if (mistake != NO_INIT)
        init(mbarrier, mistake == INIT_FOR_NOBODY ? 0 : 1);
    if (mistake == INIT_TWICE)
        init(mbarrier, 1);
    if (mistake == INVAL || mistake == INVAL_AND_INIT)
        inval(mbarrier);
    if (mistake == INVAL_AND_INIT)
        init(mbarrier, 1);
    if (mistake != NO_FENCE)
        show_to_copies();
}

static __device__ void start(char *tile, const char *data, unsigned mbarrier, struct shapes shapes,
                             enum mistake mistake)
{
    int bytes = shapes.bytes;

    if (mistake == EXPECT_LATER)
        copy(tile + shapes.to, data + shapes.from, shapes.bytes, mbarrier);
    if (mistake == EXPECT_MORE)
        bytes += 16;
    if (mistake == EXPECT_LESS)
        bytes -= 16;
    if (mistake == EXPECT_TOO_MUCH)
        bytes = FOREVER;
    if (mistake == EXPECT_ONE_OF_TWO)
        bytes /= 2;
    if (mistake == TWO_TO_DESTINATION)
        bytes *= 2;
    if (mistake == NO_ARRIVAL)
        expect(mbarrier, bytes);
    else
        arrive_expecting(mbarrier, bytes);
    if (mistake == ARRIVE_TWICE)
        arrive(mbarrier);
    if (mistake == EXPECT_ONE_OF_TWO) {
        copy(tile, data, bytes, mbarrier);
        copy(tile + bytes, data + bytes, bytes, mbarrier);
    } else if (mistake != EXPECT_LATER) {
        copy(tile + shapes.to, data + shapes.from, shapes.bytes, mbarrier);
    }
    if (mistake == TWO_TO_DESTINATION)
        copy(tile + shapes.to, data + shapes.from, shapes.bytes, mbarrier);
}

static __global__ void one_copy(float *data, float *out, struct shapes shapes, enum mistake mistake)
{
    __shared__ __align__(16) float tile[THREADS];
    __shared__ __align__(16) uint64_t full[2];
    const unsigned mbarrier = shared_address(full);
    const int thread = (int)threadIdx.x;

    if (thread == 0)
        make(mbarrier, mistake);
    if (mistake != NO_BARRIER)
        __syncthreads();
    if (thread == 0) {
        start((char *)tile, (const char *)data, mbarrier, shapes, mistake);
        if (mistake == STORE_OVER_MBARRIER)
            full[0] = 1;
        if (mistake == LOAD_OF_MBARRIER)
            *(uint64_t *)data = full[0];
        if (mistake == COPY_OVER_MBARRIER)
            copy(full, data, 16, mbarrier);
        if (mistake == STORE_TO_DESTINATION)
            tile[1] = 1;
        if (mistake == CHANGE_SOURCE)
            data[1] = -1;
    }
    if (mistake == NO_END)
        return;
    if (mistake == ONE_WAITS && thread == 0)
        wait(mbarrier, 0);
    else if (mistake != NO_WAIT && mistake != ONE_WAITS)
        wait(mbarrier, mistake == STRANGE_PARITY ? 2 : mistake == WRONG_PARITY);
    if (mistake == ONE_WAITS || mistake == CHANGE_SOURCE_AFTER_WAIT)
        __syncthreads();
    if (mistake == CHANGE_SOURCE_AFTER_WAIT)
        data[thread] = -1;
    out[thread] = tile[THREADS - 1 - thread];
}

static void run_shapes(struct shapes shapes, enum mistake mistake)
{
    float *data = numbers(THREADS);
    float *out = numbers(THREADS);
    float host[THREADS];
    one_copy<<<1, THREADS>>>(data, out, shapes, mistake);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (float)(THREADS - 1 - i))
            exit(1);
    cudaFree(data);
    cudaFree(out);
}

static void run_copy(enum mistake mistake)
{
    run_shapes((struct shapes){.from = 0, .to = 0, .bytes = TILE_BYTES}, mistake);
}

static void copied(void)
{
    run_copy(NONE);
}

static void no_init(void)
{
    run_copy(NO_INIT);
}

static void no_fence(void)
{
    run_copy(NO_FENCE);
}

static void no_barrier_after_init(void)
{
    run_copy(NO_BARRIER);
}

static void init_twice(void)
{
    run_copy(INIT_TWICE);
}

static void init_for_nobody(void)
{
    run_copy(INIT_FOR_NOBODY);
}

static void used_after_inval(void)
{
    run_copy(INVAL);
}

static void made_anew(void)
{
    run_copy(INVAL_AND_INIT);
}

static void store_over_mbarrier(void)
{
    run_copy(STORE_OVER_MBARRIER);
}

static void load_of_mbarrier(void)
{
    run_copy(LOAD_OF_MBARRIER);
}

static void copy_over_mbarrier(void)
{
    run_copy(COPY_OVER_MBARRIER);
}

static void misplaced_mbarrier(void)
{
    run_copy(MISPLACED_MBARRIER);
}

static void mbarrier_outside(void)
{
    run_copy(MBARRIER_OUTSIDE);
}

static void no_wait(void)
{
    run_copy(NO_WAIT);
}

static void one_waits(void)
{
    run_copy(ONE_WAITS);
}

static void wrong_parity(void)
{
    run_copy(WRONG_PARITY);
}

static void strange_parity(void)
{
    run_copy(STRANGE_PARITY);
}

static void expect_more(void)
{
    run_copy(EXPECT_MORE);
}

static void expect_less(void)
{
    run_copy(EXPECT_LESS);
}

static void expect_one_of_two(void)
{
    run_copy(EXPECT_ONE_OF_TWO);
}

static void expect_too_much(void)
{
    run_copy(EXPECT_TOO_MUCH);
}

static void expect_later(void)
{
    run_copy(EXPECT_LATER);
}

static void no_arrival(void)
{
    run_copy(NO_ARRIVAL);
}

static void arrive_twice(void)
{
    run_copy(ARRIVE_TWICE);
}

static void store_to_destination(void)
{
    run_copy(STORE_TO_DESTINATION);
}

static void two_to_destination(void)
{
    run_copy(TWO_TO_DESTINATION);
}

static void no_end(void)
{
    run_copy(NO_END);
}

static void change_source(void)
{
    run_copy(CHANGE_SOURCE);
}

static void change_source_after_wait(void)
{
    run_copy(CHANGE_SOURCE_AFTER_WAIT);
}

static void misaligned_source(void)
{
    run_shapes((struct shapes){.from = 4, .to = 0, .bytes = 16}, NONE);
}

static void misaligned_destination(void)
{
    run_shapes((struct shapes){.from = 0, .to = 8, .bytes = 16}, NONE);
}

static void misaligned_size(void)
{
    run_shapes((struct shapes){.from = 0, .to = 0, .bytes = 24}, NONE);
}

static void source_past_end(void)
{
    run_shapes((struct shapes){.from = 16, .to = 0, .bytes = TILE_BYTES}, NONE);
}

static void destination_past_end(void)
{
    run_shapes((struct shapes){.from = 0, .to = 4 * TILE_BYTES, .bytes = TILE_BYTES}, NONE);
}

static void destination_before_start(void)
{
    run_shapes((struct shapes){.from = 0, .to = -4 * TILE_BYTES, .bytes = TILE_BYTES}, NONE);
}

// Part of a tile that nobody reads, or that somebody does, has never been written.
static void run_unwritten(int written)
{
    float *data;
    float *out = numbers(THREADS);
    cudaMalloc((void **)&data, TILE_BYTES);
    cudaMemset(data, 0, (size_t)written);
    one_copy<<<1, THREADS>>>(data, out, (struct shapes){.from = 0, .to = 0, .bytes = TILE_BYTES},
                             NONE);
    cudaFree(data);
    cudaFree(out);
}

static void written_source(void)
{
    run_unwritten(TILE_BYTES);
}

static void unwritten_source(void)
{
    run_unwritten(TILE_BYTES - 4);
}

static void source_freed(void)
{
    float *data = numbers(THREADS);
    float *out = numbers(THREADS);
    cudaFree(data);
    one_copy<<<1, THREADS>>>(data, out, (struct shapes){.from = 0, .to = 0, .bytes = TILE_BYTES},
                             NONE);
    cudaFree(out);
}

// A ring of tiles --------------------------------------------------------------------------------

enum ring_mistake {
    RING_RIGHT,
    EMPTY_IGNORED,    // the producer does not wait until a tile has been read
    EMPTY_TOO_EARLY,  // the consumers say so before they have read it
    ONE_LANE_SAYS,    // one lane does for its warp, and does not wait for the others
    WARP_SAYS,        // it does wait
    ALWAYS_FIRST,     // the consumers wait for the first tile each time
    PARITY_KEPT,      // their parity does not change
    ONE_ROUND_MORE,   // they wait for a tile that never comes
    SOURCE_IN_FLIGHT, // a consumer changes the source of tiles to come
};

struct ring {
    float tiles[STAGES][THREADS];
    uint64_t full[STAGES], empty[STAGES];
};

static __device__ void produce(struct ring *ring, const float *data, enum ring_mistake mistake)
{
    for (int round = 0; round < ROUNDS; round++) {
        const int stage = round % STAGES;
        const unsigned full = shared_address(&ring->full[stage]);
        if (mistake != EMPTY_IGNORED)
            wait(shared_address(&ring->empty[stage]), (round / STAGES & 1) ^ 1);
        arrive_expecting(full, TILE_BYTES);
        copy(ring->tiles[stage], &data[round * THREADS], TILE_BYTES, full);
    }
}

static __device__ void done_reading(unsigned empty, enum ring_mistake mistake)
{
    const bool one = mistake == ONE_LANE_SAYS || mistake == WARP_SAYS;

    if (mistake == WARP_SAYS)
        __syncwarp();
    if (!one || threadIdx.x % 32 == 0)
        arrive(empty);
}

static __device__ float consume(struct ring *ring, float *data, enum ring_mistake mistake)
{
    const int thread = (int)threadIdx.x;
    float sum = 0;

    for (int round = 0; round < ROUNDS + (mistake == ONE_ROUND_MORE); round++) {
        const int stage = round % STAGES;
        const unsigned empty = shared_address(&ring->empty[stage]);
        wait(shared_address(&ring->full[mistake == ALWAYS_FIRST ? 0 : stage]),
             mistake == PARITY_KEPT ? 0 : round / STAGES & 1);
        if (mistake == EMPTY_TOO_EARLY)
            done_reading(empty, mistake);
        sum += ring->tiles[stage][THREADS - 1 - thread];
        if (mistake != EMPTY_TOO_EARLY)
            done_reading(empty, mistake);
        if (mistake == SOURCE_IN_FLIGHT)
            data[(ROUNDS - 1) * THREADS + thread] = 0;
    }
    return sum;
}

static __global__ void ring_of_tiles(float *data, float *out, enum ring_mistake mistake)
{
    __shared__ __align__(128) struct ring ring;
    const bool one = mistake == ONE_LANE_SAYS || mistake == WARP_SAYS;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            init(shared_address(&ring.full[stage]), 1);
            init(shared_address(&ring.empty[stage]), one ? THREADS / 32 : THREADS);
        }
        show_to_copies();
    }
    __syncthreads();
    if (threadIdx.x >= THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == THREADS)
            produce(&ring, data, mistake);
    } else {
        out[blockIdx.x * THREADS + threadIdx.x] = consume(&ring, data, mistake);
    }
}

static void run_ring(enum ring_mistake mistake)
{
    enum {
        BLOCKS = 3,
    };
    float *data = numbers(ROUNDS * THREADS);
    float *out = numbers(BLOCKS * THREADS);
    float host[BLOCKS * THREADS];
    ring_of_tiles<<<BLOCKS, THREADS + 32>>>(data, out, mistake);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        if (host[i] !=
            (float)(ROUNDS * (ROUNDS - 1) / 2 * THREADS + ROUNDS * (THREADS - 1 - i % THREADS)))
            exit(1);
    cudaFree(data);
    cudaFree(out);
}

static void ring(void)
{
    run_ring(RING_RIGHT);
}

static void ring_empty_ignored(void)
{
    run_ring(EMPTY_IGNORED);
}

static void ring_empty_too_early(void)
{
    run_ring(EMPTY_TOO_EARLY);
}

static void ring_one_lane_says(void)
{
    run_ring(ONE_LANE_SAYS);
}

static void ring_warp_says(void)
{
    run_ring(WARP_SAYS);
}

static void ring_always_first(void)
{
    run_ring(ALWAYS_FIRST);
}

static void ring_parity_kept(void)
{
    run_ring(PARITY_KEPT);
}

static void ring_one_round_more(void)
{
    run_ring(ONE_ROUND_MORE);
}

static void ring_source_in_flight(void)
{
    run_ring(SOURCE_IN_FLIGHT);
}

// A copy of whole sectors, and one of halves of two. Prints what has been counted, as JSON.
static __global__ void two_copies(const float *data)
{
    __shared__ __align__(16) float tile[72];
    __shared__ uint64_t full;
    const unsigned mbarrier = shared_address(&full);

    if (threadIdx.x == 0) {
        init(mbarrier, 1);
        show_to_copies();
        arrive_expecting(mbarrier, 256 + 32);
        copy(tile, data, 256, mbarrier);
        copy(&tile[64], &data[4], 32, mbarrier);
        wait(mbarrier, 0);
    }
}

static void counted(void)
{
    float *data = numbers(64);
    two_copies<<<1, 32>>>(data);
    emulator_write_counts(stdout, "");
    cudaFree(data);
}

// setmaxnreg -------------------------------------------------------------------------------------

static __global__ void registers(int lanes)
{
    if ((int)threadIdx.x < lanes)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

static void registers_of_warps(void)
{
    registers<<<1, THREADS>>>(32);
}

static void registers_of_lanes(void)
{
    registers<<<1, THREADS>>>(24);
}

static const struct test_case cases[] = {
    {"all_arrive", all_arrive},
    {"arrive_without_order", arrive_without_order},
    {"one_never_arrives", one_never_arrives},
    {"half_arrives", half_arrives},
    {"arrival_states", arrival_states},
    {"copied", copied},
    {"no_init", no_init},
    {"no_fence", no_fence},
    {"no_barrier_after_init", no_barrier_after_init},
    {"init_twice", init_twice},
    {"init_for_nobody", init_for_nobody},
    {"used_after_inval", used_after_inval},
    {"made_anew", made_anew},
    {"store_over_mbarrier", store_over_mbarrier},
    {"load_of_mbarrier", load_of_mbarrier},
    {"copy_over_mbarrier", copy_over_mbarrier},
    {"misplaced_mbarrier", misplaced_mbarrier},
    {"mbarrier_outside", mbarrier_outside},
    {"no_wait", no_wait},
    {"one_waits", one_waits},
    {"wrong_parity", wrong_parity},
    {"strange_parity", strange_parity},
    {"expect_more", expect_more},
    {"expect_less", expect_less},
    {"expect_one_of_two", expect_one_of_two},
    {"expect_too_much", expect_too_much},
    {"expect_later", expect_later},
    {"no_arrival", no_arrival},
    {"arrive_twice", arrive_twice},
    {"store_to_destination", store_to_destination},
    {"two_to_destination", two_to_destination},
    {"no_end", no_end},
    {"change_source", change_source},
    {"change_source_after_wait", change_source_after_wait},
    {"misaligned_source", misaligned_source},
    {"misaligned_destination", misaligned_destination},
    {"misaligned_size", misaligned_size},
    {"source_past_end", source_past_end},
    {"destination_past_end", destination_past_end},
    {"destination_before_start", destination_before_start},
    {"written_source", written_source},
    {"unwritten_source", unwritten_source},
    {"source_freed", source_freed},
    {"ring", ring},
    {"ring_empty_ignored", ring_empty_ignored},
    {"ring_empty_too_early", ring_empty_too_early},
    {"ring_one_lane_says", ring_one_lane_says},
    {"ring_warp_says", ring_warp_says},
    {"ring_always_first", ring_always_first},
    {"ring_parity_kept", ring_parity_kept},
    {"ring_one_round_more", ring_one_round_more},
    {"ring_source_in_flight", ring_source_in_flight},
    {"counted", counted},
    {"registers_of_warps", registers_of_warps},
    {"registers_of_lanes", registers_of_lanes},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
