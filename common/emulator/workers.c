#include "workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "async.h"
#include "barriers.h"
#include "bulk.h"
#include "counters.h"
#include "emulator.h"
#include "exact.h"
#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "frames.h"
#include "mbarriers.h"
#include "opcodes.h"
#include "order.h"
#include "shadow.h"
#include "sharing.h"
#include "warpgroup.h"
#include "watch.h"

enum {
    MAX_WORKERS = 64,
    ALIGNMENT = 64,
    TURNS_IN_A_ROW = 32, // that a block gets while it gets on
};

struct worker {
    struct launch *launch;
    struct block **blocks; // that run, in the order in which they have begun
    int count, room;       //
    int at;                // the one whose turn it is
    int turns;             // that it has had in a row
    int idle;              // blocks that have had a turn since any of them moved
    bool moved;            // the one whose turn it is has moved in one of these
    struct block **spare;  // that may be used again
    int spare_count;
    // To see whether all wait for ever: the state of all blocks some rounds ago.
    uint64_t state, rounds, looks;
    bool stuck;
    struct footprints *footprints;
    struct recent *recent;
    struct allocation **last_allocation;
    struct counters *counters;
    uint64_t executed;
};

static uint64_t executed_by_all;

uint64_t emulator_warp_instructions(void)
{
    return executed_by_all;
}

// Blocks -----------------------------------------------------------------------------------------

static void *aligned(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGNMENT, bytes + ALIGNMENT) != 0)
        out_of_memory(bytes);
    memset(memory, 0xff, bytes);
    return memory;
}

static void open_warp(struct block *block, int index)
{
    struct warp *warp = &block->warps[index];
    warp->block = block;
    warp->index = index;
    frames_open(warp);
    if (block->publications != NULL)
        order_open(warp);
}

static struct block *open_block(const struct worker *worker)
{
    struct launch *launch = worker->launch;
    struct block *block = zeroed(1, sizeof *block);
    block->launch = launch;
    block->set = instruction_set();
    block->shared_bytes = launch->shared_bytes;
    block->shared = aligned(block->shared_bytes);
    block->shadow =
        zeroed((block->shared_bytes >> launch->code->granule_shift) + 1, sizeof *block->shadow);
    if (launch->notes != NULL)
        block->publications = publications_new();
    if (launch->notes != NULL && launch->code->groups)
        block->notes = notes_new();
    block->footprints = worker->footprints;
    block->recent = worker->recent;
    block->last_allocation = worker->last_allocation;
    block->counters = worker->counters;
    block->warp_count = (launch->threads + LANES - 1) / LANES;
    block->warps = zeroed((size_t)block->warp_count, sizeof *block->warps);
    for (int i = 0; i < block->warp_count; i++)
        open_warp(block, i);
    return block;
}

static void close_block(struct block *block)
{
    barriers_reset(block);
    mbarriers_reset(block);
    bulk_free(block);
    for (int i = 0; i < block->warp_count; i++) {
        struct warp *warp = &block->warps[i];
        async_free(warp);
        warpgroup_free(warp);
        order_close(warp);
        frames_close(warp);
    }
    free(block->warps);
    notes_free(block->notes);
    publications_free(block->publications);
    free(block->shadow);
    free(block->shared);
    free(block);
}

// The schedule -----------------------------------------------------------------------------------

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

static uint64_t failed_place(const struct launch *launch)
{
    return __atomic_load_n(&launch->failed, __ATOMIC_SEQ_CST);
}

static void set_stuck(struct worker *worker, bool stuck)
{
    if (worker->stuck != stuck)
        __atomic_add_fetch(&worker->launch->stuck, stuck ? 1 : -1, __ATOMIC_SEQ_CST);
    worker->stuck = stuck;
}

// Something has changed: whoever waits may find what he waits for.
static void note_progress(struct worker *worker)
{
    worker->idle = 0;
    worker->rounds = 0;
    set_stuck(worker, false);
}

// Starts the next block of the grid. False where there is none, none whose outcome matters (a block
// behind one that has failed does not), or no room on the GPU.
static bool start_next(struct worker *worker)
{
    struct launch *launch = worker->launch;
    const int most = launch->resident / __atomic_load_n(&launch->workers, __ATOMIC_SEQ_CST);
    if (worker->count >= (most > 1 ? most : 1))
        return false;
    const uint64_t place = __atomic_fetch_add(&launch->next, 1, __ATOMIC_SEQ_CST);
    if (place >= launch->blocks || place > failed_place(launch))
        return false;
    struct block *block =
        worker->spare_count > 0 ? worker->spare[--worker->spare_count] : open_block(worker);
    block->place = place;
    block->index = scheduled(launch, place);
    if (worker->count == worker->room) {
        worker->room = worker->room == 0 ? 4 : 2 * worker->room;
        worker->blocks = enlarged(worker->blocks, (size_t)worker->count, (size_t)worker->room,
                                  sizeof(struct block *));
        worker->spare = enlarged(worker->spare, (size_t)worker->spare_count, (size_t)worker->room,
                                 sizeof(struct block *));
    }
    worker->at = worker->count;
    worker->blocks[worker->count++] = block;
    worker->turns = 0;
    worker->moved = false;
    note_progress(worker);
    start_block(block);
    return true;
}

// Takes the block out whose turn it is.
static void retire(struct worker *worker)
{
    worker->spare[worker->spare_count++] = worker->blocks[worker->at];
    worker->count--;
    memmove(&worker->blocks[worker->at], &worker->blocks[worker->at + 1],
            (size_t)(worker->count - worker->at) * sizeof(struct block *));
    if (worker->at == worker->count)
        worker->at = 0;
    worker->turns = 0;
    worker->moved = false;
    note_progress(worker);
}

// The next one gets its turn.
static void rotate(struct worker *worker)
{
    worker->idle += !worker->moved;
    worker->at = (worker->at + 1) % worker->count;
    worker->turns = 0;
    worker->moved = false;
}

// Waiting for ever -------------------------------------------------------------------------------

static _Noreturn void report_deadlock(const struct worker *worker, struct block *block)
{
    const struct launch *launch = worker->launch;
    struct warp *warp = &block->warps[0];
    while (warp->yielded_count == 0)
        warp++;
    const struct fragment *fragment = &warp->yielded[0];
    const uint64_t begun = launch->next < launch->blocks ? launch->next : launch->blocks;
    char others[128] = "";
    if (begun < launch->blocks)
        snprintf(others, sizeof others,
                 "; %llu blocks have not begun, because the GPU has room for %d at a time",
                 (unsigned long long)(launch->blocks - begun), launch->resident);
    const struct instruction *const at = &launch->code->instructions[fragment->from];
    const char *reason = "waits for what no thread does any more";
    char what[512];
    if (at->flow == FLOW_BRANCH)
        reason = "this loop does not end: nothing that it computes or reads changes any more";
    else if (at->run == mbarrier_wait)
        reason = mbarrier_lacks(warp, first_lane(fragment->lanes), what, sizeof what);
    else if (at->flow == FLOW_WARPGROUP)
        reason = warpgroup_lacks(warp, what, sizeof what);
    fault(warp, at, first_lane(fragment->lanes), "deadlock: %s%s", reason, others);
}

// All blocks have had a turn, and none has moved. Where they come back to a state that they have
// been in before, and nobody else is left who could change that, they will do so for ever. The
// state to compare with is renewed after 1, 2, 4, 8 ... rounds, so that a cycle of any length is
// found.
static bool waits_for_ever(struct worker *worker)
{
    struct launch *launch = worker->launch;
    uint64_t state = 0;
    for (int i = 0; i < worker->count; i++)
        state = state * 31 + fingerprint(worker->blocks[i]);
    const bool same = worker->rounds > 0 && state == worker->state;
    if (!same && (worker->rounds & (worker->rounds - 1)) == 0)
        worker->state = state;
    worker->rounds++;
    set_stuck(worker, same);
    if (same && launch->workers > 1)
        sched_yield();
    return same && __atomic_load_n(&launch->stuck, __ATOMIC_SEQ_CST) ==
                       __atomic_load_n(&launch->workers, __ATOMIC_SEQ_CST);
}

static enum turn take_turn(struct block *block)
{
    if (setjmp(block->escape) != 0)
        return TURN_ENDED;
    return run_block(block);
}

static void note_deadlock(struct worker *worker)
{
    struct block *block = worker->blocks[0];
    if (setjmp(block->escape) == 0)
        report_deadlock(worker, block);
}

// Work -------------------------------------------------------------------------------------------

// Whether the worker's blocks need not go on: after a fault in sequential code, because others wait
// for the block that had it; else those behind it in the schedule.
static bool is_over(const struct worker *worker)
{
    const uint64_t failed = failed_place(worker->launch);
    return failed != UINT64_MAX &&
           (worker->launch->code->sequential || worker->blocks[worker->at]->place > failed);
}

static void give_turn(struct worker *worker)
{
    struct block *block = worker->blocks[worker->at];
    const enum turn turn = is_over(worker) ? TURN_ENDED : take_turn(block);
    watch_turn(block, turn);
    if (turn == TURN_ENDED) {
        retire(worker);
        return;
    }
    if (turn == TURN_MOVED) {
        worker->moved = true;
        note_progress(worker);
    }
    worker->turns++;
    if (turn == TURN_STUCK || worker->turns >= TURNS_IN_A_ROW)
        rotate(worker);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    in_emulator = true;
    while (worker->count > 0 || start_next(worker)) {
        give_turn(worker);
        if (worker->count == 0 || worker->idle < worker->count || start_next(worker))
            continue;
        worker->idle = 0;
        if (waits_for_ever(worker)) {
            note_deadlock(worker);
            break;
        }
    }
    set_stuck(worker, false);
    __atomic_sub_fetch(&worker->launch->workers, 1, __ATOMIC_SEQ_CST);
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

static void open_worker(struct worker *worker, struct launch *launch)
{
    const size_t instructions = (size_t)launch->code->count;
    worker->launch = launch;
    worker->footprints = footprints_new();
    if (emulator_settings.counters)
        worker->counters = counters_new(launch->code);
    worker->recent = zeroed(instructions, sizeof *worker->recent);
    for (size_t i = 0; i < instructions; i++)
        worker->recent[i].footprint = &no_footprint;
    worker->last_allocation = zeroed(instructions, sizeof(struct allocation *));
}

static void close_worker(struct worker *worker)
{
    while (worker->count > 0)
        retire(worker);
    if (worker->spare_count > 0)
        counters_add(worker->launch, worker->spare[0]);
    for (int i = 0; i < worker->spare_count; i++) {
        executed_by_all += worker->spare[i]->executed;
        close_block(worker->spare[i]);
    }
    free(worker->blocks);
    free(worker->spare);
    free(worker->last_allocation);
    free(worker->recent);
    counters_free(worker->counters);
    footprints_free(worker->footprints);
}

void run_grid(struct launch *launch)
{
    struct worker workers[MAX_WORKERS] = {{.launch = NULL}};
    pthread_t threads[MAX_WORKERS];
    const int count = worker_count(launch);
    launch->workers = count;
    watch_begin(launch);
    for (int i = 0; i < count; i++)
        open_worker(&workers[i], launch);
    int started = 1;
    while (started < count && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
        started++;
    __atomic_sub_fetch(&launch->workers, count - started, __ATOMIC_SEQ_CST);
    work(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    watch_end(launch);
    for (int i = 0; i < count; i++)
        close_worker(&workers[i]);
}
