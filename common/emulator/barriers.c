#include "barriers.h"

#include <string.h>

#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "frames.h"
#include "order.h"

enum {
    GREATEST_TIME = (1 << 24) - 1, // that a tag has room for
};

void tick(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    struct block *block = warp->block;
    if (block->clock == GREATEST_TIME)
        fault(
            warp, instruction, first_lane(lanes),
            "barrier: the block has passed %d barriers, which looks like a loop without end (more "
            "of them the checker cannot count)",
            GREATEST_TIME - 1);
    block->clock++;
}

static const struct instruction *instruction_at(const struct warp *warp, int index)
{
    return &warp->block->launch->code->instructions[index];
}

// In the warp ------------------------------------------------------------------------------------

// The lanes of a mask have synchronized.
static void synchronized(struct warp *warp, uint32_t lanes)
{
    if (warp->order != NULL)
        order_lanes(warp, lanes);
    if (lanes == warp->live)
        warp->time = warp->block->clock;
}

static bool is_barrier(const struct warp *warp, const struct fragment *fragment)
{
    return instruction_at(warp, fragment->from)->flow == FLOW_SYNC_WARP;
}

// Whether two wait for each other: with the same mask, and what is executed together also at the
// same instruction of the same call.
static bool belong_together(const struct warp *warp, const struct fragment *a,
                            const struct fragment *b)
{
    if (a->mask != b->mask || is_barrier(warp, a) != is_barrier(warp, b))
        return false;
    return is_barrier(warp, a) || (a->from == b->from && a->frame == b->frame);
}

static uint32_t arrived_with(const struct warp *warp, const struct fragment *fragment)
{
    uint32_t arrived = 0;
    for (int i = 0; i < warp->syncing_count; i++)
        if (belong_together(warp, &warp->syncing[i], fragment))
            arrived |= warp->syncing[i].lanes;
    return arrived;
}

// Lets those go on whose whole mask has arrived or ended. Returns whether there are any.
static bool release_complete(struct warp *warp)
{
    bool any = false;
    for (int i = 0; i < warp->syncing_count; i++) {
        const struct fragment first = warp->syncing[i];
        const uint32_t arrived = arrived_with(warp, &first);
        if (first.mask & warp->live & ~arrived)
            continue;
        int kept = 0;
        for (int j = 0; j < warp->syncing_count; j++)
            if (belong_together(warp, &warp->syncing[j], &first))
                make_ready(warp, warp->syncing[j].frame, warp->syncing[j].at,
                           warp->syncing[j].lanes);
            else
                warp->syncing[kept++] = warp->syncing[j];
        warp->syncing_count = kept;
        if (is_barrier(warp, &first))
            synchronized(warp, arrived);
        any = true;
        i = -1; // look at all that are left
    }
    return any;
}

// Lanes with this mask wait at the instruction, to go on behind it or to execute it.
static void wait_for_lanes(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                           uint32_t mask, bool behind)
{
    const int at = index_of(warp, instruction);
    warp->syncing[warp->syncing_count++] = (struct fragment){
        .frame = warp->frame, .at = at + behind, .lanes = lanes, .mask = mask, .from = at};
}

// The lanes of `lanes` whose mask is that of the first one.
static uint32_t same_mask(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                          int slot, uint32_t *mask)
{
    const uint32_t *masks = words_of(warp, slot);
    uint32_t same = 0;
    *mask = masks[first_lane(lanes)];
    for (int l = 0; l < LANES; l++)
        if ((lanes >> l & 1) && masks[l] == *mask)
            same |= 1U << l;
    if (same & ~*mask)
        fault(warp, instruction, first_lane(same & ~*mask),
              "barrier: a lane calls %s with the mask 0x%08x, which lacks it",
              instruction->flow == FLOW_SYNC_WARP ? "__syncwarp" : "this", *mask);
    return same;
}

bool sync_lanes(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    uint32_t mask;
    tick(warp, instruction, lanes);
    if (same_mask(warp, instruction, lanes, instruction->s[0], &mask) == lanes &&
        (mask & warp->live & ~lanes) == 0) {
        synchronized(warp, lanes);
        return true;
    }
    for (uint32_t left = lanes; left != 0;) {
        const uint32_t same = same_mask(warp, instruction, left, instruction->s[0], &mask);
        wait_for_lanes(warp, instruction, same, mask, true);
        left &= ~same;
    }
    release_complete(warp);
    return false;
}

bool come_together(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    uint32_t mask;
    bool all = true;
    for (uint32_t left = lanes; left != 0;) {
        const uint32_t same = same_mask(warp, instruction, left, instruction->s[4], &mask);
        all &= (mask & warp->live & ~same) == 0;
        left &= ~same;
    }
    for (uint32_t left = lanes; left != 0;) {
        const uint32_t same = same_mask(warp, instruction, left, instruction->s[4], &mask);
        if (all)
            instruction->run(warp, instruction, same);
        else
            wait_for_lanes(warp, instruction, same, mask, false);
        left &= ~same;
    }
    if (!all)
        release_complete(warp);
    return all;
}

static _Noreturn void never_synchronized(struct warp *warp)
{
    const struct fragment *fragment = &warp->syncing[0];
    const uint32_t arrived = arrived_with(warp, fragment);
    fault(warp, instruction_at(warp, fragment->from), first_lane(fragment->lanes),
          "barrier: lanes 0x%08x wait in %s for lanes 0x%08x, which never come", arrived,
          is_barrier(warp, fragment) ? "__syncwarp" : "an instruction of the whole mask",
          fragment->mask & warp->live & ~arrived);
}

void release_lanes(struct warp *warp)
{
    if (!release_complete(warp) && warp->yielded_count == 0 && warp->waiting_count == 0)
        never_synchronized(warp);
}

// Barriers of some warps -------------------------------------------------------------------------

void barriers_reset(struct block *block)
{
    for (int i = 0; i < BARRIERS; i++) {
        order_forget(&block->barriers[i].brought);
        block->barriers[i] = (struct barrier){.all = true};
    }
}

static uint32_t operand(const struct warp *warp, int slot, uint32_t lanes)
{
    return words_of(warp, slot)[first_lane(lanes)];
}

static uint32_t predicate_of(const struct warp *warp, const struct instruction *instruction,
                             uint32_t lanes)
{
    const uint32_t word = warp->predicates[instruction->s[2]];
    return (detail_of(warp, instruction)->negated ? ~word : word) & lanes;
}

// What bar.red gives: the predicates of all threads that have come.
static void combine(const struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                    struct barrier *barrier)
{
    const uint32_t set = predicate_of(warp, instruction, lanes);
    barrier->all &= set == lanes;
    barrier->any |= set != 0;
    barrier->count += (uint32_t)__builtin_popcount(set);
}

static void write_result(struct warp *warp, const struct fragment *fragment,
                         const struct barrier *barrier)
{
    const struct instruction *instruction = instruction_at(warp, fragment->from);
    const enum combination combination = detail_of(warp, instruction)->combination;
    if (combination == COMBINE_NONE)
        return;
    if (combination == COMBINE_COUNT) {
        uint32_t *slot =
            (uint32_t *)(void *)(fragment->frame->file + (size_t)SLOT_BYTES * instruction->d[0]);
        for (int l = 0; l < LANES; l++)
            if (fragment->lanes >> l & 1)
                slot[l] = barrier->count;
        return;
    }
    uint32_t *word = &fragment->frame->predicates[instruction->d[0]];
    const bool result = combination == COMBINE_AND ? barrier->all : barrier->any;
    *word = (*word & ~fragment->lanes) | (result ? fragment->lanes : 0);
}

// Lets those go on that wait at this barrier, with what all have brought.
static void release_waiting(struct block *block, int number, const struct barrier *barrier)
{
    for (int i = 0; i < block->warp_count; i++) {
        struct warp *warp = &block->warps[i];
        int kept = 0;
        for (int j = 0; j < warp->waiting_count; j++) {
            const struct fragment *fragment = &warp->waiting[j];
            if (fragment->barrier != number) {
                warp->waiting[kept++] = *fragment;
                continue;
            }
            write_result(warp, fragment, barrier);
            make_ready(warp, fragment->frame, fragment->at, fragment->lanes);
            if (warp->order != NULL && barrier->brought != NULL)
                order_take(warp, fragment->lanes, barrier->brought);
        }
        warp->waiting_count = kept;
    }
    block->moved = true;
}

static void check_count(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                        int number, uint32_t count)
{
    const struct barrier *barrier = &warp->block->barriers[number];
    if (count == 0 || count % LANES != 0)
        fault(warp, instruction, first_lane(lanes),
              "barrier: %u threads are no whole number of warps", count);
    if (barrier->expected != 0 && barrier->expected != count)
        fault(warp, instruction, first_lane(lanes),
              "barrier: number %d is for %u threads here and for %u where others have come to it",
              number, count, barrier->expected);
}

// A warp counts as a whole, when all of its lanes have come.
static void arrive(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                   int number, uint32_t count)
{
    struct barrier *barrier = &warp->block->barriers[number];
    check_count(warp, instruction, lanes, number, count);
    tick(warp, instruction, lanes);
    barrier->expected = count;
    barrier->lanes[warp->index] |= lanes;
    if (warp->order != NULL)
        order_bring(warp, lanes, &barrier->brought);
    if (detail_of(warp, instruction)->combination != COMBINE_NONE)
        combine(warp, instruction, lanes, barrier);
    if (warp->live & ~barrier->lanes[warp->index])
        return;
    barrier->lanes[warp->index] = 0;
    barrier->arrived += LANES;
    if (barrier->arrived < count)
        return;
    const struct barrier passed = *barrier;
    *barrier = (struct barrier){.all = true};
    release_waiting(warp->block, number, &passed);
    struct knowledge *brought = passed.brought;
    order_forget(&brought);
}

bool barrier_arrive(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t number = operand(warp, instruction->s[0], lanes);
    const int at = index_of(warp, instruction);
    if (number >= BARRIERS)
        fault(warp, instruction, first_lane(lanes), "barrier: number %u, of 0 to %d", number,
              BARRIERS - 1);
    if (!detail->arrives)
        warp->waiting[warp->waiting_count++] = (struct fragment){
            .frame = warp->frame, .at = at + 1, .lanes = lanes, .barrier = (int)number, .from = at};
    if (detail->has_count)
        arrive(warp, instruction, lanes, (int)number, operand(warp, instruction->s[1], lanes));
    return detail->arrives;
}

// Barriers of the block --------------------------------------------------------------------------

// The first warp that waits at a barrier; NULL where none does.
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
    const struct instruction *barrier = instruction_at(first, at->from);
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
            if (warp->waiting[j].from != at->from)
                fault(first, barrier, first_lane(at->lanes),
                      "barrier: waits for thread %s, which is at another barrier %s",
                      describe_thread(warp, i * LANES + first_lane(warp->waiting[j].lanes), thread,
                                      sizeof thread),
                      describe_place(warp, instruction_at(warp, warp->waiting[j].from), place,
                                     sizeof place));
    }
}

// Nobody is left who could come to a barrier that is for some warps.
static _Noreturn void never_passed(struct warp *warp, const struct fragment *fragment)
{
    const struct barrier *barrier = &warp->block->barriers[fragment->barrier];
    fault(warp, instruction_at(warp, fragment->from), first_lane(fragment->lanes),
          "barrier: number %d waits for %u threads, of which %u never come", fragment->barrier,
          barrier->expected, barrier->expected - barrier->arrived);
}

static void combine_waiting(struct warp *warp, const struct instruction *instruction,
                            struct barrier *passed)
{
    warp->time = warp->block->clock;
    if (detail_of(warp, instruction)->combination == COMBINE_NONE)
        return;
    for (int i = 0; i < warp->waiting_count; i++) {
        frame_enter(warp, warp->waiting[i].frame);
        combine(warp, instruction, warp->waiting[i].lanes, passed);
    }
}

bool barrier_pass(struct block *block)
{
    struct warp *first = first_waiting(block);
    for (int i = 0; i < block->warp_count; i++)
        if (block->warps[i].syncing_count > 0)
            never_synchronized(&block->warps[i]);
    if (first == NULL)
        return false;
    const struct fragment at = first->waiting[0];
    const struct instruction *instruction = instruction_at(first, at.from);
    if (detail_of(first, instruction)->has_count)
        never_passed(first, &at);
    if (block->launch->checks)
        check_barrier(block, first);
    tick(first, instruction, at.lanes);
    block->barrier_time = block->clock;
    struct barrier passed = {.all = true};
    for (int i = 0; i < block->warp_count; i++)
        combine_waiting(&block->warps[i], instruction, &passed);
    if (first->order != NULL)
        order_block(block);
    release_waiting(block, at.barrier, &passed);
    return true;
}
