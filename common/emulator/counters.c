#include "counters.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"
#include "footprint.h"
#include "memory.h"

static struct kernel_counts *kernels;

const struct kernel_counts *counters_of_kernels(void)
{
    return kernels;
}

static void open_counters(struct counters *counters, const struct code *code)
{
    counters->instructions = zeroed((size_t)code->count + 1, sizeof *counters->instructions);
    counters->line = emulator_settings.figure_line;
    counters->snapshot.instruction = -1;
}

struct counters *counters_new(const struct code *code)
{
    struct counters *counters = zeroed(1, sizeof *counters);
    open_counters(counters, code);
    return counters;
}

void counters_free(struct counters *counters)
{
    if (counters != NULL)
        free(counters->instructions);
    free(counters);
}

void emulator_clear_counts(void)
{
    while (kernels != NULL) {
        struct kernel_counts *next = kernels->next;
        free(kernels->counters.instructions);
        free(kernels);
        kernels = next;
    }
}

// Adding up --------------------------------------------------------------------------------------

static struct kernel_counts *find_kernel(const struct launch *launch)
{
    struct kernel_counts **link = &kernels;
    while (*link != NULL && (*link)->code != launch->code)
        link = &(*link)->next;
    if (*link == NULL) {
        *link = zeroed(1, sizeof **link);
        (*link)->code = launch->code;
        open_counters(&(*link)->counters, launch->code);
    }
    return *link;
}

static void add_access(struct access_count *sum, const struct access_count *more)
{
    sum->requests += more->requests;
    sum->parts += more->parts;
    sum->conflicts += more->conflicts;
    sum->bytes += more->bytes;
}

static int lane_count(const struct snapshot *snapshot)
{
    return snapshot->instruction < 0 ? 0 : __builtin_popcount(snapshot->active);
}

// Whether a snapshot shows more: more lanes, or as many of an earlier block.
static bool is_better(const struct snapshot *a, const struct snapshot *b)
{
    return lane_count(a) > lane_count(b) || (lane_count(a) == lane_count(b) && a->place < b->place);
}

void counters_add(const struct launch *launch, struct block *block)
{
    const struct counters *more = block->counters;
    if (more == NULL)
        return;
    for (int i = 0; i < launch->code->count; i++)
        count_recent(block, &block->recent[i]);
    struct kernel_counts *kernel = find_kernel(launch);
    int64_t executed = 0;
    int64_t idle = 0;
    for (int i = 0; i < launch->code->count; i++) {
        struct instruction_count *sum = &kernel->counters.instructions[i];
        executed += more->instructions[i].executed;
        idle += more->instructions[i].idle;
        sum->executed += executed;
        sum->idle += idle;
        sum->parted += more->instructions[i].parted;
        add_access(&sum->global, &more->instructions[i].global);
        add_access(&sum->shared, &more->instructions[i].shared);
        sum->local += more->instructions[i].local;
    }
    kernel->shared_bytes = block->shared_bytes;
    if (is_better(&more->snapshot, &kernel->counters.snapshot))
        kernel->counters.snapshot = more->snapshot;
}

void counters_launched(const struct launch *launch)
{
    if (!emulator_settings.counters)
        return;
    struct kernel_counts *kernel = find_kernel(launch);
    kernel->launches++;
    kernel->blocks += launch->blocks;
    kernel->threads = launch->threads;
}

// Counting ---------------------------------------------------------------------------------------

static struct instruction_count *count_of(const struct warp *warp,
                                          const struct instruction *instruction)
{
    const struct block *block = warp->block;
    return &block->counters->instructions[instruction - block->launch->code->instructions];
}

void count_recent(struct block *block, const struct recent *recent)
{
    const ptrdiff_t index = recent - block->recent;
    if (block->counters == NULL || recent->times == 0)
        return;
    struct instruction_count *count = &block->counters->instructions[index];
    struct access_count *sum = recent->phase >= IN_SHARED ? &count->shared : &count->global;
    sum->requests += recent->times;
    sum->parts += recent->times * recent->cost.parts;
    sum->conflicts += recent->times * recent->cost.conflicts;
    sum->bytes += recent->times * recent->different * block->launch->code->details[index].bytes;
}

static int count_different(uint32_t active, const uint64_t addresses[LANES])
{
    int count = 0;
    for (int l = 0; l < LANES; l++) {
        int earlier = 0;
        while (earlier < l && (!(active >> earlier & 1) || addresses[earlier] != addresses[l]))
            earlier++;
        count += (int)(active >> l & 1) & (earlier == l);
    }
    return count;
}

void count_apart(struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint64_t addresses[LANES], uint32_t bytes)
{
    if (warp->block->counters == NULL)
        return;
    struct access_count *sum = &count_of(warp, instruction)->global;
    sum->requests++;
    sum->parts += (uint64_t)count_sectors(active, addresses);
    sum->bytes += (uint64_t)count_different(active, addresses) * bytes;
}

void count_copy(struct warp *warp, const struct instruction *instruction,
                struct footprint *footprint, uint64_t first)
{
    struct access_count *sum = &count_of(warp, instruction)->global;
    sum->requests++;
    sum->parts += footprint_cost(footprint, first % SECTOR_BYTES, 1, true).parts;
    sum->bytes += (uint64_t)footprint->count * detail_of(warp, instruction)->bytes;
}

void count_bulk(struct warp *warp, const struct instruction *instruction, uint64_t address,
                uint64_t bytes)
{
    if (warp->block->counters == NULL || bytes == 0)
        return;
    struct access_count *sum = &count_of(warp, instruction)->global;
    sum->requests++;
    sum->parts += (address + bytes - 1) / SECTOR_BYTES - address / SECTOR_BYTES + 1;
    sum->bytes += bytes;
}

void count_local(struct warp *warp, const struct instruction *instruction)
{
    if (warp->block->counters != NULL)
        count_of(warp, instruction)->local++;
}

// Snapshots --------------------------------------------------------------------------------------

bool is_in_line(const struct statement *statement, int line)
{
    const struct call_site *site = statement->inlined_at;
    while (site != NULL && site->place.line != line)
        site = site->outer;
    return statement->place.line == line || site != NULL;
}

static bool is_wanted(const struct warp *warp, const struct instruction *instruction)
{
    const struct counters *counters = warp->block->counters;
    return counters != NULL && counters->line != 0 &&
           is_in_line(detail_of(warp, instruction)->statement, counters->line);
}

static void keep(const struct warp *warp, const struct instruction *instruction,
                 struct snapshot taken)
{
    const struct block *block = warp->block;
    struct snapshot *kept = &block->counters->snapshot;
    taken.instruction = (int)(instruction - block->launch->code->instructions);
    taken.place = block->place;
    taken.block = block->position;
    taken.warp = warp->index;
    if (is_better(&taken, kept))
        *kept = taken;
}

void keep_global(const struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint64_t addresses[LANES])
{
    if (!is_wanted(warp, instruction))
        return;
    const struct allocation *allocation = memory_holding(addresses[first_lane(active)]);
    struct snapshot taken = {.active = active, .base = allocation->address};
    memcpy(taken.addresses, addresses, sizeof taken.addresses);
    keep(warp, instruction, taken);
}

void keep_shared(const struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint32_t offsets[LANES])
{
    if (!is_wanted(warp, instruction))
        return;
    const uint64_t base = warp->block->launch->shared_base;
    struct snapshot taken = {.active = active, .shared = true, .base = base};
    for (int l = 0; l < LANES; l++)
        taken.addresses[l] = base + offsets[l];
    keep(warp, instruction, taken);
}
