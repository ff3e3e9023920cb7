// cuBLAS: products of matrices, C := alpha op(A) op(B) + beta C.
#include <stdlib.h>

#include "arena.h"
#include "blas.h"

struct product {
    const char *function;
    bool wide;
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *A, *B, *beta;
    int64_t lda, ldb;
    void *C;
    int64_t ldc;
    int64_t count; // of products, whose matrices lie so many elements apart
    int64_t stride_a, stride_b, stride_c;
};

enum {
    COLUMNS = 4, // of C at a time: each element of A is converted once for all of them
};

static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

static bool find_operand(struct matrix *out, const struct product *product, const char *name,
                         cublasOperation_t operation, const void *device, int64_t rows,
                         int64_t columns, int64_t ld)
{
    const bool plain = operation == CUBLAS_OP_N;
    const bool found = find_matrix(out, product->function, name, USE_READ, product->wide, device,
                                   plain ? rows : columns, plain ? columns : rows, ld);
    if (!plain) {
        out->row_step = ld;
        out->column_step = 1;
    }
    return found;
}

// Adds up the products for up to COLUMNS columns of C from column j on: sums[column][row].
static void add_products(const struct matrix *a, const struct matrix *b, int64_t m, int64_t k,
                         int64_t j, int64_t columns, double *sums, double *column_of_a)
{
    for (int64_t i = 0; i < COLUMNS * m; i++)
        sums[i] = 0;
    for (int64_t p = 0; p < k; p++) {
        for (int64_t i = 0; i < m; i++)
            column_of_a[i] = get_element(a, i, p);
        for (int64_t c = 0; c < columns; c++) {
            const double factor = get_element(b, p, j + c);
            for (int64_t i = 0; i < m; i++)
                sums[c * m + i] += column_of_a[i] * factor;
        }
    }
}

static void multiply(const struct product *product, const struct matrix *a, const struct matrix *b,
                     const struct matrix *c, double alpha, double beta)
{
    const int64_t m = product->m;
    const int64_t k = alpha == 0 ? 0 : product->k;
    double *sums = zeroed((size_t)(COLUMNS * m), sizeof *sums);
    double *column_of_a = zeroed((size_t)m, sizeof *column_of_a);
    for (int64_t j = 0; j < product->n; j += COLUMNS) {
        const int64_t columns = product->n - j < COLUMNS ? product->n - j : COLUMNS;
        add_products(a, b, m, k, j, columns, sums, column_of_a);
        for (int64_t column = 0; column < columns; column++)
            for (int64_t i = 0; i < m; i++) {
                double value = alpha * sums[column * m + i];
                if (beta != 0)
                    value += beta * get_element(c, i, j + column);
                set_element(c, i, j + column, value);
            }
    }
    free(column_of_a);
    free(sums);
}

// The matrix number `index` of those that lie so far apart.
static void *matrix_at(const struct product *product, const void *first, int64_t stride,
                       int64_t index)
{
    const int64_t element = product->wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    return (char *)first + index * stride * element;
}

static cublasStatus_t run_one(const struct product *product, int64_t index, double alpha,
                              double beta)
{
    const void *A = matrix_at(product, product->A, product->stride_a, index);
    const void *B = matrix_at(product, product->B, product->stride_b, index);
    void *C = matrix_at(product, product->C, product->stride_c, index);
    struct matrix a = {0};
    struct matrix b = {0};
    struct matrix c;
    if (product->k > 0 && alpha != 0 &&
        (!find_operand(&a, product, "A", product->transa, A, product->m, product->k,
                       product->lda) ||
         !find_operand(&b, product, "B", product->transb, B, product->k, product->n, product->ldb)))
        return CUBLAS_STATUS_SUCCESS;
    if (find_matrix(&c, product->function, "C", beta == 0 ? USE_WRITE : USE_UPDATE, product->wide,
                    C, product->m, product->n, product->ldc))
        multiply(product, &a, &b, &c, alpha, beta);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t run(cublasHandle_t handle, const struct product *product)
{
    const int64_t rows_of_a = product->transa == CUBLAS_OP_N ? product->m : product->k;
    const int64_t rows_of_b = product->transb == CUBLAS_OP_N ? product->k : product->n;
    double alpha;
    double beta;
    if (!is_operation(product->transa) || !is_operation(product->transb) || product->m < 0 ||
        product->n < 0 || product->k < 0 || product->count < 0 ||
        product->lda < greater(rows_of_a, 1) || product->ldb < greater(rows_of_b, 1) ||
        product->ldc < greater(product->m, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (product->m == 0 || product->n == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!read_scalar(handle, &alpha, product->wide, product->alpha) ||
        !read_scalar(handle, &beta, product->wide, product->beta))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (product->k == 0)
        alpha = 0;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int64_t i = 0; i < product->count && status == CUBLAS_STATUS_SUCCESS; i++)
        status = run_one(product, i, alpha, beta);
    return status;
}

static cublasStatus_t open_and_run(cublasHandle_t handle, const struct product *product)
{
    const cublasStatus_t status = open_blas(handle);
    return close_blas(status == CUBLAS_STATUS_SUCCESS ? run(handle, product) : status);
}

// NOLINTBEGIN(readability-non-const-parameter): the types are cuBLAS's.

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const float *alpha, const float *A, int64_t lda, const float *B,
                              int64_t ldb, const float *beta, float *C, int64_t ldc)
{
    const struct product product = {.function = "cublasSgemm",
                                    .transa = transa,
                                    .transb = transb,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .alpha = alpha,
                                    .A = A,
                                    .lda = lda,
                                    .B = B,
                                    .ldb = ldb,
                                    .beta = beta,
                                    .C = C,
                                    .ldc = ldc,
                                    .count = 1};
    return open_and_run(handle, &product);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const float *alpha,
                           const float *A, int lda, const float *B, int ldb, const float *beta,
                           float *C, int ldc)
{
    return cublasSgemm_64(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const double *alpha, const double *A, int64_t lda, const double *B,
                              int64_t ldb, const double *beta, double *C, int64_t ldc)
{
    const struct product product = {.function = "cublasDgemm",
                                    .wide = true,
                                    .transa = transa,
                                    .transb = transb,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .alpha = alpha,
                                    .A = A,
                                    .lda = lda,
                                    .B = B,
                                    .ldb = ldb,
                                    .beta = beta,
                                    .C = C,
                                    .ldc = ldc,
                                    .count = 1};
    return open_and_run(handle, &product);
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const double *alpha,
                           const double *A, int lda, const double *B, int ldb, const double *beta,
                           double *C, int ldc)
{
    return cublasDgemm_64(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t transa,
                                            cublasOperation_t transb, int64_t m, int64_t n,
                                            int64_t k, const float *alpha, const float *A,
                                            int64_t lda, long long stride_a, const float *B,
                                            int64_t ldb, long long stride_b, const float *beta,
                                            float *C, int64_t ldc, long long stride_c,
                                            int64_t count)
{
    const struct product product = {.function = "cublasSgemmStridedBatched",
                                    .transa = transa,
                                    .transb = transb,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .alpha = alpha,
                                    .A = A,
                                    .lda = lda,
                                    .B = B,
                                    .ldb = ldb,
                                    .beta = beta,
                                    .C = C,
                                    .ldc = ldc,
                                    .count = count,
                                    .stride_a = stride_a,
                                    .stride_b = stride_b,
                                    .stride_c = stride_c};
    return open_and_run(handle, &product);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float *alpha, const float *A, int lda,
                                         long long stride_a, const float *B, int ldb,
                                         long long stride_b, const float *beta, float *C, int ldc,
                                         long long stride_c, int count)
{
    return cublasSgemmStridedBatched_64(handle, transa, transb, m, n, k, alpha, A, lda, stride_a, B,
                                        ldb, stride_b, beta, C, ldc, stride_c, count);
}

// Float32 throughout is what there is; a compute type that would round to TF32 or to half precision
// is computed without that.
static bool is_float32(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t type)
{
    const bool computes = type == CUBLAS_COMPUTE_32F || type == CUBLAS_COMPUTE_32F_PEDANTIC ||
                          type == CUBLAS_COMPUTE_32F_FAST_16F ||
                          type == CUBLAS_COMPUTE_32F_FAST_16BF ||
                          type == CUBLAS_COMPUTE_32F_FAST_TF32;
    return a == CUDA_R_32F && b == CUDA_R_32F && c == CUDA_R_32F && computes;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *A, cudaDataType type_a, int64_t lda,
                               const void *B, cudaDataType type_b, int64_t ldb, const void *beta,
                               void *C, cudaDataType type_c, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    (void)algorithm;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_float32(type_a, type_b, type_c, compute))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return cublasSgemm_64(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType type_a, int lda, const void *B,
                            cudaDataType type_b, int ldb, const void *beta, void *C,
                            cudaDataType type_c, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm)
{
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, A, type_a, lda, B, type_b, ldb,
                           beta, C, type_c, ldc, compute, algorithm);
}

// NOLINTEND(readability-non-const-parameter)
