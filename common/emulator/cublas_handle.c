// cuBLAS: handles and their settings, and what all of its functions need.
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "blas.h"
#include "emulator.h"
#include "fault.h"
#include "memory.h"
#include "runtime.h"
#include "sharing.h"

cublasStatus_t open_blas(cublasHandle_t handle)
{
    if (!enter_runtime(__func__))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    return handle == NULL ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t close_blas(cublasStatus_t status)
{
    leave_runtime(cudaSuccess);
    return status;
}

// Handles ----------------------------------------------------------------------------------------

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!enter_runtime(__func__))
        return close_blas(CUBLAS_STATUS_NOT_INITIALIZED);
    *handle = zeroed(1, sizeof **handle);
    return close_blas(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

// A result does not depend on the mode: all of it is float32 at least, and rounded once.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->pointers;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (stream == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

// There is no use for it.
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle == NULL ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    (void)handle;
    if (version == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    if (value == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
             : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                     : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

// Status -----------------------------------------------------------------------------------------

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
     "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

enum {
    STATUS_COUNT = sizeof statuses / sizeof *statuses,
};

static int find_status(cublasStatus_t status)
{
    int i = 0;
    while (i < STATUS_COUNT && statuses[i].status != status)
        i++;
    return i;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    const int i = find_status(status);
    return i < STATUS_COUNT ? statuses[i].name : "unrecognized status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    const int i = find_status(status);
    return i < STATUS_COUNT ? statuses[i].text : "unrecognized status";
}

// Operands ---------------------------------------------------------------------------------------

static bool outside(const char *function, const char *name, uint64_t address, uint64_t bytes)
{
    char place[512];
    if (emulator_settings.checks)
        emulator_fail("out of bounds: %s's %s of %llu bytes is not within an allocation: %s",
                      function, name, (unsigned long long)bytes,
                      describe_address(address, bytes, place, sizeof place));
    note_ending(ENDING_ILLEGAL_ADDRESS);
    return false;
}

static void check_written(const char *function, const char *name, uint64_t address, uint64_t bytes)
{
    const struct allocation *allocation = memory_holding(address);
    char place[512];
    if (emulator_settings.checks && !memory_valid(allocation, address - allocation->address, bytes))
        emulator_fail("uninitialized: %s reads %s, of which nobody has written all: %s", function,
                      name, describe_address(address, bytes, place, sizeof place));
}

bool find_matrix(struct matrix *out, const char *function, const char *name, enum use use,
                 bool wide, const void *device, int64_t rows, int64_t columns, int64_t ld)
{
    const uint64_t element = wide ? sizeof(double) : sizeof(float);
    const uint64_t address = address_of(device);
    const uint64_t bytes = (uint64_t)((columns - 1) * ld + rows) * element;
    *out = (struct matrix){memory_host(address, bytes), wide, 1, ld};
    if (out->host == NULL)
        return outside(function, name, address, bytes);
    device_takes(memory_holding(address), use != USE_READ, function);
    for (int64_t column = 0; column < columns; column++) {
        const uint64_t start = address + (uint64_t)(column * ld) * element;
        if (use != USE_WRITE)
            check_written(function, name, start, (uint64_t)rows * element);
        if (use != USE_READ)
            memory_written(start, (uint64_t)rows * element);
    }
    return true;
}

bool find_vector(struct matrix *out, const char *function, const char *name, enum use use,
                 const float *device, int64_t count, int64_t step)
{
    const int64_t apart = step < 0 ? -step : step;
    const bool found = find_matrix(out, function, name, use, false, device, 1, count, apart);
    if (found && step < 0) {
        out->host += (count - 1) * apart * (int64_t)sizeof(float);
        out->column_step = step;
    }
    return found;
}

// Where a scalar is, if it is where the handle says.
static void *scalar_at(cublasHandle_t handle, const void *pointer, uint64_t bytes)
{
    const bool on_host = handle->pointers == CUBLAS_POINTER_MODE_HOST;
    if (on_host && !memory_is_host(address_of(pointer)))
        return NULL;
    if (on_host && memory_holding(address_of(pointer)) == NULL)
        return (void *)pointer;
    return memory_host(address_of(pointer), bytes);
}

bool read_scalar(cublasHandle_t handle, double *value, bool wide, const void *from)
{
    const void *at = scalar_at(handle, from, wide ? sizeof(double) : sizeof(float));
    if (at != NULL)
        *value = wide ? *(const double *)at : (double)*(const float *)at;
    return at != NULL;
}

bool write_scalar(cublasHandle_t handle, void *to, const void *value, uint64_t bytes)
{
    void *at = scalar_at(handle, to, bytes);
    if (at == NULL)
        return false;
    memcpy(at, value, bytes);
    if (handle->pointers == CUBLAS_POINTER_MODE_HOST)
        device_gives_back(); // it waits for the result
    if (memory_holding(address_of(to)) != NULL)
        memory_written(address_of(to), bytes);
    return true;
}

// Copies between the host and the device ---------------------------------------------------------

// Columns of `rows` elements lie ld elements apart.
static cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element, const void *from,
                                  int64_t from_ld, void *to, int64_t to_ld,
                                  enum cudaMemcpyKind kind)
{
    if (rows < 0 || columns < 0 || element <= 0 || from_ld < greater(rows, 1) ||
        to_ld < greater(rows, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    const size_t size = (size_t)element;
    const cudaError_t error = cudaMemcpy2D(to, (size_t)to_ld * size, from, (size_t)from_ld * size,
                                           (size_t)rows * size, (size_t)columns, kind);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t cublasSetMatrix(int rows, int columns, int element, const void *from, int from_ld,
                               void *to, int to_ld)
{
    return copy_matrix(rows, columns, element, from, from_ld, to, to_ld, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetMatrix(int rows, int columns, int element, const void *from, int from_ld,
                               void *to, int to_ld)
{
    return copy_matrix(rows, columns, element, from, from_ld, to, to_ld, cudaMemcpyDeviceToHost);
}

cublasStatus_t cublasSetVector(int count, int element, const void *from, int from_step, void *to,
                               int to_step)
{
    return copy_matrix(1, count, element, from, from_step, to, to_step, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetVector(int count, int element, const void *from, int from_step, void *to,
                               int to_step)
{
    return copy_matrix(1, count, element, from, from_step, to, to_step, cudaMemcpyDeviceToHost);
}
