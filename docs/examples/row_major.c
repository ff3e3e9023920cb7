// Multiplies two row-major matrices with build/libsgemm.a and checks the result.
//
// Build and run: make examples && build/docs/examples/row_major
// Without a GPU: build/docs/examples/row_major-emulated
// By hand:       make libsgemm && cc -Icommon -I$CUDA_HOME/include docs/examples/row_major.c
//                build/libsgemm.a -L$CUDA_HOME/lib64 -lcudart_static -ldl -lrt -lpthread
#include <sgemm.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    M = 200,
    N = 300,
    K = 100,
};

static float A[M][K], B[K][N], C[M][N];

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "row_major: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

// A copy on the device, which the caller frees.
static float *upload(const void *host, size_t bytes)
{
    float *device;

    check(cudaMalloc((void **)&device, bytes), "cudaMalloc");
    check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    return device;
}

// Small whole numbers: their sums are exact.
static void fill(void)
{
    int i, j;

    for (i = 0; i < M; i++)
        for (j = 0; j < K; j++)
            A[i][j] = (float)((i + 2 * j) % 7);
    for (i = 0; i < K; i++)
        for (j = 0; j < N; j++)
            B[i][j] = (float)((3 * i + j) % 5);
}

static int count_wrong(float alpha)
{
    int wrong = 0;
    int i, j, p;

    for (i = 0; i < M; i++)
        for (j = 0; j < N; j++) {
            float sum = 0;

            for (p = 0; p < K; p++)
                sum += A[i][p] * B[p][j];
            wrong += C[i][j] != alpha * sum;
        }
    return wrong;
}

int main(void)
{
    const float alpha = 0.5F, beta = 0;
    struct sgemm_handle *handle;
    float *a, *b, *c;
    int wrong;

    fill();
    a = upload(A, sizeof A);
    b = upload(B, sizeof B);
    c = upload(C, sizeof C);
    if (sgemm_create(&handle, NULL) != SGEMM_OK)
        check(cudaGetLastError(), "sgemm_create");
    if (sgemm(handle, M, N, K, alpha, a, K, b, N, beta, c, N) != SGEMM_OK) {
        fprintf(stderr, "row_major: sgemm: %s\n", sgemm_message(handle));
        return 1;
    }
    check(cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost),
          "cudaMemcpy"); // waits for the product
    sgemm_destroy(handle);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);

    wrong = count_wrong(alpha);
    printf("row_major: %dx%d elements, %d wrong\n", M, N, wrong);
    return wrong > 0;
}
