// Accesses outside allocations, misaligned ones, and reads of what was never written.
#include "cases.h"

static __global__ void add_one(float *data, int offset, int threads)
{
    if ((int)threadIdx.x < threads)
        data[(int)threadIdx.x + offset] += 1;
}

static __global__ void copy_four(float *to, const float *from, int offset)
{
    *(float4 *)(to + 4 * threadIdx.x) = *(const float4 *)(from + 4 * threadIdx.x + offset);
}

static __global__ void shared_index(float *out, int stride, int words)
{
    extern __shared__ float tile[];
    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x)
        tile[i] = (float)i;
    __syncthreads();
    out[threadIdx.x] = tile[(int)threadIdx.x * stride];
}

static __global__ void shared_four(float *out, int offset)
{
    __shared__ __align__(16) float tile[256];
    for (int i = (int)threadIdx.x; i < 256; i += (int)blockDim.x)
        tile[i] = (float)i;
    __syncthreads();
    *(float4 *)(out + 4 * threadIdx.x) = *(float4 *)(tile + 4 * threadIdx.x + offset);
}

// The first `written` words of shared memory are written.
static __global__ void shared_fill(float *out, int written)
{
    __shared__ float tile[64];
    if ((int)threadIdx.x < written)
        tile[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// A local array whose first `written` elements are written.
static __global__ void local_fill(float *out, int written, int index)
{
    float array[16];
    for (int i = 0; i < written; i++)
        array[i] = (float)(i + (int)threadIdx.x);
    out[threadIdx.x] = array[(index + (int)threadIdx.x) & 15];
}

static __global__ void dynamic_fill(float *out)
{
    extern __shared__ float row[];
    row[threadIdx.x] = 1;
    out[threadIdx.x] = row[threadIdx.x];
}

// 20 bytes: the end of the array is not where the next one could begin.
static __global__ void local_write(float *out, int index)
{
    float array[5];
    for (int i = 0; i < 5; i++)
        array[i] = 0;
    array[index] = 1;
    out[threadIdx.x] = array[(index + (int)threadIdx.x) % 5];
}

static __global__ void read_word(const unsigned *from, unsigned *to)
{
    *to = *from;
}

static __global__ void read_byte(const unsigned char *from, unsigned char *to)
{
    *to = *from;
}

static __global__ void write_byte(unsigned char *to)
{
    *to = 7;
}

static void in_bounds(void)
{
    float *data = numbers(100);
    add_one<<<1, 128>>>(data, 0, 100);
    cudaFree(data);
}

static void read_past_end(void)
{
    float *data = numbers(100);
    add_one<<<1, 128>>>(data, 0, 101);
    cudaFree(data);
}

static void read_before_start(void)
{
    float *data = numbers(100);
    add_one<<<1, 32>>>(data, -1, 1);
    cudaFree(data);
}

static void read_far_away(void)
{
    float *data = numbers(100);
    add_one<<<1, 32>>>(data, 1 << 28, 32);
    cudaFree(data);
}

static void read_null(void)
{
    add_one<<<1, 32>>>(NULL, 0, 32);
}

static void outside_limit(void)
{
    float *data = numbers(100);
    emulator_limit(data + 10, 50 * sizeof *data, "the middle");
    add_one<<<1, 64>>>(data, 10, 51);
    cudaFree(data);
}

static void within_limit(void)
{
    float *data = numbers(100);
    emulator_limit(data + 10, 50 * sizeof *data, "the middle");
    add_one<<<1, 64>>>(data, 10, 50);
    cudaFree(data);
}

static void run_copy_four(int offset)
{
    float *from = numbers(136);
    float *to = numbers(128);
    copy_four<<<1, 32>>>(to, from, offset);
    cudaFree(from);
    cudaFree(to);
}

static void aligned_global(void)
{
    run_copy_four(4);
}

static void misaligned_global(void)
{
    run_copy_four(1);
}

static void run_shared_index(int stride, size_t bytes)
{
    float *out = numbers(64);
    shared_index<<<1, 64, bytes>>>(out, stride, 64);
    cudaFree(out);
}

static void shared_in_bounds(void)
{
    run_shared_index(1, 256);
}

static void shared_past_end(void)
{
    run_shared_index(2, 256);
}

static void shared_before_start(void)
{
    run_shared_index(-1, 256);
}

static void run_shared_four(int offset)
{
    float *out = numbers(128);
    shared_four<<<1, 32>>>(out, offset);
    cudaFree(out);
}

static void aligned_shared(void)
{
    run_shared_four(4);
}

static void misaligned_shared(void)
{
    run_shared_four(2);
}

static void use_after_free(void)
{
    float *data = numbers(32);
    cudaFree(data);
    add_one<<<1, 32>>>(data, 0, 32);
}

static void written_shared(void)
{
    float *out = numbers(64);
    shared_fill<<<1, 64>>>(out, 64);
    cudaFree(out);
}

static void unwritten_shared(void)
{
    float *out = numbers(64);
    shared_fill<<<1, 64>>>(out, 63);
    cudaFree(out);
}

static void written_local(void)
{
    float *out = numbers(32);
    local_fill<<<1, 32>>>(out, 16, 5);
    cudaFree(out);
}

static void run_dynamic_fill(int bytes)
{
    float *out = numbers(32);
    dynamic_fill<<<1, 32, bytes>>>(out);
    cudaFree(out);
}

static void dynamic_shared(void)
{
    run_dynamic_fill(128);
}

static void no_dynamic_shared(void)
{
    run_dynamic_fill(0);
}

static void run_local_write(int index)
{
    float *out = numbers(32);
    local_write<<<1, 32>>>(out, index);
    cudaFree(out);
}

static void local_in_bounds(void)
{
    run_local_write(4);
}

static void local_past_end(void)
{
    run_local_write(5);
}

static void unwritten_local(void)
{
    float *out = numbers(32);
    local_fill<<<1, 32>>>(out, 15, 5);
    cudaFree(out);
}

static void unwritten_global(void)
{
    float *data;
    cudaMalloc((void **)&data, 128);
    add_one<<<1, 32>>>(data, 0, 32);
    cudaFree(data);
}

static void written_global(void)
{
    float *data;
    cudaMalloc((void **)&data, 128);
    cudaMemset(data, 0, 128);
    add_one<<<1, 32>>>(data, 0, 32);
    cudaFree(data);
}

// Four words: a copy that carries over which of them have been written.
static void run_copy(int word)
{
    unsigned *from;
    unsigned *to;
    cudaMalloc((void **)&from, 16);
    cudaMalloc((void **)&to, 20);
    cudaMemset(from, 0, 12);
    cudaMemset(to, 0, 20);
    cudaMemcpy(to, from, 16, cudaMemcpyDeviceToDevice);
    read_word<<<1, 1>>>(to + word, to + 4);
    cudaFree(from);
    cudaFree(to);
}

static void copy_of_written(void)
{
    run_copy(2);
}

static void copy_of_unwritten(void)
{
    run_copy(3);
}

static void written_byte(void)
{
    unsigned char *data;
    cudaMalloc((void **)&data, 4);
    write_byte<<<1, 1>>>(data + 1);
    read_byte<<<1, 1>>>(data + 1, data + 2);
    cudaFree(data);
}

static void unwritten_bytes(void)
{
    unsigned char *data;
    cudaMalloc((void **)&data, 8);
    write_byte<<<1, 1>>>(data + 1);
    read_word<<<1, 1>>>((unsigned *)data, (unsigned *)data + 1);
    cudaFree(data);
}

static const struct test_case cases[] = {
    {"in_bounds", in_bounds},
    {"read_past_end", read_past_end},
    {"read_before_start", read_before_start},
    {"read_far_away", read_far_away},
    {"read_null", read_null},
    {"within_limit", within_limit},
    {"outside_limit", outside_limit},
    {"aligned_global", aligned_global},
    {"misaligned_global", misaligned_global},
    {"shared_in_bounds", shared_in_bounds},
    {"shared_past_end", shared_past_end},
    {"shared_before_start", shared_before_start},
    {"aligned_shared", aligned_shared},
    {"misaligned_shared", misaligned_shared},
    {"use_after_free", use_after_free},
    {"written_shared", written_shared},
    {"unwritten_shared", unwritten_shared},
    {"written_local", written_local},
    {"dynamic_shared", dynamic_shared},
    {"no_dynamic_shared", no_dynamic_shared},
    {"local_in_bounds", local_in_bounds},
    {"local_past_end", local_past_end},
    {"unwritten_local", unwritten_local},
    {"written_global", written_global},
    {"unwritten_global", unwritten_global},
    {"copy_of_written", copy_of_written},
    {"copy_of_unwritten", copy_of_unwritten},
    {"written_byte", written_byte},
    {"unwritten_bytes", unwritten_bytes},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
