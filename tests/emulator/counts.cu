// Kernels whose accesses are known: each case prints what the emulator has counted, as JSON.
#include "cases.h"

enum {
    THREADS = 64,
    WORDS = 1000,
    ROUNDS = 600, // more patterns of lanes than the emulator keeps
};

// Every round has another pattern: lanes go on by `round` words, and start over at the end.
static __global__ void walk(float *data)
{
    __shared__ float words[WORDS];
    for (int i = threadIdx.x; i < WORDS; i += THREADS)
        words[i] = data[i];
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        const unsigned i = threadIdx.x % 32 * round % WORDS;
        sum += *(volatile float *)&data[i];
        sum += *(volatile float *)&words[i];
    }
    if (sum == 0.5F)
        data[0] = sum;
}

static void run_walk(void)
{
    float *data = numbers(WORDS);
    walk<<<3, THREADS>>>(data);
    cudaFree(data);
}

// The lanes of a warp read from two allocations.
static __global__ void apart(const float *a, const float *b)
{
    const float *from = threadIdx.x < 16 ? a : b;
    const float value = *(const volatile float *)&from[threadIdx.x % 16];
    if (value < 0)
        asm volatile("trap;");
}

static void run_apart(void)
{
    float *a = numbers(32);
    float *b = numbers(32);
    apart<<<1, 32>>>(a, b);
    cudaFree(a);
    cudaFree(b);
}

// Generic addresses: half of the lanes read shared memory, half of them global memory.
static __global__ void both(const float *data)
{
    __shared__ float words[32];
    words[threadIdx.x] = 1;
    __syncwarp();
    const float *from = threadIdx.x < 16 ? &words[threadIdx.x] : &data[threadIdx.x];
    float value;
    asm volatile("ld.f32 %0, [%1];" : "=f"(value) : "l"(from) : "memory");
    if (value < 0)
        asm volatile("trap;");
}

static void run_both(void)
{
    float *data = numbers(32);
    both<<<1, 32>>>(data);
    cudaFree(data);
}

// Lanes leave the loop one after the other. With `same` for all of them they leave together.
static __global__ void leave(float *data, int same)
{
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < (same > 0 ? same : (int)threadIdx.x); i++)
        sum += *(volatile float *)&data[i];
    data[64 + threadIdx.x] = sum;
}

static void run_leave(int threads, int same)
{
    float *data = numbers(128);
    leave<<<1, threads>>>(data, same);
    cudaFree(data);
}

static void run_parting(void)
{
    run_leave(32, 0);
}

static void run_together(void)
{
    run_leave(32, 5);
}

static void run_half_a_warp(void)
{
    run_leave(16, 5);
}

// A table of targets: the lanes of a warp take as many of them as `apart` says.
static __global__ void choose(int *out, int apart)
{
    int value = 0;
    asm volatile("{\n"
                 "    brx.idx %1, targets;\n"
                 "targets: .branchtargets even, odd;\n"
                 "odd:\n"
                 "    mov.b32 %0, 1;\n"
                 "even:\n"
                 "}"
                 : "+r"(value)
                 : "r"(threadIdx.x % apart)
                 : "memory");
    out[threadIdx.x] = value;
}

static void run_choose(int apart)
{
    float *data = numbers(32);
    choose<<<1, 32>>>((int *)data, apart);
    cudaFree(data);
}

static void run_switch_apart(void)
{
    run_choose(2);
}

static void run_switch_together(void)
{
    run_choose(1);
}

// A local array, and words of one byte.
static __global__ void local(unsigned char *data)
{
    int array[32];
    for (int i = 0; i < 32; i++)
        array[i] = i * data[i];
    data[32 + threadIdx.x] = (unsigned char)array[data[threadIdx.x] % 32];
}

static void run_local(void)
{
    unsigned char *data;
    cudaMalloc((void **)&data, 64);
    cudaMemset(data, 3, 64);
    local<<<1, 32>>>(data);
    cudaFree(data);
}

// Two launches of a kernel are counted together; what is forgotten is not.
static void run_twice(void)
{
    run_apart();
    emulator_clear_counts();
    run_apart();
    run_apart();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"walk", run_walk},
        {"apart", run_apart},
        {"both", run_both},
        {"parting", run_parting},
        {"together", run_together},
        {"half_a_warp", run_half_a_warp},
        {"switch_apart", run_switch_apart},
        {"switch_together", run_switch_together},
        {"local", run_local},
        {"twice", run_twice},
        {NULL, NULL},
    };
    const int status = run_case(cases, argc, argv);
    emulator_write_counts(stdout, "");
    return status;
}
