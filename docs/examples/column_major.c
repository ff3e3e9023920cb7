// Multiplies column-major matrices, as Fortran, BLAS and cuBLAS have them, with the row-major
// sgemm().
//
// A column-major matrix is, byte for byte, the transpose of a row-major one. What sgemm() sees is
// so the transpose of each matrix, and the transpose of A * B is that of B times that of A: swap
// the operands, and m with n. Nothing is copied, and nothing is slower.
//
// Build and run: make examples && build/docs/examples/column_major
// Without a GPU: build/docs/examples/column_major-emulated
#include <sgemm.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    M = 200,
    N = 300,
    K = 100,
    LDA = M, // from one column to the next
    LDB = K,
    LDC = M + 3,
};

static float A[LDA * K], B[LDB * N], C[LDC * N];

// As BLAS has it: A is m x k with lda >= m, B is k x n with ldb >= k, C is m x n with ldc >= m.
static enum sgemm_status sgemm_column_major(struct sgemm_handle *handle, int64_t m, int64_t n,
                                            int64_t k, float alpha, const float *a, int64_t lda,
                                            const float *b, int64_t ldb, float beta, float *c,
                                            int64_t ldc)
{
    // NOLINTNEXTLINE(readability-suspicious-call-argument): swapped on purpose
    return sgemm(handle, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "column_major: %s: %s\n", what, cudaGetErrorString(error));
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

// Small whole numbers: their sums are exact. Element (i, j) is in column j, row i.
static void fill(void)
{
    int i, j;

    for (j = 0; j < K; j++)
        for (i = 0; i < M; i++)
            A[j * LDA + i] = (float)((i + 2 * j) % 7);
    for (j = 0; j < N; j++)
        for (i = 0; i < K; i++)
            B[j * LDB + i] = (float)((3 * i + j) % 5);
    for (i = 0; i < LDC * N; i++)
        C[i] = 2;
}

static int count_wrong(float alpha, float beta)
{
    int wrong = 0;
    int i, j, p;

    for (j = 0; j < N; j++)
        for (i = 0; i < LDC; i++) {
            float sum = 0;

            for (p = 0; p < K && i < M; p++)
                sum += A[p * LDA + i] * B[j * LDB + p];
            wrong += C[j * LDC + i] != (i < M ? alpha * sum + beta * 2 : 2);
        }
    return wrong;
}

int main(void)
{
    const float alpha = 0.5F, beta = -1.5F;
    struct sgemm_handle *handle;
    float *a, *b, *c;
    int wrong;

    fill();
    a = upload(A, sizeof A);
    b = upload(B, sizeof B);
    c = upload(C, sizeof C);
    if (sgemm_create(&handle, NULL) != SGEMM_OK)
        check(cudaGetLastError(), "sgemm_create");
    if (sgemm_column_major(handle, M, N, K, alpha, a, LDA, b, LDB, beta, c, LDC) != SGEMM_OK) {
        fprintf(stderr, "column_major: sgemm: %s\n", sgemm_message(handle));
        return 1;
    }
    check(cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost),
          "cudaMemcpy"); // waits for the product
    sgemm_destroy(handle);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);

    wrong = count_wrong(alpha, beta);
    printf("column_major: %dx%d elements, %d wrong\n", M, N, wrong);
    return wrong > 0;
}
