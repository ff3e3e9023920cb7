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
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
