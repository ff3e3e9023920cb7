// cuBLAS: vectors of float32, and matrices with vectors. Without elements there is nothing to do,
// whatever the pointers are; an operand that is not there has been told, or is the device's error.
#include <math.h>

#include "blas.h"

struct pair {
    struct matrix x, y;
};

static bool find_pair(struct pair *out, const char *function, int64_t n, const float *x,
                      int64_t x_step, enum use x_use, const float *y, int64_t y_step,
                      enum use y_use)
{
    return n > 0 && find_vector(&out->x, function, "x", x_use, x, n, x_step) &&
           find_vector(&out->y, function, "y", y_use, y, n, y_step);
}

// Vectors ----------------------------------------------------------------------------------------

static cublasStatus_t scale(cublasHandle_t handle, int n, const float *alpha, float *x, int step)
{
    struct matrix vector;
    double factor;
    if (n <= 0 || step <= 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!read_scalar(handle, &factor, false, alpha))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (find_vector(&vector, "cublasSscal", "x", USE_UPDATE, x, n, step))
        for (int i = 0; i < n; i++)
            set_element(&vector, 0, i, factor * get_element(&vector, 0, i));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSscal(cublasHandle_t handle, int n, const float *alpha, float *x, int step)
{
    const cublasStatus_t status = open_blas(handle);
    return close_blas(status == CUBLAS_STATUS_SUCCESS ? scale(handle, n, alpha, x, step) : status);
}

static cublasStatus_t add_scaled(cublasHandle_t handle, int n, const float *alpha, const float *x,
                                 int x_step, float *y, int y_step)
{
    struct pair v;
    double factor;
    if (n <= 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!read_scalar(handle, &factor, false, alpha))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (factor != 0 && find_pair(&v, "cublasSaxpy", n, x, x_step, USE_READ, y, y_step, USE_UPDATE))
        for (int i = 0; i < n; i++)
            set_element(&v.y, 0, i, factor * get_element(&v.x, 0, i) + get_element(&v.y, 0, i));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSaxpy(cublasHandle_t handle, int n, const float *alpha, const float *x,
                           int x_step, float *y, int y_step)
{
    const cublasStatus_t status = open_blas(handle);
    return close_blas(status == CUBLAS_STATUS_SUCCESS
                          ? add_scaled(handle, n, alpha, x, x_step, y, y_step)
                          : status);
}

cublasStatus_t cublasScopy(cublasHandle_t handle, int n, const float *x, int x_step, float *y,
                           int y_step)
{
    struct pair v;
    const cublasStatus_t status = open_blas(handle);
    if (status == CUBLAS_STATUS_SUCCESS &&
        find_pair(&v, "cublasScopy", n, x, x_step, USE_READ, y, y_step, USE_WRITE))
        for (int i = 0; i < n; i++)
            set_element(&v.y, 0, i, get_element(&v.x, 0, i));
    return close_blas(status);
}

cublasStatus_t cublasSswap(cublasHandle_t handle, int n, float *x, int x_step, float *y, int y_step)
{
    struct pair v;
    const cublasStatus_t status = open_blas(handle);
    if (status == CUBLAS_STATUS_SUCCESS &&
        find_pair(&v, "cublasSswap", n, x, x_step, USE_UPDATE, y, y_step, USE_UPDATE))
        for (int i = 0; i < n; i++) {
            const double element = get_element(&v.x, 0, i);
            set_element(&v.x, 0, i, get_element(&v.y, 0, i));
            set_element(&v.y, 0, i, element);
        }
    return close_blas(status);
}

// Numbers that vectors are reduced to ------------------------------------------------------------

static cublasStatus_t write_float(cublasHandle_t handle, float *to, double value)
{
    const float rounded = (float)value;
    return write_scalar(handle, to, &rounded, sizeof rounded) ? CUBLAS_STATUS_SUCCESS
                                                              : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float *x, int x_step, const float *y,
                          int y_step, float *result)
{
    struct pair v;
    double sum = 0;
    const cublasStatus_t status = open_blas(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return close_blas(status);
    if (find_pair(&v, "cublasSdot", n, x, x_step, USE_READ, y, y_step, USE_READ))
        for (int i = 0; i < n; i++)
            sum += get_element(&v.x, 0, i) * get_element(&v.y, 0, i);
    return close_blas(write_float(handle, result, sum));
}

cublasStatus_t cublasSasum(cublasHandle_t handle, int n, const float *x, int step, float *result)
{
    struct matrix vector;
    double sum = 0;
    const cublasStatus_t status = open_blas(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return close_blas(status);
    if (n > 0 && step > 0 && find_vector(&vector, "cublasSasum", "x", USE_READ, x, n, step))
        for (int i = 0; i < n; i++)
            sum += fabs(get_element(&vector, 0, i));
    return close_blas(write_float(handle, result, sum));
}

cublasStatus_t cublasSnrm2(cublasHandle_t handle, int n, const float *x, int step, float *result)
{
    struct matrix vector;
    double sum = 0;
    const cublasStatus_t status = open_blas(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return close_blas(status);
    if (n > 0 && step > 0 && find_vector(&vector, "cublasSnrm2", "x", USE_READ, x, n, step))
        for (int i = 0; i < n; i++)
            sum += get_element(&vector, 0, i) * get_element(&vector, 0, i);
    return close_blas(write_float(handle, result, sqrt(sum)));
}

// The first of those with the greatest absolute value, counted from 1; 0 where there is none.
cublasStatus_t cublasIsamax(cublasHandle_t handle, int n, const float *x, int step, int *result)
{
    struct matrix vector;
    int found = 0;
    cublasStatus_t status = open_blas(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return close_blas(status);
    if (n > 0 && step > 0 && find_vector(&vector, "cublasIsamax", "x", USE_READ, x, n, step))
        for (int i = 0; i < n; i++)
            if (found == 0 ||
                fabs(get_element(&vector, 0, i)) > fabs(get_element(&vector, 0, found - 1)))
                found = i + 1;
    if (!write_scalar(handle, result, &found, sizeof found))
        status = CUBLAS_STATUS_INVALID_VALUE;
    return close_blas(status);
}

// Matrices with vectors --------------------------------------------------------------------------

// y := alpha op(A) x + beta y, where op(A) is rows x columns.
static void multiply(const struct matrix *a, const struct pair *v, int rows, int columns,
                     double alpha, double beta)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < columns && alpha != 0; j++)
            sum += get_element(a, i, j) * get_element(&v->x, 0, j);
        sum *= alpha;
        if (beta != 0)
            sum += beta * get_element(&v->y, 0, i);
        set_element(&v->y, 0, i, sum);
    }
}

static cublasStatus_t matrix_vector(cublasHandle_t handle, cublasOperation_t operation, int m,
                                    int n, const float *alpha, const float *A, int lda,
                                    const float *x, int x_step, const float *beta, float *y,
                                    int y_step)
{
    const char *const function = "cublasSgemv";
    const bool plain = operation == CUBLAS_OP_N;
    const int rows = plain ? m : n;
    const int columns = plain ? n : m;
    struct matrix a = {0};
    struct pair v = {0};
    double factor;
    double old_factor;
    if (operation < CUBLAS_OP_N || operation > CUBLAS_OP_C || m < 0 || n < 0 ||
        lda < greater(m, 1) || x_step == 0 || y_step == 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!read_scalar(handle, &factor, false, alpha) ||
        !read_scalar(handle, &old_factor, false, beta))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (factor != 0 && (!find_matrix(&a, function, "A", USE_READ, false, A, m, n, lda) ||
                        !find_vector(&v.x, function, "x", USE_READ, x, columns, x_step)))
        return CUBLAS_STATUS_SUCCESS;
    if (!plain) {
        a.row_step = lda;
        a.column_step = 1;
    }
    if (find_vector(&v.y, function, "y", old_factor == 0 ? USE_WRITE : USE_UPDATE, y, rows, y_step))
        multiply(&a, &v, rows, columns, factor, old_factor);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                           const float *alpha, const float *A, int lda, const float *x, int x_step,
                           const float *beta, float *y, int y_step)
{
    const cublasStatus_t status = open_blas(handle);
    return close_blas(
        status == CUBLAS_STATUS_SUCCESS
            ? matrix_vector(handle, operation, m, n, alpha, A, lda, x, x_step, beta, y, y_step)
            : status);
}

// C := alpha op(A) + beta op(B); C may be A or B where that is not transposed.
static cublasStatus_t add_matrices(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, const float *alpha,
                                   const float *A, int lda, const float *beta, const float *B,
                                   int ldb, float *C, int ldc)
{
    const char *const function = "cublasSgeam";
    const bool plain_a = transa == CUBLAS_OP_N;
    const bool plain_b = transb == CUBLAS_OP_N;
    struct matrix a = {0};
    struct matrix b = {0};
    struct matrix c;
    double of_a;
    double of_b;
    if (transa < CUBLAS_OP_N || transa > CUBLAS_OP_C || transb < CUBLAS_OP_N ||
        transb > CUBLAS_OP_C || m < 0 || n < 0 || lda < greater(plain_a ? m : n, 1) ||
        ldb < greater(plain_b ? m : n, 1) || ldc < greater(m, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!read_scalar(handle, &of_a, false, alpha) || !read_scalar(handle, &of_b, false, beta))
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((of_a != 0 && !find_matrix(&a, function, "A", USE_READ, false, A, plain_a ? m : n,
                                   plain_a ? n : m, lda)) ||
        (of_b != 0 && !find_matrix(&b, function, "B", USE_READ, false, B, plain_b ? m : n,
                                   plain_b ? n : m, ldb)) ||
        !find_matrix(&c, function, "C", USE_WRITE, false, C, m, n, ldc))
        return CUBLAS_STATUS_SUCCESS;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            if (of_a != 0)
                sum += of_a * (plain_a ? get_element(&a, i, j) : get_element(&a, j, i));
            if (of_b != 0)
                sum += of_b * (plain_b ? get_element(&b, i, j) : get_element(&b, j, i));
            set_element(&c, i, j, sum);
        }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgeam(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, const float *alpha,
                           const float *A, int lda, const float *beta, const float *B, int ldb,
                           float *C, int ldc)
{
    const cublasStatus_t status = open_blas(handle);
    return close_blas(
        status == CUBLAS_STATUS_SUCCESS
            ? add_matrices(handle, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc)
            : status);
}
