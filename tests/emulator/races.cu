// Accesses to the same memory by threads that nothing puts in order.
#include "cases.h"

enum {
    THREADS = 64,
};

// Each thread reads what the thread opposite wrote.
static __global__ void reverse(float *data, int barrier)
{
    __shared__ float tile[THREADS];
    tile[threadIdx.x] = data[threadIdx.x];
    if (barrier)
        __syncthreads();
    data[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

// A loop over tiles: without the second barrier a fast warp overwrites what a slow one still reads.
static __global__ void tiles(float *data, int second)
{
    __shared__ float tile[THREADS];
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        tile[threadIdx.x] = data[threadIdx.x] + (float)i;
        __syncthreads();
        sum += tile[THREADS - 1 - threadIdx.x];
        if (second)
            __syncthreads();
    }
    __syncthreads();
    data[threadIdx.x] = sum;
}

// One thread writes what all have read, and it is the first of them.
static __global__ void read_by_all(float *data)
{
    __shared__ float tile[THREADS];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[0];
    if (threadIdx.x == 0)
        tile[0] = 1;
}

// They are counted as one thread would do it.
static __global__ void count_by_all(float *count)
{
    *count += 1;
}

// Lanes of one warp exchange values.
static __global__ void neighbours(float *data, int sync)
{
    __shared__ volatile float tile[32];
    tile[threadIdx.x] = data[threadIdx.x];
    if (sync)
        __syncwarp();
    data[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The two halves of a warp, each for itself.
static __global__ void halves(float *data)
{
    __shared__ volatile float tile[32];
    tile[threadIdx.x] = data[threadIdx.x];
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        data[threadIdx.x] = tile[threadIdx.x ^ 1];
    } else {
        __syncwarp(0xffff0000);
        data[threadIdx.x] = tile[threadIdx.x ^ 1] + 1;
    }
}

static __global__ void same_word(float *data, int different)
{
    __shared__ volatile float word;
    word = different ? (float)(int)threadIdx.x : 1;
    __syncthreads();
    data[threadIdx.x] = word;
}

// Different threads write the bytes of one word.
static __global__ void bytes(unsigned char *data)
{
    __shared__ unsigned char tile[THREADS];
    tile[threadIdx.x] = (unsigned char)threadIdx.x;
    __syncthreads();
    data[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

static __global__ void global_in_block(volatile float *data, int barrier)
{
    data[threadIdx.x] = 1;
    if (barrier)
        __syncthreads();
    data[THREADS + threadIdx.x] = data[THREADS - 1 - threadIdx.x];
}

// Each block writes its words of `data` and, where they overlap, those of its neighbour.
static __global__ void blocks(float *data, int per_block)
{
    data[(int)blockIdx.x * per_block + (int)threadIdx.x] = (float)blockIdx.x;
}

// Each block reads a word that the next one writes.
static __global__ void next_block(float *data, int overlap)
{
    const int i = (int)blockIdx.x * THREADS + (int)threadIdx.x;
    data[i] = data[i + (overlap ? THREADS : 0)] + 1;
}

static void run_reverse(int barrier)
{
    float *data = numbers(THREADS);
    reverse<<<1, THREADS>>>(data, barrier);
    cudaFree(data);
}

static void barrier_between(void)
{
    run_reverse(1);
}

static void no_barrier(void)
{
    run_reverse(0);
}

static void run_tiles(int second)
{
    float *data = numbers(THREADS);
    tiles<<<1, THREADS>>>(data, second);
    cudaFree(data);
}

static void two_barriers(void)
{
    run_tiles(1);
}

static void one_barrier(void)
{
    run_tiles(0);
}

static void read_by_all_lanes(void)
{
    float *data = numbers(32);
    read_by_all<<<1, 32>>>(data);
    cudaFree(data);
}

static void count_without_atomic(void)
{
    float *data = numbers(1);
    count_by_all<<<1, 32>>>(data);
    cudaFree(data);
}

static void run_neighbours(int sync)
{
    float *data = numbers(32);
    neighbours<<<1, 32>>>(data, sync);
    cudaFree(data);
}

static void sync_in_warp(void)
{
    run_neighbours(1);
}

static void no_sync_in_warp(void)
{
    run_neighbours(0);
}

static void sync_in_halves(void)
{
    float *data = numbers(32);
    halves<<<1, 32>>>(data);
    cudaFree(data);
}

static void run_same_word(int different)
{
    float *data = numbers(32);
    same_word<<<1, 32>>>(data, different);
    cudaFree(data);
}

static void same_value(void)
{
    run_same_word(0);
}

static void different_values(void)
{
    run_same_word(1);
}

static void separate_bytes(void)
{
    float *data = numbers(THREADS);
    bytes<<<1, THREADS>>>((unsigned char *)data);
    cudaFree(data);
}

static void run_global(int barrier)
{
    float *data = numbers(2 * THREADS);
    global_in_block<<<1, THREADS>>>(data, barrier);
    cudaFree(data);
}

static void global_barrier(void)
{
    run_global(1);
}

static void global_no_barrier(void)
{
    run_global(0);
}

static void run_blocks(int per_block)
{
    float *data = numbers(100 * THREADS);
    blocks<<<100, THREADS>>>(data, per_block);
    cudaFree(data);
}

static void blocks_apart(void)
{
    run_blocks(THREADS);
}

static void blocks_overlap(void)
{
    run_blocks(THREADS - 1);
}

static void run_next_block(int overlap)
{
    float *data = numbers(101 * THREADS);
    next_block<<<100, THREADS>>>(data, overlap);
    cudaFree(data);
}

static void own_block(void)
{
    run_next_block(0);
}

static void other_block(void)
{
    run_next_block(1);
}

// A later launch may use what an earlier one wrote.
static void two_launches(void)
{
    float *data = numbers(101 * THREADS);
    next_block<<<100, THREADS>>>(data, 0);
    reverse<<<1, THREADS>>>(data, 1);
    cudaFree(data);
}

static const struct test_case cases[] = {
    {"barrier_between", barrier_between},
    {"no_barrier", no_barrier},
    {"two_barriers", two_barriers},
    {"one_barrier", one_barrier},
    {"read_by_all_lanes", read_by_all_lanes},
    {"count_without_atomic", count_without_atomic},
    {"sync_in_warp", sync_in_warp},
    {"sync_in_halves", sync_in_halves},
    {"no_sync_in_warp", no_sync_in_warp},
    {"same_value", same_value},
    {"different_values", different_values},
    {"separate_bytes", separate_bytes},
    {"global_barrier", global_barrier},
    {"global_no_barrier", global_no_barrier},
    {"blocks_apart", blocks_apart},
    {"blocks_overlap", blocks_overlap},
    {"own_block", own_block},
    {"other_block", other_block},
    {"two_launches", two_launches},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
