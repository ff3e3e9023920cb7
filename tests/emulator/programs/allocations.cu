// Many allocations, and a large one: what they cost on the emulator does not depend on how many
// there are, or on how much of the large one nobody touches.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

enum {
    ALLOCATIONS = 20000,
    LAUNCHES = 1000,
};

static __global__ void write_last(float *data, size_t n)
{
    data[n - 1] = 1;
}

static __global__ void read_last(const float *data, size_t n, float *sum)
{
    *sum = data[n - 1] + 1;
}

static int many(void)
{
    static float *data[ALLOCATIONS];
    for (int i = 0; i < ALLOCATIONS; i++)
        cudaMalloc(&data[i], 256);
    for (int i = 0; i < LAUNCHES; i++)
        write_last<<<1, 1>>>(data[i], 64);
    for (int i = 0; i < ALLOCATIONS; i++) // 7919 has no divisor in common with their number
        cudaFree(data[(size_t)i * 7919 % ALLOCATIONS]);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

// Most of the device's memory, but no more than 8 GiB.
static int large(void)
{
    size_t before, after, total;
    float *data, *more, *sum, result;
    cudaMemGetInfo(&before, &total);
    size_t bytes = before / 4 * 3 < ((size_t)8 << 30) ? before / 4 * 3 : (size_t)8 << 30;
    bytes -= bytes % 4096;
    const size_t n = bytes / sizeof *data;

    printf("%s\n", cudaGetErrorName(cudaMalloc(&data, bytes)));
    cudaMemGetInfo(&after, &total);
    printf("%s\n", cudaGetErrorName(cudaMalloc(&more, after + 1)));
    printf("%d\n", before - after == bytes);
    cudaGetLastError();
    cudaMalloc(&sum, sizeof *sum);
    write_last<<<1, 1>>>(data, n);
    read_last<<<1, 1>>>(data, n, sum);
    cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
    printf("%g\n", result);
    read_last<<<1, 1>>>(data, n - 1, sum); // nobody has written that
    cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
    printf("%g\n", result);
    cudaFree(sum);
    cudaFree(data);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "large") == 0 ? large() : many();
}
