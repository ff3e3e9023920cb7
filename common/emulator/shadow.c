#include "shadow.h"

#include "exact.h"
#include "fault.h"
#include "tags.h"

// Rules ------------------------------------------------------------------------------------------

// Whether an earlier access and one by `lane` (and others, where `several`) are ordered. Flags of
// the earlier access must have been taken off, its lanes are `many` where there were more than one.
static bool ordered(const struct visitor *v, uint64_t earlier, bool many, int lane, bool several)
{
    if (v->global && number_of(earlier) != number_of(v->tag))
        return false;
    if ((earlier & TIME_MASK) < v->barrier)
        return true;
    if (warp_of(earlier) != warp_of(v->tag))
        return false;
    if ((earlier & TIME_MASK) < (v->tag & TIME_MASK))
        return true;
    return !many && !several && (earlier & THREAD_MASK) % LANES == (uint64_t)lane;
}

// Why they are not. Where several lanes write to one place, no barrier would help.
static const char *reason(const struct visitor *v, uint64_t earlier, const struct touched *writers)
{
    if (writers != NULL && writers->several)
        return "several threads change the same place, which takes an atomic";
    return v->global && number_of(earlier) != number_of(v->tag)
               ? "blocks of one launch have no order"
               : "no barrier lies between";
}

// A lane that is not ordered after the earlier access: not the one that made it.
static int unordered_lane(const struct visitor *v, uint64_t earlier, const struct touched *by)
{
    const bool same_warp = warp_of(earlier) == warp_of(v->tag) &&
                           (!v->global || number_of(earlier) == number_of(v->tag));
    const uint32_t others = by->lanes & ~(1U << (earlier & THREAD_MASK) % LANES);
    return same_warp && by->several && others != 0 ? first_lane(others) : by->lane;
}

// A read of what has this write's tag: what the fast path could not settle.
static void check_read(const struct visitor *v, uint64_t write, const struct touched *by,
                       uint64_t index)
{
    if (!v->global && write == 0)
        never_written(v, by->lane, index);
    if (write & PENDING)
        not_waited(v, write, by->lane, "reads", index);
    if (write & INVALID)
        never_written(v, by->lane, index);
    if (!ordered(v, write, false, by->lane, by->several))
        race(v, write, "wrote", unordered_lane(v, write, by), "reads", reason(v, write, NULL),
             index);
}

static void check_write(const struct visitor *v, uint64_t write, const struct touched *by,
                        uint64_t index)
{
    if (write & PENDING)
        not_waited(v, write, by->lane, "writes to", index);
    write &= ~INVALID;
    if (write != 0 && !ordered(v, write, false, by->lane, by->several))
        race(v, write, "wrote", by->lane, "writes over", reason(v, write, NULL), index);
}

static void check_write_after_read(const struct visitor *v, uint64_t read, const struct touched *by,
                                   uint64_t index)
{
    if (read == 0)
        return;
    if (read == MANY_BLOCKS)
        fault(v->warp, v->instruction, by->lane,
              "race: writes over what other blocks read (blocks of one launch have no order)");
    const bool in_epoch = (read & TIME_MASK) >= v->barrier;
    const bool other_block = v->global && number_of(read) != number_of(v->tag);
    const uint64_t reader = read & ~(MANY_WARPS | MANY_LANES);
    if ((in_epoch && !other_block && (read & MANY_WARPS)) ||
        !ordered(v, reader, (read & MANY_LANES) != 0, by->lane, by->several))
        race(v, read, "read", unordered_lane(v, reader, by), "writes over", reason(v, reader, by),
             index);
}

// The tag of a granule's reads after one more.
static uint64_t merge_read(const struct visitor *v, uint64_t read, const struct touched *by)
{
    const uint64_t mine = (v->tag | (uint64_t)by->lane) | (by->several ? MANY_LANES : 0);
    if (read == 0 || read == MANY_BLOCKS)
        return read == 0 ? mine : read;
    if (v->global && number_of(read) != number_of(v->tag))
        return MANY_BLOCKS;
    if ((read & TIME_MASK) < v->barrier)
        return mine;
    if (read & MANY_WARPS)
        return read;
    if (warp_of(read) != warp_of(v->tag))
        return read | MANY_WARPS;
    if ((read & TIME_MASK) < (v->tag & TIME_MASK))
        return mine;
    const bool same_lane = (read & THREAD_MASK) % LANES == (uint64_t)by->lane && !by->several;
    return same_lane ? read : read | MANY_LANES;
}

// Shared memory ----------------------------------------------------------------------------------

void shadow_shared_read(struct warp *warp, const struct instruction *instruction, uint64_t first,
                        uint32_t bytes)
{
    if (warp->block->notes != NULL) {
        exact_shared(warp, instruction, first, bytes);
        return;
    }
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t granules = bytes >> shift;
    const uint64_t one_tick = ONE << TIME_SHIFT;
    struct shadow *shadow = warp->block->shadow;
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const uint64_t start = (first + (uint64_t)(int64_t)by->delta) >> shift;
        const uint64_t mine = v.tag | (uint64_t)by->lane | (by->several ? MANY_LANES : 0);
        for (uint64_t g = start; g < start + granules; g++) {
            // Settled: written before the last barrier, complete, valid. 0 wraps around.
            if (shadow[g].write - one_tick >= v.barrier - one_tick)
                check_read(&v, shadow[g].write, by, g);
            if ((shadow[g].read & TIME_MASK) < v.barrier)
                shadow[g].read = mine;
            else
                shadow[g].read = merge_read(&v, shadow[g].read, by);
        }
    }
}

void shadow_shared_write(struct warp *warp, const struct instruction *instruction, uint64_t first,
                         uint32_t bytes)
{
    if (warp->block->notes != NULL) {
        exact_shared(warp, instruction, first, bytes);
        return;
    }
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t granules = bytes >> shift;
    struct shadow *shadow = warp->block->shadow;
    if (footprint->overlaps)
        check_overlap(warp, instruction, footprint);
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const struct touched alone = {.lane = by->lane};
        const uint64_t start = (first + (uint64_t)(int64_t)by->delta) >> shift;
        for (uint64_t g = start; g < start + granules; g++) {
            if (shadow[g].write >= v.barrier)
                check_write(&v, shadow[g].write, &alone, g);
            if ((shadow[g].read & TIME_MASK) >= v.barrier)
                check_write_after_read(&v, shadow[g].read, by, g);
            shadow[g].write = v.tag | (uint64_t)by->lane;
        }
    }
}

void shadow_pending(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes)
{
    if (warp->block->notes != NULL) {
        exact_pending(warp, instruction, lane, address, bytes);
        return;
    }
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const struct touched by = {.lane = lane};
    struct shadow *shadow = warp->block->shadow;
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++) {
        if (shadow[g].write >= v.barrier)
            check_write(&v, shadow[g].write, &by, g);
        if ((shadow[g].read & TIME_MASK) >= v.barrier)
            check_write_after_read(&v, shadow[g].read, &by, g);
        shadow[g].write = v.tag | (uint64_t)lane | PENDING;
    }
}

void shadow_arrived(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes, bool valid)
{
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t tag = warp->block->notes != NULL ? exact_tag(&v, lane) : v.tag;
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++)
        warp->block->shadow[g].write = tag | (uint64_t)lane | (valid ? 0 : INVALID);
}

// Global memory ----------------------------------------------------------------------------------

// Other workers may be at the same granule. Whoever comes second sees the first: each notes its
// access before it looks at the other kind's.
static void note_read(const struct visitor *v, struct shadow *shadow, const struct touched *by)
{
    uint64_t have = __atomic_load_n(&shadow->read, __ATOMIC_SEQ_CST);
    while (have != MANY_BLOCKS) {
        const uint64_t merged = merge_read(v, have, by);
        if (merged == have || __atomic_compare_exchange_n(&shadow->read, &have, merged, false,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return;
    }
}

void shadow_global_read(struct warp *warp, const struct instruction *instruction, uint64_t first,
                        uint32_t bytes, struct allocation *allocation)
{
    if (warp->block->launch->notes != NULL) {
        exact_global(warp, instruction, first, bytes, allocation);
        return;
    }
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t offset = first - allocation->address;
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const uint64_t start = offset + (uint64_t)(int64_t)by->delta;
        if (allocation->valid != NULL && !memory_valid(allocation, start, bytes))
            never_written(&v, by->lane, start >> shift);
        for (uint64_t g = start >> shift; g < (start + bytes) >> shift; g++) {
            note_read(&v, &allocation->shadow[g], by);
            const uint64_t write = __atomic_load_n(&allocation->shadow[g].write, __ATOMIC_SEQ_CST);
            if (write != 0)
                check_read(&v, write, by, g);
        }
    }
}

void shadow_global_write(struct warp *warp, const struct instruction *instruction, uint64_t first,
                         uint32_t bytes, struct allocation *allocation)
{
    if (warp->block->launch->notes != NULL) {
        exact_global(warp, instruction, first, bytes, allocation);
        return;
    }
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t offset = first - allocation->address;
    if (footprint->overlaps)
        check_overlap(warp, instruction, footprint);
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const struct touched alone = {.lane = by->lane};
        const uint64_t start = offset + (uint64_t)(int64_t)by->delta;
        for (uint64_t g = start >> shift; g < (start + bytes) >> shift; g++) {
            struct shadow *shadow = &allocation->shadow[g];
            const uint64_t write =
                __atomic_exchange_n(&shadow->write, v.tag | (uint64_t)by->lane, __ATOMIC_SEQ_CST);
            check_write(&v, write, &alone, g);
            check_write_after_read(&v, __atomic_load_n(&shadow->read, __ATOMIC_SEQ_CST), by, g);
        }
        memory_mark(allocation, start, bytes);
    }
}
