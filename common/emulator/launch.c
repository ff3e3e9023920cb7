#include "launch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "counters.h"
#include "decode.h"
#include "device.h"
#include "emulator.h"
#include "exact.h"
#include "fault.h"
#include "memory.h"
#include "order.h"
#include "pages.h"
#include "shadow.h"
#include "sharing.h"
#include "workers.h"

enum {
    FIRST_RESERVED = 90,    // the first capability whose windows start with
    RESERVED_BYTES = 0x400, // so many bytes of the system's own
    GRID_BARRIER_BYTES = 64,
};

struct emulator_settings emulator_settings = {
    .program = "emulator",
    .capability = 90,
    .shared_base = -1,
    .checks = true,
    .counters = true,
    .leaks_at_exit = true,
};

static pthread_mutex_t failure = PTHREAD_MUTEX_INITIALIZER;

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

// Launches ---------------------------------------------------------------------------------------

static uint64_t shadow_bytes(const struct launch *launch, const struct allocation *allocation)
{
    return ((allocation->bytes >> launch->code->granule_shift) + 1) * sizeof *allocation->shadow;
}

void launch_touches(struct launch *launch, struct allocation *allocation)
{
    static pthread_mutex_t first_come = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(&allocation->touched, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&first_come);
    if (!allocation->touched) {
        if (launch->checks)
            allocation->shadow = pages_zeroed(shadow_bytes(launch, allocation));
        if (launch->checks && allocation->shadow == NULL)
            out_of_memory(shadow_bytes(launch, allocation));
        allocation->next_touched = launch->touched;
        launch->touched = allocation;
        __atomic_store_n(&allocation->touched, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&first_come);
}

// What the kernel has touched is as it was before, but that managed memory is now the device's.
static void close_touched(struct launch *launch)
{
    for (struct allocation *a = launch->touched; a != NULL; a = a->next_touched) {
        pages_free(a->shadow, shadow_bytes(launch, a));
        a->shadow = NULL;
        a->touched = false;
        device_takes_used(a, launch->code->kernel->name);
    }
}

static uint64_t block_shared_bytes(const struct kernel *kernel, uint64_t dynamic_bytes)
{
    return (kernel->dynamic == NULL ? kernel->shared_bytes : kernel->dynamic->offset) +
           dynamic_bytes;
}

// Where the blocks of a cooperative launch count who has come to the grid's barrier: zeros.
static uint64_t new_grid_barrier(void)
{
    static uint64_t address;
    if (address == 0)
        address =
            memory_allocate_variable(text_of("the grid's barrier"), GRID_BARRIER_BYTES, false);
    memory_fill(address, 0, GRID_BARRIER_BYTES);
    return address;
}

// How many blocks the GPU runs at a time: as many wait for each other in vain who all wait for one
// more.
static int resident_blocks(const struct launch *launch)
{
    const int each = device_blocks_per_sm(launch->threads, launch->code->kernel->machine_registers,
                                          (int64_t)launch->shared_bytes);
    return (each > 0 ? each : 1) * device_model()->sms;
}

enum ending launch_kernel(struct kernel *kernel, struct position grid, struct position dimensions,
                          void *const *arguments, uint64_t dynamic_bytes, bool cooperative)
{
    struct launch launch = {
        .code = decode(kernel),
        .grid = grid,
        .dimensions = dimensions,
        .blocks = (uint64_t)grid.x * grid.y * grid.z,
        .threads = (int)(dimensions.x * dimensions.y * dimensions.z),
        .dynamic_bytes = dynamic_bytes,
        .grid_barrier = cooperative ? new_grid_barrier() : 0,
        .shared_bytes = block_shared_bytes(kernel, dynamic_bytes),
        .parameters = zeroed(kernel->parameter_bytes, 1),
        .shared_base = shared_base(),
        .schedule = emulator_settings.schedule,
        .checks = emulator_settings.checks,
        .failed = UINT64_MAX,
    };
    for (int i = 0; i < kernel->parameter_count; i++)
        memcpy(launch.parameters + kernel->parameters[i]->offset, arguments[i],
               kernel->parameters[i]->bytes);
    launch.resident = resident_blocks(&launch);
    if (launch.checks && launch.code->sequential) {
        launch.notes = notes_new();
        launch.publications = publications_new();
    }
    counters_launched(&launch);
    run_grid(&launch);
    close_touched(&launch);
    notes_free(launch.notes);
    publications_free(launch.publications);
    free(launch.parameters);
    if (launch.ending == ENDING_FAULT)
        emulator_fail("%s", launch.message);
    if (launch.ending != ENDING_GOOD && launch.checks)
        emulator_say("%s", launch.message);
    return launch.ending;
}
