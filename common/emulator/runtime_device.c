// The modelled GPU as the runtime describes it, and the device as a whole.
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "runtime.h"
#include "sharing.h"
#include "texture.h"

static cudaError_t check_device(const char *function, int device)
{
    return note_error(function, device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (device == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return check_device(__func__, device);
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags;
    (void)flags;
    return check_device(__func__, device);
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    return wanted == NULL ? note_error(__func__, cudaErrorInvalidValue) : cudaGetDevice(device);
}

// How a thread waits makes no difference.
cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    return note_error(__func__, (flags & ~(unsigned)cudaDeviceMask) == 0 ? cudaSuccess
                                                                         : cudaErrorInvalidValue);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (version == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    if (id == NULL || size <= 0)
        return note_error(__func__, cudaErrorInvalidValue);
    snprintf(id, (size_t)size, "emulated");
    return check_device(__func__, device);
}

cudaError_t cudaDeviceCanAccessPeer(int *possible, int device, int peer)
{
    if (possible == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *possible = 0;
    return check_device(__func__, device == 0 ? peer : device);
}

// Attributes -------------------------------------------------------------------------------------

// Those of the model, which are not 0. An emulator has no memory clock and no bus.
static bool find_attribute(enum cudaDeviceAttr attribute, int *value)
{
    const struct device_model *model = device_model();
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } attributes[] = {
        {cudaDevAttrComputeCapabilityMajor, device_capability() / 10},
        {cudaDevAttrComputeCapabilityMinor, device_capability() % 10},
        {cudaDevAttrMultiProcessorCount, model->sms},
        {cudaDevAttrL2CacheSize, (int)model->l2_bytes},
        {cudaDevAttrMaxGridDimX, MAX_GRID_X},
        {cudaDevAttrMaxGridDimY, MAX_GRID_YZ},
        {cudaDevAttrMaxGridDimZ, MAX_GRID_YZ},
        {cudaDevAttrMaxBlockDimX, MAX_BLOCK_THREADS},
        {cudaDevAttrMaxBlockDimY, MAX_BLOCK_THREADS},
        {cudaDevAttrMaxBlockDimZ, MAX_BLOCK_Z},
        {cudaDevAttrMaxThreadsPerBlock, MAX_BLOCK_THREADS},
        {cudaDevAttrMaxThreadsPerMultiProcessor, model->sm_threads},
        {cudaDevAttrMaxBlocksPerMultiprocessor, model->sm_blocks},
        {cudaDevAttrMaxRegistersPerBlock, SM_REGISTERS},
        {cudaDevAttrMaxRegistersPerMultiprocessor, SM_REGISTERS},
        {cudaDevAttrMaxSharedMemoryPerBlock, BLOCK_SHARED_BYTES},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, model->block_shared_bytes},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, model->sm_shared_bytes},
        {cudaDevAttrReservedSharedMemoryPerBlock, device_reserved_bytes()},
        {cudaDevAttrTotalConstantMemory, CONSTANT_BYTES},
        {cudaDevAttrWarpSize, WARP_THREADS},
        {cudaDevAttrMaxPitch, MAX_PITCH},
        {cudaDevAttrClockRate, model->clock_khz},
        {cudaDevAttrMaxTexture1DLinearWidth, MAX_TEXELS},
        {cudaDevAttrTextureAlignment, TEXTURE_ALIGNMENT},
        {cudaDevAttrTexturePitchAlignment, TEXTURE_PITCH_ALIGNMENT},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrHostRegisterSupported, 1},
        {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
        {cudaDevAttrStreamPrioritiesSupported, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrCooperativeLaunch, 1},
    };
    *value = 0;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    return attribute >= cudaDevAttrMaxThreadsPerBlock && attribute < cudaDevAttrMax;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    if (value == NULL || !find_attribute(attribute, value))
        return note_error(__func__, cudaErrorInvalidValue);
    return check_device(__func__, device);
}

static int attribute_value(enum cudaDeviceAttr attribute)
{
    int value;
    find_attribute(attribute, &value);
    return value;
}

static void set_limits(struct cudaDeviceProp *properties)
{
    properties->maxThreadsPerBlock = MAX_BLOCK_THREADS;
    properties->maxThreadsDim[0] = MAX_BLOCK_THREADS;
    properties->maxThreadsDim[1] = MAX_BLOCK_THREADS;
    properties->maxThreadsDim[2] = MAX_BLOCK_Z;
    properties->maxGridSize[0] = MAX_GRID_X;
    properties->maxGridSize[1] = MAX_GRID_YZ;
    properties->maxGridSize[2] = MAX_GRID_YZ;
    properties->regsPerBlock = SM_REGISTERS;
    properties->regsPerMultiprocessor = SM_REGISTERS;
    properties->warpSize = WARP_THREADS;
    properties->sharedMemPerBlock = BLOCK_SHARED_BYTES;
}

static void set_model(struct cudaDeviceProp *properties, const struct device_model *model)
{
    snprintf(properties->name, sizeof properties->name, "%s", model->name);
    properties->major = device_capability() / 10;
    properties->minor = device_capability() % 10;
    properties->multiProcessorCount = model->sms;
    properties->l2CacheSize = (int)model->l2_bytes;
    properties->maxThreadsPerMultiProcessor = model->sm_threads;
    properties->maxBlocksPerMultiProcessor = model->sm_blocks;
    properties->sharedMemPerMultiprocessor = (size_t)model->sm_shared_bytes;
    properties->sharedMemPerBlockOptin = (size_t)model->block_shared_bytes;
    properties->reservedSharedMemPerBlock = (size_t)device_reserved_bytes();
#if CUDART_VERSION < 13000
    properties->clockRate = model->clock_khz;
#endif
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (properties == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    if (device != 0)
        return note_error(__func__, cudaErrorInvalidDevice);
    memset(properties, 0, sizeof *properties);
    set_limits(properties);
    set_model(properties, device_model());
    properties->totalGlobalMem = device_memory_bytes();
    properties->totalConstMem = CONSTANT_BYTES;
    properties->memPitch = MAX_PITCH;
    properties->textureAlignment = TEXTURE_ALIGNMENT;
    properties->texturePitchAlignment = TEXTURE_PITCH_ALIGNMENT;
    properties->canMapHostMemory = attribute_value(cudaDevAttrCanMapHostMemory);
    properties->unifiedAddressing = attribute_value(cudaDevAttrUnifiedAddressing);
    properties->managedMemory = attribute_value(cudaDevAttrManagedMemory);
    properties->hostRegisterSupported = attribute_value(cudaDevAttrHostRegisterSupported);
    properties->memoryPoolsSupported = attribute_value(cudaDevAttrMemoryPoolsSupported);
    properties->cooperativeLaunch = attribute_value(cudaDevAttrCooperativeLaunch);
    properties->streamPrioritiesSupported = attribute_value(cudaDevAttrStreamPrioritiesSupported);
    return cudaSuccess;
}

// The device as a whole --------------------------------------------------------------------------

cudaError_t cudaDeviceSynchronize(void)
{
    enter_runtime(__func__);
    device_gives_back();
    return leave_runtime(cudaSuccess);
}

// All memory goes back, as if the program had freed it. This works after a failure, too.
cudaError_t cudaDeviceReset(void)
{
    enter_runtime(__func__);
    note_reset();
    memory_release_all();
    textures_destroy_all();
    return leave_runtime(cudaSuccess);
}

static size_t limits[] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 1048576,
    [cudaLimitMallocHeapSize] = 8388608,
};

static bool limit_kept(enum cudaLimit limit)
{
    return (size_t)limit < sizeof limits / sizeof *limits;
}

// The error of a limit that is not kept here, or that CUDA does not know.
static cudaError_t no_limit(enum cudaLimit limit)
{
    return limit <= cudaLimitPersistingL2CacheSize ? cudaErrorUnsupportedLimit
                                                   : cudaErrorInvalidValue;
}

// They are remembered, and nothing runs into them.
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!limit_kept(limit))
        return leave_runtime(no_limit(limit));
    limits[limit] = value;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (value == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    if (!limit_kept(limit))
        return leave_runtime(no_limit(limit));
    *value = limits[limit];
    return leave_runtime(cudaSuccess);
}

// A hint, which changes no result.
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    return note_error(__func__,
                      config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual
                          ? cudaSuccess
                          : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    if (config == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}

// There is no profiler to start. Their header is in a package of its own, which may be missing.
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}
