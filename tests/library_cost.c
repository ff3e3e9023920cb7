// library_cost: on a GPU, what a call of sgemm() costs the host, and that it returns before the
// product is finished. Linked with build/libsgemm.a alone. Exits 1 where a call waits.
#include <cuda_runtime_api.h>
#include <sgemm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CALLS = 2000,
    SMALL = 64,   // a product of this size takes the GPU less than a call takes the host
    LARGE = 8192, // and one of this size some milliseconds
    APART = 4096, // elements between matrices that differ
};

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "library_cost: %s\n", cudaGetErrorString(error));
    exit(1);
}

static float *allocate(size_t elements)
{
    void *memory;

    check(cudaMalloc(&memory, elements * sizeof(float)));
    check(cudaMemset(memory, 0, elements * sizeof(float)));
    return memory;
}

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void multiply(struct sgemm_handle *handle, int64_t size, const float *a, const float *b,
                     float *c)
{
    if (sgemm(handle, size, size, size, 1, a, size, b, size, 0, c, size) == SGEMM_OK)
        return;
    fprintf(stderr, "library_cost: %s\n", sgemm_message(handle));
    exit(1);
}

// Microseconds of a call, in batches that the queue of launches has room for. The matrices of a
// call lie `apart` elements behind those of the one before, or are the same.
static double cost(struct sgemm_handle *handle, float *matrices, int64_t offset, int64_t apart)
{
    double total = 0;
    int i, j;

    for (i = 0; i < CALLS; i += 100) {
        double start;

        check(cudaDeviceSynchronize());
        start = microseconds();
        for (j = 0; j < 100; j++) {
            const float *a = matrices + offset + (i + j) * apart;

            multiply(handle, SMALL, a, a, matrices);
        }
        total += microseconds() - start;
    }
    check(cudaDeviceSynchronize());
    return total / CALLS;
}

static bool returns_early(struct sgemm_handle *handle)
{
    float *matrices = allocate((size_t)3 * LARGE * LARGE);
    float *b = matrices + (size_t)LARGE * LARGE;
    cudaError_t after;

    multiply(handle, LARGE, matrices, b, b + (size_t)LARGE * LARGE); // loads the kernel
    check(cudaDeviceSynchronize());
    multiply(handle, LARGE, matrices, b, b + (size_t)LARGE * LARGE);
    after = cudaStreamQuery(NULL);
    check(cudaDeviceSynchronize());
    check(cudaFree(matrices));
    return after == cudaErrorNotReady;
}

int main(void)
{
    struct sgemm_handle *handle;
    float *matrices = allocate((size_t)(CALLS + 2) * APART);
    bool early;

    if (sgemm_create(&handle, NULL) != SGEMM_OK)
        return 1;
    cost(handle, matrices, APART, 0); // loads the kernels
    cost(handle, matrices, APART + 1, 0);
    printf("a call of sgemm() on %dx%dx%d, microseconds of the host\n", SMALL, SMALL, SMALL);
    printf("unaligned, no textures   %8.2f\n", cost(handle, matrices, APART + 1, 0));
    printf("the same matrices        %8.2f\n", cost(handle, matrices, APART, 0));
    printf("new matrices every time  %8.2f\n", cost(handle, matrices, APART, APART));
    early = returns_early(handle);
    printf("returns before %d^3 is finished: %s\n", LARGE, early ? "yes" : "NO");
    if (sgemm_destroy(handle) != SGEMM_OK)
        return 1;
    check(cudaFree(matrices));
    return early ? 0 : 1;
}
