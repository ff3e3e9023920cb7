// How far steps 15 and 19 are from float64, beside cuBLAS in float32 and in TF32: for inputs of
// several kinds and several k, as CSV. An error is given in units of 2^-24 times the sum of |a *
// b|, half of float32's last bit if nothing cancels: its mean and the largest, over all elements of
// C.
//
// On a GPU: make step15 step19 && nvcc -arch=native -Icommon -o build/accuracy tests/accuracy.cu \
//     build/steps/15_tensor_cores.o build/steps/19_wgmma.o -lcublas && build/accuracy
#include <cublas_v2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "step.h"

enum kind {
    UNIFORM,    // in [-1, 1)
    POSITIVE,   // in [0, 1)
    SCALED,     // in [-1, 1), each element times a power of two of its own, 2^-20 to 2^20
    CANCELLING, // the second half of the terms takes off nearly all of the first
    KINDS
};

static const char *const kind_names[] = {"uniform", "positive", "scaled", "cancelling"};

// Some number in [0, 1) for a number and a matrix, with float32's 24 bits.
static __device__ float some(uint64_t i, uint64_t matrix)
{
    uint64_t x = i + matrix * 0x9e3779b97f4a7c15;

    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (float)((x ^ x >> 31) >> 40) * 0x1p-24f;
}

// Element i of A or of B, whose term is `term` of k, and whose row of A or column of B is `line`.
static __device__ float element(enum kind kind, uint64_t i, uint64_t matrix, int64_t term,
                                int64_t k, int64_t line)
{
    const float value = kind == POSITIVE ? some(i, matrix) : 2 * some(i, matrix) - 1;

    if (kind == SCALED)
        return ldexpf(value, (int)(some(i, matrix + 2) * 41) - 20);
    if (kind == CANCELLING) {
        const float first = 2 * some(line * k + term % (k / 2), matrix + 4) - 1;
        return term < k / 2 || matrix == 1 ? first : -first * (1 + 1e-6f * value);
    }
    return value;
}

// The elements as float32, as float64, and their absolute values.
static __global__ void fill(enum kind kind, int64_t rows, int64_t cols, int matrix, float *single,
                            double *exact, double *magnitude)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

    if (i >= rows * cols)
        return;
    const int64_t row = i / cols, col = i % cols;
    const float value =
        matrix == 0 ? element(kind, i, 0, col, cols, row) : element(kind, i, 1, row, rows, col);
    single[i] = value;
    exact[i] = value;
    magnitude[i] = fabsf(value);
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "accuracy: %s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

static void *device_memory(int64_t elements, size_t size)
{
    void *memory;

    check(cudaMalloc(&memory, (size_t)elements * size) == cudaSuccess, "cudaMalloc");
    return memory;
}

static void *host_copy(const void *device, int64_t elements, size_t size)
{
    void *memory = malloc((size_t)elements * size);

    check(memory != NULL, "malloc");
    check(cudaMemcpy(memory, device, (size_t)elements * size, cudaMemcpyDeviceToHost) ==
              cudaSuccess,
          "cudaMemcpy");
    return memory;
}

static void print_errors(enum kind kind, const struct sgemm *p, const char *who,
                         const double *wanted, const double *magnitudes)
{
    float *const got = (float *)host_copy(p->C, p->m * p->n, sizeof *got);
    double largest = 0, sum = 0;

    for (int64_t i = 0; i < p->m * p->n; i++) {
        const double error = fabs(got[i] - wanted[i]) / magnitudes[i] * 0x1p24;
        if (!isnan(largest) && !(error <= largest)) // a NaN, once found, stays
            largest = error;
        sum += error;
    }
    printf("%s,%lld,%lld,%lld,%s,%.4f,%.3f\n", kind_names[kind], (long long)p->m, (long long)p->n,
           (long long)p->k, who, sum / (double)(p->m * p->n), largest);
    free(got);
}

// 90 for 9.0.
static int capability_of_device(void)
{
    int major, minor;

    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
              cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess,
          "cudaDeviceGetAttribute");
    return 10 * major + minor;
}

static void multiply(const struct step *step, struct sgemm p)
{
    check(step->prepare == NULL || step->prepare(&p) == cudaSuccess, step->name);
    check(step->launch(&p, NULL) == cudaSuccess, step->name);
    check(step->release == NULL || step->release(&p) == cudaSuccess, step->name);
}

static void cublas_float32(cublasHandle_t handle, const struct sgemm *p, cublasMath_t mode)
{
    const float one = 1, zero = 0;

    check(cublasSetMathMode(handle, mode) == CUBLAS_STATUS_SUCCESS &&
              cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k, &one,
                          p->B, (int)p->n, p->A, (int)p->k, &zero, p->C,
                          (int)p->n) == CUBLAS_STATUS_SUCCESS,
          "cublasSgemm");
}

static double *cublas_float64(cublasHandle_t handle, const struct sgemm *p, const double *a,
                              const double *b)
{
    const double one = 1, zero = 0;
    double *const c = (double *)device_memory(p->m * p->n, sizeof *c);

    check(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k, &one, b,
                      (int)p->n, a, (int)p->k, &zero, c, (int)p->n) == CUBLAS_STATUS_SUCCESS,
          "cublasDgemm");
    double *const result = (double *)host_copy(c, p->m * p->n, sizeof *c);
    cudaFree(c);
    return result;
}

static void measure(cublasHandle_t handle, enum kind kind, int64_t m, int64_t n, int64_t k)
{
    float *const a = (float *)device_memory(m * k, sizeof *a);
    float *const b = (float *)device_memory(k * n, sizeof *b);
    float *const c = (float *)device_memory(m * n, sizeof *c);
    double *const exact_a = (double *)device_memory(m * k, sizeof *exact_a);
    double *const exact_b = (double *)device_memory(k * n, sizeof *exact_b);
    double *const magnitude_a = (double *)device_memory(m * k, sizeof *magnitude_a);
    double *const magnitude_b = (double *)device_memory(k * n, sizeof *magnitude_b);
    const struct sgemm p = {m, n, k, 1, a, k, b, n, 0, c, n, NULL};

    fill<<<(unsigned)((m * k + 255) / 256), 256>>>(kind, m, k, 0, a, exact_a, magnitude_a);
    fill<<<(unsigned)((k * n + 255) / 256), 256>>>(kind, k, n, 1, b, exact_b, magnitude_b);
    double *const wanted = cublas_float64(handle, &p, exact_a, exact_b);
    double *const magnitudes = cublas_float64(handle, &p, magnitude_a, magnitude_b);
    multiply(&step15, p);
    print_errors(kind, &p, "step 15", wanted, magnitudes);
    if (step_runs_on(&step19, capability_of_device())) {
        multiply(&step19, p);
        print_errors(kind, &p, "step 19", wanted, magnitudes);
    }
    cublas_float32(handle, &p, CUBLAS_PEDANTIC_MATH);
    print_errors(kind, &p, "cuBLAS float32", wanted, magnitudes);
    cublas_float32(handle, &p, CUBLAS_TF32_TENSOR_OP_MATH);
    print_errors(kind, &p, "cuBLAS TF32", wanted, magnitudes);
    free(wanted);
    free(magnitudes);
    void *const memory[] = {a, b, c, exact_a, exact_b, magnitude_a, magnitude_b};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
}

int main(void)
{
    cublasHandle_t handle;

    check(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
    printf("inputs,m,n,k,of,mean_error,largest_error\n");
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t k = 64; k <= 16384; k *= 4)
            measure(handle, (enum kind)kind, 512, 512, k);
        measure(handle, (enum kind)kind, 4096, 4096, 4096);
    }
    cublasDestroy(handle);
    return 0;
}
