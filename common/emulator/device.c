#include "device.h"

#include <stddef.h>
#include <unistd.h>

#include "emulator.h"

// From the CUDA C++ Programming Guide's table of capabilities, and the data sheet of one GPU each.
static const struct device_model models[] = {
    {75, "emulated sm_75", 72, INT64_C(6) << 20, 1024, 16, 65536, 65536, 1770000},
    {80, "emulated sm_80", 108, INT64_C(40) << 20, 2048, 32, 167936, 166912, 1410000},
    {86, "emulated sm_86", 82, INT64_C(6) << 20, 1536, 16, 102400, 101376, 1695000},
    {87, "emulated sm_87", 16, INT64_C(4) << 20, 1536, 16, 167936, 166912, 1300000},
    {89, "emulated sm_89", 128, INT64_C(72) << 20, 1536, 24, 102400, 101376, 2520000},
    {90, "emulated sm_90", 132, INT64_C(60) << 20, 2048, 32, 233472, 232448, 1980000},
    {100, "emulated sm_100", 148, INT64_C(126) << 20, 2048, 32, 233472, 232448, 1965000},
    {120, "emulated sm_120", 170, INT64_C(96) << 20, 1536, 24, 102400, 101376, 2407000},
};

int device_capability_of(int index)
{
    return index < (int)(sizeof models / sizeof *models) ? models[index].capability : 0;
}

// A program without kernels has not said what it was built for.
int device_capability(void)
{
    return emulator_settings.capability > 0 ? emulator_settings.capability : 90;
}

const struct device_model *device_model(void)
{
    const struct device_model *model = &models[0];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (models[i].capability <= device_capability())
            model = &models[i];
    return model;
}

uint64_t device_memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

int device_reserved_bytes(void)
{
    return device_model()->capability < 80 ? 0 : 1024;
}

int device_shared_unit(void)
{
    return device_model()->capability < 80 ? 256 : 128;
}

static int round_up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

static int smaller(int a, int64_t b)
{
    return b < a ? (int)b : a;
}

static int warps_of(int threads)
{
    return (threads + WARP_THREADS - 1) / WARP_THREADS;
}

// The arithmetic of cuda_occupancy.h, which comes with the toolkit. A block's registers are counted
// as if every part of the SM had as many of its warps.
bool device_has_registers(int threads, int registers)
{
    const int of_warp = round_up(registers * WARP_THREADS, REGISTER_UNIT);
    return of_warp * round_up(warps_of(threads), SM_PARTS) <= SM_REGISTERS;
}

int device_blocks_per_sm(int threads, int registers, int64_t shared_bytes)
{
    const struct device_model *model = device_model();
    const int warps = warps_of(threads);
    const int of_warp = round_up(registers * WARP_THREADS, REGISTER_UNIT);
    const int unit = device_shared_unit();
    const int64_t shared = (shared_bytes + device_reserved_bytes() + unit - 1) / unit * unit;
    if (threads > MAX_BLOCK_THREADS || !device_has_registers(threads, registers) ||
        shared_bytes > model->block_shared_bytes)
        return 0;
    int blocks = smaller(model->sm_blocks, model->sm_threads / WARP_THREADS / warps);
    if (of_warp > 0)
        blocks = smaller(blocks, SM_REGISTERS / SM_PARTS / of_warp * SM_PARTS / warps);
    return shared > 0 ? smaller(blocks, model->sm_shared_bytes / shared) : blocks;
}

int64_t device_shared_share(int blocks)
{
    const int64_t share = device_model()->sm_shared_bytes / blocks;
    return share / device_shared_unit() * device_shared_unit() - device_reserved_bytes();
}
