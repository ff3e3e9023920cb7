// The part of the CUDA runtime that calls, memory, events and textures need. Streams run in order
// and at once: when a call returns, its work is done.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "device.h"
#include "emulator.h"
#include "fatbin.h"
#include "fault.h"
#include "launch.h"
#include "memory.h"
#include "parser.h"
#include "texture.h"

// A container that nvcc's start-up code has registered.
struct image {
    const void *container;
    struct module *module; // NULL until a kernel of it is wanted
    struct image *next;
};

// A kernel, by the host address that stands for it.
struct function {
    const void *host;
    const char *name;
    struct image *image;
    struct kernel *kernel; // NULL until it is wanted
    int dynamic_limit;     // bytes of dynamic shared memory it may ask for
    struct function *next;
};

// What <<<...>>> leaves for the stub that it calls.
struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

struct CUevent_st {
    struct timespec time;
};

enum {
    NESTED_LAUNCHES = 16,
    DEFAULT_DYNAMIC_BYTES = 48 * 1024, // more must be asked for by cudaFuncSetAttribute
};

static struct image *images;
static struct function *functions;
static struct configuration configurations[NESTED_LAUNCHES];
static int configuration_count;
static cudaError_t last_error;
static bool any_error;

// Every result of the API goes through here.
static cudaError_t result(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
        any_error = true;
    }
    return error;
}

// Registration: nvcc's start-up code calls these before main -------------------------------------

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter): the names
// and the types are nvcc's.
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(struct function **kernel, const void *host);
cudaError_t __cudaLaunchKernel(struct function *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);

// True where something has been left behind, and has been told.
static bool report_leaks(void)
{
    uint64_t bytes = 0;
    int count = 0;
    const char *const name = memory_leaks(&count, &bytes);
    const int textures = textures_live();
    if (!emulator_settings.checks || (count == 0 && textures == 0))
        return false;
    fflush(NULL);
    fprintf(stderr, "%s: emulator: leak: ", emulator_settings.program);
    if (count > 0)
        fprintf(stderr, "%d allocation%s of %llu bytes never freed, the first is %s%s", count,
                count > 1 ? "s" : "", (unsigned long long)bytes, name, textures > 0 ? "; " : "");
    if (textures > 0)
        fprintf(stderr, "%d texture object%s never destroyed", textures, textures > 1 ? "s" : "");
    fputc('\n', stderr);
    return true;
}

void emulator_check_leaks(void)
{
    emulator_settings.leaks_at_exit = false;
    if (report_leaks())
        exit(EMULATOR_FAULT);
}

// After an error a program need not give back anything.
static void check_at_exit(void)
{
    if (emulator_settings.leaks_at_exit && !any_error && !emulator_has_failed() && report_leaks())
        _Exit(EMULATOR_FAULT);
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct wrapper {
        int magic, version;
        const void *container;
        void *unused;
    };
    struct image *image = zeroed(1, sizeof *image);
    if (images == NULL)
        atexit(check_at_exit);
    image->container = ((struct wrapper *)wrapper)->container;
    // A program that was built for a newer GPU than the model gets a model that it runs on.
    const int lowest = fatbin_lowest_capability(image->container);
    if (lowest > emulator_settings.capability)
        emulator_settings.capability = lowest;
    image->next = images;
    images = image;
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 0;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size)
{
    struct function *function = zeroed(1, sizeof *function);
    (void)device;
    (void)thread_limit;
    (void)thread;
    (void)block;
    (void)block_size;
    (void)grid_size;
    (void)warp_size;
    function->host = host;
    function->name = name;
    function->image = (struct image *)(void *)handle;
    function->dynamic_limit = DEFAULT_DYNAMIC_BYTES;
    function->next = functions;
    functions = function;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)handle;
    (void)host;
    (void)device;
    (void)name;
    (void)external;
    (void)size;
    (void)constant;
    (void)global;
}

// Kernels ----------------------------------------------------------------------------------------

static struct function *find_function(const void *host)
{
    struct function *function = functions;
    while (function != NULL && function->host != host)
        function = function->next;
    return function;
}

// Parses the function's module on the first call.
static cudaError_t load(struct function *function)
{
    struct image *image = function->image;
    if (image->module == NULL) {
        const char *ptx = fatbin_ptx(image->container, emulator_settings.capability);
        if (ptx == NULL)
            return cudaErrorNoKernelImageForDevice;
        image->module = parse_module(ptx);
        image->module->container = image->container;
    }
    function->kernel = module_kernel(image->module, function->name);
    return function->kernel == NULL ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (configuration_count == NESTED_LAUNCHES)
        return 1;
    configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (configuration_count == 0)
        return result(cudaErrorMissingConfiguration);
    const struct configuration *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(struct function **kernel, const void *host)
{
    *kernel = find_function(host);
    return result(*kernel == NULL ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}

static cudaError_t check_launch(const struct function *function, dim3 grid, dim3 block,
                                size_t shared)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0)
        return cudaErrorInvalidConfiguration;
    if (grid.x > MAX_GRID_X || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ ||
        block.x > MAX_BLOCK_THREADS || block.y > MAX_BLOCK_THREADS || block.z > MAX_BLOCK_Z ||
        threads > MAX_BLOCK_THREADS)
        return cudaErrorInvalidConfiguration;
    if (function->kernel->max_threads > 0 && threads > (uint64_t)function->kernel->max_threads)
        return cudaErrorLaunchOutOfResources;
    return shared > (size_t)function->dynamic_limit ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(struct function *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream)
{
    (void)stream;
    cudaError_t error = load(kernel);
    if (error == cudaSuccess)
        error = check_launch(kernel, grid, block, shared);
    if (error != cudaSuccess)
        return result(error);
    launch_kernel(kernel->kernel, (struct position){grid.x, grid.y, grid.z},
                  (struct position){block.x, block.y, block.z}, arguments, shared);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    struct function *function;
    const cudaError_t error = __cudaGetKernel(&function, host);
    return error != cudaSuccess
               ? error
               : __cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter)

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host)
{
    struct function *function;
    cudaError_t error = __cudaGetKernel(&function, host);
    if (error == cudaSuccess)
        error = result(load(function));
    if (error != cudaSuccess)
        return error;
    const int registers = fatbin_registers(function->image->container, function->name);
    const int frame = fatbin_frame_bytes(function->image->container, function->name);
    memset(attributes, 0, sizeof *attributes);
    attributes->sharedSizeBytes = function->kernel->shared_bytes;
    attributes->localSizeBytes = frame > 0 ? (size_t)frame : 0;
    attributes->maxThreadsPerBlock =
        function->kernel->max_threads > 0 ? function->kernel->max_threads : MAX_BLOCK_THREADS;
    attributes->numRegs = registers > 0 ? registers : 0;
    attributes->ptxVersion = attributes->binaryVersion = emulator_settings.capability;
    attributes->maxDynamicSharedSizeBytes = function->dynamic_limit;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
    struct function *function;
    const cudaError_t error = __cudaGetKernel(&function, host);
    if (error != cudaSuccess)
        return error;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || value > device_model()->block_shared_bytes)
        return result(cudaErrorInvalidValue);
    function->dynamic_limit = value;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host,
                                                          int threads, size_t dynamic)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, host);
    if (error != cudaSuccess)
        return error;
    *blocks = device_blocks_per_sm(threads, attributes.numRegs,
                                   (int64_t)(attributes.sharedSizeBytes + dynamic));
    return cudaSuccess;
}

// Memory -----------------------------------------------------------------------------------------

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    if (bytes == 0) {
        *pointer = NULL;
        return cudaSuccess;
    }
    const uint64_t address = memory_allocate(bytes);
    if (address == 0)
        return result(cudaErrorMemoryAllocation);
    *pointer = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr): nobody follows it
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    if (pointer == NULL || memory_release(address_of(pointer)))
        return cudaSuccess;
    return result(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    *pointer = malloc(bytes > 0 ? bytes : 1);
    return result(*pointer == NULL ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFreeHost(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    const uint64_t used = memory_used();
    const uint64_t all = device_memory_bytes();
    *total = all;
    *available = used < all ? all - used : 0;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const bool to_device = memory_is_device(address_of(to));
    const bool from_device = memory_is_device(address_of(from));
    if (bytes == 0)
        return cudaSuccess;
    if ((kind == cudaMemcpyHostToDevice && (!to_device || from_device)) ||
        (kind == cudaMemcpyDeviceToHost && (to_device || !from_device)) ||
        (kind == cudaMemcpyDeviceToDevice && (!to_device || !from_device)) ||
        (to_device && memory_host(address_of(to), bytes) == NULL) ||
        (from_device && memory_host(address_of(from), bytes) == NULL))
        return result(cudaErrorInvalidValue);
    if (to_device && from_device)
        memory_copy(address_of(to), address_of(from), bytes);
    else if (to_device)
        memory_write(address_of(to), from, bytes);
    else
        memcpy(to, from_device ? memory_host(address_of(from), bytes) : from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    if (bytes == 0)
        return cudaSuccess;
    if (memory_host(address_of(to), bytes) == NULL)
        return result(cudaErrorInvalidValue);
    memory_fill(address_of(to), value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return cudaMemset(to, value, bytes);
}

// Textures ---------------------------------------------------------------------------------------

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

// Linear memory read as float4, element by element, is what there is.
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture,
                                    const struct cudaResourceViewDesc *view)
{
    const struct cudaChannelFormatDesc *format = &resource->res.linear.desc;
    if (resource->resType != cudaResourceTypeLinear || format->x != 32 || format->y != 32 ||
        format->z != 32 || format->w != 32 || format->f != cudaChannelFormatKindFloat ||
        texture->readMode != cudaReadModeElementType || view != NULL)
        return result(cudaErrorNotSupported);
    const uint64_t address = address_of(resource->res.linear.devPtr);
    const uint64_t bytes = resource->res.linear.sizeInBytes;
    const uint64_t texels = bytes / 16;
    if (address % TEXTURE_ALIGNMENT != 0 || texels > MAX_TEXELS ||
        memory_host(address, bytes) == NULL)
        return result(cudaErrorInvalidValue);
    *object = texture_create(address, texels);
    return cudaSuccess;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    return result(object == 0 || texture_destroy(object) ? cudaSuccess : cudaErrorInvalidValue);
}

// Streams and events -----------------------------------------------------------------------------

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = zeroed(1, sizeof **event);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    *milliseconds = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 +
                            (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return cudaSuccess;
}

// Errors -----------------------------------------------------------------------------------------

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

enum {
    ERROR_COUNT = sizeof errors / sizeof *errors,
};

static int find_error(cudaError_t error)
{
    int i = 0;
    while (i < ERROR_COUNT && errors[i].error != error)
        i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const int i = find_error(error);
    return i < ERROR_COUNT ? errors[i].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const int i = find_error(error);
    return i < ERROR_COUNT ? errors[i].text : "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}
