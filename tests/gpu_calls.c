// gpu_calls: of sgemm(), what the emulator cannot show: that it returns before the product is
// finished, that it refuses a stream that is being captured and another device, and what a call
// costs the host. Linked with build/libsgemm.a alone, for a GPU.
#include <cuda_runtime_api.h>
#include <sgemm.h>
#include <stdlib.h>
#include <time.h>

#include "tap.h"

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
    fprintf(stderr, "gpu_calls: %s\n", cudaGetErrorString(error));
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

static enum sgemm_status multiply(struct sgemm_handle *handle, int64_t size, const float *a,
                                  const float *b, float *c)
{
    return sgemm(handle, size, size, size, 1, a, size, b, size, 0, c, size);
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

            if (multiply(handle, SMALL, a, a, matrices) != SGEMM_OK)
                return NAN;
        }
        total += microseconds() - start;
    }
    check(cudaDeviceSynchronize());
    return total / CALLS;
}

static void show_costs(struct sgemm_handle *handle)
{
    float *matrices = allocate((size_t)(CALLS + 2) * APART);

    cost(handle, matrices, APART, 0); // loads the kernels
    cost(handle, matrices, APART + 1, 0);
    printf("# microseconds of the host for a call on %dx%dx%d\n", SMALL, SMALL, SMALL);
    printf("# unaligned matrices       %8.2f\n", cost(handle, matrices, APART + 1, 0));
    printf("# the same aligned ones    %8.2f\n", cost(handle, matrices, APART, 0));
    printf("# new ones at every call   %8.2f\n", cost(handle, matrices, APART, APART));
    check(cudaFree(matrices));
}

static void test_early_return(struct sgemm_handle *handle)
{
    float *a = allocate((size_t)3 * LARGE * LARGE);
    float *b = a + (size_t)LARGE * LARGE;
    float *c = b + (size_t)LARGE * LARGE;

    multiply(handle, LARGE, a, b, c); // loads the kernel
    check(cudaDeviceSynchronize());
    is_integer(multiply(handle, LARGE, a, b, c), SGEMM_OK, "a large product");
    is_integer(cudaStreamQuery(NULL), cudaErrorNotReady, "is not finished when sgemm() returns");
    check(cudaDeviceSynchronize());
    check(cudaFree(a));
}

static void test_capture(void)
{
    float *matrices = allocate(APART);
    struct sgemm_handle *handle;
    cudaStream_t stream;
    cudaGraph_t graph;

    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    is_integer(sgemm_create(&handle, stream), SGEMM_OK, "a handle for a stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    is_integer(multiply(handle, SMALL / 2, matrices, matrices, matrices + APART / 2),
               SGEMM_STREAM_CAPTURED, "a stream that is being captured is refused");
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphDestroy(graph));
    is_integer(multiply(handle, SMALL / 2, matrices, matrices, matrices + APART / 2), SGEMM_OK,
               "after the capture it works again");
    is_integer(sgemm_destroy(handle), SGEMM_OK, "the handle is destroyed");
    check(cudaStreamDestroy(stream));
    check(cudaFree(matrices));
}

static void test_other_device(struct sgemm_handle *handle)
{
    int devices;

    check(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return;
    check(cudaSetDevice(1));
    is_integer(multiply(handle, 1, NULL, NULL, NULL), SGEMM_NULL_MATRIX, "arguments come first");
    is_integer(sgemm(handle, 0, 0, 0, 1, NULL, 1, NULL, 1, 0, NULL, 1), SGEMM_WRONG_DEVICE,
               "another device");
    check(cudaSetDevice(0));
}

int main(void)
{
    struct sgemm_handle *handle;

    is_integer(sgemm_create(&handle, NULL), SGEMM_OK, "a handle");
    test_early_return(handle);
    test_capture();
    test_other_device(handle);
    show_costs(handle);
    is_integer(sgemm_destroy(handle), SGEMM_OK, "the handle is destroyed");
    return finish();
}
