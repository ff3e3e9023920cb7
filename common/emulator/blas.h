// What the parts of cuBLAS share. Matrices are column-major, as in BLAS; sums are made in float64
// and rounded once.
#ifndef EMULATOR_BLAS_H
#define EMULATOR_BLAS_H

#include <cublas_v2.h>
#include <stdbool.h>
#include <stdint.h>

struct cublasContext {
    cublasMath_t math;
    cublasPointerMode_t pointers;
    cudaStream_t stream;
};

// A matrix in device memory, or a vector, whose elements lie column_step apart. Of float64 if
// `wide`, else of float32.
struct matrix {
    uint8_t *host;
    bool wide;
    int64_t row_step, column_step; // in elements
};

// Every function with a handle begins and ends with these. The first returns why it cannot go on;
// the second must be called all the same.
cublasStatus_t open_blas(cublasHandle_t handle);
cublasStatus_t close_blas(cublasStatus_t status);

// What the kernel of this function would do: read a matrix of rows x columns elements, or write it.
// An access outside every allocation, or to what nobody has written, is a fault; with the checks
// off the former is the device's error. False where it is, and then nothing must be done.
enum use {
    USE_READ,
    USE_WRITE,
    USE_UPDATE
};
bool find_matrix(struct matrix *out, const char *function, const char *name, enum use use,
                 bool wide, const void *device, int64_t rows, int64_t columns, int64_t ld);

// The same for `count` elements of a vector, the first of them the last in memory if the step is
// negative. Element i is element (0, i) of the result.
bool find_vector(struct matrix *out, const char *function, const char *name, enum use use,
                 const float *device, int64_t count, int64_t step);

// alpha, beta and results: in host memory or on the device, as the handle says. False where the
// pointer cannot be one.
bool read_scalar(cublasHandle_t handle, double *value, bool wide, const void *from);
bool write_scalar(cublasHandle_t handle, void *to, const void *value, uint64_t bytes);

static inline void *element_at(const struct matrix *operand, int64_t row, int64_t column)
{
    const int64_t index = row * operand->row_step + column * operand->column_step;
    return operand->host +
           index * (operand->wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float));
}

static inline double get_element(const struct matrix *operand, int64_t row, int64_t column)
{
    const void *element = element_at(operand, row, column);
    return operand->wide ? *(const double *)element : (double)*(const float *)element;
}

static inline void set_element(const struct matrix *operand, int64_t row, int64_t column,
                               double value)
{
    void *element = element_at(operand, row, column);
    if (operand->wide)
        *(double *)element = value;
    else
        *(float *)element = (float)value;
}

static inline int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
