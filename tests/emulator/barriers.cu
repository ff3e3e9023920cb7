// Barriers that not every thread comes to.
#include "cases.h"

enum {
    THREADS = 128,
};

// Only the first `some` threads come to the barrier.
static __global__ void some_wait(float *data, int some)
{
    data[threadIdx.x] += 1;
    if ((int)threadIdx.x < some)
        __syncthreads();
    data[threadIdx.x] += 1;
}

static __global__ void some_return(float *data, int some)
{
    if ((int)threadIdx.x >= some)
        return;
    data[threadIdx.x] += 1;
    __syncthreads();
    data[threadIdx.x] += 1;
}

static __global__ void two_places(float *data, int first)
{
    if ((int)threadIdx.x < first) {
        data[threadIdx.x] += 1;
        asm volatile("bar.sync 0;" ::: "memory");
    } else {
        data[threadIdx.x] += 2;
        asm volatile("bar.sync 0;" ::: "memory");
    }
    data[threadIdx.x] += 1;
}

// Lanes leave a loop after different numbers of rounds and meet again before the barrier.
static __global__ void diverge(float *data)
{
    __shared__ float tile[THREADS];
    float sum = 0;
    for (int i = 0; i < (int)threadIdx.x % 7; i++)
        sum += (i & 1) ? data[threadIdx.x] : 1;
    tile[threadIdx.x] = sum;
    __syncthreads();
    data[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

static __global__ void wrong_mask(float *data, unsigned mask)
{
    if (threadIdx.x < 16)
        __syncwarp(mask);
    data[threadIdx.x] += 1;
}

// Barriers of some warps -------------------------------------------------------------------------

static __device__ void named_sync(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

static __device__ void named_arrive(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

// Two pairs of warps, each with a barrier of its own; `whose` says who reads whose values.
static __global__ void pairs(float *data, int whose)
{
    __shared__ float tile[THREADS];
    const int pair = (int)threadIdx.x / 64;
    tile[threadIdx.x] = data[threadIdx.x];
    named_sync(1 + pair, 64);
    data[threadIdx.x] = tile[threadIdx.x ^ (unsigned)whose];
}

enum mistakes {
    RIGHT,
    FULL_TOO_EARLY,  // the producers say that the buffer is full before they fill it
    EMPTY_TOO_EARLY, // the consumers say that it is empty before they have read it
    NO_EMPTY,        // or never
};

// Two warps fill a buffer, two others empty it, in rounds: each waits only for the others.
static __global__ void produce(float *data, int rounds, int mistake)
{
    enum {
        FULL = 1,
        EMPTY = 2,
        HALF = THREADS / 2
    };
    __shared__ float buffer[HALF];
    float sum = 0;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x < HALF) {
            if (i > 0 && mistake != NO_EMPTY)
                named_sync(EMPTY, THREADS);
            if (mistake == FULL_TOO_EARLY)
                named_arrive(FULL, THREADS);
            buffer[threadIdx.x] = data[threadIdx.x] + (float)i;
            if (mistake != FULL_TOO_EARLY)
                named_arrive(FULL, THREADS);
        } else {
            named_sync(FULL, THREADS);
            if (mistake == EMPTY_TOO_EARLY && i + 1 < rounds)
                named_arrive(EMPTY, THREADS);
            sum += buffer[THREADS - 1 - threadIdx.x];
            if (mistake == RIGHT && i + 1 < rounds)
                named_arrive(EMPTY, THREADS);
        }
    }
    if (threadIdx.x >= HALF)
        data[threadIdx.x] = sum;
}

static __global__ void different_counts(float *data)
{
    data[threadIdx.x] += 1;
    named_sync(3, threadIdx.x < 64 ? 64 : THREADS);
    data[threadIdx.x] += 1;
}

static __global__ void one_warp_missing(float *data)
{
    data[threadIdx.x] += 1;
    if (threadIdx.x < 64)
        named_sync(3, 96);
    data[threadIdx.x] += 1;
}

static __global__ void odd_count(float *data)
{
    data[threadIdx.x] += 1;
    named_sync(3, 40);
}

// Barriers that count, and that combine.
static __global__ void combining(float *data, int some)
{
    const int mine = (int)threadIdx.x < some;
    const int count = __syncthreads_count(mine);
    const int all = __syncthreads_and(mine);
    const int any = __syncthreads_or(mine);
    data[threadIdx.x] = (float)(4 * count + 2 * all + any);
}

// Lanes that wait for lanes of their own half only, or for those whom they read from.
static __global__ void halves(float *data, int across, int whole)
{
    __shared__ float tile[32];
    const unsigned lane = threadIdx.x;
    tile[lane] = data[lane];
    __syncwarp(whole ? 0xffffffff : lane < 16 ? 0x0000ffff : 0xffff0000);
    data[lane] = tile[lane ^ (across ? 16 : 1)];
}

// A second round must not begin before all of the half have read.
static __global__ void half_rounds(float *data, int second)
{
    __shared__ float tile[32];
    const unsigned lane = threadIdx.x;
    const unsigned mask = lane < 16 ? 0x0000ffff : 0xffff0000;
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        tile[lane] = data[lane] + (float)i;
        __syncwarp(mask);
        sum += tile[lane ^ 3];
        if (second)
            __syncwarp(mask);
    }
    data[lane] = sum;
}

static void run_some_wait(int some)
{
    float *data = numbers(THREADS);
    some_wait<<<1, THREADS>>>(data, some);
    cudaFree(data);
}

static void all_wait(void)
{
    run_some_wait(THREADS);
}

static void no_one_waits(void)
{
    run_some_wait(0);
}

static void half_warp_waits(void)
{
    run_some_wait(16);
}

static void whole_warps_wait(void)
{
    run_some_wait(64);
}

static void some_end(void)
{
    float *data = numbers(THREADS);
    some_return<<<1, THREADS>>>(data, 96);
    cudaFree(data);
}

static void none_end(void)
{
    float *data = numbers(THREADS);
    some_return<<<1, THREADS>>>(data, THREADS);
    cudaFree(data);
}

static void different_barriers(void)
{
    float *data = numbers(THREADS);
    two_places<<<1, THREADS>>>(data, 64);
    cudaFree(data);
}

static void same_barrier(void)
{
    float *data = numbers(THREADS);
    two_places<<<1, THREADS>>>(data, THREADS);
    cudaFree(data);
}

static void diverged_lanes_meet(void)
{
    float *data = numbers(THREADS);
    diverge<<<1, THREADS>>>(data);
    cudaFree(data);
}

static void mask_that_fits(void)
{
    float *data = numbers(32);
    wrong_mask<<<1, 32>>>(data, 0x0000ffff);
    cudaFree(data);
}

static void mask_lacks_caller(void)
{
    float *data = numbers(32);
    wrong_mask<<<1, 32>>>(data, 0x000000ff);
    cudaFree(data);
}

static void run_pairs(int whose)
{
    float *data = numbers(THREADS);
    pairs<<<1, THREADS>>>(data, whose);
    cudaFree(data);
}

static void pairs_apart(void)
{
    run_pairs(63);
}

static void pairs_mixed(void)
{
    run_pairs(64);
}

static void run_produce(int mistake)
{
    float host[THREADS];
    float *data = numbers(THREADS);
    produce<<<1, THREADS>>>(data, 3, mistake);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = THREADS / 2; i < THREADS; i++)
        if (host[i] != 3 * (float)(THREADS - 1 - i) + 3)
            exit(1);
    cudaFree(data);
}

static void producers(void)
{
    run_produce(RIGHT);
}

static void full_too_early(void)
{
    run_produce(FULL_TOO_EARLY);
}

static void empty_too_early(void)
{
    run_produce(EMPTY_TOO_EARLY);
}

static void never_empty(void)
{
    run_produce(NO_EMPTY);
}

static void counts_that_differ(void)
{
    float *data = numbers(THREADS);
    different_counts<<<1, THREADS>>>(data);
    cudaFree(data);
}

static void warp_missing(void)
{
    float *data = numbers(THREADS);
    one_warp_missing<<<1, THREADS>>>(data);
    cudaFree(data);
}

static void no_whole_warps(void)
{
    float *data = numbers(THREADS);
    odd_count<<<1, THREADS>>>(data);
    cudaFree(data);
}

static void run_combining(int some)
{
    float host[THREADS];
    float *data = numbers(THREADS);
    combining<<<1, THREADS>>>(data, some);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (float)(4 * some + 2 * (some == THREADS) + (some > 0)))
            exit(1);
    cudaFree(data);
}

static void combinations(void)
{
    run_combining(0);
    run_combining(50);
    run_combining(THREADS);
}

static void run_halves(int across, int whole)
{
    float *data = numbers(32);
    halves<<<1, 32>>>(data, across, whole);
    cudaFree(data);
}

static void halves_apart(void)
{
    run_halves(0, 0);
}

static void halves_mixed(void)
{
    run_halves(1, 0);
}

static void halves_together(void)
{
    run_halves(1, 1);
}

static void run_half_rounds(int second)
{
    float *data = numbers(32);
    half_rounds<<<1, 32>>>(data, second);
    cudaFree(data);
}

static void rounds_apart(void)
{
    run_half_rounds(1);
}

static void rounds_mixed(void)
{
    run_half_rounds(0);
}

static const struct test_case cases[] = {
    {"all_wait", all_wait},
    {"no_one_waits", no_one_waits},
    {"half_warp_waits", half_warp_waits},
    {"whole_warps_wait", whole_warps_wait},
    {"some_end", some_end},
    {"none_end", none_end},
    {"different_barriers", different_barriers},
    {"same_barrier", same_barrier},
    {"diverged_lanes_meet", diverged_lanes_meet},
    {"mask_that_fits", mask_that_fits},
    {"mask_lacks_caller", mask_lacks_caller},
    {"pairs_apart", pairs_apart},
    {"pairs_mixed", pairs_mixed},
    {"producers", producers},
    {"full_too_early", full_too_early},
    {"empty_too_early", empty_too_early},
    {"never_empty", never_empty},
    {"counts_that_differ", counts_that_differ},
    {"warp_missing", warp_missing},
    {"no_whole_warps", no_whole_warps},
    {"combinations", combinations},
    {"halves_apart", halves_apart},
    {"halves_mixed", halves_mixed},
    {"halves_together", halves_together},
    {"rounds_apart", rounds_apart},
    {"rounds_mixed", rounds_mixed},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
