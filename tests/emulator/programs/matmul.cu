// A product by tiles in shared memory, compared with cublasSgemm and timed beside it.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TILE 16

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = call;                                                                  \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a[threadIdx.y][threadIdx.x] = A[row * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

int main(void)
{
    const int n = 96;
    const size_t bytes = n * n * sizeof(float);
    const float one = 1, zero = 0;
    float *A, *B, *C, *C_cublas, milliseconds = 0, worst = 0;
    float *host = (float *)malloc(bytes), *other = (float *)malloc(bytes);
    cublasHandle_t handle;
    cudaEvent_t start, stop;

    CHECK(cudaMalloc(&A, bytes));
    CHECK(cudaMalloc(&B, bytes));
    CHECK(cudaMalloc(&C, bytes));
    CHECK(cudaMalloc(&C_cublas, bytes));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
        return EXIT_FAILURE;
    for (int i = 0; i < n * n; i++)
        host[i] = (float)(rand() % 100) / 100 - 0.5F;
    CHECK(cudaMemcpy(A, host, bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < n * n; i++)
        host[i] = (float)(rand() % 100) / 100 - 0.5F;
    CHECK(cudaMemcpy(B, host, bytes, cudaMemcpyHostToDevice));

    CHECK(cudaEventRecord(start));
    matmul<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(A, B, C, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    // Row-major C = A B is column-major C' = B' A'.
    if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, B, n, A, n, &zero, C_cublas,
                    n) != CUBLAS_STATUS_SUCCESS)
        return EXIT_FAILURE;
    CHECK(cudaMemcpy(host, C, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(other, C_cublas, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n * n; i++)
        worst = fmaxf(worst, fabsf(host[i] - other[i]));

    printf("%s, %.1f ms, %.1f GFLOP/s\n", worst < 1e-4F ? "as cuBLAS" : "WRONG", milliseconds,
           2.0 * n * n * n / milliseconds / 1e6);
    cublasDestroy(handle);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFree(A));
    CHECK(cudaFree(B));
    CHECK(cudaFree(C));
    CHECK(cudaFree(C_cublas));
    free(host);
    free(other);
    return worst < 1e-4F ? EXIT_SUCCESS : EXIT_FAILURE;
}
