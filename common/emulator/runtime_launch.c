// Launches: what <<<...>>> becomes, and the limits that it must keep.
#include <stddef.h>

#include "device.h"
#include "nvcc.h"
#include "runtime.h"

// What <<<...>>> leaves for the stub that it calls.
struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

enum {
    NESTED_LAUNCHES = 16,
};

static _Thread_local struct configuration configurations[NESTED_LAUNCHES];
static _Thread_local int configuration_count;

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*): the names are nvcc's.
cudaError_t __cudaGetKernel(struct function **kernel, const void *host);
cudaError_t __cudaLaunchKernel(struct function *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);

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
        return note_error(__func__, cudaErrorMissingConfiguration);
    const struct configuration *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

// The documentation has cudaErrorInvalidConfiguration for these; CUDA 13.0 on a GPU gives this.
static cudaError_t check_shape(dim3 grid, dim3 block)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    const cudaError_t error = cudaErrorInvalidValue;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return because(error, "a grid of %u x %u x %u blocks", grid.x, grid.y, grid.z);
    if (threads == 0)
        return because(error, "blocks of %u x %u x %u threads", block.x, block.y, block.z);
    if (grid.x > MAX_GRID_X || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ)
        return because(error, "a grid of %u x %u x %u blocks, at most %d x %d x %d", grid.x, grid.y,
                       grid.z, MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ);
    if (threads > MAX_BLOCK_THREADS)
        return because(error, "%llu threads a block, at most %d", (unsigned long long)threads,
                       MAX_BLOCK_THREADS);
    if (block.z > MAX_BLOCK_Z)
        return because(error, "blocks of %u threads along z, at most %d", block.z, MAX_BLOCK_Z);
    return cudaSuccess;
}

static cudaError_t check_launch(const struct function *function, dim3 grid, dim3 block,
                                size_t shared, cudaStream_t stream)
{
    const int threads = (int)(block.x * block.y * block.z);
    const int max_threads = function->kernel->max_threads;
    const cudaError_t error = check_shape(grid, block);
    if (error != cudaSuccess)
        return error;
    if (!stream_known(stream))
        return because(cudaErrorInvalidResourceHandle, "there is no such stream");
    if (shared > (size_t)function_dynamic_limit(function))
        return because(cudaErrorInvalidValue,
                       "%zu bytes of dynamic shared memory, at most %lld unless "
                       "cudaFuncSetAttribute allows more",
                       shared, (long long)function_dynamic_limit(function));
    if (max_threads > 0 && threads > max_threads)
        return because(cudaErrorInvalidValue,
                       "%d threads a block, at most %d by its __launch_bounds__", threads,
                       max_threads);
    if (!device_has_registers(threads, function_registers(function)))
        return because(cudaErrorLaunchOutOfResources,
                       "%d threads of %d registers each, and an SM has %d registers", threads,
                       function_registers(function), SM_REGISTERS);
    return cudaSuccess;
}

// The blocks of a cooperative launch wait for each other: all of them must have room at a time.
static bool fits(const struct function *function, dim3 grid, dim3 block, size_t shared)
{
    const int each =
        device_blocks_per_sm((int)(block.x * block.y * block.z), function_registers(function),
                             (int64_t)(function->kernel->shared_bytes + shared));
    return (uint64_t)grid.x * grid.y * grid.z <= (uint64_t)each * (uint64_t)device_model()->sms;
}

static cudaError_t launch(const void *host, const cudaLaunchConfig_t *config, void **arguments,
                          bool cooperative)
{
    const dim3 grid = config->gridDim;
    const dim3 block = config->blockDim;
    struct function *function;
    cudaError_t error = find_function(&function, host);
    if (error != cudaSuccess)
        return error;
    has_launched(function->name);
    error = check_launch(function, grid, block, config->dynamicSmemBytes, config->stream);
    if (error == cudaSuccess && cooperative &&
        !fits(function, grid, block, config->dynamicSmemBytes))
        error = because(cudaErrorCooperativeLaunchTooLarge,
                        "%u x %u x %u blocks, more than the device holds at a time", grid.x, grid.y,
                        grid.z);
    if (error == cudaSuccess)
        note_ending(launch_kernel(function->kernel, (struct position){grid.x, grid.y, grid.z},
                                  (struct position){block.x, block.y, block.z}, arguments,
                                  config->dynamicSmemBytes, cooperative));
    return error;
}

static cudaError_t enter_and_launch(const char *function, const void *host, dim3 grid, dim3 block,
                                    void **arguments, size_t shared, cudaStream_t stream,
                                    bool cooperative)
{
    const cudaLaunchConfig_t config = {
        .gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared, .stream = stream};
    if (!enter_runtime(function))
        return leave_runtime(cudaSuccess);
    return leave_runtime(launch(host, &config, arguments, cooperative));
}

// The stub asks once and keeps the answer, so this works after a failure, too.
cudaError_t __cudaGetKernel(struct function **kernel, const void *host)
{
    enter_runtime(__func__);
    return leave_runtime(find_function(kernel, host));
}

cudaError_t __cudaLaunchKernel(struct function *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream)
{
    if (kernel == NULL)
        return note_error(__func__, cudaErrorInvalidDeviceFunction);
    return cudaLaunchKernel(kernel->host, grid, block, arguments, shared, stream);
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl*)

cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    return enter_and_launch(__func__, host, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream)
{
    return enter_and_launch(__func__, host, grid, block, arguments, shared, stream, true);
}

// Of the attributes only those matter that change what a kernel can do. There are no clusters of
// more than one block.
static cudaError_t read_attributes(const cudaLaunchConfig_t *config, bool *cooperative)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == cudaLaunchAttributeCooperative)
            *cooperative = attribute->val.cooperative != 0;
        if (attribute->id == cudaLaunchAttributeClusterDimension &&
            (attribute->val.clusterDim.x != 1 || attribute->val.clusterDim.y != 1 ||
             attribute->val.clusterDim.z != 1))
            return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host,
                                void **arguments)
{
    bool cooperative = false;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (config == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    const cudaError_t error = read_attributes(config, &cooperative);
    if (error != cudaSuccess)
        return leave_runtime(error);
    return leave_runtime(launch(host, config, arguments, cooperative));
}
