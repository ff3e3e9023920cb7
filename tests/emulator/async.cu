// cp.async: copies from global to shared memory that have to be waited for.
#include "cases.h"

enum {
    THREADS = 64,
};

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __device__ void copy_16(const void *to, const float *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ void copy_4(const void *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}

static __device__ void commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ void wait_all(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Waits where `wait` says so, then, where `barrier` says so, for the others.
static __global__ void reverse(float *data, int wait, int barrier)
{
    __shared__ __align__(16) float tile[4 * THREADS];
    copy_16(&tile[4 * threadIdx.x], &data[4 * threadIdx.x], 16);
    if (wait)
        wait_all();
    if (barrier)
        __syncthreads();
    data[threadIdx.x] = tile[4 * (THREADS - 1 - threadIdx.x)];
}

// Reads what it copied itself: no barrier is needed, the wait is.
static __global__ void own(float *data, int wait)
{
    __shared__ __align__(16) float tile[4 * THREADS];
    copy_16(&tile[4 * threadIdx.x], &data[4 * threadIdx.x], 16);
    if (wait)
        wait_all();
    data[4 * threadIdx.x] = tile[4 * threadIdx.x];
}

// Two stages; `lax` waits for one group too few.
static __global__ void pipeline(float *data, float *out, int lax)
{
    __shared__ float tile[2][THREADS];
    float sum = 0;
    copy_4(&tile[0][threadIdx.x], &data[threadIdx.x]);
    commit();
    for (int i = 0; i < 5; i++) {
        if (i < 4)
            copy_4(&tile[(i + 1) % 2][threadIdx.x], &data[(i + 1) * THREADS + (int)threadIdx.x]);
        commit();
        if (lax)
            asm volatile("cp.async.wait_group 2;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += tile[i % 2][THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// One buffer: without the second barrier the next copy goes over what other warps still read.
static __global__ void one_buffer(float *data, float *out, int second)
{
    __shared__ float tile[THREADS];
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        copy_4(&tile[threadIdx.x], &data[i * THREADS + (int)threadIdx.x]);
        wait_all();
        __syncthreads();
        sum += tile[THREADS - 1 - threadIdx.x];
        if (second)
            __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// The last threads' sources lie past the allocation: they must ask for 0 bytes of it.
static __global__ void edge(float *data, float *out, int rows, int masked)
{
    __shared__ __align__(16) float tile[4 * THREADS];
    const int bytes = masked && (int)threadIdx.x >= rows ? 0 : 16;
    copy_16(&tile[4 * threadIdx.x], &data[4 * threadIdx.x], bytes);
    wait_all();
    __syncthreads();
    out[threadIdx.x] = tile[4 * (THREADS - 1 - threadIdx.x)];
}

static __global__ void offset_source(float *data, float *out, int offset)
{
    __shared__ __align__(16) float tile[4 * THREADS];
    copy_16(&tile[4 * threadIdx.x], &data[offset], 16);
    wait_all();
    out[threadIdx.x] = tile[4 * threadIdx.x];
}

// Changes the sources while the copies are on their way, or once they have arrived.
static __global__ void overwrite(float *data, float *out, int early)
{
    __shared__ float tile[THREADS];
    copy_4(&tile[threadIdx.x], &data[threadIdx.x]);
    if (!early)
        wait_all();
    __syncthreads();
    data[(threadIdx.x + 8) % THREADS] = -1;
    wait_all();
    out[threadIdx.x] = tile[threadIdx.x];
}

static void run_overwrite(int early)
{
    float *data = numbers(THREADS);
    float *out = numbers(THREADS);
    overwrite<<<1, THREADS>>>(data, out, early);
    cudaFree(data);
    cudaFree(out);
}

static void source_overwritten(void)
{
    run_overwrite(1);
}

static void source_overwritten_after_wait(void)
{
    run_overwrite(0);
}

static void run_reverse(int wait, int barrier)
{
    float *data = numbers(4 * THREADS);
    reverse<<<1, THREADS>>>(data, wait, barrier);
    cudaFree(data);
}

static void no_wait(void)
{
    run_reverse(0, 1);
}

static void no_barrier(void)
{
    run_reverse(1, 0);
}

static void run_own(int wait)
{
    float *data = numbers(4 * THREADS);
    own<<<1, THREADS>>>(data, wait);
    cudaFree(data);
}

static void own_wait(void)
{
    run_own(1);
}

static void own_no_wait(void)
{
    run_own(0);
}

static void run_pipeline(int lax)
{
    float *data = numbers(5 * THREADS);
    float *out = numbers(THREADS);
    float host[THREADS];
    pipeline<<<1, THREADS>>>(data, out, lax);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != 10 * THREADS + 5 * (THREADS - 1 - i))
            exit(1);
    cudaFree(data);
    cudaFree(out);
}

static void two_stages(void)
{
    run_pipeline(0);
}

static void one_group_too_few(void)
{
    run_pipeline(1);
}

static void run_one_buffer(int second)
{
    float *data = numbers(3 * THREADS);
    float *out = numbers(THREADS);
    one_buffer<<<1, THREADS>>>(data, out, second);
    cudaFree(data);
    cudaFree(out);
}

static void copy_after_barrier(void)
{
    run_one_buffer(1);
}

static void copy_over_reads(void)
{
    run_one_buffer(0);
}

static void run_edge(int masked)
{
    float *data = numbers(4 * 50);
    float *out = numbers(THREADS);
    float host[THREADS];
    edge<<<1, THREADS>>>(data, out, 50, masked);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != (THREADS - 1 - i < 50 ? 4 * (THREADS - 1 - i) : 0))
            exit(1);
    cudaFree(data);
    cudaFree(out);
}

static void zero_fill(void)
{
    run_edge(1);
}

static void source_past_end(void)
{
    run_edge(0);
}

static void run_offset(int offset)
{
    float *data = numbers(16);
    float *out = numbers(THREADS);
    offset_source<<<1, THREADS>>>(data, out, offset);
    cudaFree(data);
    cudaFree(out);
}

static void aligned_source(void)
{
    run_offset(8);
}

static void misaligned_source(void)
{
    run_offset(1);
}

static void unwritten_source(void)
{
    float *data;
    float *out = numbers(THREADS);
    cudaMalloc((void **)&data, 64);
    offset_source<<<1, THREADS>>>(data, out, 0);
    cudaFree(data);
    cudaFree(out);
}

static void wait_and_barrier(void)
{
    float *data = numbers(4 * THREADS);
    float *out = numbers(THREADS);
    edge<<<1, THREADS>>>(data, out, THREADS, 0);
    cudaFree(data);
    cudaFree(out);
}

static const struct test_case cases[] = {
    {"wait_and_barrier", wait_and_barrier},
    {"no_wait", no_wait},
    {"no_barrier", no_barrier},
    {"own_wait", own_wait},
    {"own_no_wait", own_no_wait},
    {"two_stages", two_stages},
    {"one_group_too_few", one_group_too_few},
    {"copy_after_barrier", copy_after_barrier},
    {"copy_over_reads", copy_over_reads},
    {"zero_fill", zero_fill},
    {"source_past_end", source_past_end},
    {"aligned_source", aligned_source},
    {"misaligned_source", misaligned_source},
    {"unwritten_source", unwritten_source},
    {"source_overwritten", source_overwritten},
    {"source_overwritten_after_wait", source_overwritten_after_wait},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
