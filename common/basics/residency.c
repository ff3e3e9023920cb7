#include "basics.h"

enum {
    WARP = 32,
    PARTS = 4,           // of an SM: each has a quarter of its registers, and of its warps
    REGISTER_UNIT = 256, // registers of a warp are given out in units of this many
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int smaller(int a, int64_t b)
{
    return b < a ? (int)b : a;
}

// Blocks that have room in the register file. Each part of the SM gives whole units to whole warps.
static int blocks_by_registers(int warps, int registers)
{
    const int all = device_attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    const int64_t of_warp = round_up((int64_t)registers * WARP, REGISTER_UNIT);

    if (of_warp * round_up(warps, PARTS) > all)
        return 0; // not even one
    return (int)(all / PARTS / of_warp * PARTS / warps);
}

struct residency work_out_residency(int capability, int threads, int registers, int64_t shared)
{
    const int sm_threads = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    const int sm_registers = device_attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    const int64_t sm_shared = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const int64_t reserved = device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    const int64_t in_units = round_up(shared + reserved, capability < 80 ? 256 : 128);
    const int warps = (threads + WARP - 1) / WARP;
    struct residency r;

    r.by_threads = sm_threads / threads;
    r.by_blocks = device_attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    r.by_registers = sm_registers / (registers * threads);
    r.by_shared = shared == 0 ? -1 : (int)(sm_shared / (shared + reserved));
    r.plain = smaller(smaller(r.by_threads, r.by_blocks), r.by_registers);
    r.with_units = smaller(r.by_blocks, sm_threads / WARP / warps);
    r.with_units = smaller(r.with_units, blocks_by_registers(warps, registers));
    if (in_units > 0)
        r.with_units = smaller(r.with_units, sm_shared / in_units);
    if (shared > 0)
        r.plain = smaller(r.plain, r.by_shared);
    return r;
}
