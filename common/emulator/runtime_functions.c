// What can be asked about kernels, and set: attributes and occupancy.
#include <string.h>

#include "device.h"
#include "runtime.h"

int64_t function_dynamic_limit(const struct function *function)
{
    if (function->dynamic_limit >= 0)
        return function->dynamic_limit;
    const int64_t left = BLOCK_SHARED_BYTES - (int64_t)function->kernel->shared_bytes;
    return left > 0 ? left : 0;
}

// The most threads that a block of it can have.
static int most_threads(const struct function *function)
{
    const int bound = function->kernel->max_threads;
    const int registers = function_registers(function);
    int threads = bound > 0 ? bound : MAX_BLOCK_THREADS;
    while (threads > WARP_THREADS && !device_has_registers(threads, registers))
        threads -= WARP_THREADS;
    return threads;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host)
{
    struct function *function;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    const cudaError_t error =
        attributes == NULL ? cudaErrorInvalidValue : find_function(&function, host);
    if (error != cudaSuccess)
        return leave_runtime(error);
    memset(attributes, 0, sizeof *attributes);
    attributes->sharedSizeBytes = function->kernel->shared_bytes;
    attributes->localSizeBytes = (size_t)function_frame_bytes(function);
    attributes->maxThreadsPerBlock = most_threads(function);
    attributes->numRegs = function_registers(function);
    attributes->ptxVersion = attributes->binaryVersion = device_capability();
    attributes->maxDynamicSharedSizeBytes = (int)function_dynamic_limit(function);
    attributes->preferredShmemCarveout = function->carveout;
    return leave_runtime(cudaSuccess);
}

static cudaError_t set_attribute(struct function *function, enum cudaFuncAttribute attribute,
                                 int value)
{
    const int64_t most =
        device_model()->block_shared_bytes - (int64_t)function->kernel->shared_bytes;
    switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || value > most)
            return cudaErrorInvalidValue;
        function->dynamic_limit = value;
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100)
            return cudaErrorInvalidValue;
        function->carveout = value;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
    struct function *function;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    const cudaError_t error = find_function(&function, host);
    if (error != cudaSuccess)
        return leave_runtime(error);
    return leave_runtime(set_attribute(function, attribute, value));
}

// A hint, which changes no result.
cudaError_t cudaFuncSetCacheConfig(const void *host, enum cudaFuncCache config)
{
    struct function *function;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual)
        return leave_runtime(cudaErrorInvalidValue);
    return leave_runtime(find_function(&function, host));
}

// Occupancy --------------------------------------------------------------------------------------

// Launch bounds make no difference, though a launch above them is refused.
static int blocks_per_sm(const struct function *function, int threads, size_t dynamic)
{
    const int64_t shared = (int64_t)(function->kernel->shared_bytes + dynamic);
    if (dynamic > (size_t)function_dynamic_limit(function))
        return 0;
    return device_blocks_per_sm(threads, function_registers(function), shared);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                                   int threads, size_t dynamic,
                                                                   unsigned flags)
{
    struct function *function;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (blocks == NULL || threads <= 0 || flags > cudaOccupancyDisableCachingOverride)
        return leave_runtime(cudaErrorInvalidValue);
    const cudaError_t error = find_function(&function, host);
    if (error == cudaSuccess)
        *blocks = blocks_per_sm(function, threads, dynamic);
    return leave_runtime(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host,
                                                          int threads, size_t dynamic)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, dynamic,
                                                                  cudaOccupancyDefault);
}

// The most dynamic shared memory with which so many blocks still fit on an SM.
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, const void *host, int blocks,
                                                      int threads)
{
    struct function *function;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (dynamic == NULL || blocks <= 0 || threads <= 0)
        return leave_runtime(cudaErrorInvalidValue);
    const cudaError_t error = find_function(&function, host);
    if (error != cudaSuccess)
        return leave_runtime(error);
    const int64_t limit = function_dynamic_limit(function);
    const int64_t share = device_shared_share(blocks) - (int64_t)function->kernel->shared_bytes;
    const size_t most = share <= 0 ? 0 : (size_t)(share < limit ? share : limit);
    if (blocks_per_sm(function, threads, most) < blocks)
        return leave_runtime(cudaErrorInvalidValue);
    *dynamic = most;
    return leave_runtime(cudaSuccess);
}
