#include "exact.h"

#include <stdlib.h>

#include "arena.h"
#include "bulk.h"
#include "memory.h"
#include "order.h"
#include "shadow.h"
#include "warpgroup.h"

// How lanes touch memory.
enum kind {
    PLAIN_READ,
    STRONG_READ,
    STRONG_WRITE,
    ATOMIC,      // reads as well
    TENSOR_READ, // of a product by a warpgroup: nobody's own, and over when that says so
    PLAIN_WRITE, // never noted: it is the tag `write` of a struct shadow
};

// An access of some lanes of a warp, all of the same kind, since the last plain write.
struct note {
    uint64_t tag; // of the warp's lane 0, with the latest time of all
    uint32_t lanes;
    uint32_t kind : 3, block_only : 1, next : 28; // of the same granule, the latest first; 0: none
};

enum {
    NEXT_MASK = 0x0fffffff,
    MOST_NOTES = 32, // of a granule: of more, the latest ones are known
};

struct notes {
    struct note *list; // the first is never used
    uint32_t count, room;
    uint32_t spare; // the first of those that can be used again
};

// The tag of a write that nothing but strong ones stand for: the notes say who and when.
static const uint64_t BY_STRONG = UINT64_C(3) << 62;

// An access that is being checked.
struct access {
    struct visitor v;
    enum kind kind;
    bool reads; // of an atomic, too
    bool sees;  // volatile: what others published comes before it, fence or not
    bool block_only;
    struct notes *notes;
};

struct notes *notes_new(void)
{
    struct notes *notes = zeroed(1, sizeof *notes);
    notes->count = 1;
    return notes;
}

void notes_free(struct notes *notes)
{
    if (notes != NULL)
        free(notes->list);
    free(notes);
}

void notes_clear(struct notes *notes)
{
    notes->count = 1;
    notes->spare = 0;
}

static uint32_t new_note(struct notes *notes)
{
    uint32_t index = notes->spare;
    if (index != 0) {
        notes->spare = notes->list[index].next;
        return index;
    }
    if (notes->count >= notes->room) {
        notes->room = notes->room == 0 ? 1024 : 2 * notes->room;
        notes->list = enlarged(notes->list, notes->list == NULL ? 0 : notes->count, notes->room,
                               sizeof *notes->list);
    }
    return notes->count++;
}

static void drop_notes(struct notes *notes, struct shadow *shadow)
{
    while (shadow->read != 0) {
        struct note *note = &notes->list[shadow->read];
        const uint32_t dropped = (uint32_t)shadow->read;
        shadow->read = note->next;
        note->next = notes->spare;
        notes->spare = dropped;
    }
}

// Order -----------------------------------------------------------------------------------------

uint64_t exact_tag(const struct visitor *v, int lane)
{
    return (v->tag & ~TIME_MASK) | (uint64_t)v->warp->order[lane].time << TIME_SHIFT;
}

static uint32_t latest(const struct warp *warp, uint32_t lanes)
{
    uint32_t time = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1)
        if (warp->order[first_lane(left)].time > time)
            time = warp->order[first_lane(left)].time;
    return time;
}

static uint64_t block_of(const struct access *a, uint64_t tag)
{
    return a->v.global ? number_of(tag) : a->v.warp->block->index;
}

// Whether a barrier of the whole block has come since: the common case.
static bool is_settled(const struct access *a, uint64_t tag)
{
    return (tag & TIME_MASK) < a->v.barrier &&
           (!a->v.global || number_of(tag) == number_of(a->v.tag));
}

// The first of the earlier lanes that `lane` does not come after; -1 where there is none.
static int unordered_lane(const struct access *a, uint64_t tag, uint32_t earlier, int lane)
{
    const struct warp *warp = a->v.warp;
    const uint64_t block = block_of(a, tag);
    const int first = thread_in(tag) / LANES * LANES;
    const uint32_t time = time_in(tag);
    for (uint32_t left = earlier; left != 0; left &= left - 1) {
        const int thread = first + first_lane(left);
        if (!(a->sees ? order_has_seen(warp, lane, block, thread, time)
                      : order_knows(warp, lane, block, thread, time)))
            return first_lane(left);
    }
    return -1;
}

static const char *reason(const struct access *a, uint64_t tag, int thread, int lane)
{
    const uint32_t time = time_in(tag);
    const uint64_t block = block_of(a, tag);
    if (order_has_seen(a->v.warp, lane, block, thread, time))
        return "this thread has seen what that one published, but no fence follows";
    return block != a->v.warp->block->index
               ? "no fence with a flag or an atomic puts these blocks in order"
               : "no barrier lies between";
}

// Every lane must come after every one of the earlier lanes.
static void require_order(const struct access *a, uint32_t lanes, uint64_t tag, uint32_t earlier,
                          const char *did, uint64_t index)
{
    static const char *const verbs[] = {
        [PLAIN_READ] = "reads", [STRONG_READ] = "reads", [STRONG_WRITE] = "changes",
        [ATOMIC] = "changes",   [TENSOR_READ] = "reads", [PLAIN_WRITE] = "writes over"};
    if (is_settled(a, tag))
        return;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = first_lane(left);
        const int other = unordered_lane(a, tag, earlier, lane);
        if (other < 0)
            continue;
        const int thread = thread_in(tag) / LANES * LANES + other;
        race(&a->v, (tag & ~THREAD_MASK) | (uint64_t)thread, did, lane, verbs[a->kind],
             reason(a, tag, thread, lane), index);
    }
}

// Notes -----------------------------------------------------------------------------------------

static bool changes(enum kind kind)
{
    return kind == STRONG_WRITE || kind == ATOMIC;
}

static bool conflicts(enum kind earlier, enum kind now)
{
    if (now == PLAIN_READ || now == TENSOR_READ)
        return changes(earlier);
    return now == PLAIN_WRITE ||
           (changes(now) && (earlier == PLAIN_READ || earlier == TENSOR_READ));
}

// Strong accesses of two blocks, of which one is strong for its own block only.
static bool out_of_scope(const struct access *a, const struct note *note)
{
    const bool strong = note->kind != PLAIN_READ && (a->kind == STRONG_READ || changes(a->kind));
    return a->v.global && strong && (changes(note->kind) || changes(a->kind)) &&
           (note->block_only || a->block_only) && number_of(note->tag) != number_of(a->v.tag);
}

// Whether the note is of the same warp: of the same block is all of shared memory.
static bool is_mine(const struct access *a, const struct note *note)
{
    const uint64_t mask = a->v.global ? NUMBER_MASK << THREAD_BITS | THREAD_MASK : THREAD_MASK;
    return ((note->tag ^ a->v.tag) & mask) == 0;
}

// Every lane must know that the products are over by which a warpgroup has read this.
static void require_over(const struct access *a, uint32_t lanes, uint64_t tag, uint64_t index)
{
    const uint64_t block = a->v.warp->block->index;
    const int thread = order_products(thread_in(tag) / LANES / WARPGROUP);
    const uint32_t time = time_in(tag);
    for (uint32_t left = lanes; left != 0; left &= left - 1)
        if (!order_knows(a->v.warp, first_lane(left), block, thread, time))
            still_read(&a->v, tag, first_lane(left), index);
}

// Whether nothing that comes can be out of order with the note any more.
static bool is_done(const struct access *a, const struct note *note)
{
    return note->kind != TENSOR_READ && is_settled(a, note->tag);
}

// Atomics at one place have an order of their own: what a lane's atomic came after, the lane's
// later accesses to that place come after as well. So the last block to count may set the counter
// to 0.
static void check_notes(const struct access *a, const struct shadow *shadow, uint32_t lanes,
                        uint64_t index)
{
    uint32_t left = lanes;
    for (uint32_t i = (uint32_t)shadow->read; i != 0; i = a->notes->list[i].next) {
        const struct note *note = &a->notes->list[i];
        if (conflicts(note->kind, a->kind) && note->kind == TENSOR_READ)
            require_over(a, lanes, note->tag, index);
        else if (conflicts(note->kind, a->kind) || out_of_scope(a, note))
            require_order(a, note->kind == ATOMIC ? left : lanes, note->tag, note->lanes,
                          changes(note->kind) ? "changed" : "read", index);
        if (note->kind == ATOMIC && is_mine(a, note))
            left &= ~note->lanes;
    }
}

// Puts a note at the front: one of the list, which has `before` before it, or a new one.
static struct note *put_first(const struct access *a, struct shadow *shadow, uint32_t index,
                              uint32_t before)
{
    struct note *const list = a->notes->list;
    if (index != shadow->read) {
        if (before != 0)
            list[before].next = list[index].next;
        list[index].next = (uint32_t)shadow->read & NEXT_MASK;
        shadow->read = index;
    }
    return &list[index];
}

// Adds lanes to the note of their warp. Where there is none, takes one that a barrier has settled,
// or a new one, or of too many the last.
static void take_note(const struct access *a, struct shadow *shadow, uint32_t lanes)
{
    const uint32_t time =
        a->kind == TENSOR_READ ? a->v.warp->block->clock : latest(a->v.warp, lanes);
    const uint64_t tag = (a->v.tag & ~TIME_MASK) | (uint64_t)time << TIME_SHIFT;
    uint32_t before = 0;
    uint32_t settled = 0;
    uint32_t before_settled = 0;
    int count = 0;
    for (uint32_t i = (uint32_t)shadow->read; i != 0; i = a->notes->list[i].next) {
        struct note *note = &a->notes->list[i];
        if (note->kind == a->kind && note->block_only == a->block_only && is_mine(a, note)) {
            const bool forget = a->kind == TENSOR_READ || is_settled(a, note->tag) ||
                                unordered_lane(a, note->tag, note->lanes, first_lane(lanes)) < 0;
            note->lanes = forget ? lanes : note->lanes | lanes;
            note->tag = tag;
            put_first(a, shadow, i, before);
            return;
        }
        if (is_done(a, note) || ++count == MOST_NOTES) {
            settled = i;
            before_settled = before;
        }
        before = i;
    }
    const uint32_t index = settled != 0 ? settled : new_note(a->notes);
    struct note *note = put_first(a, shadow, index, before_settled);
    note->tag = tag;
    note->lanes = lanes;
    note->kind = a->kind;
    note->block_only = a->block_only;
}

// One granule -----------------------------------------------------------------------------------

static bool is_by_bulk_copy(const struct access *a, uint64_t write)
{
    const struct code *code = a->v.warp->block->launch->code;
    return !a->v.global && code->instructions[number_of(write)].run == bulk_copy;
}

// What a bulk copy has brought must be known by its mbarrier: no other barrier tells that it is
// there.
static void require_landed(const struct access *a, uint32_t lanes, uint64_t write, uint64_t index)
{
    const int thread = order_copies(thread_in(write));
    const uint32_t time = time_in(write);
    for (uint32_t left = lanes; left != 0; left &= left - 1)
        if ((write & PENDING) ||
            !order_knows(a->v.warp, first_lane(left), a->v.warp->block->index, thread, time))
            not_landed(&a->v, write, first_lane(left), a->reads ? "reads" : "writes to", index);
}

// The async proxy sees what threads have written only behind a fence of its own.
static void require_shown(const struct access *a, uint64_t write, int lane, uint64_t index)
{
    const uint32_t time = time_in(write);
    if (write != 0 && (write & BY_STRONG) != BY_STRONG && !is_by_bulk_copy(a, write) &&
        !order_shown(a->v.warp->block, thread_in(write), time))
        not_shown(&a->v, write, lane, a->reads ? "reads" : "writes over", index);
}

static void check_last_write(const struct access *a, const struct shadow *shadow, uint32_t lanes,
                             uint64_t index)
{
    const uint64_t write = shadow->write;
    const int lane = first_lane(lanes);
    if (!a->v.global && write == 0 && a->reads)
        never_written(&a->v, lane, index);
    if (!a->v.global && write == OF_MBARRIER)
        on_mbarrier(&a->v, lane, a->reads ? "reads" : "writes to", index);
    if (write == 0 || (write & BY_STRONG) == BY_STRONG)
        return;
    if (is_by_bulk_copy(a, write)) {
        require_landed(a, lanes, write, index);
        if ((write & INVALID) && a->reads)
            never_written(&a->v, lane, index);
        return;
    }
    if (write & PENDING)
        not_waited(&a->v, write, lane, a->kind == PLAIN_WRITE ? "writes to" : "reads", index);
    if ((write & INVALID) && a->reads)
        never_written(&a->v, lane, index);
    require_order(a, lanes, write & ~BY_STRONG, 1U << (write & THREAD_MASK) % LANES, "wrote",
                  index);
}

// `flags` of a write's tag.
static void visit(const struct access *a, struct shadow *shadow, uint32_t lanes, uint64_t index,
                  uint64_t flags)
{
    const int lane = first_lane(lanes);
    check_last_write(a, shadow, lanes, index);
    check_notes(a, shadow, lanes, index);
    if (a->kind == PLAIN_WRITE) {
        drop_notes(a->notes, shadow);
        shadow->write = exact_tag(&a->v, lane) | (uint64_t)lane | flags;
        return;
    }
    if (changes(a->kind) && (shadow->write == 0 || (shadow->write & INVALID)))
        shadow->write = a->v.tag | BY_STRONG;
    take_note(a, shadow, lanes);
}

static struct access access_of(struct warp *warp, const struct instruction *instruction,
                               bool global, uint64_t base)
{
    const struct detail *detail = detail_of(warp, instruction);
    const enum kind strong = detail->atomic != ATOMIC_NONE ? ATOMIC : STRONG_WRITE;
    const bool writes = detail->write || detail->atomic != ATOMIC_NONE;
    return (struct access){
        .v = visitor_of(warp, instruction, global, base),
        .kind = writes ? (detail->strong ? strong : PLAIN_WRITE)
                       : (detail->strong ? STRONG_READ : PLAIN_READ),
        .reads = !detail->write || detail->atomic != ATOMIC_NONE,
        .sees = detail->is_volatile,
        .block_only = detail->block_only,
        .notes = global ? warp->block->launch->notes : warp->block->notes,
    };
}

// Accesses --------------------------------------------------------------------------------------

void exact_shared(struct warp *warp, const struct instruction *instruction, uint64_t first,
                  uint32_t bytes)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct access a = access_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    if (footprint->overlaps && a.kind == PLAIN_WRITE)
        check_overlap(warp, instruction, footprint);
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const uint64_t start = first + (uint64_t)(int64_t)by->delta;
        for (uint64_t g = start >> shift; g < (start + bytes) >> shift; g++)
            visit(&a, &warp->block->shadow[g], by->lanes, g, 0);
    }
}

void exact_global(struct warp *warp, const struct instruction *instruction, uint64_t first,
                  uint32_t bytes, struct allocation *allocation)
{
    const struct footprint *footprint = footprint_of(warp, instruction);
    const struct access a = access_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    if (footprint->overlaps && a.kind == PLAIN_WRITE)
        check_overlap(warp, instruction, footprint);
    for (int i = 0; i < footprint->count; i++) {
        const struct touched *by = &footprint->touched[i];
        const uint64_t start = first - allocation->address + (uint64_t)(int64_t)by->delta;
        if (a.reads && allocation->valid != NULL && !memory_valid(allocation, start, bytes))
            never_written(&a.v, by->lane, start >> shift);
        for (uint64_t g = start >> shift; g < (start + bytes) >> shift; g++)
            visit(&a, &allocation->shadow[g], by->lanes, g, 0);
        if (a.kind >= STRONG_WRITE)
            memory_mark(allocation, start, bytes);
    }
}

void exact_pending(struct warp *warp, const struct instruction *instruction, int lane,
                   uint64_t address, uint32_t bytes)
{
    struct access a = access_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    a.kind = PLAIN_WRITE;
    a.reads = false;
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++)
        visit(&a, &warp->block->shadow[g], 1U << lane, g, PENDING);
}

// Bulk copies and mbarriers ----------------------------------------------------------------------

void exact_source(struct warp *warp, const struct instruction *instruction, int lane,
                  uint64_t address, uint32_t bytes, struct allocation *allocation)
{
    struct access a = access_of(warp, instruction, true, allocation->address);
    const int shift = warp->block->launch->code->granule_shift;
    const uint64_t first = address - allocation->address;
    a.kind = PLAIN_READ;
    for (uint64_t g = first >> shift; g < (first + bytes) >> shift; g++)
        visit(&a, &allocation->shadow[g], 1U << lane, g, 0);
}

// Sees to a write by the lane, and leaves a tag of another kind.
static void write_tag(struct warp *warp, const struct instruction *instruction, int lane,
                      uint64_t address, uint32_t bytes, uint64_t tag)
{
    struct access a = access_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    a.kind = PLAIN_WRITE;
    a.reads = false;
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++) {
        const uint64_t before = warp->block->shadow[g].write;
        visit(&a, &warp->block->shadow[g], 1U << lane, g, 0);
        if (instruction->run == bulk_copy)
            require_shown(&a, before, lane, g);
        warp->block->shadow[g].write = tag;
    }
}

void exact_flying(struct warp *warp, const struct instruction *instruction, int lane,
                  uint64_t address, uint32_t bytes, int mbarrier)
{
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    write_tag(warp, instruction, lane, address, bytes,
              (exact_tag(&v, lane) & ~THREAD_MASK) | (uint64_t)mbarrier | PENDING);
}

void exact_landed(struct block *block, uint64_t address, uint32_t bytes, bool valid)
{
    const int shift = block->launch->code->granule_shift;
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++) {
        const uint64_t flying = block->shadow[g].write & ~(TIME_MASK | PENDING);
        block->shadow[g].write =
            flying | (uint64_t)block->clock << TIME_SHIFT | (valid ? 0 : INVALID);
    }
}

void exact_mbarrier(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes, bool made)
{
    const struct visitor v = visitor_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    if (made) {
        write_tag(warp, instruction, lane, address, bytes, OF_MBARRIER);
        return;
    }
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++)
        warp->block->shadow[g].write = exact_tag(&v, lane) | (uint64_t)lane | INVALID;
}

// Products ---------------------------------------------------------------------------------------

void exact_operand(struct warp *warp, const struct instruction *instruction, uint64_t address,
                   uint32_t bytes, uint64_t *checked)
{
    struct access a = access_of(warp, instruction, false, 0);
    const int shift = warp->block->launch->code->granule_shift;
    a.kind = TENSOR_READ;
    a.reads = true;
    a.v.tag -= (uint64_t)(warp->index % WARPGROUP) * LANES; // one note for the whole warpgroup
    for (uint64_t g = address >> shift; g < (address + bytes) >> shift; g++) {
        struct shadow *shadow = &warp->block->shadow[g];
        if (shadow->write != *checked || *checked == 0) {
            check_last_write(&a, shadow, ALL_LANES, g);
            require_shown(&a, shadow->write, 0, g);
            *checked = shadow->write;
        }
        check_notes(&a, shadow, ALL_LANES, g);
        take_note(&a, shadow, ALL_LANES);
    }
}
