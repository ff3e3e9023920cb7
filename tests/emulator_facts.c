// How many blocks an SM holds, by the emulator: the same as by cuda_occupancy.h, which comes with
// the toolkit, for every modelled GPU; and with a CSV file of registers, threads, bytes of shared
// memory and blocks, as a GPU has said (the modelled one).
#include <cuda_occupancy.h>
#include <stdio.h>
#include <string.h>

#include "emulator/device.h"
#include "emulator/emulator.h"
#include "tap.h"

enum {
    CASES = 20000, // a GPU
};

static cudaOccDeviceProp properties_of(const struct device_model *model)
{
    cudaOccDeviceProp properties = {
        .computeMajor = model->capability / 10,
        .computeMinor = model->capability % 10,
        .maxThreadsPerBlock = MAX_BLOCK_THREADS,
        .maxThreadsPerMultiprocessor = model->sm_threads,
        .regsPerBlock = SM_REGISTERS,
        .regsPerMultiprocessor = SM_REGISTERS,
        .warpSize = WARP_THREADS,
        .sharedMemPerBlock = BLOCK_SHARED_BYTES,
        .sharedMemPerMultiprocessor = (size_t)model->sm_shared_bytes,
        .numSms = model->sms,
        .sharedMemPerBlockOptin = (size_t)model->block_shared_bytes,
        .reservedSharedMemPerBlock = (size_t)device_reserved_bytes(),
    };
    return properties;
}

static int toolkit_blocks(const cudaOccDeviceProp *properties, int threads, int registers,
                          size_t shared)
{
    const cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = MAX_BLOCK_THREADS,
        .numRegs = registers,
        .maxDynamicSharedSizeBytes = properties->sharedMemPerBlockOptin,
        .numBlockBarriers = 1,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
    };
    const cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, properties, &attributes, &state, threads,
                                                shared) != CUDA_OCC_SUCCESS)
        return -1;
    return result.activeBlocksPerMultiprocessor;
}

static int below(int limit)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)limit);
}

static void compare_with_toolkit(int capability)
{
    emulator_settings.capability = capability;
    const struct device_model *model = device_model();
    const cudaOccDeviceProp properties = properties_of(model);
    for (int i = 0; i < CASES; i++) {
        const int threads = 1 + below(MAX_BLOCK_THREADS);
        const int registers = 1 + below(255);
        const int shared = below(4) == 0 ? 0 : below(model->block_shared_bytes + 1);
        const int got = device_blocks_per_sm(threads, registers, shared);
        const int wanted = toolkit_blocks(&properties, threads, registers, (size_t)shared);
        if (got != wanted) {
            ok(false, "sm_%d: %d threads, %d registers, %d bytes: %d blocks, cuda_occupancy.h %d",
               capability, threads, registers, shared, got, wanted);
            return;
        }
    }
    ok(true, "sm_%d: %d times as by cuda_occupancy.h", capability, CASES);
}

static void compare_with_gpu(const char *path)
{
    char line[200];
    int registers, threads, shared, blocks;
    int count = 0;
    FILE *file = fopen(path, "r");
    emulator_settings.capability = 90;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%d,%d,%d,%d", &registers, &threads, &shared, &blocks) != 4) // NOLINT
            continue;                                                                 // the header
        const int got = device_blocks_per_sm(threads, registers, shared);
        if (got != blocks)
            ok(false, "%d registers, %d threads, %d bytes: %d blocks, the GPU %d", registers,
               threads, shared, got, blocks);
        count++;
    }
    ok(count > 0, "%s: %d kernels", path, count);
    if (file != NULL)
        fclose(file);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "facts") == 0) {
        emulator_print_facts(stdout);
        return 0;
    }
    for (int i = 0; device_capability_of(i) != 0; i++)
        compare_with_toolkit(device_capability_of(i));
    if (argc > 1)
        compare_with_gpu(argv[1]);
    return finish();
}
