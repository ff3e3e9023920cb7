// The stand-in that fake_cuda.h describes: exactly the calls that the harness makes, no more.
#include "fake_cuda.h"

#include "poison.h"

#include <cublas_v2.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    L2_BYTES = 256 * 1024, // small: flushing it is real work here
    ALIGNMENT = 256,       // of every device allocation, as cudaMalloc gives
    MAX_FUNCTIONS = 64,
};

struct allocation {
    struct allocation *next;
    char *start; // what cudaMalloc returned
    size_t bytes;
    char *pages; // the pages that hold it, and their size; one page on each side stays closed
    size_t pages_bytes;
};

// The types behind the runtime's handles.
struct CUevent_st {
    double time_ms; // of the virtual clock
    long order;     // 0 before it is recorded
};

struct cublasContext {
    bool pedantic;
};

static struct allocation *allocations;
static size_t allocated_bytes;
static double clock_ms;
static long events_recorded, events_waited_for; // an event is complete once the host has waited
static bool faulted;                            // a kernel has faulted, no call has said so yet
static cudaError_t sticky_error;                // after an illegal address every call returns it
static int live_events, live_handles, live_pinned;

static double setting(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? strtod(text, NULL) : otherwise;
}

static void trace(const char *format, ...)
{
    static FILE *file;
    va_list arguments;

    if (!getenv("FAKE_TRACE"))
        return;
    if (!file)
        file = fopen(getenv("FAKE_TRACE"), "w");
    if (!file)
        abort();
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fflush(file);
}

static void trace_leaks(void)
{
    for (const struct allocation *a = allocations; a; a = a->next)
        trace("leak device memory %zu\n", a->bytes);
    if (live_events || live_handles || live_pinned)
        trace("leak events %d handles %d pinned %d\n", live_events, live_handles, live_pinned);
}

// Counts a call of `name`; the code that FAKE_FAIL asks for, or 0.
static int injected(const char *name)
{
    static struct {
        const char *name;
        long calls;
    } functions[MAX_FUNCTIONS];
    const char *fail = getenv("FAKE_FAIL");
    const size_t length = strlen(name);
    int i = 0;

    while (functions[i].name && strcmp(functions[i].name, name) != 0)
        i++;
    if (i == MAX_FUNCTIONS - 1)
        abort();
    if (!functions[0].name)
        atexit(trace_leaks);
    functions[i].name = name;
    functions[i].calls++;
    trace("call %s\n", name);
    if (fail && strncmp(fail, name, length) == 0 && fail[length] == ':') {
        char *rest;
        if (strtol(fail + length + 1, &rest, 10) == functions[i].calls)
            return (int)strtol(rest + 1, NULL, 10);
    }
    return 0;
}

// Every runtime call begins here: an error that has stuck, one that the test injects, or success.
static cudaError_t enter(const char *name)
{
    const cudaError_t error = sticky_error ? sticky_error : (cudaError_t)injected(name);

    if (error == cudaErrorIllegalAddress)
        sticky_error = error;
    return error;
}

// A call that waits for the device: reports the fault of a kernel, completes all events up to now.
static cudaError_t wait(const char *name, long order)
{
    const cudaError_t error = enter(name);

    if (error)
        return error;
    if (faulted) {
        sticky_error = cudaErrorIllegalAddress;
        return sticky_error;
    }
    if (order > events_waited_for)
        events_waited_for = order;
    return cudaSuccess;
}

// Device memory ----------------------------------------------------------------------------------

// Device memory is open only while a kernel or a copy runs: a host that touches it is stopped.
static void set_device_memory(int protection)
{
    for (const struct allocation *a = allocations; a; a = a->next)
        if (mprotect(a->pages, a->pages_bytes, protection) != 0)
            abort();
}

static void open_device_memory(void)
{
    set_device_memory(PROT_READ | PROT_WRITE);
}

static void close_device_memory(void)
{
    set_device_memory(PROT_NONE);
}

static bool on_device(const void *address, size_t bytes)
{
    const char *p = address;

    if (bytes == 0)
        return true;
    for (const struct allocation *a = allocations; a; a = a->next)
        if (p >= a->start && p <= a->start + a->bytes)
            return bytes <= (size_t)(a->start + a->bytes - p);
    return false;
}

// True where the rows of a matrix, in either order, lie in one allocation.
static bool matrix_on_device(const float *matrix, int64_t rows, int64_t columns, int64_t ld)
{
    if (rows == 0 || columns == 0)
        return true;
    return on_device(matrix, sizeof *matrix * (size_t)((rows - 1) * ld + columns));
}

static void *map_pages(size_t bytes)
{
    const int zero = open("/dev/zero", O_RDWR);
    void *pages = zero < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE, zero, 0);

    if (pages == MAP_FAILED)
        abort();
    close(zero);
    return pages;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    const cudaError_t error = enter("cudaMalloc");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct allocation *a;

    if (error)
        return error;
    *pointer = NULL; // as cudaMalloc does for 0 bytes
    if (bytes == 0)
        return cudaSuccess;
    if ((double)bytes + (double)allocated_bytes > setting("FAKE_MEMORY", 4294967296.0))
        return cudaErrorMemoryAllocation;
    a = malloc(sizeof *a);
    if (!a)
        abort();
    a->bytes = bytes;
    a->pages_bytes = (aligned + page - 1) / page * page;
    a->pages = (char *)map_pages(a->pages_bytes + 2 * page) + page;
    a->start = a->pages + a->pages_bytes - aligned; // the end of the memory meets the closed page
    a->next = allocations;
    allocations = a;
    allocated_bytes += bytes;
    *pointer = a->start;
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    const cudaError_t error = enter("cudaFree");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (error || !pointer)
        return error;
    for (struct allocation **link = &allocations; *link; link = &(*link)->next) {
        struct allocation *a = *link;
        if (a->start == pointer) {
            *link = a->next;
            allocated_bytes -= a->bytes;
            munmap(a->pages - page, a->pages_bytes + 2 * page);
            free(a);
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    const cudaError_t error = enter("cudaMemGetInfo");

    *total = (size_t)setting("FAKE_MEMORY", 4294967296.0);
    *available = *total - allocated_bytes;
    return error;
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    const cudaError_t error = enter("cudaMallocHost");

    if (error)
        return error;
    *pointer = malloc(bytes ? bytes : 1);
    if (!*pointer)
        return cudaErrorMemoryAllocation;
    live_pinned++;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *pointer)
{
    const cudaError_t error = enter("cudaFreeHost");

    if (!error && pointer) {
        free(pointer);
        live_pinned--;
    }
    return error;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

    if (bytes > 0 && (on_device(to, bytes) != to_device || on_device(from, bytes) != from_device))
        return cudaErrorInvalidValue;
    if (kind == cudaMemcpyDeviceToDevice)
        trace("copy %zu\n", bytes);
    open_device_memory();
    memcpy(to, from, bytes);
    close_device_memory();
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const cudaError_t error = wait("cudaMemcpy", events_recorded);
    return error ? error : copy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    const cudaError_t error = enter("cudaMemset");

    if (error)
        return error;
    if (!on_device(memory, bytes))
        return cudaErrorInvalidValue;
    trace("memset %zu\n", bytes);
    open_device_memory();
    memset(memory, value, bytes);
    close_device_memory();
    return cudaSuccess;
}

// Events ------------------------------------------------------------------------------------

cudaError_t cudaDeviceSynchronize(void)
{
    return wait("cudaDeviceSynchronize", events_recorded);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    const cudaError_t error = enter("cudaEventCreate");

    if (error)
        return error;
    *event = calloc(1, sizeof **event);
    if (!*event)
        abort();
    live_events++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const cudaError_t error = enter("cudaEventDestroy");

    if (!error) {
        free(event);
        live_events--;
    }
    return error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const cudaError_t error = enter("cudaEventRecord");

    (void)stream;
    if (error)
        return error;
    event->time_ms = clock_ms;
    event->order = ++events_recorded;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return wait("cudaEventSynchronize", event->order);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop)
{
    const cudaError_t error = enter("cudaEventElapsedTime");

    if (error)
        return error;
    if (start->order == 0 || stop->order == 0)
        return cudaErrorInvalidResourceHandle;
    if (start->order > events_waited_for || stop->order > events_waited_for)
        return cudaErrorNotReady;
    *ms = (float)(stop->time_ms - start->time_ms);
    trace("elapsed %.9g\n", (double)*ms);
    return cudaSuccess;
}

// The program's clocks are virtual as well. The host needs a microsecond to look at one, so that a
// wait for time to pass ends.
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    clock_ms += 1e-3;
    now->tv_sec = (time_t)(clock_ms / 1e3);
    now->tv_nsec = (long)((clock_ms - (double)now->tv_sec * 1e3) * 1e6);
    return 0;
}

int fake_events_recorded(void)
{
    return (int)events_recorded;
}

// Launches ---------------------------------------------------------------------------------------

// A number in [-1, 1) that depends only on how many were drawn before.
static double next_jitter(void)
{
    static uint32_t state = 1;

    state = state * 1664525U + 1013904223U;
    return (double)state / 2147483648.0 - 1;
}

static void advance(const char *who, const char *fixed_ms, double m, double n, double k,
                    double rate, double growth_ms)
{
    const double operations = 2 * m * n * k;
    double ms = setting(fixed_ms, 1 + operations / rate * 1e3) + growth_ms;

    ms *= 1 + setting("FAKE_JITTER", 0) * next_jitter();
    clock_ms += ms;
    trace("launch %s %.9g %gx%gx%g\n", who, ms, m, n, k);
}

// Sends the signal that FAKE_SIGNAL asks for at this launch.
static void send_signal(long launch)
{
    const char *when = getenv("FAKE_SIGNAL");
    char *rest;

    if (when && strtol(when, &rest, 10) == launch)
        raise((int)strtol(rest + 1, NULL, 10));
}

cudaError_t fake_launch(void (*kernel)(const struct sgemm *), const struct sgemm *problem)
{
    static long launches;
    const cudaError_t error = enter("launch");
    const long nap_us = (long)(setting("FAKE_SLEEP_MS", 0) * 1e3);
    const struct timespec nap = {nap_us / 1000000, nap_us % 1000000 * 1000};

    if (error)
        return error;
    open_device_memory();
    kernel(problem);
    close_device_memory();
    send_signal(launches + 1);
    if (nap_us > 0)
        nanosleep(&nap, NULL);
    advance("step", "FAKE_STEP_MS", (double)problem->m, (double)problem->n, (double)problem->k,
            40e12, setting("FAKE_GROWTH_MS", 0) * (double)launches++);
    return cudaSuccess;
}

void fake_fault(void)
{
    faulted = true;
}

cudaError_t poison_shared_memory(cudaStream_t stream)
{
    (void)stream;
    return enter("poison_shared_memory");
}

// Device and errors ------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int *count)
{
    const cudaError_t error = enter("cudaGetDeviceCount");

    *count = (int)setting("FAKE_DEVICES", 1);
    if (error)
        return error;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    const cudaError_t error = enter("cudaSetDevice");

    if (error)
        return error;
    return device < (int)setting("FAKE_DEVICES", 1) ? cudaSuccess : cudaErrorInvalidDevice;
}

// An H200's figures, except for the L2.
static int attribute(enum cudaDeviceAttr name)
{
    const int capability = (int)setting("FAKE_CAPABILITY", 90);

    switch (name) {
    case cudaDevAttrComputeCapabilityMajor:
        return capability / 10;
    case cudaDevAttrComputeCapabilityMinor:
        return capability % 10;
    case cudaDevAttrMultiProcessorCount:
        return 132;
    case cudaDevAttrClockRate:
        return 1980000;
    case cudaDevAttrL2CacheSize:
        return L2_BYTES;
    case cudaDevAttrMaxGridDimX:
        return (int)setting("FAKE_GRID_X", 2147483647);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return 2048;
    case cudaDevAttrWarpSize:
        return 32;
    default:
        return -1;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device)
{
    const cudaError_t error = enter("cudaDeviceGetAttribute");

    (void)device;
    if (error)
        return error;
    *value = attribute(name);
    return *value >= 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    const cudaError_t error = enter("cudaGetDeviceProperties");

    (void)device;
    if (error)
        return error;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "Fake GPU");
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    const cudaError_t error = enter("cudaDeviceGetPCIBusId");

    if (!error)
        snprintf(text, (size_t)length, "0000:%02x:00.0", device);
    return error;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return enter("cudaDriverGetVersion");
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    const cudaError_t error = enter("cudaFuncGetAttributes");

    (void)function;
    if (error)
        return error;
    memset(attributes, 0, sizeof *attributes);
    attributes->numRegs = 126;
    attributes->sharedSizeBytes = 24576;
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return enter("cudaFuncSetAttribute");
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t shared_bytes)
{
    (void)function;
    (void)threads;
    (void)shared_bytes;
    *blocks = 2;
    return enter("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"}, // last: every other code ends here
};

static int error_index(cudaError_t error)
{
    int i = 0;

    while (errors[i].code != error && errors[i].code != cudaErrorUnknown)
        i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return errors[error_index(error)].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return errors[error_index(error)].text;
}

// cuBLAS -----------------------------------------------------------------------------------------

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    const int status = injected("cublasCreate");
    const char *override = getenv("NVIDIA_TF32_OVERRIDE"); // cuBLAS reads both when it starts
    const char *emulate = getenv("CUBLAS_EMULATE_SINGLE_PRECISION");

    if (status)
        return (cublasStatus_t)status;
    trace("tf32 override %s\n", override ? override : "unset");
    trace("emulate single precision %s\n", emulate ? emulate : "unset");
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        abort();
    live_handles++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    const int status = injected("cublasDestroy");

    if (!status) {
        free(handle);
        live_handles--;
    }
    return (cublasStatus_t)status;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    const int status = injected("cublasSetMathMode");

    handle->pedantic = mode == CUBLAS_PEDANTIC_MATH;
    return (cublasStatus_t)status;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    const int status = injected("cublasGetProperty");

    *value = type == MAJOR_VERSION ? 13 : 1;
    return (cublasStatus_t)status;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                                    : "CUBLAS_STATUS_INTERNAL_ERROR";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
                                                    : "an internal operation failed";
}

// One column of C, m long: summed in float64, rounded once.
static void gemm_column(int64_t m, int64_t k, double alpha, const float *A, int64_t lda,
                        const float *b, double beta, float *c, double *sum)
{
    for (int64_t i = 0; i < m; i++)
        sum[i] = 0;
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < m; i++)
            sum[i] += (double)A[p * lda + i] * (double)b[p];
    for (int64_t i = 0; i < m; i++)
        c[i] = (float)(beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * (double)c[i]);
}

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                              const float *alpha, const float *A, int64_t lda, const float *B,
                              int64_t ldb, const float *beta, float *C, int64_t ldc)
{
    const int status = injected("cublasSgemm_64");
    double *sum;

    if (status)
        return (cublasStatus_t)status;
    if (sticky_error)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!handle->pedantic || transa != CUBLAS_OP_N || transb != CUBLAS_OP_N || m < 0 || n < 0 ||
        k < 0 || lda < (m > 1 ? m : 1) || ldb < (k > 1 ? k : 1) || ldc < (m > 1 ? m : 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!matrix_on_device(A, k, m, lda) || !matrix_on_device(B, n, k, ldb) ||
        !matrix_on_device(C, n, m, ldc))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    sum = malloc(sizeof *sum * (size_t)(m + 1));
    if (!sum)
        abort();
    open_device_memory();
    for (int64_t j = 0; j < n; j++)
        gemm_column(m, *alpha == 0 ? 0 : k, *alpha, A, lda, &B[j * ldb], *beta, &C[j * ldc], sum);
    close_device_memory();
    free(sum);
    advance("cublas", "FAKE_CUBLAS_MS", (double)n, (double)m, (double)k, 50e12,
            0); // row-major's m, n
    return CUBLAS_STATUS_SUCCESS;
}
