#include "launch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "async.h"
#include "counters.h"
#include "decode.h"
#include "emulator.h"
#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "frames.h"
#include "memory.h"
#include "opcodes.h"
#include "shadow.h"
#include "sharing.h"

enum {
    MAX_WORKERS = 64,
    FIRST_RESERVED = 90,    // the first capability whose windows start with
    RESERVED_BYTES = 0x400, // so many bytes of the system's own
    FILE_ALIGNMENT = 64,
};

struct emulator_settings emulator_settings = {
    .program = "emulator",
    .capability = 90,
    .shared_base = -1,
    .checks = true,
    .counters = true,
    .leaks_at_exit = true,
};

static uint64_t executed_by_all;
static pthread_mutex_t failure = PTHREAD_MUTEX_INITIALIZER;

uint64_t emulator_warp_instructions(void)
{
    return executed_by_all;
}

uint64_t shared_base(void)
{
    if (emulator_settings.shared_base >= 0)
        return (uint64_t)emulator_settings.shared_base;
    return emulator_settings.capability >= FIRST_RESERVED ? RESERVED_BYTES : 0;
}

_Noreturn void launch_failed(struct block *block, enum ending ending, const char *format, ...)
{
    struct launch *launch = block->launch;
    va_list arguments;
    pthread_mutex_lock(&failure);
    if (block->place < launch->failed) {
        va_start(arguments, format);
        vsnprintf(launch->message, sizeof launch->message, format, arguments);
        va_end(arguments);
        launch->ending = ending;
        __atomic_store_n(&launch->failed, block->place, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&failure);
    longjmp(block->escape, 1);
}

// Workers ----------------------------------------------------------------------------------------

static uint64_t shared_bytes(const struct launch *launch)
{
    const struct kernel *kernel = launch->code->kernel;
    if (kernel->dynamic == NULL)
        return kernel->shared_bytes + launch->dynamic_bytes;
    return kernel->dynamic->offset + launch->dynamic_bytes;
}

static void *aligned(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, FILE_ALIGNMENT, bytes + FILE_ALIGNMENT) != 0)
        emulator_fail("out of host memory: %zu bytes wanted", bytes);
    memset(memory, 0xff, bytes);
    return memory;
}

static void open_warp(struct block *block, int index)
{
    struct warp *warp = &block->warps[index];
    warp->block = block;
    warp->index = index;
    frames_open(warp);
}

static struct block *open_block(struct launch *launch)
{
    struct block *block = zeroed(1, sizeof *block);
    block->launch = launch;
    block->set = instruction_set();
    block->shared_bytes = shared_bytes(launch);
    block->shared = aligned(block->shared_bytes);
    block->shadow =
        zeroed((block->shared_bytes >> launch->code->granule_shift) + 1, sizeof *block->shadow);
    block->footprints = footprints_new();
    if (emulator_settings.counters)
        block->counters = counters_new(launch->code);
    block->recent = zeroed((size_t)launch->code->count, sizeof *block->recent);
    for (int i = 0; i < launch->code->count; i++)
        block->recent[i].footprint = &no_footprint;
    block->last_allocation = zeroed((size_t)launch->code->count, sizeof(struct allocation *));
    block->warp_count = (launch->threads + LANES - 1) / LANES;
    block->warps = zeroed((size_t)block->warp_count, sizeof *block->warps);
    for (int i = 0; i < block->warp_count; i++)
        open_warp(block, i);
    return block;
}

static void close_block(struct block *block)
{
    for (int i = 0; i < block->warp_count; i++) {
        struct warp *warp = &block->warps[i];
        async_free(warp);
        frames_close(warp);
    }
    free(block->warps);
    free(block->last_allocation);
    free(block->recent);
    counters_free(block->counters);
    footprints_free(block->footprints);
    free(block->shadow);
    free(block->shared);
    free(block);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// The block at a place in the schedule. A stride without a common divisor visits each block once.
static uint64_t scheduled(const struct launch *launch, uint64_t place)
{
    const uint64_t blocks = launch->blocks;
    if (launch->schedule == 0 || blocks > UINT32_MAX)
        return place;
    uint64_t stride = (launch->schedule * UINT64_C(2654435761)) % blocks;
    while (greatest_common_divisor(stride, blocks) != 1)
        stride = (stride + 1) % blocks;
    return (launch->schedule + place * stride) % blocks;
}

static bool next_block(struct block *block)
{
    struct launch *launch = block->launch;
    block->place = __atomic_fetch_add(&launch->next, 1, __ATOMIC_SEQ_CST);
    if (block->place >= launch->blocks ||
        block->place > __atomic_load_n(&launch->failed, __ATOMIC_SEQ_CST))
        return false;
    block->index = scheduled(launch, block->place);
    return true;
}

// Runs blocks until there are none left or none whose outcome matters: a block behind one that has
// failed does not.
static void *work(void *argument)
{
    struct block *block = argument;
    in_emulator = true;
    while (next_block(block))
        if (setjmp(block->escape) == 0)
            run_block(block);
    return NULL;
}

static int worker_count(const struct launch *launch)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t count = emulator_settings.workers > 0 ? (uint64_t)emulator_settings.workers
                     : cores > 0                   ? (uint64_t)cores
                                                   : 1;
    if (count > MAX_WORKERS)
        count = MAX_WORKERS;
    if (launch->code->sequential)
        count = 1;
    if (count > launch->blocks)
        count = launch->blocks;
    return count > 1 ? (int)count : 1;
}

static void run_grid(struct launch *launch)
{
    struct block *blocks[MAX_WORKERS] = {NULL};
    pthread_t threads[MAX_WORKERS];
    const int workers = worker_count(launch);
    for (int i = 0; i < workers; i++)
        blocks[i] = open_block(launch);
    int started = 1;
    while (started < workers && pthread_create(&threads[started], NULL, work, blocks[started]) == 0)
        started++;
    work(blocks[0]);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < workers; i++) {
        executed_by_all += blocks[i]->executed;
        counters_add(launch, blocks[i]);
        close_block(blocks[i]);
    }
}

// Launches ---------------------------------------------------------------------------------------

static void open_shadow(struct allocation *allocation, void *context)
{
    const struct launch *launch = context;
    allocation->shadow =
        zeroed((allocation->bytes >> launch->code->granule_shift) + 1, sizeof *allocation->shadow);
}

static void close_shadow(struct allocation *allocation, void *context)
{
    (void)context;
    free(allocation->shadow);
    allocation->shadow = NULL;
}

enum ending launch_kernel(struct kernel *kernel, struct position grid, struct position dimensions,
                          void *const *arguments, uint64_t dynamic_bytes)
{
    struct launch launch = {
        .code = decode(kernel),
        .grid = grid,
        .dimensions = dimensions,
        .blocks = (uint64_t)grid.x * grid.y * grid.z,
        .threads = (int)(dimensions.x * dimensions.y * dimensions.z),
        .dynamic_bytes = dynamic_bytes,
        .parameters = zeroed(kernel->parameter_bytes, 1),
        .shared_base = shared_base(),
        .schedule = emulator_settings.schedule,
        .checks = emulator_settings.checks,
        .failed = UINT64_MAX,
    };
    for (int i = 0; i < kernel->parameter_count; i++)
        memcpy(launch.parameters + kernel->parameters[i]->offset, arguments[i],
               kernel->parameters[i]->bytes);
    if (launch.checks)
        memory_visit(open_shadow, &launch);
    counters_launched(&launch);
    run_grid(&launch);
    memory_visit(close_shadow, &launch);
    device_takes_used(kernel->name);
    free(launch.parameters);
    if (launch.ending == ENDING_FAULT)
        emulator_fail("%s", launch.message);
    if (launch.ending != ENDING_GOOD && launch.checks)
        emulator_say("%s", launch.message);
    return launch.ending;
}
