#include "execute.h"

#include <limits.h>
#include <string.h>

#include "async.h"
#include "counters.h"
#include "emulator.h"
#include "fault.h"
#include "footprint.h"
#include "frames.h"
#include "shadow.h"

enum {
    GREATEST_TIME = (1 << 24) - 1, // that a tag has room for
};

void do_nothing(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)warp;
    (void)instruction;
    (void)active;
}

void unknown_instruction(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    fault(warp, instruction, first_lane(active),
          "unknown instruction: the emulator cannot carry out this one");
}

void trap(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    device_fault(warp, instruction, first_lane(active), ENDING_TRAP,
                 "trap: the kernel stopped itself");
}

// Fragments --------------------------------------------------------------------------------------

static void make_ready(struct warp *warp, struct frame *frame, int at, uint32_t lanes)
{
    if (lanes != 0)
        warp->ready[warp->ready_count++] =
            (struct fragment){.frame = frame, .at = at, .lanes = lanes};
}

// Whether to go on with a rather than b: with those further behind, so that lanes that have run
// ahead are met again. A call is behind everything that comes after it.
static bool comes_first(const struct fragment *a, const struct fragment *b)
{
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return a->at < b->at;
}

// Takes the lanes that are furthest behind. `limit` is where the next ones of the same call wait.
static struct fragment take_ready(struct warp *warp, int *limit)
{
    struct fragment taken = warp->ready[0];
    int kept = 0;
    for (int i = 1; i < warp->ready_count; i++)
        if (comes_first(&warp->ready[i], &taken))
            taken = warp->ready[i];
    *limit = INT_MAX;
    taken.lanes = 0;
    for (int i = 0; i < warp->ready_count; i++) {
        const struct fragment *fragment = &warp->ready[i];
        if (fragment->frame == taken.frame && fragment->at == taken.at) {
            taken.lanes |= fragment->lanes;
            continue;
        }
        if (fragment->frame == taken.frame && fragment->at < *limit)
            *limit = fragment->at;
        warp->ready[kept++] = *fragment;
    }
    warp->ready_count = kept;
    return taken;
}

static void tick(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    struct block *block = warp->block;
    if (block->clock == GREATEST_TIME)
        fault(warp, instruction, first_lane(lanes),
              "barrier: the block has synchronized too often for the checker to follow");
    block->clock++;
}

// __syncwarp -------------------------------------------------------------------------------------

// Lets those go on whose whole mask has arrived or ended.
static void release_syncing(struct warp *warp)
{
    for (int i = 0; i < warp->syncing_count; i++) {
        const uint32_t mask = warp->syncing[i].mask;
        uint32_t arrived = 0;
        for (int j = 0; j < warp->syncing_count; j++)
            if (warp->syncing[j].mask == mask)
                arrived |= warp->syncing[j].lanes;
        if (mask & warp->live & ~arrived)
            continue;
        int kept = 0;
        for (int j = 0; j < warp->syncing_count; j++)
            if (warp->syncing[j].mask == mask)
                make_ready(warp, warp->syncing[j].frame, warp->syncing[j].at,
                           warp->syncing[j].lanes);
            else
                warp->syncing[kept++] = warp->syncing[j];
        warp->syncing_count = kept;
        warp->time = warp->block->clock;
        i = -1; // look at all that are left
    }
}

// Returns true where the lanes may go on at once.
static bool sync_warp(struct warp *warp, const struct instruction *instruction, int at,
                      uint32_t lanes)
{
    const uint32_t *masks =
        (const uint32_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * instruction->s[0]);
    const uint32_t mask = masks[first_lane(lanes)];
    if (lanes & ~mask)
        fault(warp, instruction, first_lane(lanes & ~mask),
              "barrier: a lane calls __syncwarp with the mask 0x%08x, which lacks it", mask);
    tick(warp, instruction, lanes);
    if ((mask & warp->live & ~lanes) == 0) {
        warp->time = warp->block->clock;
        return true;
    }
    warp->syncing[warp->syncing_count++] =
        (struct fragment){.frame = warp->frame, .at = at + 1, .lanes = lanes, .mask = mask};
    release_syncing(warp);
    return false;
}

static _Noreturn void never_synchronized(struct warp *warp)
{
    const struct fragment *fragment = &warp->syncing[0];
    uint32_t arrived = 0;
    for (int i = 0; i < warp->syncing_count; i++)
        if (warp->syncing[i].mask == fragment->mask)
            arrived |= warp->syncing[i].lanes;
    fault(warp, &warp->block->launch->code->instructions[fragment->at - 1],
          first_lane(fragment->lanes),
          "barrier: lanes 0x%08x wait in __syncwarp for lanes 0x%08x, which never come", arrived,
          fragment->mask & warp->live & ~arrived);
}

// Warps ------------------------------------------------------------------------------------------

static uint32_t guarded(const struct warp *warp, const struct instruction *instruction,
                        uint32_t lanes)
{
    if (instruction->guard < 0)
        return lanes;
    const uint32_t predicate = warp->predicates[instruction->guard];
    return lanes & (instruction->guard_negated ? ~predicate : predicate);
}

static int index_of(const struct warp *warp, const struct instruction *instruction)
{
    return (int)(instruction - warp->block->launch->code->instructions);
}

// Starts a call: of the same function for all lanes, or for each address that they have.
static void call(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    const struct code *code = warp->block->launch->code;
    const int function = detail_of(warp, instruction)->call->function;
    while (lanes != 0) {
        const int target =
            function >= 0 ? function : frame_target(warp, instruction, first_lane(lanes));
        uint32_t together = 0;
        for (int l = 0; l < LANES; l++)
            if ((lanes >> l & 1) && (function >= 0 || frame_target(warp, instruction, l) == target))
                together |= 1U << l;
        make_ready(warp, frame_call(warp, instruction, target, together),
                   code->functions[target].first, together);
        lanes &= ~together;
    }
}

// Lanes go where the table has the target that each of them names.
static void switch_lanes(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t *choices =
        (const uint32_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * instruction->s[0]);
    const uint32_t first = choices[first_lane(lanes)];
    bool parted = false;
    for (int l = 0; l < LANES; l++) {
        if ((lanes >> l & 1) == 0)
            continue;
        parted |= choices[l] != first;
        if (choices[l] >= (uint32_t)detail->target_count)
            fault(warp, instruction, l, "out of bounds: target %u of a table of %d", choices[l],
                  detail->target_count);
        make_ready(warp, warp->frame, detail->targets[choices[l]], 1U << l);
    }
    if (parted)
        count_parted(warp->block, index_of(warp, instruction));
}

// The lanes in `active` leave the straight path. Returns those that go on behind the instruction.
static uint32_t leave_path(struct warp *warp, const struct instruction *instruction, int at,
                           uint32_t lanes, uint32_t active)
{
    if (active == 0)
        return lanes;
    switch (instruction->flow) {
    case FLOW_EXIT:
        warp->live &= ~active;
        frame_exit(warp, active);
        break;
    case FLOW_RETURN:
        make_ready(warp, warp->frame->caller, index_of(warp, warp->frame->call) + 1, active);
        frame_return(warp, active);
        break;
    case FLOW_CALL:
        call(warp, instruction, active);
        make_ready(warp, warp->frame, at + 1, lanes & ~active);
        return 0;
    case FLOW_SWITCH:
        switch_lanes(warp, instruction, active);
        make_ready(warp, warp->frame, at + 1, lanes & ~active);
        return 0;
    case FLOW_BARRIER:
        warp->waiting[warp->waiting_count++] =
            (struct fragment){.frame = warp->frame, .at = at + 1, .lanes = active};
        break;
    case FLOW_SYNC_WARP:
        if (sync_warp(warp, instruction, at, active))
            return lanes;
        break;
    default: // a branch that only some take: both parts start anew
        count_parted(warp->block, at);
        make_ready(warp, warp->frame, detail_of(warp, instruction)->target, active);
        make_ready(warp, warp->frame, at + 1, lanes & ~active);
        return 0;
    }
    return lanes & ~active;
}

// Runs lanes until they have ended, wait, or have come to where others are.
static void run_fragment(struct warp *warp, struct fragment fragment, int limit)
{
    const struct code *const code = warp->block->launch->code;
    const int end = limit < code->count ? limit : code->count;
    uint32_t lanes = fragment.lanes;
    int at = fragment.at;
    int start = at; // where these lanes came to from elsewhere
    frame_enter(warp, fragment.frame);
    while (lanes != 0 && at < end) {
        const struct instruction *instruction = &code->instructions[at];
        const struct instruction *const stop = &code->instructions[end];
        while (instruction < stop && instruction->flow == FLOW_NEXT) {
            instruction->run(warp, instruction, lanes);
            instruction++;
        }
        at = (int)(instruction - code->instructions);
        if (at == end)
            break;
        const uint32_t active = guarded(warp, instruction, lanes);
        if (instruction->flow == FLOW_GUARDED) {
            if (active != 0)
                instruction->run(warp, instruction, active);
            at++;
        } else if (instruction->flow == FLOW_BRANCH && active == lanes) {
            count_run(warp->block, start, at + 1, lanes);
            at = start = code->details[at].target;
        } else {
            const uint32_t left = leave_path(warp, instruction, at, lanes, active);
            at++;
            count_run(warp->block, start, at, lanes);
            start = at;
            lanes = left;
        }
    }
    count_run(warp->block, start, at, lanes);
    make_ready(warp, fragment.frame, at, lanes);
}

// Runs a warp until all of its lanes have ended or wait for the block.
static void run_warp(struct warp *warp)
{
    while (warp->ready_count > 0) {
        int limit;
        const struct fragment fragment = take_ready(warp, &limit);
        run_fragment(warp, fragment, limit);
        if (warp->ready_count == 0 && warp->syncing_count > 0) {
            release_syncing(warp);
            if (warp->ready_count == 0)
                never_synchronized(warp);
        }
    }
}

// Blocks -----------------------------------------------------------------------------------------

static uint32_t lanes_of(const struct warp *warp)
{
    const int threads = warp->block->launch->threads - warp->index * LANES;
    return threads >= LANES ? ALL_LANES : (1U << threads) - 1;
}

static void start_warp(struct warp *warp)
{
    warp->live = lanes_of(warp);
    warp->time = warp->block->clock;
    warp->ready_count = warp->syncing_count = warp->waiting_count = 0;
    frames_reset(warp);
    make_ready(warp, warp->kernel_frame, 0, warp->live);
    async_reset(warp);
}

static void start_block(struct block *block)
{
    const struct launch *launch = block->launch;
    const struct position grid = launch->grid;
    block->position = (struct position){(unsigned)(block->index % grid.x),
                                        (unsigned)(block->index / grid.x % grid.y),
                                        (unsigned)(block->index / grid.x / grid.y)};
    block->clock = block->barrier_time = 1;
    memset(block->shared, 0xff, block->shared_bytes);
    if (launch->checks)
        memset(block->shadow, 0,
               ((block->shared_bytes >> launch->code->granule_shift) + 1) * sizeof *block->shadow);
    for (int i = 0; i < block->warp_count; i++)
        start_warp(&block->warps[i]);
    block->used = true;
}

// The first fragment that waits at a barrier, of any warp; NULL where none does.
static struct warp *first_waiting(struct block *block)
{
    for (int i = 0; i < block->warp_count; i++)
        if (block->warps[i].waiting_count > 0)
            return &block->warps[i];
    return NULL;
}

// A barrier is for every thread of the block: none may have ended or wait at another one.
static void check_barrier(struct block *block, struct warp *first)
{
    const struct fragment *at = &first->waiting[0];
    const struct instruction *barrier = &block->launch->code->instructions[at->at - 1];
    char thread[64];
    char place[512];
    for (int i = 0; i < block->warp_count; i++) {
        const struct warp *warp = &block->warps[i];
        const uint32_t ended = lanes_of(warp) & ~warp->live;
        if (ended != 0)
            fault(first, barrier, first_lane(at->lanes),
                  "barrier: waits for thread %s, which has ended without coming here",
                  describe_thread(warp, i * LANES + first_lane(ended), thread, sizeof thread));
        for (int j = 0; j < warp->waiting_count; j++)
            if (warp->waiting[j].at != at->at)
                fault(first, barrier, first_lane(at->lanes),
                      "barrier: waits for thread %s, which is at another barrier %s",
                      describe_thread(warp, i * LANES + first_lane(warp->waiting[j].lanes), thread,
                                      sizeof thread),
                      describe_place(warp,
                                     &block->launch->code->instructions[warp->waiting[j].at - 1],
                                     place, sizeof place));
    }
}

static void pass_barrier(struct block *block, struct warp *first)
{
    if (block->launch->checks)
        check_barrier(block, first);
    tick(first, &block->launch->code->instructions[first->waiting[0].at - 1],
         first->waiting[0].lanes);
    block->barrier_time = block->clock;
    for (int i = 0; i < block->warp_count; i++) {
        struct warp *warp = &block->warps[i];
        warp->time = block->clock;
        memcpy(warp->ready, warp->waiting, sizeof warp->ready);
        warp->ready_count = warp->waiting_count;
        warp->waiting_count = 0;
    }
}

// Runs all warps to the next barrier, in the order of the schedule.
static void run_phase(struct block *block, uint64_t phase)
{
    const int count = block->warp_count;
    uint64_t random = block->launch->schedule ^ block->index << 32 ^ phase;
    int order[LANES];
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0 && block->launch->schedule != 0; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int j = (int)((random >> 33) % (uint64_t)(i + 1));
        const int other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (int i = 0; i < count; i++)
        run_warp(&block->warps[order[i]]);
}

void run_block(struct block *block)
{
    start_block(block);
    for (uint64_t phase = 0;; phase++) {
        run_phase(block, phase);
        struct warp *waiting = first_waiting(block);
        if (waiting == NULL)
            return;
        pass_barrier(block, waiting);
    }
}
