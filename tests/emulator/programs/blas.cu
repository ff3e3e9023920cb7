// The functions of cuBLAS that the emulator offers, against plain loops, and their argument errors.
// Runs on a GPU as well: operands are small integers, so that every order of a sum gives the same.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_runtime.h>

enum {
    ROOM = 4000
};

static int failures;
static cublasHandle_t handle;
static float *A, *B, *C; // on the device
static float a[ROOM], b[ROOM], c[ROOM], result[ROOM];

static void check(const char *what, bool right)
{
    if (right)
        return;
    printf("%s: WRONG\n", what);
    failures++;
}

static void status(const char *what, cublasStatus_t found, cublasStatus_t wanted)
{
    if (found == wanted)
        return;
    printf("%s: %s, not %s\n", what, cublasGetStatusName(found), cublasGetStatusName(wanted));
    failures++;
}

static void fill(void)
{
    for (int i = 0; i < ROOM; i++) {
        a[i] = (float)(i * 7 % 11 - 5);
        b[i] = (float)(i * 5 % 13 - 6);
        c[i] = (float)(i * 3 % 7 - 3);
    }
    cudaMemcpy(A, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(B, b, sizeof b, cudaMemcpyHostToDevice);
    cudaMemcpy(C, c, sizeof c, cudaMemcpyHostToDevice);
}

static bool same(const float *device, const float *wanted)
{
    bool right = true;
    cudaMemcpy(result, device, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < ROOM; i++)
        right = right && result[i] == wanted[i];
    return right;
}

// Column-major: element (i, j) of a matrix is x[i + j * ld].
static float element(const float *x, cublasOperation_t operation, int ld, int i, int j)
{
    return operation == CUBLAS_OP_N ? x[i + j * ld] : x[j + i * ld];
}

static void gemm(float *to, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                 float alpha, const float *x, int lda, const float *y, int ldb, float beta, int ldc)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            float sum = 0;
            for (int p = 0; p < k && alpha != 0; p++)
                sum += element(x, transa, lda, i, p) * element(y, transb, ldb, p, j);
            to[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * to[i + j * ldc]);
        }
}

static void products(void)
{
    const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const float scalars[] = {0, 1, -2};
    const int m = 17, n = 9, k = 13, ld = 20;
    for (int t = 0; t < 9; t++)
        for (int s = 0; s < 9; s++) {
            const float alpha = scalars[s % 3], beta = scalars[s / 3];
            fill();
            gemm(c, operations[t % 3], operations[t / 3], m, n, k, alpha, a, ld, b, ld, beta, ld);
            cublasSgemm(handle, operations[t % 3], operations[t / 3], m, n, k, &alpha, A, ld, B, ld,
                        &beta, C, ld);
            check("cublasSgemm", same(C, c));
        }
    const float one = 1, two = 2;
    fill();
    gemm(c, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 2, a, ld, b, ld, 1, ld);
    cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &two, A, ld, B, ld, &one, C, ld);
    check("cublasSgemm_64", same(C, c));
    fill();
    gemm(c, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, 2, a, ld, b, ld, 1, ld);
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &two, A, CUDA_R_32F, ld, B, CUDA_R_32F,
                 ld, &one, C, CUDA_R_32F, ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    check("cublasGemmEx", same(C, c));
    fill();
    for (int i = 0; i < 3; i++)
        gemm(c + 500 * i, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 2, a + 300 * i, ld, b + 400 * i, ld, 1,
             ld);
    cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &two, A, ld, 300, B, ld,
                              400, &one, C, ld, 500, 3);
    check("cublasSgemmStridedBatched", same(C, c));
    fill();
    gemm(c, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 0, 0, a, ld, b, ld, 2, ld);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 0, &one, A, ld, B, ld, &two, C, ld);
    check("cublasSgemm with k = 0", same(C, c));

    // NaN in C does not matter where beta is 0, nor in A where alpha is.
    const float zero = 0;
    fill();
    gemm(c, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 1, a, ld, b, ld, 0, ld);
    cudaMemset(C, 0xff, m * sizeof(float));
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, A, ld, B, ld, &zero, C, ld);
    check("cublasSgemm with NaN in C", same(C, c));
    fill();
    gemm(c, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, 0, a, ld, b, ld, 2, ld);
    cudaMemset(A, 0xff, ROOM * sizeof(float));
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &zero, A, ld, B, ld, &two, C, ld);
    check("cublasSgemm with NaN in A", same(C, c));
}

static void double_product(void)
{
    static double x[400], y[400], z[400], back[400];
    double *X, *Y, *Z;
    const double alpha = 0.5, beta = 3;
    const int n = 20;
    for (int i = 0; i < n * n; i++) {
        x[i] = (i * 7 % 11) + 1e10;
        y[i] = i * 5 % 13;
        z[i] = i;
    }
    cudaMalloc(&X, sizeof x);
    cudaMalloc(&Y, sizeof y);
    cudaMalloc(&Z, sizeof z);
    cudaMemcpy(X, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(Y, y, sizeof y, cudaMemcpyHostToDevice);
    cudaMemcpy(Z, z, sizeof z, cudaMemcpyHostToDevice);
    cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &alpha, X, n, Y, n, &beta, Z, n);
    cudaMemcpy(back, Z, sizeof z, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < n; p++)
                sum += x[p + i * n] * y[p + j * n];
            right = right && back[i + j * n] == alpha * sum + beta * z[i + j * n];
        }
    check("cublasDgemm", right);
    cudaFree(X);
    cudaFree(Y);
    cudaFree(Z);
}

static void vectors(void)
{
    const float two = 2;
    float sum = 0, wanted = 0;
    int index = 0;
    fill();
    for (int i = 0; i < 100; i++)
        c[3 * i] += 2 * a[2 * i];
    cublasSaxpy(handle, 100, &two, A, 2, C, 3);
    check("cublasSaxpy", same(C, c));
    for (int i = 0; i < 100; i++)
        c[99 - i] += 2 * b[2 * i];
    cublasSaxpy(handle, 100, &two, B, 2, C, -1);
    check("cublasSaxpy, backwards", same(C, c));
    fill();
    for (int i = 0; i < 50; i++)
        c[2 * i] *= 2;
    cublasSscal(handle, 50, &two, C, 2);
    check("cublasSscal", same(C, c));
    for (int i = 0; i < 50; i++)
        c[i] = a[3 * i];
    cublasScopy(handle, 50, A, 3, C, 1);
    check("cublasScopy", same(C, c));
    for (int i = 0; i < 50; i++) {
        const float old = c[i];
        c[i] = b[i];
        b[i] = old;
    }
    cublasSswap(handle, 50, C, 1, B, 1);
    check("cublasSswap", same(C, c) && same(B, b));

    fill();
    for (int i = 0; i < 200; i++)
        wanted += a[i] * b[2 * i];
    cublasSdot(handle, 200, A, 1, B, 2, &sum);
    check("cublasSdot", sum == wanted);
    wanted = 0;
    for (int i = 0; i < 200; i++)
        wanted += fabsf(a[i]);
    cublasSasum(handle, 200, A, 1, &sum);
    check("cublasSasum", sum == wanted);
    const float three_four[2] = {3, 4};
    cudaMemcpy(A, three_four, sizeof three_four, cudaMemcpyHostToDevice);
    cublasSnrm2(handle, 2, A, 1, &sum);
    check("cublasSnrm2", fabsf(sum - 5) < 1e-6F);
    cublasIsamax(handle, 100, A, 1, &index);
    check("cublasIsamax", index == 4); // a[3] is 5
    cublasSdot(handle, 0, NULL, 1, NULL, 1, &sum);
    check("cublasSdot of nothing", sum == 0);
}

static void matrices(void)
{
    const float two = 2, three = 3;
    const int m = 7, n = 5, ld = 9;
    fill();
    for (int i = 0; i < m; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i + j * ld] * b[2 * j];
        c[i] = 2 * sum + 3 * c[i];
    }
    cublasSgemv(handle, CUBLAS_OP_N, m, n, &two, A, ld, B, 2, &three, C, 1);
    check("cublasSgemv", same(C, c));
    fill();
    for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int i = 0; i < m; i++)
            sum += a[i + j * ld] * b[i];
        c[j] = 2 * sum + 3 * c[j];
    }
    cublasSgemv(handle, CUBLAS_OP_T, m, n, &two, A, ld, B, 1, &three, C, 1);
    check("cublasSgemv, transposed", same(C, c));
    fill();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            c[i + j * ld] = 2 * a[j + i * ld] + 3 * b[i + j * ld];
    cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &two, A, ld, &three, B, ld, C, ld);
    check("cublasSgeam", same(C, c));
    fill();
    cublasSetMatrix(m, n, sizeof(float), a, 10, C, 8);
    for (int j = 0; j < n; j++)
        memcpy(c + 8 * j, a + 10 * j, m * sizeof(float));
    check("cublasSetMatrix", same(C, c));
    cublasGetMatrix(m, n, sizeof(float), C, 8, b, 20);
    check("cublasGetMatrix", memcmp(b + 20, a + 10, m * sizeof(float)) == 0);
    cublasSetVector(10, sizeof(float), a, 2, C, 3);
    cublasGetVector(10, sizeof(float), C, 3, b, 1);
    check("cublasSetVector, cublasGetVector", b[0] == a[0] && b[9] == a[18]);
}

static void settings(void)
{
    cublasPointerMode_t pointers;
    cublasMath_t math;
    cudaStream_t stream, found = NULL;
    int version = 0;
    float *device, host = 0;
    status("cublasGetVersion", cublasGetVersion(handle, &version), CUBLAS_STATUS_SUCCESS);
    check("version", version / 10000 == CUBLAS_VER_MAJOR || version == CUBLAS_VERSION);
    status("cublasSetMathMode", cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH),
           CUBLAS_STATUS_SUCCESS);
    cublasGetMathMode(handle, &math);
    check("cublasGetMathMode", math == CUBLAS_PEDANTIC_MATH);
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
    cublasGetStream(handle, &found);
    check("cublasSetStream, cublasGetStream", found == stream);
    cublasSetStream(handle, NULL);
    cudaStreamDestroy(stream);

    cudaMalloc(&device, sizeof *device);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasGetPointerMode(handle, &pointers);
    check("cublasSetPointerMode", pointers == CUBLAS_POINTER_MODE_DEVICE);
    fill();
    cublasSasum(handle, 100, A, 1, device);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 100; i++)
        host -= fabsf(a[i]);
    check("a result on the device", host == 0);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    cudaFree(device);
}

static void errors(void)
{
    const cublasOperation_t N = CUBLAS_OP_N, T = CUBLAS_OP_T;
    const float one = 1;
    const cublasStatus_t invalid = CUBLAS_STATUS_INVALID_VALUE, good = CUBLAS_STATUS_SUCCESS;
    fill();
    status("no handle", cublasSgemm(NULL, N, N, 4, 4, 4, &one, A, 4, B, 4, &one, C, 4),
           CUBLAS_STATUS_NOT_INITIALIZED);
    status("m < 0", cublasSgemm(handle, N, N, -1, 4, 4, &one, A, 4, B, 4, &one, C, 4), invalid);
    status("n < 0", cublasSgemm(handle, N, N, 4, -1, 4, &one, A, 4, B, 4, &one, C, 4), invalid);
    status("k < 0", cublasSgemm(handle, N, N, 4, 4, -1, &one, A, 4, B, 4, &one, C, 4), invalid);
    status("lda < m", cublasSgemm(handle, N, N, 4, 4, 4, &one, A, 3, B, 4, &one, C, 4), invalid);
    status("lda < k", cublasSgemm(handle, T, N, 3, 4, 4, &one, A, 3, B, 4, &one, C, 4), invalid);
    status("ldb < k", cublasSgemm(handle, N, N, 4, 4, 4, &one, A, 4, B, 3, &one, C, 4), invalid);
    status("ldb < n", cublasSgemm(handle, N, T, 4, 4, 3, &one, A, 4, B, 3, &one, C, 4), invalid);
    status("ldc < m", cublasSgemm(handle, N, N, 4, 4, 4, &one, A, 4, B, 4, &one, C, 3), invalid);
    status("lda = 0", cublasSgemm(handle, N, N, 0, 0, 0, &one, A, 0, B, 1, &one, C, 1), invalid);
    status("nothing", cublasSgemm(handle, N, N, 0, 4, 4, &one, A, 1, B, 4, &one, C, 1), good);
    status("operation 77",
           cublasSgemm(handle, (cublasOperation_t)77, N, 4, 4, 4, &one, A, 4, B, 4, &one, C, 4),
           invalid);
    status("no alpha", cublasSgemm(handle, N, N, 4, 4, 4, NULL, A, 4, B, 4, &one, C, 4), invalid);
    status("no beta", cublasSgemm(handle, N, N, 4, 4, 4, &one, A, 4, B, 4, NULL, C, 4), invalid);
    status("create into NULL", cublasCreate(NULL), invalid);
    status("destroy NULL", cublasDestroy(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    status("gemv, lda < m", cublasSgemv(handle, N, 4, 4, &one, A, 3, B, 1, &one, C, 1), invalid);
    status("gemv, step 0", cublasSgemv(handle, N, 4, 4, &one, A, 4, B, 0, &one, C, 1), invalid);
    status("geam, ldc < m", cublasSgeam(handle, N, N, 4, 4, &one, A, 4, &one, B, 4, C, 3), invalid);
}

int main(void)
{
    status("cublasCreate", cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    cudaMalloc(&A, sizeof a);
    cudaMalloc(&B, sizeof b);
    cudaMalloc(&C, sizeof c);
    settings();
    products();
    double_product();
    vectors();
    matrices();
    errors();
    cudaFree(A);
    cudaFree(B);
    cudaFree(C);
    status("cublasDestroy", cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    printf("%d wrong\n", failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
