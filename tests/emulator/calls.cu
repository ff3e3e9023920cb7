// Functions that kernels call, local variables, variables of the module, and what the system
// provides.
#include <assert.h>
#include <stdint.h>

#include "cases.h"

enum {
    THREADS = 64,
};

struct pair {
    double sum;
    int counts[3];
};

__constant__ float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};
__device__ int counter = 41;
__device__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ float *second_row = &table[1][0];
__device__ const char *const greeting = "seventeen";

static __device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// As many calls as n says, none of them a tail call that becomes a loop.
static __device__ __noinline__ int depth(int n, volatile int *sum)
{
    volatile int here[3] = {n, n, n};
    if (n > 0)
        depth(n - 1, sum);
    *sum += here[n % 3] == n;
    return *sum;
}

// Parameters and a result in memory.
static __device__ __noinline__ struct pair add(struct pair a, const int more[3], char scale)
{
    for (int i = 0; i < 3; i++)
        a.counts[i] = a.counts[i] * scale + more[i];
    a.sum += a.counts[0];
    return a;
}

static __device__ __noinline__ int twice(int n)
{
    return 2 * n;
}

static __device__ __noinline__ int square(int n)
{
    return n * n;
}

typedef int function_of_int(int);
static __device__ function_of_int *const functions[2] = {twice, square};

// The shared array belongs to the function.
static __device__ __noinline__ float swapped(float value)
{
    __shared__ float tile[THREADS];
    tile[threadIdx.x] = value;
    __syncthreads();
    return tile[THREADS - 1 - threadIdx.x];
}

static __global__ void call_recursive(int *out)
{
    out[threadIdx.x] = fibonacci((int)threadIdx.x % 12);
}

static __global__ void call_deep(int *out, int levels)
{
    int sum = 0;
    depth(levels, &sum);
    out[threadIdx.x] = sum;
}

static __global__ void call_with_structs(int *out)
{
    const int more[3] = {(int)threadIdx.x, 1, 2};
    struct pair pair = {0.5, {1, 2, 3}};
    if (threadIdx.x % 3 == 0)
        pair = add(pair, more, 2);
    pair = add(pair, more, 3);
    out[threadIdx.x] = (int)(2 * pair.sum) + 1000 * pair.counts[2];
}

static __global__ void call_by_address(int *out)
{
    out[threadIdx.x] = functions[threadIdx.x % 2]((int)threadIdx.x);
}

static __global__ void call_nothing(int *out, function_of_int *function)
{
    out[threadIdx.x] = function(3);
}

static __global__ void call_with_shared(float *data)
{
    __shared__ float own[THREADS];
    own[threadIdx.x] = 1;
    data[threadIdx.x] = swapped(data[threadIdx.x]) * own[threadIdx.x];
}

// Two kernels have the same array behind different ones of their own.
extern __shared__ float pool[];

static __global__ void pool_behind_little(float *data)
{
    __shared__ float own[1];
    own[0] = 5;
    pool[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = pool[THREADS - 1 - threadIdx.x] + own[0];
}

static __global__ void pool_behind_much(float *data)
{
    __shared__ float own[THREADS];
    own[threadIdx.x] = -5;
    pool[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = pool[THREADS - 1 - threadIdx.x] + own[threadIdx.x];
}

static __global__ void read_variables(float *out)
{
    out[threadIdx.x] = weights[threadIdx.x % 4] + second_row[threadIdx.x % 3] + (float)counter +
                       (float)(greeting[threadIdx.x % 10] == 'v');
}

static __global__ void count_up(void)
{
    if (threadIdx.x == 0)
        counter += 1;
}

// A switch becomes a table of targets.
static __global__ void choose(int *out)
{
    int n = (int)threadIdx.x;
    switch (n % 11) {
    case 0:
        n = n * 3;
        break;
    case 1:
        n = out[n] + 5;
        break;
    case 2:
        n = n / 3;
        break;
    case 3:
        n ^= 0x55;
        break;
    case 4:
        n = -n;
        break;
    case 5:
        n = n * n;
        break;
    case 6:
        n += 1000;
        break;
    case 7:
        out[n] = 7;
        break;
    }
    out[threadIdx.x] = n;
}

static int host_choice(int n)
{
    const int values[] = {n * 3, 5, n / 3, n ^ 0x55, -n, n * n, n + 1000};
    return n % 11 < 7 ? values[n % 11] : n;
}

// A parameter that is an array, whose elements are found by an index.
struct coefficients {
    int values[8];
};

static __global__ void index_parameter(int *out, const __grid_constant__ struct coefficients c)
{
    const int *all = c.values;
    out[threadIdx.x] = c.values[threadIdx.x % 8] + all[(threadIdx.x + 1) % 8];
}

static __global__ void print_all(int last)
{
    const int n = (int)threadIdx.x;
    if (n <= last)
        printf("%d|%5d|%-5u|%05x|%+.2f|%e|%c|%s|%lld|%llx|%%|%*d\n", n, -n, 7u, 255, n / 4.0, 1e10,
               'a' + n, n ? "one" : "zero", -5000000000ll, 1ull << 40, 4, n);
}

static __global__ void print_nothing(void)
{
    printf("no arguments\n");
}

static __global__ void check(const float *data, float limit)
{
    assert(data[threadIdx.x] < limit);
}

static __global__ void forget_local(int *out, int n)
{
    volatile int numbers[8];
    for (int i = 0; i < n; i++)
        numbers[i] = i;
    out[threadIdx.x] = numbers[threadIdx.x % 8];
}

static __global__ void leave_local(int *out, int index)
{
    volatile int numbers[8] = {0};
    numbers[index] = 1;
    out[threadIdx.x] = numbers[0];
}

static int got[THREADS];

static int *results(void)
{
    int *out;
    cudaMalloc((void **)&out, sizeof got);
    cudaMemset(out, 0, sizeof got);
    return out;
}

// Copies the results and frees them.
static void fetch(int *out)
{
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    cudaFree(out);
}

static void expect(int thread, int wanted)
{
    if (got[thread] == wanted)
        return;
    fprintf(stderr, "thread %d: %d, wanted %d\n", thread, got[thread], wanted);
    exit(1);
}

static int host_fibonacci(int n)
{
    return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2);
}

static void recursion(void)
{
    int *out = results();
    call_recursive<<<1, THREADS>>>(out);
    fetch(out);
    for (int i = 0; i < THREADS; i++)
        expect(i, host_fibonacci(i % 12));
}

static void run_deep(int levels)
{
    int *out = results();
    call_deep<<<1, THREADS>>>(out, levels);
    fetch(out);
    for (int i = 0; i < THREADS; i++)
        expect(i, levels + 1);
}

static void deep_recursion(void)
{
    run_deep(900);
}

static void too_deep(void)
{
    run_deep(1100);
}

static void structs(void)
{
    int *out = results();
    call_with_structs<<<1, THREADS>>>(out);
    fetch(out);
    for (int i = 0; i < THREADS; i++) {
        double sum = 0.5;
        int counts[3] = {1, 2, 3};
        for (int round = i % 3 == 0 ? 0 : 1; round < 2; round++) {
            const int more[3] = {i, 1, 2};
            for (int j = 0; j < 3; j++)
                counts[j] = counts[j] * (round + 2) + more[j];
            sum += counts[0];
        }
        expect(i, (int)(2 * sum) + 1000 * counts[2]);
    }
}

static void pointers(void)
{
    int *out = results();
    call_by_address<<<1, THREADS>>>(out);
    fetch(out);
    for (int i = 0; i < THREADS; i++)
        expect(i, i % 2 ? i * i : 2 * i);
}

static void bad_pointer(void)
{
    int *out = results();
    call_nothing<<<1, THREADS>>>(out, NULL);
    fetch(out);
}

static void shared_in_function(void)
{
    float host[THREADS];
    float *data = numbers(THREADS);
    call_with_shared<<<1, THREADS>>>(data);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (float)(THREADS - 1 - i))
            exit(1);
    cudaFree(data);
}

static void shared_pools(void)
{
    float host[THREADS];
    float *data = numbers(THREADS);
    pool_behind_little<<<1, THREADS, THREADS * sizeof(float)>>>(data);
    pool_behind_much<<<1, THREADS, THREADS * sizeof(float)>>>(data);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (float)i)
            exit(1);
    cudaFree(data);
}

static void variables(void)
{
    static const float rows[] = {4, 5, 6};
    float host[THREADS];
    int count = 0;
    float *data = numbers(THREADS);
    const float new_weights[4] = {10, 20, 30, 40};
    count_up<<<1, 32>>>();
    cudaMemcpyToSymbol(weights, new_weights, sizeof new_weights);
    read_variables<<<1, THREADS>>>(data);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != new_weights[i % 4] + rows[i % 3] + 42 + (float)(i % 10 == 2) ||
            count != 42) {
            fprintf(stderr, "thread %d: %g\n", i, host[i]);
            exit(1);
        }
    cudaFree(data);
}

static void switches(void)
{
    int *out = results();
    choose<<<1, THREADS>>>(out);
    fetch(out);
    for (int i = 0; i < THREADS; i++)
        expect(i, host_choice(i));
}

static void indexed_parameter(void)
{
    int *out = results();
    const struct coefficients c = {{1, 20, 300, 4000, 50000, 600000, 7000000, 80000000}};
    index_parameter<<<1, THREADS>>>(out, c);
    fetch(out);
    for (int i = 0; i < THREADS; i++)
        expect(i, c.values[i % 8] + c.values[(i + 1) % 8]);
}

static void printing(void)
{
    print_all<<<1, 32>>>(1);
    print_nothing<<<1, 1>>>();
}

static void printing_blocks(void)
{
    print_all<<<3, 1>>>(0);
}

static void run_check(float limit)
{
    float *data = numbers(THREADS);
    check<<<1, THREADS>>>(data, limit);
    if (cudaDeviceSynchronize() != cudaSuccess)
        exit(cudaDeviceSynchronize() == cudaErrorAssert ? 5 : 1);
    cudaFree(data);
}

static void assertion_holds(void)
{
    run_check(THREADS);
}

static void assertion_fails(void)
{
    run_check(50);
}

static void run_local(int n)
{
    int *out = results();
    forget_local<<<1, THREADS>>>(out, n);
    cudaFree(out);
}

static void local_array(void)
{
    run_local(8);
}

static void local_array_unwritten(void)
{
    run_local(7);
}

static void local_array_past_end(void)
{
    int *out = results();
    leave_local<<<1, THREADS>>>(out, 8);
    cudaFree(out);
}

static const struct test_case cases[] = {
    {"recursion", recursion},
    {"deep_recursion", deep_recursion},
    {"too_deep", too_deep},
    {"structs", structs},
    {"pointers", pointers},
    {"bad_pointer", bad_pointer},
    {"shared_in_function", shared_in_function},
    {"shared_pools", shared_pools},
    {"variables", variables},
    {"switches", switches},
    {"indexed_parameter", indexed_parameter},
    {"printing", printing},
    {"printing_blocks", printing_blocks},
    {"assertion_holds", assertion_holds},
    {"assertion_fails", assertion_fails},
    {"local_array", local_array},
    {"local_array_unwritten", local_array_unwritten},
    {"local_array_past_end", local_array_past_end},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
