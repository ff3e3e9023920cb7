#include "device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emulator.h"

enum {
    SM_REGISTERS = 65536,
    REGISTER_UNIT = 256, // registers of a warp are given out in units of this many
    SHARED_UNIT = 128,
    WARP = 32,
};

// From the CUDA C++ Programming Guide's table of capabilities, and the data sheet of one GPU each.
static const struct device_model models[] = {
    {75, "emulated sm_75", 72, INT64_C(6) << 20, 1024, 16, 65536, 65536, 1770000},
    {80, "emulated sm_80", 108, INT64_C(40) << 20, 2048, 32, 167936, 166912, 1410000},
    {86, "emulated sm_86", 82, INT64_C(6) << 20, 1536, 16, 102400, 101376, 1695000},
    {87, "emulated sm_87", 16, INT64_C(4) << 20, 1536, 16, 167936, 166912, 1300000},
    {89, "emulated sm_89", 128, INT64_C(72) << 20, 1536, 24, 102400, 101376, 2520000},
    {90, "emulated sm_90", 132, INT64_C(50) << 20, 2048, 32, 233472, 232448, 1980000},
    {100, "emulated sm_100", 148, INT64_C(126) << 20, 2048, 32, 233472, 232448, 1965000},
    {120, "emulated sm_120", 170, INT64_C(96) << 20, 1536, 24, 102400, 101376, 2407000},
};

const struct device_model *device_model(void)
{
    const struct device_model *model = &models[0];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (models[i].capability <= emulator_settings.capability)
            model = &models[i];
    return model;
}

uint64_t device_memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static int smaller(int a, int64_t b)
{
    return b < a ? (int)b : a;
}

int device_blocks_per_sm(int threads, int registers, int64_t shared_bytes)
{
    const struct device_model *model = device_model();
    const int64_t reserved = model->sm_shared_bytes - model->block_shared_bytes;
    const int warps = (threads + WARP - 1) / WARP;
    const int64_t warp_registers =
        ((int64_t)registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    const int64_t shared = (shared_bytes + reserved + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    int blocks = model->sm_blocks;
    blocks = smaller(blocks, model->sm_threads / WARP / (warps > 0 ? warps : 1));
    if (registers > 0)
        blocks = smaller(blocks, SM_REGISTERS / warp_registers / warps);
    if (shared > 0)
        blocks = smaller(blocks, model->sm_shared_bytes / shared);
    return blocks;
}

// The runtime's queries --------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "emulated");
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    const struct device_model *model = device_model();
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "%s", model->name);
    properties->major = emulator_settings.capability / 10;
    properties->minor = emulator_settings.capability % 10;
    properties->multiProcessorCount = model->sms;
    properties->totalGlobalMem = device_memory_bytes();
    properties->sharedMemPerBlock = 49152;
    properties->regsPerBlock = SM_REGISTERS;
    properties->warpSize = WARP;
    properties->maxThreadsPerBlock = MAX_BLOCK_THREADS;
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    const struct device_model *model = device_model();
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } attributes[] = {
        {cudaDevAttrComputeCapabilityMajor, emulator_settings.capability / 10},
        {cudaDevAttrComputeCapabilityMinor, emulator_settings.capability % 10},
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
        {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, model->block_shared_bytes},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, model->sm_shared_bytes},
        {cudaDevAttrReservedSharedMemoryPerBlock,
         model->sm_shared_bytes - model->block_shared_bytes},
        {cudaDevAttrWarpSize, WARP},
        {cudaDevAttrClockRate, model->clock_khz},
        {cudaDevAttrMaxTexture1DLinearWidth, MAX_TEXELS},
        {cudaDevAttrTextureAlignment, TEXTURE_ALIGNMENT},
    };
    if (device != 0)
        return cudaErrorInvalidDevice;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}
