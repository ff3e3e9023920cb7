#include "execute.h"

#include <limits.h>
#include <string.h>

#include "async.h"
#include "barriers.h"
#include "bulk.h"
#include "counters.h"
#include "exact.h"
#include "fault.h"
#include "footprint.h"
#include "frames.h"
#include "mbarriers.h"
#include "order.h"
#include "shadow.h"
#include "warpgroup.h"

enum {
    QUANTUM = 1 << 20, // warp instructions after which a loop lets others have a turn
};

void do_nothing(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)warp;
    (void)instruction;
    (void)active;
}

// A function that the kernel calls and nobody has defined; NULL where the statement calls none.
static const char *called_function(const struct statement *statement)
{
    for (int i = 0; i < statement->count; i++)
        if (statement->operands[i].kind == OPERAND_FUNCTION)
            return statement->operands[i].function->name;
    return NULL;
}

static const char *why_unknown(const struct statement *statement)
{
    static const char *const tensor[] = {"wmma.", "mma.", "wgmma.", "tcgen05."};
    const char *const function = called_function(statement);
    if (function != NULL && (strcmp(function, "malloc") == 0 || strcmp(function, "free") == 0))
        return "kernels cannot allocate memory here (malloc, free, new, delete): use cudaMalloc "
               "before the launch";
    if (function != NULL)
        return "the emulator does not offer this function to kernels";
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor; i++)
        if (text_starts(statement->opcode, tensor[i]))
            return "of the tensor cores the emulator has only mma of TF32, m16n8k8, and wgmma of "
                   "TF32, without a guard";
    return "the emulator cannot carry out this one";
}

void unknown_instruction(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct statement *statement = detail_of(warp, instruction)->statement;
    fault(warp, instruction, first_lane(active), "unknown instruction: %s", why_unknown(statement));
}

// Whether the kernel or a function that it calls asks where the grid's barrier is.
static bool wants_grid_barrier(const struct code *code)
{
    for (int i = 0; i < code->function_count; i++)
        for (int j = 0; j < code->functions[i].constant_count; j++)
            if (code->functions[i].constants[j].special == SPECIAL_GRID_BARRIER_LOW)
                return true;
    return false;
}

void trap(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct launch *launch = warp->block->launch;
    device_fault(warp, instruction, first_lane(active), ENDING_TRAP,
                 "trap: the kernel stopped itself%s",
                 launch->grid_barrier == 0 && wants_grid_barrier(launch->code)
                     ? " (grid.sync() needs a launch by cudaLaunchCooperativeKernel)"
                     : "");
}

// Who sleeps waits for something.
void sleep_a_while(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)active;
    warp->poll = index_of(warp, instruction);
}

// Fragments --------------------------------------------------------------------------------------

void make_ready(struct warp *warp, struct frame *frame, int at, uint32_t lanes)
{
    if (lanes != 0)
        warp->ready[warp->ready_count++] =
            (struct fragment){.frame = frame, .at = at, .lanes = lanes, .poll = -1};
}

// Whether a loop's next round has to wait until others have had a turn: the loop polls, or it has
// run for long.
static bool gives_way(const struct warp *warp, const struct detail *branch)
{
    return branch->loops &&
           (warp->poll >= branch->target || warp->block->executed >= warp->block->turn_end);
}

// Lanes that branch go on, now or later.
static void branch(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    const struct detail *detail = detail_of(warp, instruction);
    if (gives_way(warp, detail))
        warp->yielded[warp->yielded_count++] = (struct fragment){
            .frame = warp->frame,
            .at = detail->target,
            .lanes = lanes,
            .from = warp->poll >= detail->target ? warp->poll : index_of(warp, instruction)};
    else
        make_ready(warp, warp->frame, detail->target, lanes);
}

// Lanes return from a call. That it has polled counts for the loop that it is called in.
static void return_lanes(struct warp *warp, uint32_t lanes)
{
    const int call = index_of(warp, warp->frame->call);
    make_ready(warp, warp->frame->caller, call + 1, lanes);
    if (warp->poll >= 0)
        warp->ready[warp->ready_count - 1].poll = call;
    frame_return(warp, lanes);
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
            if (fragment->poll > taken.poll)
                taken.poll = fragment->poll;
            continue;
        }
        if (fragment->frame == taken.frame && fragment->at < *limit)
            *limit = fragment->at;
        warp->ready[kept++] = *fragment;
    }
    warp->ready_count = kept;
    return taken;
}

// Leaving the straight path ----------------------------------------------------------------------

static uint32_t guarded(const struct warp *warp, const struct instruction *instruction,
                        uint32_t lanes)
{
    if (instruction->guard < 0)
        return lanes;
    const uint32_t predicate = warp->predicates[instruction->guard];
    return lanes & (instruction->guard_negated ? ~predicate : predicate);
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
    const uint32_t *choices = words_of(warp, instruction->s[0]);
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

// Lanes come to the instruction again when others have had a turn.
static void come_again(struct warp *warp, int at, uint32_t lanes)
{
    warp->yielded[warp->yielded_count++] =
        (struct fragment){.frame = warp->frame, .at = at, .lanes = lanes, .from = at};
}

// The lanes in `active` leave the straight path. Returns those that go on behind the instruction.
static uint32_t leave_path(struct warp *warp, const struct instruction *instruction, int at,
                           uint32_t lanes, uint32_t active)
{
    switch (instruction->flow) {
    case FLOW_EXIT:
        warp->live &= ~active;
        frame_exit(warp, active);
        warp->block->moved = true;
        return lanes & ~active;
    case FLOW_RETURN:
        return_lanes(warp, active);
        return lanes & ~active;
    case FLOW_CALL:
        call(warp, instruction, active);
        break;
    case FLOW_SWITCH:
        switch_lanes(warp, instruction, active);
        break;
    case FLOW_BARRIER:
        return barrier_arrive(warp, instruction, active) ? lanes : lanes & ~active;
    case FLOW_SYNC_WARP:
        return sync_lanes(warp, instruction, active) ? lanes : lanes & ~active;
    case FLOW_TOGETHER:
        return come_together(warp, instruction, active) ? lanes : lanes & ~active;
    case FLOW_WARPGROUP:
        if (warpgroup_wait(warp, instruction, active))
            return lanes;
        come_again(warp, at, active);
        return lanes & ~active;
    default: // a branch that only some take: both parts start anew
        if (active != lanes)
            count_parted(warp->block, at);
        branch(warp, instruction, active);
        break;
    }
    make_ready(warp, warp->frame, at + 1, lanes & ~active);
    return 0;
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
    warp->poll = fragment.poll;
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
        } else if (active == 0) {
            at++;
        } else if (instruction->flow == FLOW_BRANCH && active == lanes &&
                   !gives_way(warp, &code->details[at])) {
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

// Runs a warp until all of its lanes have ended, wait, or let others have a turn.
static void run_warp(struct warp *warp)
{
    while (warp->ready_count > 0) {
        int limit;
        const struct fragment fragment = take_ready(warp, &limit);
        run_fragment(warp, fragment, limit);
        if (warp->ready_count == 0 && warp->syncing_count > 0)
            release_lanes(warp);
    }
}

// Fingerprints -----------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; size > 0; size--)
        hash = (hash ^ *at++) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static uint64_t mix_fragments(uint64_t hash, const struct fragment *fragments, int count)
{
    for (int i = 0; i < count; i++) {
        hash = mix(hash, &fragments[i].at, sizeof fragments[i].at);
        hash = mix(hash, &fragments[i].lanes, sizeof fragments[i].lanes);
        hash = mix(hash, &fragments[i].frame, sizeof(struct frame *));
    }
    return hash;
}

uint64_t fingerprint(const struct block *block)
{
    uint64_t hash = block->index + 1;
    for (int i = 0; i < block->warp_count; i++) {
        const struct warp *warp = &block->warps[i];
        hash = mix_fragments(hash, warp->yielded, warp->yielded_count);
        hash = mix_fragments(hash, warp->waiting, warp->waiting_count);
        hash = mix_fragments(hash, warp->syncing, warp->syncing_count);
        hash = mix(hash, warp->local, LANES * warp->local_bytes);
        for (const struct frame *frame = warp->frames; frame != NULL; frame = frame->next) {
            const struct function_code *function = frame->function;
            hash = mix(hash, frame->file, (uint64_t)SLOT_BYTES * (uint64_t)function->slots);
            hash = mix(hash, frame->predicates,
                       (uint64_t)function->predicates * sizeof *frame->predicates);
            hash = mix(hash, frame->variables, LANES * function->kernel->frame_bytes);
        }
    }
    return hash;
}

// Blocks -----------------------------------------------------------------------------------------

uint32_t lanes_of(const struct warp *warp)
{
    const int threads = warp->block->launch->threads - warp->index * LANES;
    return threads >= LANES ? ALL_LANES : (1U << threads) - 1;
}

static void start_warp(struct warp *warp)
{
    warp->live = lanes_of(warp);
    warp->time = warp->block->clock;
    warp->ready_count = warp->syncing_count = warp->waiting_count = warp->yielded_count = 0;
    frames_reset(warp);
    make_ready(warp, warp->kernel_frame, 0, warp->live);
    async_reset(warp);
    warpgroup_free(warp);
    if (warp->order != NULL)
        order_reset(warp);
}

void start_block(struct block *block)
{
    const struct launch *launch = block->launch;
    const struct position grid = launch->grid;
    block->position = (struct position){(unsigned)(block->index % grid.x),
                                        (unsigned)(block->index / grid.x % grid.y),
                                        (unsigned)(block->index / grid.x / grid.y)};
    block->clock = block->barrier_time = 1;
    block->phase = 0;
    memset(block->shared, 0xff, block->shared_bytes);
    if (launch->checks)
        memset(block->shadow, 0,
               ((block->shared_bytes >> launch->code->granule_shift) + 1) * sizeof *block->shadow);
    if (block->notes != NULL)
        notes_clear(block->notes);
    if (block->publications != NULL)
        publications_clear(block->publications);
    for (int i = 0; i < block->warp_count; i++)
        start_warp(&block->warps[i]);
    barriers_reset(block);
    mbarriers_reset(block);
    bulk_reset(block);
    block->used = true;
}

// The order of the warps in a phase, by the schedule.
static void shuffle_warps(const struct block *block, int order[LANES])
{
    const int count = block->warp_count;
    uint64_t random = block->launch->schedule ^ block->index << 32 ^ block->phase;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0 && block->launch->schedule != 0; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int j = (int)((random >> 33) % (uint64_t)(i + 1));
        const int other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
}

// Runs all warps as far as they come. Some may have got further because of later ones.
static void run_phase(struct block *block)
{
    int order[LANES];
    bool again = true;
    shuffle_warps(block, order);
    while (again) {
        again = false;
        for (int i = 0; i < block->warp_count; i++)
            run_warp(&block->warps[order[i]]);
        for (int i = 0; i < block->warp_count; i++)
            again |= block->warps[i].ready_count > 0;
    }
    block->phase++;
}

// Those who have let others have a turn go on. Returns whether there are any.
static bool wake(struct block *block)
{
    bool any = false;
    for (int i = 0; i < block->warp_count; i++) {
        struct warp *warp = &block->warps[i];
        for (int j = 0; j < warp->yielded_count; j++)
            make_ready(warp, warp->yielded[j].frame, warp->yielded[j].at, warp->yielded[j].lanes);
        any |= warp->yielded_count > 0;
        warp->yielded_count = 0;
    }
    return any;
}

static bool any_yielded(const struct block *block)
{
    for (int i = 0; i < block->warp_count; i++)
        if (block->warps[i].yielded_count > 0)
            return true;
    return false;
}

// A loop that has come back to where it was changes nothing but time, however long it runs.
static enum turn how_far(struct block *block)
{
    if (block->moved)
        return TURN_MOVED;
    if (block->executed < block->turn_end)
        return TURN_STUCK;
    const uint64_t before = block->state;
    block->state = fingerprint(block);
    return block->state == before ? TURN_STUCK : TURN_RAN;
}

enum turn run_block(struct block *block)
{
    block->moved = false;
    block->turn_end = block->executed + QUANTUM;
    wake(block);
    do {
        run_phase(block);
        if (any_yielded(block))
            return how_far(block);
    } while (barrier_pass(block));
    bulk_end(block);
    warpgroup_end(block);
    return TURN_ENDED;
}
