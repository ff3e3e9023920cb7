// Threads that wait for each other through memory: flags, counters, locks, barriers of a whole
// grid; with the fences that they need, and without one of them.
#include "cases.h"

enum {
    THREADS = 64,
    BLOCKS = 6,
};

static unsigned *zeros(int count)
{
    unsigned *device;
    cudaMalloc((void **)&device, (size_t)count * sizeof *device);
    cudaMemset(device, 0, (size_t)count * sizeof *device);
    return device;
}

static float host_sum;

static void expect_sum(float *sum, float wanted)
{
    cudaMemcpy(&host_sum, sum, sizeof host_sum, cudaMemcpyDeviceToHost);
    if (host_sum == wanted)
        return;
    fprintf(stderr, "%g, wanted %g\n", host_sum, wanted);
    exit(1);
}

enum fences {
    BOTH,
    NONE_BEFORE,
    NONE_AFTER,
    BLOCK_ONLY,
};

static __device__ void fence_before(int fences)
{
    if (fences == BLOCK_ONLY)
        __threadfence_block();
    else if (fences != NONE_BEFORE)
        __threadfence();
}

static __device__ void fence_after(int fences)
{
    if (fences == BLOCK_ONLY)
        __threadfence_block();
    else if (fences != NONE_AFTER)
        __threadfence();
}

// The last block ---------------------------------------------------------------------------------

// Every block leaves a part; the last one to do so adds them up.
static __global__ void add_parts(float *parts, unsigned *count, int fences)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = (float)blockIdx.x + 1;
        fence_before(fences);
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        fence_after(fences);
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += parts[i];
        parts[0] = sum;
    }
}

static void run_parts(int fences)
{
    float *parts = numbers(BLOCKS);
    unsigned *count = zeros(1);
    add_parts<<<BLOCKS, THREADS>>>(parts, count, fences);
    expect_sum(parts, BLOCKS * (BLOCKS + 1) / 2);
    cudaFree(parts);
    cudaFree(count);
}

static void last_block(void)
{
    run_parts(BOTH);
}

static void last_block_no_fence_before(void)
{
    run_parts(NONE_BEFORE);
}

static void last_block_no_fence_after(void)
{
    run_parts(NONE_AFTER);
}

static void last_block_fence_of_block(void)
{
    run_parts(BLOCK_ONLY);
}

// As in the CUDA C++ Programming Guide, "Memory Fence Functions": the parts are volatile, and the
// last block needs no fence, not even to begin counting anew.
static __global__ void add_volatile_parts(volatile float *parts, unsigned *count, int fence,
                                          int reset_early)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        if (reset_early)
            *count = 0;
        parts[blockIdx.x] = (float)blockIdx.x + 1;
        if (fence)
            __threadfence();
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 32) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += parts[i];
        parts[0] = sum;
    }
    if (last && threadIdx.x == 0)
        *count = 0;
}

static void run_volatile_parts(int fence, int reset_early)
{
    float *parts = numbers(BLOCKS);
    unsigned *count = zeros(1);
    add_volatile_parts<<<BLOCKS, THREADS>>>(parts, count, fence, reset_early);
    expect_sum(parts, BLOCKS * (BLOCKS + 1) / 2);
    cudaFree(parts);
    cudaFree(count);
}

static void volatile_parts(void)
{
    run_volatile_parts(1, 0);
}

static void volatile_parts_no_fence(void)
{
    run_volatile_parts(0, 0);
}

static void volatile_parts_reset_early(void)
{
    run_volatile_parts(1, 1);
}

// Flags ------------------------------------------------------------------------------------------

// Each block waits for the one behind it, and adds to what that has left: all threads of a block
// read what all threads of another wrote.
static __global__ void add_from_behind(float *data, volatile unsigned *flags, int fences)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 1;
    if (blockIdx.x + 1 < gridDim.x) {
        if (threadIdx.x == 0) {
            while (flags[blockIdx.x + 1] == 0)
                ;
            fence_after(fences);
        }
        __syncthreads();
        value += data[i + blockDim.x];
    }
    data[i] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_before(fences);
        flags[blockIdx.x] = 1;
    }
}

static void run_chain(int blocks, int threads, int fences)
{
    float *data = numbers(blocks * threads);
    unsigned *flags = zeros(blocks);
    add_from_behind<<<(unsigned)blocks, (unsigned)threads>>>(data, flags, fences);
    expect_sum(data, (float)blocks);
    cudaFree(data);
    cudaFree(flags);
}

static void chain(void)
{
    run_chain(BLOCKS, THREADS, BOTH);
}

static void long_chain(void)
{
    run_chain(200, 1024, BOTH);
}

static void chain_no_fence_before(void)
{
    run_chain(BLOCKS, THREADS, NONE_BEFORE);
}

static void chain_no_fence_after(void)
{
    run_chain(BLOCKS, THREADS, NONE_AFTER);
}

static void chain_fence_of_block(void)
{
    run_chain(BLOCKS, THREADS, BLOCK_ONLY);
}

// More blocks than the GPU can run at a time: the first ones wait for one that never begins.
static void chain_too_long(void)
{
    run_chain(300, 1024, BOTH);
}

// With ld.acquire and st.release.
static __global__ void pass_on(float *data, unsigned *flag, int relaxed)
{
    unsigned seen = 0;
    if (blockIdx.x == 1) {
        *data = 5;
        if (relaxed)
            asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" : : "l"(flag) : "memory");
        else
            asm volatile("st.release.gpu.global.u32 [%0], 1;" : : "l"(flag) : "memory");
        return;
    }
    while (seen == 0)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    *data += 1;
}

static void run_pass_on(int relaxed)
{
    float *data = numbers(1);
    unsigned *flag = zeros(1);
    pass_on<<<2, 1>>>(data, flag, relaxed);
    expect_sum(data, 6);
    cudaFree(data);
    cudaFree(flag);
}

static void acquire_and_release(void)
{
    run_pass_on(0);
}

static void no_release(void)
{
    run_pass_on(1);
}

// One warp waits for another, in shared memory.
static __global__ void warp_to_warp(float *data, int fences)
{
    __shared__ float values[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        values[threadIdx.x - 32] = data[threadIdx.x] + 7;
        __syncwarp();
        if (threadIdx.x == 32) {
            if (fences != NONE_BEFORE)
                __threadfence_block();
            ready = 1;
        }
    }
    if (threadIdx.x == 0) {
        while (!ready)
            __nanosleep(20);
        if (fences != NONE_AFTER)
            __threadfence_block();
        data[0] = values[5];
    }
}

static void run_warps(int fences)
{
    float *data = numbers(THREADS);
    warp_to_warp<<<1, THREADS>>>(data, fences);
    expect_sum(data, 32 + 5 + 7);
    cudaFree(data);
}

static void warps(void)
{
    run_warps(BOTH);
}

static void warps_no_fence_before(void)
{
    run_warps(NONE_BEFORE);
}

static void warps_no_fence_after(void)
{
    run_warps(NONE_AFTER);
}

// A flag that is not even volatile, to which nobody adds a fence.
static __global__ void plain_flag(float *data)
{
    if (blockIdx.x == 0)
        data[0] = 1;
    else
        data[1] = data[0];
}

static void no_flag(void)
{
    float *data = numbers(2);
    plain_flag<<<2, 1>>>(data);
    cudaFree(data);
}

// Locks ------------------------------------------------------------------------------------------

// Every lane of every warp goes through the section alone.
static __global__ void count_locked(float *count, int *lock, int fences)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            fence_after(fences);
            *count += 1;
            fence_before(fences);
            atomicExch(lock, 0);
            done = true;
        }
    }
}

static void run_locked(int fences)
{
    float *count = numbers(1);
    unsigned *lock = zeros(1);
    count_locked<<<BLOCKS, THREADS>>>(count, (int *)lock, fences);
    expect_sum(count, BLOCKS * THREADS);
    cudaFree(count);
    cudaFree(lock);
}

static void locked(void)
{
    run_locked(BOTH);
}

static void locked_no_fence_before(void)
{
    run_locked(NONE_BEFORE);
}

static void locked_no_fence_after(void)
{
    run_locked(NONE_AFTER);
}

// A barrier of the grid -------------------------------------------------------------------------

static __device__ void wait_for_all(unsigned *count, unsigned round, int fences)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_before(fences);
        atomicAdd(count, 1);
        while (*(volatile unsigned *)count < (round + 1) * gridDim.x)
            ;
        fence_after(fences);
    }
    __syncthreads();
}

// Neighbouring blocks exchange values, to and fro between two arrays.
static __global__ void diffuse(float *a, float *b, unsigned *count, int rounds, int fences)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned n = gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; round++) {
        b[i] = a[(i + 1) % n] + a[(i + n - 1) % n] - a[i];
        if (round + 1 < rounds)
            wait_for_all(count, (unsigned)round, fences);
        float *other = a;
        a = b;
        b = other;
    }
}

static void run_diffuse(int fences)
{
    enum {
        ROUNDS = 4,
        COUNT = BLOCKS * THREADS
    };
    static float x[COUNT], y[COUNT];
    float *a = numbers(COUNT), *b = numbers(COUNT);
    unsigned *count = zeros(1);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            y[i] = x[(i + 1) % COUNT] + x[(i + COUNT - 1) % COUNT] - x[i];
        memcpy(x, y, sizeof x);
    }
    diffuse<<<BLOCKS, THREADS>>>(a, b, count, ROUNDS, fences);
    cudaMemcpy(y, a, sizeof y, cudaMemcpyDeviceToHost);
    if (memcmp(x, y, sizeof x) != 0)
        exit(1);
    cudaFree(a);
    cudaFree(b);
    cudaFree(count);
}

static void grid_barrier(void)
{
    run_diffuse(BOTH);
}

static void grid_barrier_no_fence_before(void)
{
    run_diffuse(NONE_BEFORE);
}

static void grid_barrier_no_fence_after(void)
{
    run_diffuse(NONE_AFTER);
}

// Work that blocks take from a queue until there is none.
static __global__ void take_work(float *data, unsigned *next, unsigned count)
{
    __shared__ unsigned mine;
    for (;;) {
        if (threadIdx.x == 0)
            mine = atomicAdd(next, 1);
        __syncthreads();
        const unsigned i = mine * blockDim.x + threadIdx.x;
        if (mine >= count)
            break;
        data[i] = 2 * data[i];
        __syncthreads();
    }
}

static void work_queue(void)
{
    float host[10 * THREADS];
    float *data = numbers(10 * THREADS);
    unsigned *next = zeros(1);
    take_work<<<4, THREADS>>>(data, next, 10);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 10 * THREADS; i++)
        if (host[i] != 2 * (float)i)
            exit(1);
    cudaFree(data);
    cudaFree(next);
}

// Waiting for ever -------------------------------------------------------------------------------

static __global__ void wait_for_nobody(volatile unsigned *flag)
{
    while (*flag != 7)
        ;
}

static void flag_never_set(void)
{
    unsigned *flag = zeros(1);
    wait_for_nobody<<<BLOCKS, THREADS>>>(flag);
    cudaFree(flag);
}

// Two flags, to and fro: the state repeats every other round.
static __global__ void look_at_both(volatile unsigned *flags)
{
    unsigned i = threadIdx.x;
    while (flags[i] != 7)
        i ^= 1;
}

static void neither_flag_set(void)
{
    unsigned *flags = zeros(2);
    look_at_both<<<1, 2>>>(flags);
    cudaFree(flags);
}

static __global__ void shared_flag(int *out)
{
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    while (threadIdx.x >= 32 && flag == 0)
        ;
    *out = 1;
}

static void shared_flag_never_set(void)
{
    unsigned *out = zeros(1);
    shared_flag<<<1, THREADS>>>((int *)out);
    cudaFree(out);
}

static __global__ void loop_for_ever(int *out)
{
    if (*out == 0)
        asm volatile("{ again: bra again; }");
}

static void endless_loop(void)
{
    unsigned *out = zeros(1);
    loop_for_ever<<<4, 1>>>((int *)out);
    cudaFree(out);
}

// Waits for no more than some time: not for ever.
static __global__ void wait_a_while(volatile unsigned *flag, int *out)
{
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < 10000)
        ;
    *out = 3;
}

static void bounded_wait(void)
{
    unsigned *flag = zeros(2);
    wait_a_while<<<1, 1>>>(flag, (int *)flag + 1);
    cudaFree(flag);
}

// Atomics of block scope are none for other blocks.
static __global__ void count_in_block(unsigned *count)
{
    atomicAdd_block(count, 1);
}

static __global__ void count_in_own_block(unsigned *counts)
{
    atomicAdd_block(&counts[blockIdx.x], 1);
}

static void block_scope(void)
{
    unsigned *counts = zeros(4);
    count_in_own_block<<<4, THREADS>>>(counts);
    count_in_block<<<1, THREADS>>>(counts);
    cudaFree(counts);
}

static void block_scope_between_blocks(void)
{
    unsigned *count = zeros(1);
    count_in_block<<<4, THREADS>>>(count);
    cudaFree(count);
}

static const struct test_case cases[] = {
    {"last_block", last_block},
    {"last_block_no_fence_before", last_block_no_fence_before},
    {"last_block_no_fence_after", last_block_no_fence_after},
    {"last_block_fence_of_block", last_block_fence_of_block},
    {"volatile_parts", volatile_parts},
    {"volatile_parts_no_fence", volatile_parts_no_fence},
    {"volatile_parts_reset_early", volatile_parts_reset_early},
    {"chain", chain},
    {"long_chain", long_chain},
    {"chain_no_fence_before", chain_no_fence_before},
    {"chain_no_fence_after", chain_no_fence_after},
    {"chain_fence_of_block", chain_fence_of_block},
    {"chain_too_long", chain_too_long},
    {"acquire_and_release", acquire_and_release},
    {"no_release", no_release},
    {"warps", warps},
    {"warps_no_fence_before", warps_no_fence_before},
    {"warps_no_fence_after", warps_no_fence_after},
    {"no_flag", no_flag},
    {"locked", locked},
    {"locked_no_fence_before", locked_no_fence_before},
    {"locked_no_fence_after", locked_no_fence_after},
    {"grid_barrier", grid_barrier},
    {"grid_barrier_no_fence_before", grid_barrier_no_fence_before},
    {"grid_barrier_no_fence_after", grid_barrier_no_fence_after},
    {"work_queue", work_queue},
    {"flag_never_set", flag_never_set},
    {"neither_flag_set", neither_flag_set},
    {"shared_flag_never_set", shared_flag_never_set},
    {"endless_loop", endless_loop},
    {"bounded_wait", bounded_wait},
    {"block_scope", block_scope},
    {"block_scope_between_blocks", block_scope_between_blocks},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
