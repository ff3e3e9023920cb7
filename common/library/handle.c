#include "handle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {
    [SGEMM_OK] = "no error",
    [SGEMM_NO_HANDLE] = "the handle is NULL: sgemm_create() makes one",
    [SGEMM_NEGATIVE_SIZE] = "m, n and k are at least 0",
    [SGEMM_SHORT_LEADING_DIMENSION] =
        "lda is at least max(1, k), ldb and ldc are at least max(1, n)",
    [SGEMM_TOO_LARGE] = "a matrix spans less than 2^63 bytes",
    [SGEMM_NULL_MATRIX] = "a matrix that is read or written is not NULL",
    [SGEMM_MISALIGNED_MATRIX] = "a matrix starts at a multiple of 4 bytes",
    [SGEMM_WRONG_DEVICE] = "the current device is the one that the handle was made on",
    [SGEMM_STREAM_CAPTURED] = "the stream is not being captured into a graph",
    [SGEMM_OUT_OF_HOST_MEMORY] = "out of host memory",
    [SGEMM_UNREADABLE_TABLE] = "the table cannot be read",
    [SGEMM_BAD_TABLE] = "the file is not a table for this device: make tune writes one",
    [SGEMM_CUDA_ERROR] = "a call of the CUDA runtime did not succeed",
};

const char *sgemm_status_text(enum sgemm_status status)
{
    const size_t i = (size_t)status;

    return i < sizeof texts / sizeof *texts ? texts[i] : "not a status of sgemm()";
}

const char *sgemm_message(const struct sgemm_handle *handle)
{
    return handle != NULL ? handle->message : texts[SGEMM_NO_HANDLE];
}

enum sgemm_status report(struct sgemm_handle *handle, enum sgemm_status status, const char *format,
                         ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(handle->message, sizeof handle->message, format, arguments);
    va_end(arguments);
    return status;
}

static enum sgemm_status report_cuda(struct sgemm_handle *handle, cudaError_t error)
{
    if (error == cudaSuccess)
        return SGEMM_OK;
    return report(handle, SGEMM_CUDA_ERROR, "%s: %s", cudaGetErrorName(error),
                  cudaGetErrorString(error));
}

// The handle
// ---------------------------------------------------------------------------------------

static cudaError_t read_device(struct sgemm_handle *handle)
{
    int major = 0, minor = 0;
    cudaError_t error = cudaGetDevice(&handle->device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, handle->device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, handle->device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&handle->sms, cudaDevAttrMultiProcessorCount, handle->device);
    handle->capability = 10 * major + minor;
    return error;
}

enum sgemm_status sgemm_create(struct sgemm_handle **handle, cudaStream_t stream)
{
    struct sgemm_handle *made;

    if (handle == NULL)
        return SGEMM_NO_HANDLE;
    *handle = NULL;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return SGEMM_OUT_OF_HOST_MEMORY;
    made->stream = stream;
    made->candidate_count = candidate_count;
    memcpy(made->candidates, candidates, (size_t)candidate_count * sizeof *candidates);
    if (read_device(made) != cudaSuccess) {
        free(made);
        return SGEMM_CUDA_ERROR;
    }
    *handle = made;
    return SGEMM_OK;
}

// Gives back every workspace, when the products that use them are finished. Goes on after an error.
static enum sgemm_status release_workspaces(struct sgemm_handle *handle)
{
    cudaError_t error = cudaSuccess;

    if (handle->workspace_count > 0)
        error = cudaStreamSynchronize(handle->stream);
    while (handle->workspace_count > 0) {
        struct workspace *workspace = &handle->workspaces[--handle->workspace_count];
        const cudaError_t released = workspace->step->release(&workspace->problem);

        if (error == cudaSuccess)
            error = released;
    }
    return report_cuda(handle, error);
}

enum sgemm_status sgemm_set_stream(struct sgemm_handle *handle, cudaStream_t stream)
{
    enum sgemm_status status = SGEMM_OK;

    if (handle == NULL)
        return SGEMM_NO_HANDLE;
    if (stream != handle->stream)
        status = release_workspaces(handle);
    handle->stream = stream;
    return status;
}

enum sgemm_status sgemm_destroy(struct sgemm_handle *handle)
{
    enum sgemm_status status;

    if (handle == NULL)
        return SGEMM_OK;
    status = release_workspaces(handle);
    free(handle);
    return status;
}

// What sgemm() takes
// -------------------------------------------------------------------------------

// A matrix as check_problem() looks at it: its name and that of its leading dimension, and of its
// columns.
struct operand {
    char name;
    const float *first;
    int64_t rows, cols, ld;
    const char *cols_name;
    bool touched;
};

static enum sgemm_status check_operand(struct sgemm_handle *handle, const struct operand *operand)
{
    const char name = operand->name;
    const int64_t shortest = operand->cols > 1 ? operand->cols : 1;
    const int64_t most = INT64_MAX / (int64_t)sizeof(float);

    if (operand->ld < shortest)
        return report(handle, SGEMM_SHORT_LEADING_DIMENSION,
                      "ld%c is %" PRId64 ": it is at least max(1, %s) = %" PRId64, name - 'A' + 'a',
                      operand->ld, operand->cols_name, shortest);
    if (operand->cols > most ||
        (operand->rows > 0 && operand->rows - 1 > (most - operand->cols) / operand->ld))
        return report(handle, SGEMM_TOO_LARGE,
                      "%c of %" PRId64 " rows, %" PRId64
                      " elements apart, spans 2^63 bytes or more",
                      name, operand->rows, operand->ld);
    if (!operand->touched)
        return SGEMM_OK;
    if (operand->first == NULL)
        return report(handle, SGEMM_NULL_MATRIX, "%c is NULL, and it is %s", name,
                      name == 'C' ? "written" : "read");
    if ((uintptr_t)operand->first % sizeof(float) != 0)
        return report(handle, SGEMM_MISALIGNED_MATRIX, "%c is at %p: no multiple of 4 bytes", name,
                      (const void *)operand->first);
    return SGEMM_OK;
}

static enum sgemm_status check_stream(struct sgemm_handle *handle)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    int device = -1;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess && device != handle->device)
        return report(handle, SGEMM_WRONG_DEVICE,
                      "the current device is %d: the handle was made on %d", device,
                      handle->device);
    if (error == cudaSuccess)
        error = cudaStreamIsCapturing(handle->stream, &capture);
    if (capture != cudaStreamCaptureStatusNone)
        return report(handle, SGEMM_STREAM_CAPTURED,
                      "the stream is being captured into a graph: sgemm() does not support that");
    return report_cuda(handle, error);
}

enum sgemm_status check_problem(struct sgemm_handle *handle, const struct sgemm *p)
{
    const bool writes = p->m > 0 && p->n > 0;
    const bool reads = writes && p->k > 0 && p->alpha != 0;
    const struct operand operands[] = {
        {'A', p->A, p->m, p->k, p->lda, "k", reads},
        {'B', p->B, p->k, p->n, p->ldb, "n", reads},
        {'C', p->C, p->m, p->n, p->ldc, "n", writes},
    };
    enum sgemm_status status = SGEMM_OK;
    size_t i;

    if (p->m < 0 || p->n < 0 || p->k < 0)
        return report(handle, SGEMM_NEGATIVE_SIZE,
                      "m is %" PRId64 ", n is %" PRId64 ", k is %" PRId64 ": they are at least 0",
                      p->m, p->n, p->k);
    for (i = 0; i < sizeof operands / sizeof *operands && status == SGEMM_OK; i++)
        status = check_operand(handle, &operands[i]);
    return status != SGEMM_OK ? status : check_stream(handle);
}

// Workspaces
// ---------------------------------------------------------------------------------------

// Whether all that a workspace may depend on is the same.
static bool is_alike(const struct sgemm *a, const struct sgemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->A == b->A && a->lda == b->lda &&
           a->B == b->B && a->ldb == b->ldb && (a->alpha == 0) == (b->alpha == 0);
}

static struct workspace *find_workspace(struct sgemm_handle *handle, const struct step *step,
                                        const struct sgemm *problem)
{
    int i;

    for (i = 0; i < handle->workspace_count; i++)
        if (handle->workspaces[i].step == step &&
            (step->reusable || is_alike(&handle->workspaces[i].problem, problem)))
            return &handle->workspaces[i];
    return NULL;
}

// A problem that is new takes a new workspace; when there is no room, all of them are given back.
static enum sgemm_status prepare(struct sgemm_handle *handle, const struct step *step,
                                 struct sgemm *problem)
{
    struct workspace *workspace = find_workspace(handle, step, problem);
    cudaError_t error;

    if (workspace == NULL) {
        if (handle->workspace_count == SGEMM_WORKSPACES) {
            const enum sgemm_status status = release_workspaces(handle);

            if (status != SGEMM_OK)
                return status;
        }
        workspace = &handle->workspaces[handle->workspace_count];
        *workspace = (struct workspace){step, *problem};
        error = step->prepare(&workspace->problem);
        if (error != cudaSuccess) {
            step->release(&workspace->problem);
            return report_cuda(handle, error);
        }
        handle->workspace_count++;
    }
    problem->workspace = workspace->problem.workspace;
    return SGEMM_OK;
}

enum sgemm_status run(struct sgemm_handle *handle, const struct step *step, struct sgemm problem)
{
    if (step->prepare != NULL) {
        const enum sgemm_status status = prepare(handle, step, &problem);

        if (status != SGEMM_OK)
            return status;
    }
    return report_cuda(handle, step->launch(&problem, handle->stream));
}
