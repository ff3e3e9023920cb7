// The part of cuBLAS that a verification needs: C := alpha op(A) op(B) + beta C, in column-major
// order, computed in float64 and rounded once.
#include <cublas_v2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arena.h"
#include "fault.h"
#include "memory.h"

struct cublasContext {
    cublasMath_t math;
};

struct operand_matrix {
    const float *elements;
    int64_t row_step, column_step;
};

enum {
    COLUMNS = 4, // of C at a time: each element of A is converted once for all of them
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = zeroed(1, sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    (void)stream;
    return handle == NULL ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
             : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                     : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                   : "CUBLAS_STATUS_NOT_INITIALIZED";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "the operation completed successfully"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed"
                                                   : "the library was not initialized";
}

// Where a matrix lies on the host. A fault where part of it is in no allocation.
static float *find_matrix(const char *name, const float *device, int64_t rows, int64_t columns,
                          int64_t ld)
{
    const uint64_t address = (uint64_t)(uintptr_t)device;
    const uint64_t bytes = (uint64_t)((columns - 1) * ld + rows) * sizeof(float);
    char place[512];
    uint8_t *host = memory_host(address, bytes);
    if (host == NULL)
        emulator_fail(
            "out of bounds: cublasSgemm's %s of %llu bytes is not within an allocation: %s", name,
            (unsigned long long)bytes, describe_address(address, bytes, place, sizeof place));
    return (float *)(void *)host;
}

static struct operand_matrix find_operand(const char *name, cublasOperation_t operation,
                                          const float *device, int64_t rows, int64_t columns,
                                          int64_t ld)
{
    const bool plain = operation == CUBLAS_OP_N;
    return (struct operand_matrix){
        .elements = find_matrix(name, device, plain ? rows : columns, plain ? columns : rows, ld),
        .row_step = plain ? 1 : ld,
        .column_step = plain ? ld : 1,
    };
}

// Adds up the products for up to COLUMNS columns of C from column j on: sums[column][row].
static void add_products(struct operand_matrix a, struct operand_matrix b, int64_t m, int64_t k,
                         int64_t j, int64_t columns, double *sums)
{
    for (int64_t i = 0; i < COLUMNS * m; i++)
        sums[i] = 0;
    for (int64_t p = 0; p < k; p++) {
        const float *column = a.elements + p * a.column_step;
        double factors[COLUMNS] = {0};
        for (int64_t c = 0; c < columns; c++)
            factors[c] = (double)b.elements[p * b.row_step + (j + c) * b.column_step];
        for (int64_t i = 0; i < m; i++) {
            const double element = (double)column[i * a.row_step];
            for (int64_t c = 0; c < columns; c++)
                sums[c * m + i] += element * factors[c];
        }
    }
}

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const float *alpha, const float *A, int64_t lda, const float *B,
                              int64_t ldb, const float *beta, float *C, int64_t ldc)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || ldc < m)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    struct operand_matrix a = {0};
    struct operand_matrix b = {0};
    if (k > 0 && *alpha != 0) {
        a = find_operand("A", transa, A, m, k, lda);
        b = find_operand("B", transb, B, k, n, ldb);
    } else {
        k = 0;
    }
    float *c = find_matrix("C", C, m, n, ldc);
    double *sums = zeroed((size_t)(COLUMNS * m), sizeof *sums);
    for (int64_t j = 0; j < n; j += COLUMNS) {
        const int64_t columns = n - j < COLUMNS ? n - j : COLUMNS;
        add_products(a, b, m, k, j, columns, sums);
        for (int64_t column = 0; column < columns; column++)
            for (int64_t i = 0; i < m; i++) {
                float *element = &c[(j + column) * ldc + i];
                double value = (double)*alpha * sums[column * m + i];
                if (*beta != 0)
                    value += (double)*beta * (double)*element;
                *element = (float)value;
            }
    }
    free(sums);
    for (int64_t column = 0; column < n; column++)
        memory_written((uint64_t)(uintptr_t)(C + column * ldc), (uint64_t)m * sizeof *C);
    return CUBLAS_STATUS_SUCCESS;
}
