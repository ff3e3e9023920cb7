// Atomics on all kinds of memory and numbers.
#include <stdint.h>

#include "cases.h"

enum {
    THREADS = 96,
    BLOCKS = 5,
    WORDS = 64,
};

static uint32_t host_words[WORDS];

static uint32_t *words(uint32_t first)
{
    uint32_t *device;
    for (int i = 0; i < WORDS; i++)
        host_words[i] = i == 0 ? first : 0;
    cudaMalloc((void **)&device, sizeof host_words);
    cudaMemcpy(device, host_words, sizeof host_words, cudaMemcpyHostToDevice);
    return device;
}

static void fetch(uint32_t *device)
{
    cudaMemcpy(host_words, device, sizeof host_words, cudaMemcpyDeviceToHost);
    cudaFree(device);
}

static void expect(int index, uint32_t wanted)
{
    if (host_words[index] == wanted)
        return;
    fprintf(stderr, "word %d: 0x%x, wanted 0x%x\n", index, host_words[index], wanted);
    exit(1);
}

static __global__ void combine(uint32_t *words)
{
    const uint32_t n = blockIdx.x * THREADS + threadIdx.x;
    atomicAdd(&words[1], n);
    atomicSub(&words[2], n);
    atomicMin((int *)&words[3], 7 - (int)n);
    atomicMax((int *)&words[4], (int)n - 3);
    atomicMin(&words[5], n - 3);
    atomicMax(&words[6], 7 - n);
    atomicAnd(&words[7], ~(1u << n % 32) | 0xff);
    atomicOr(&words[8], 1u << n % 20);
    atomicXor(&words[9], n);
    atomicInc(&words[10], 100);
    atomicDec(&words[11], 100);
    atomicAdd((float *)&words[12], 0.25f);
    atomicAdd((double *)&words[14], 0.5);
    atomicAdd((unsigned long long *)&words[16], 1ull << 31);
    atomicMax((unsigned long long *)&words[18], (unsigned long long)n << 40);
    atomicMin((long long *)&words[20], -(long long)n << 33);
    atomicOr((unsigned long long *)&words[22], 1ull << (n % 64));
}

static void all_operations(void)
{
    const uint32_t count = BLOCKS * THREADS;
    const uint32_t sum = count * (count - 1) / 2;
    float quarters;
    double halves;
    uint64_t wide[4];
    uint32_t others = 0;
    uint32_t *device = words(0);
    const uint32_t ones = ~0u;
    cudaMemcpy(device + 7, &ones, sizeof ones, cudaMemcpyHostToDevice);
    combine<<<BLOCKS, THREADS>>>(device);
    fetch(device);
    for (uint32_t n = 0; n < count; n++)
        others ^= n;
    memcpy(&quarters, &host_words[12], sizeof quarters);
    memcpy(&halves, &host_words[14], sizeof halves);
    memcpy(wide, &host_words[16], sizeof wide);
    expect(1, sum);
    expect(2, 0 - sum);
    expect(3, 8 - count);
    expect(4, count - 4);
    expect(5, 0);
    expect(6, ~0u);
    expect(7, 0xff);
    expect(8, 0xfffff);
    expect(9, others);
    expect(10, count % 101);
    expect(11, 100 - (count - 1) % 101);
    if (quarters != 0.25f * count || halves != 0.5 * count || wide[0] != (uint64_t)count << 31 ||
        wide[1] != (uint64_t)(count - 1) << 40 || wide[2] != 0 - ((uint64_t)(count - 1) << 33) ||
        wide[3] != ~UINT64_C(0))
        exit(1);
}

// Each thread gets a number of its own.
static __global__ void take_numbers(uint32_t *words)
{
    const uint32_t mine = atomicAdd(&words[0], 1);
    atomicOr(&words[1 + mine / 32], 1u << mine % 32);
}

static void old_values(void)
{
    uint32_t *device = words(0);
    take_numbers<<<BLOCKS, THREADS>>>(device);
    fetch(device);
    expect(0, BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS / 32; i++)
        expect(1 + i, ~0u);
}

// A maximum of float32, by comparing and exchanging until nobody else has been faster.
static __global__ void greatest(uint32_t *word, const float *values)
{
    const float mine = values[blockIdx.x * THREADS + threadIdx.x];
    uint32_t old = atomicAdd(word, 0);
    while (__uint_as_float(old) < mine) {
        const uint32_t before = atomicCAS(word, old, __float_as_uint(mine));
        if (before == old)
            break;
        old = before;
    }
    atomicCAS((unsigned long long *)(word + 2), 0ull, 1ull << 40);
    atomicExch(word + 4, 17);
}

static void compare_and_swap(void)
{
    float *values = numbers(BLOCKS * THREADS);
    uint32_t *device = words(0);
    float result;
    greatest<<<BLOCKS, THREADS>>>(device, values);
    fetch(device);
    memcpy(&result, &host_words[0], sizeof result);
    if (result != BLOCKS * THREADS - 1)
        exit(1);
    expect(2, 0);
    expect(3, 1 << 8);
    expect(4, 17);
    cudaFree(values);
}

// A histogram in shared memory, then of all blocks in global memory; and through generic addresses.
static __global__ void count_digits(uint32_t *words, int generic)
{
    __shared__ uint32_t counts[10];
    const uint32_t n = blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x < 10)
        counts[threadIdx.x] = 0;
    __syncthreads();
    uint32_t *target = generic && threadIdx.x % 2 ? &words[20] : counts;
    atomicAdd(&target[n % 10], 1);
    __syncthreads();
    if (threadIdx.x < 10)
        atomicAdd(&words[threadIdx.x], counts[threadIdx.x]);
}

static void run_count(int generic)
{
    uint32_t *device = words(0);
    count_digits<<<BLOCKS, THREADS>>>(device, generic);
    fetch(device);
    for (int i = 0; i < 10; i++) {
        host_words[i] += host_words[20 + i];
        expect(i, BLOCKS * THREADS / 10);
    }
}

static void shared_counts(void)
{
    run_count(0);
}

static void generic_counts(void)
{
    run_count(1);
}

// Sums of float32 depend on the order: it is the same whatever the host does.
static __global__ void add_all(float *sum, const float *values)
{
    atomicAdd(sum, 1 / (1 + values[blockIdx.x * THREADS + threadIdx.x]));
}

static void float_order(void)
{
    float *values = numbers(BLOCKS * THREADS);
    uint32_t *device = words(0);
    add_all<<<BLOCKS, THREADS>>>((float *)device, values);
    fetch(device);
    fprintf(stderr, "%08x\n", host_words[0]);
    cudaFree(values);
}

static __global__ void count_once(uint32_t *counter)
{
    atomicAdd(counter, 1);
}

static void unwritten(void)
{
    uint32_t *device;
    cudaMalloc((void **)&device, sizeof *device);
    count_once<<<1, 32>>>(device);
    cudaFree(device);
}

static void past_end(void)
{
    uint32_t *device = words(0);
    count_once<<<1, 32>>>(device + WORDS);
    cudaFree(device);
}

static __global__ void count_unwritten_shared(uint32_t *out)
{
    __shared__ uint32_t counter;
    atomicAdd(&counter, 1);
    __syncthreads();
    *out = counter;
}

static void unwritten_shared(void)
{
    uint32_t *device = words(0);
    count_unwritten_shared<<<1, 32>>>(device);
    cudaFree(device);
}

// One thread's plain access among the atomics of others.
static __global__ void mix(uint32_t *words, int plain)
{
    if (plain && threadIdx.x == 40)
        words[0] += 1;
    else
        atomicAdd(&words[0], 1);
}

static void run_mix(int plain)
{
    uint32_t *device = words(0);
    mix<<<1, 64>>>(device, plain);
    fetch(device);
    expect(0, 64);
}

static void atomics_alone(void)
{
    run_mix(0);
}

static void plain_among_atomics(void)
{
    run_mix(1);
}

// Shared memory is cleared by one thread: the others must wait.
static __global__ void clear_and_count(uint32_t *out, int barrier)
{
    __shared__ uint32_t counter;
    if (threadIdx.x == 0)
        counter = 0;
    if (barrier)
        __syncthreads();
    atomicAdd(&counter, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = counter;
}

static void run_clear(int barrier)
{
    uint32_t *device = words(0);
    clear_and_count<<<1, 64>>>(device, barrier);
    fetch(device);
    expect(0, 64);
}

static void cleared_before(void)
{
    run_clear(1);
}

static void cleared_meanwhile(void)
{
    run_clear(0);
}

static const struct test_case cases[] = {
    {"all_operations", all_operations},
    {"old_values", old_values},
    {"compare_and_swap", compare_and_swap},
    {"shared_counts", shared_counts},
    {"generic_counts", generic_counts},
    {"float_order", float_order},
    {"unwritten", unwritten},
    {"past_end", past_end},
    {"unwritten_shared", unwritten_shared},
    {"atomics_alone", atomics_alone},
    {"plain_among_atomics", plain_among_atomics},
    {"cleared_before", cleared_before},
    {"cleared_meanwhile", cleared_meanwhile},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
