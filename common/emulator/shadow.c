#include "shadow.h"

#include <inttypes.h>

#include "emulator.h"
#include "fault.h"

// A tag, from the top: two flags, the time, a number that in shared memory is the instruction's and
// in global memory the block's, and the thread in the block. 0: nobody.
enum {
    THREAD_BITS = 10,
    NUMBER_BITS = 28,
    TIME_SHIFT = THREAD_BITS + NUMBER_BITS,
    TIME_BITS = 24,
};

static const uint64_t ONE = 1;
static const uint64_t TIME_MASK = ((UINT64_C(1) << TIME_BITS) - 1) << TIME_SHIFT;
static const uint64_t NUMBER_MASK = (UINT64_C(1) << NUMBER_BITS) - 1;
static const uint64_t THREAD_MASK = (UINT64_C(1) << THREAD_BITS) - 1;

// Flags of a write.
static const uint64_t PENDING = UINT64_C(1) << 63; // by a cp.async nobody has waited for
static const uint64_t INVALID = UINT64_C(1) << 62; // by a copy of bytes that were never written

// Flags of a read.
static const uint64_t MANY_WARPS = UINT64_C(1) << 63;
static const uint64_t MANY_LANES = UINT64_C(1) << 62; // of one warp, since it last synchronized
static const uint64_t MANY_BLOCKS = ~UINT64_C(0);

// One access, in the terms of its tag.
struct visitor {
    struct warp *warp;
    const struct instruction *instruction;
    uint64_t tag;     // of lane 0
    uint64_t barrier; // the time of the last barrier, where a tag has it
    bool global;
    uint64_t base; // the address of granule 0
};

static struct visitor visitor_of(struct warp *warp, const struct instruction *instruction,
                                 bool global, uint64_t base)
{
    const struct block *block = warp->block;
    const uint64_t number =
        global ? block->index : (uint64_t)(instruction - block->launch->code->instructions);
    return (struct visitor){
        .warp = warp,
        .instruction = instruction,
        .tag = (uint64_t)warp->time << TIME_SHIFT | (number & NUMBER_MASK) << THREAD_BITS |
               (uint64_t)warp->index * LANES,
        .barrier = (uint64_t)block->barrier_time << TIME_SHIFT,
        .global = global,
        .base = base,
    };
}

static uint64_t number_of(uint64_t tag)
{
    return tag >> THREAD_BITS & NUMBER_MASK;
}

static uint64_t warp_of(uint64_t tag)
{
    return (tag & THREAD_MASK) / LANES;
}

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

// Messages ---------------------------------------------------------------------------------------

// "at 0x... (64 bytes into tile)" for granule `index`.
static const char *where(const struct visitor *v, uint64_t index, char *out, size_t size)
{
    const uint64_t address = v->base + (index << v->warp->block->launch->code->granule_shift);
    if (v->global)
        return describe_address(address, 1, out, size);
    return describe_shared(v->warp->block, address + v->warp->block->launch->shared_base, out,
                           size);
}

static _Noreturn void race(const struct visitor *v, uint64_t earlier, const char *wrote, int lane,
                           const char *verb, uint64_t index)
{
    char address[256];
    char thread[128];
    char place[256] = "";
    const struct code *code = v->warp->block->launch->code;
    const char *between = v->global && number_of(earlier) != number_of(v->tag)
                              ? "blocks of one launch have no order"
                              : "no barrier lies between";
    if (v->global)
        describe_block(v->warp->block, number_of(earlier), place, sizeof place);
    else
        describe_place(v->warp, &code->instructions[number_of(earlier)], place, sizeof place);
    fault(v->warp, v->instruction, lane, "race: %s what thread %s %s %s (%s): %s", verb,
          describe_thread(v->warp, (int)(earlier & THREAD_MASK), thread, sizeof thread), wrote,
          place, between, where(v, index, address, sizeof address));
}

static _Noreturn void never_written(const struct visitor *v, int lane, uint64_t index)
{
    char address[256];
    fault(v->warp, v->instruction, lane, "uninitialized: reads %s that nobody has written: %s",
          v->global ? "global memory" : "shared memory", where(v, index, address, sizeof address));
}

static _Noreturn void not_waited(const struct visitor *v, uint64_t earlier, int lane,
                                 const char *verb, uint64_t index)
{
    char address[256];
    char thread[128];
    char place[256];
    const struct code *code = v->warp->block->launch->code;
    fault(v->warp, v->instruction, lane,
          "cp.async: %s the destination of a copy that thread %s started %s and has not waited "
          "for: %s",
          verb, describe_thread(v->warp, (int)(earlier & THREAD_MASK), thread, sizeof thread),
          describe_place(v->warp, &code->instructions[number_of(earlier)], place, sizeof place),
          where(v, index, address, sizeof address));
}

// Rules ------------------------------------------------------------------------------------------

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
        race(v, write, "wrote", by->lane, "reads", index);
}

static void check_write(const struct visitor *v, uint64_t write, const struct touched *by,
                        uint64_t index)
{
    if (write & PENDING)
        not_waited(v, write, by->lane, "writes to", index);
    write &= ~INVALID;
    if (write != 0 && !ordered(v, write, false, by->lane, by->several))
        race(v, write, "wrote", by->lane, "writes over", index);
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
        race(v, reader, "read", by->lane, "writes over", index);
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

// The footprint of the access being checked: access.c has found it.
static const struct footprint *footprint_of(const struct warp *warp,
                                            const struct instruction *instruction)
{
    const struct block *block = warp->block;
    return block->recent[instruction - block->launch->code->instructions].footprint;
}

// Shared memory ----------------------------------------------------------------------------------

void shadow_shared_read(struct warp *warp, const struct instruction *instruction, uint32_t active,
                        const uint32_t addresses[LANES], uint32_t bytes)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t first = addresses[first_lane(active)];
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

// The bytes of a lane's element, for comparison.
static uint64_t stored_value(const struct warp *warp, const struct instruction *instruction,
                             const struct detail *detail, int element, int lane)
{
    const uint8_t *slot = warp->file + (size_t)SLOT_BYTES * instruction->s[element + 1];
    if (detail->element == 8)
        return ((const uint64_t *)(const void *)slot)[lane];
    const uint32_t value = ((const uint32_t *)(const void *)slot)[lane];
    return detail->element == 4 ? value : value & ((1U << 8 * detail->element) - 1);
}

// Lanes of one store that go to the same address must agree: which of them wins is not defined.
static void check_overlap(struct warp *warp, const struct instruction *instruction,
                          const struct footprint *footprint)
{
    const struct detail *detail = detail_of(warp, instruction);
    for (int a = 0; a < LANES; a++)
        for (int b = a + 1; b < LANES; b++) {
            if (!(footprint->active >> a & footprint->active >> b & 1) ||
                footprint->delta[a] != footprint->delta[b])
                continue;
            for (int e = 0; e < detail->vector; e++)
                if (stored_value(warp, instruction, detail, e, a) !=
                    stored_value(warp, instruction, detail, e, b))
                    fault(warp, instruction, b,
                          "race: lanes %d and %d store different values to the same address", a, b);
        }
}

void shadow_shared_write(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const uint32_t addresses[LANES], uint32_t bytes)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t first = addresses[first_lane(active)];
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
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++)
        warp->block->shadow[g].write = v.tag | (uint64_t)lane | (valid ? 0 : INVALID);
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

void shadow_global_read(struct warp *warp, const struct instruction *instruction, uint32_t active,
                        const uint64_t addresses[LANES], uint32_t bytes,
                        struct allocation *allocation)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t first = addresses[first_lane(active)] - allocation->address;
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const uint64_t start = first + (uint64_t)(int64_t)by->delta;
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

void shadow_global_write(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const uint64_t addresses[LANES], uint32_t bytes,
                         struct allocation *allocation)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct visitor v = visitor_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t first = addresses[first_lane(active)] - allocation->address;
    if (footprint->overlaps)
        check_overlap(warp, instruction, footprint);
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const struct touched alone = {.lane = by->lane};
        const uint64_t start = first + (uint64_t)(int64_t)by->delta;
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
