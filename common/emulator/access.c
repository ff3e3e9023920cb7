#include "access.h"

#include <inttypes.h>
#include <string.h>

#include "atomics.h"
#include "counters.h"
#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "launch.h"
#include "memory.h"
#include "opcodes.h"
#include "shadow.h"

enum {
    NEAR = 1 << 30, // bytes that lanes looked at together may be apart
};

void lane_addresses(const struct warp *warp, int slot, bool wide, int64_t offset,
                    uint64_t out[LANES])
{
    const uint8_t *file = warp->file + (size_t)SLOT_BYTES * (size_t)slot;
    if (wide) {
        const uint64_t *base = (const uint64_t *)(const void *)file;
        for (int l = 0; l < LANES; l++)
            out[l] = base[l] + (uint64_t)offset;
    } else {
        const uint32_t *base = (const uint32_t *)(const void *)file;
        for (int l = 0; l < LANES; l++)
            out[l] = base[l] + (uint32_t)offset;
    }
}

void shared_addresses(const struct warp *warp, int slot, bool wide, int64_t offset,
                      uint32_t out[LANES])
{
    const uint8_t *file = warp->file + (size_t)SLOT_BYTES * (size_t)slot;
    if (wide) {
        const uint64_t *base = (const uint64_t *)(const void *)file;
        for (int l = 0; l < LANES; l++)
            out[l] = (uint32_t)base[l] + (uint32_t)offset;
    } else {
        const uint32_t *base = (const uint32_t *)(const void *)file;
        for (int l = 0; l < LANES; l++)
            out[l] = base[l] + (uint32_t)offset;
    }
}

// Gives inactive lanes the address of an active one.
static void fill_inactive(uint32_t active, uint64_t addresses[LANES])
{
    const uint64_t some = addresses[first_lane(active)];
    for (int l = 0; l < LANES && active != ALL_LANES; l++)
        if ((active >> l & 1) == 0)
            addresses[l] = some;
}

static void fill_inactive_shared(uint32_t active, uint32_t addresses[LANES])
{
    const uint32_t some = addresses[first_lane(active)];
    for (int l = 0; l < LANES && active != ALL_LANES; l++)
        if ((active >> l & 1) == 0)
            addresses[l] = some;
}

static void check_aligned(struct warp *warp, const struct instruction *instruction, int lane,
                          uint64_t address, uint32_t bytes)
{
    if (address % bytes != 0)
        device_fault(warp, instruction, lane, ENDING_MISALIGNED,
                     "misaligned: an access to %u bytes at 0x%" PRIx64
                     ", which is no multiple of %u",
                     bytes, address, bytes);
}

static void check_alignment(struct warp *warp, const struct instruction *instruction,
                            uint32_t active, const uint64_t addresses[LANES], uint32_t bytes)
{
    for (int l = 0; l < LANES; l++)
        if (active >> l & 1)
            check_aligned(warp, instruction, l, addresses[l], bytes);
}

// Global memory ----------------------------------------------------------------------------------

static _Noreturn void outside(struct warp *warp, const struct instruction *instruction, int lane,
                              uint64_t address, uint32_t bytes, bool write)
{
    char place[512];
    const struct allocation *near = memory_nearest(address);
    const bool freed = near != NULL && near->host == NULL && address - near->address < near->bytes;
    device_fault(warp, instruction, lane, ENDING_ILLEGAL_ADDRESS, "%s: %s %u bytes at %s",
                 freed ? "use after free" : "out of bounds", write ? "writes" : "reads", bytes,
                 describe_address(address, bytes, place, sizeof place));
}

static bool within(const struct allocation *allocation, uint64_t smallest, uint64_t greatest,
                   uint32_t bytes)
{
    return allocation != NULL && allocation->host != NULL && smallest >= allocation->first &&
           greatest + bytes <= allocation->last && greatest < UINT64_MAX - bytes;
}

static void shadow_global(struct warp *warp, const struct instruction *instruction, uint64_t first,
                          uint32_t bytes, bool write, struct allocation *allocation)
{
    if (!warp->block->launch->checks)
        return;
    if (write)
        shadow_global_write(warp, instruction, first, bytes, allocation);
    else
        shadow_global_read(warp, instruction, first, bytes, allocation);
}

static struct recent *recent_of(const struct warp *warp, const struct instruction *instruction)
{
    const struct block *block = warp->block;
    return &block->recent[instruction - block->launch->code->instructions];
}

// Whether an access is like the last one of the instruction. `matches`: by the addresses' places
// relative to each other.
static bool goes_on(const struct recent *recent, bool matches, uint32_t active, uint32_t phase)
{
    return matches && recent->footprint->active == active && recent->phase == phase &&
           recent->serial == recent->footprint->serial;
}

// Starts anew with one that is not.
static void begin_recent(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const int32_t delta[LANES], uint32_t phase)
{
    const struct detail *detail = detail_of(warp, instruction);
    struct recent *recent = recent_of(warp, instruction);
    count_recent(warp->block, recent);
    struct footprint *footprint = footprint_find(warp->block, active, delta);
    *recent = (struct recent){.footprint = footprint,
                              .serial = footprint->serial,
                              .phase = phase,
                              .different = (uint8_t)footprint->count};
    if (warp->block->counters != NULL)
        recent->cost = footprint_cost(footprint, phase, detail->bytes, !detail->write);
}

// The alignment of lanes that lie as the instruction's recent footprint says.
static void check_pattern(struct warp *warp, const struct instruction *instruction, uint32_t active,
                          uint64_t first, uint32_t bytes)
{
    const struct footprint *footprint = recent_of(warp, instruction)->footprint;
    for (int l = 0; l < LANES; l++)
        if (active >> l & 1)
            check_aligned(warp, instruction, l, first + (uint64_t)(int64_t)footprint->delta[l],
                          bytes);
}

// False where the lanes are too far apart for a footprint.
static bool begin_global(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const uint64_t addresses[LANES])
{
    const uint64_t first = addresses[first_lane(active)];
    int32_t delta[LANES];
    bool near = true;
    for (int l = 0; l < LANES; l++) {
        delta[l] = (int32_t)(addresses[l] - first);
        near &= addresses[l] - first == (uint64_t)(int64_t)delta[l];
    }
    if (near)
        begin_recent(warp, instruction, active, delta, first % SECTOR_BYTES);
    return near;
}

// Lanes that point into different allocations, far apart, or outside all of them: those together
// that are near each other in one.
static void locate_apart(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const uint64_t addresses[LANES], uint32_t bytes, bool write,
                         uint8_t *at[LANES])
{
    check_alignment(warp, instruction, active, addresses, bytes);
    for (uint32_t left = active; left != 0;) {
        const int leader = first_lane(left);
        struct allocation *allocation = memory_holding(addresses[leader]);
        uint64_t same[LANES];
        uint32_t together = 0;
        for (int l = 0; l < LANES; l++) {
            same[l] = addresses[leader];
            if ((left >> l & 1) && within(allocation, addresses[l], addresses[l], bytes) &&
                addresses[l] - addresses[leader] + NEAR / 2 < NEAR) {
                together |= 1U << l;
                same[l] = addresses[l];
                at[l] = allocation->host + (addresses[l] - allocation->address);
            }
        }
        if ((together >> leader & 1) == 0)
            outside(warp, instruction, leader, addresses[leader], bytes, write);
        launch_touches(warp->block->launch, allocation);
        memory_note_use(allocation, write);
        begin_global(warp, instruction, together, same);
        shadow_global(warp, instruction, addresses[leader], bytes, write, allocation);
        left &= ~together;
    }
    count_apart(warp, instruction, active, addresses, bytes);
    keep_global(warp, instruction, active, addresses);
    for (int l = 0; l < LANES; l++)
        if ((active >> l & 1) == 0)
            at[l] = at[first_lane(active)];
}

// Finds the bytes of an access with the instruction's recent footprint, the first active lane being
// here, and checks it. False where they are not all in one allocation.
static bool place_global(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         uint64_t first, uint32_t bytes, bool write, uint8_t *at[LANES])
{
    const struct block *block = warp->block;
    struct recent *recent = recent_of(warp, instruction);
    const struct footprint *footprint = recent->footprint;
    const uint64_t smallest = first + (uint64_t)(int64_t)footprint->lowest;
    const uint64_t greatest = first + (uint64_t)(int64_t)footprint->highest;
    struct allocation **last =
        &block->last_allocation[instruction - block->launch->code->instructions];
    if (((uint32_t)first | footprint->bits) & (bytes - 1))
        check_pattern(warp, instruction, active, first, bytes);
    if (!within(*last, smallest, greatest, bytes)) {
        struct allocation *found = memory_holding(smallest);
        if (!within(found, smallest, greatest, bytes))
            return false;
        launch_touches(block->launch, found);
        *last = found;
    }
    memory_note_use(*last, write);
    block->set->spread((*last)->host + (first - (*last)->address), footprint->delta, at);
    recent->times++;
    shadow_global(warp, instruction, first, bytes, write, *last);
    return true;
}

void locate_global(struct warp *warp, const struct instruction *instruction, uint32_t active,
                   uint64_t addresses[LANES], uint32_t bytes, bool write, uint8_t *at[LANES])
{
    const struct recent *recent = recent_of(warp, instruction);
    fill_inactive(active, addresses);
    const uint64_t first = addresses[first_lane(active)];
    const bool known =
        goes_on(recent, warp->block->set->same_wide(addresses, first, recent->footprint->delta),
                active, first % SECTOR_BYTES);
    if ((!known && !begin_global(warp, instruction, active, addresses)) ||
        !place_global(warp, instruction, active, first, bytes, write, at))
        locate_apart(warp, instruction, active, addresses, bytes, write, at);
    else if (!known)
        keep_global(warp, instruction, active, addresses);
}

static void move(struct warp *warp, const struct instruction *instruction, uint32_t active,
                 uint8_t *const at[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    detail->move(warp, instruction, active, at);
    if (detail->write)
        warp->block->moved = true;
}

static void move_global(struct warp *warp, const struct instruction *instruction, uint32_t active,
                        uint64_t addresses[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    uint8_t *at[LANES];
    if (detail->strong)
        strong_begin(warp, instruction, active);
    locate_global(warp, instruction, active, addresses, detail->bytes, detail->write, at);
    move(warp, instruction, active, at);
    if (detail->strong)
        strong_end(warp, instruction, active, false, addresses);
}

// The usual case: a whole warp, with the pattern of the last time. What is known of that settles
// the rest.
static bool global_again(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const struct recent *recent = recent_of(warp, instruction);
    const uint64_t *registers = wide_words_of(warp, instruction->s[0]);
    const uint64_t first = registers[0] + (uint64_t)detail->offset;
    uint8_t *at[LANES];
    if (active != ALL_LANES || !detail->wide_address || detail->strong ||
        !goes_on(recent,
                 warp->block->set->same_wide(registers, registers[0], recent->footprint->delta),
                 active, first % SECTOR_BYTES) ||
        !place_global(warp, instruction, active, first, detail->bytes, detail->write, at))
        return false;
    move(warp, instruction, active, at);
    return true;
}

void access_global(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t addresses[LANES];
    if (global_again(warp, instruction, active))
        return;
    lane_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
    move_global(warp, instruction, active, addresses);
}

// Shared memory ----------------------------------------------------------------------------------

// Of an access with the instruction's recent footprint.
static _Noreturn void outside_shared(struct warp *warp, const struct instruction *instruction,
                                     uint32_t active, uint32_t first, uint32_t bytes, bool write)
{
    const struct block *block = warp->block;
    const struct footprint *footprint = recent_of(warp, instruction)->footprint;
    char place[512];
    int lane = first_lane(active);
    for (int l = lane; l < LANES; l++) {
        const uint32_t offset = first + (uint32_t)footprint->delta[l];
        if ((active >> l & 1) && (uint64_t)offset + bytes > block->shared_bytes) {
            lane = l;
            break;
        }
    }
    // The sum of 32 bits: an offset below the base wraps around to the address it came from.
    const uint32_t address =
        first + (uint32_t)footprint->delta[lane] + (uint32_t)block->launch->shared_base;
    device_fault(warp, instruction, lane, ENDING_ILLEGAL_ADDRESS,
                 "out of bounds: %s %u bytes at %s", write ? "writes" : "reads", bytes,
                 describe_shared(block, address, place, sizeof place));
}

static void begin_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         const uint32_t offsets[LANES])
{
    const uint32_t first = offsets[first_lane(active)];
    int32_t delta[LANES];
    for (int l = 0; l < LANES; l++)
        delta[l] = (int32_t)(offsets[l] - first);
    begin_recent(warp, instruction, active, delta, IN_SHARED + first % BANK_BYTES);
}

// The same as place_global for shared memory; `first` is an offset.
static void place_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                         uint32_t first, uint32_t bytes, bool write, uint8_t *at[LANES])
{
    const struct block *block = warp->block;
    struct recent *recent = recent_of(warp, instruction);
    const struct footprint *footprint = recent->footprint;
    if ((first | footprint->bits) & (bytes - 1))
        check_pattern(warp, instruction, active, first + block->launch->shared_base, bytes);
    if ((int64_t)first + footprint->lowest < 0 ||
        (uint64_t)((int64_t)first + footprint->highest) + bytes > block->shared_bytes)
        outside_shared(warp, instruction, active, first, bytes, write);
    block->set->spread(block->shared + first, footprint->delta, at);
    recent->times++;
}

void locate_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                   uint32_t addresses[LANES], uint32_t bytes, bool write, uint8_t *at[LANES])
{
    const struct block *block = warp->block;
    const struct recent *recent = recent_of(warp, instruction);
    fill_inactive_shared(active, addresses);
    for (int l = 0; l < LANES; l++)
        addresses[l] -= (uint32_t)block->launch->shared_base;
    const uint32_t first = addresses[first_lane(active)];
    const bool known = goes_on(recent, block->set->same(addresses, first, recent->footprint->delta),
                               active, IN_SHARED + first % BANK_BYTES);
    if (!known)
        begin_shared(warp, instruction, active, addresses);
    place_shared(warp, instruction, active, first, bytes, write, at);
    if (!known)
        keep_shared(warp, instruction, active, addresses);
}

static void shadow_shared(struct warp *warp, const struct instruction *instruction, uint32_t first,
                          uint32_t bytes, bool write)
{
    if (!warp->block->launch->checks)
        return;
    if (write)
        shadow_shared_write(warp, instruction, first, bytes);
    else
        shadow_shared_read(warp, instruction, first, bytes);
}

static void end_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                       const uint32_t offsets[LANES])
{
    uint64_t wide[LANES];
    for (int l = 0; l < LANES; l++)
        wide[l] = offsets[l];
    strong_end(warp, instruction, active, true, wide);
}

// Addresses in the shared window.
static void move_shared(struct warp *warp, const struct instruction *instruction, uint32_t active,
                        uint32_t addresses[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    uint8_t *at[LANES];
    if (detail->strong)
        strong_begin(warp, instruction, active);
    locate_shared(warp, instruction, active, addresses, detail->bytes, detail->write, at);
    shadow_shared(warp, instruction, addresses[first_lane(active)], detail->bytes, detail->write);
    move(warp, instruction, active, at);
    if (detail->strong)
        end_shared(warp, instruction, active, addresses);
}

// As global_again.
static bool shared_again(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const struct recent *recent = recent_of(warp, instruction);
    const uint32_t *registers =
        (const uint32_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * instruction->s[0]);
    const uint32_t first =
        registers[0] + (uint32_t)detail->offset - (uint32_t)warp->block->launch->shared_base;
    uint8_t *at[LANES];
    if (active != ALL_LANES || detail->wide_address || detail->strong ||
        !goes_on(recent, warp->block->set->same(registers, registers[0], recent->footprint->delta),
                 active, IN_SHARED + first % BANK_BYTES))
        return false;
    place_shared(warp, instruction, active, first, detail->bytes, detail->write, at);
    shadow_shared(warp, instruction, first, detail->bytes, detail->write);
    move(warp, instruction, active, at);
    return true;
}

void access_shared(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint32_t addresses[LANES];
    if (shared_again(warp, instruction, active))
        return;
    shared_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
    move_shared(warp, instruction, active, addresses);
}

// Local memory -----------------------------------------------------------------------------------

static void note_local(struct warp *warp, const struct instruction *instruction, int lane,
                       uint64_t address, const struct detail *detail)
{
    uint8_t *valid = warp->local_valid + (size_t)lane * warp->local_bytes + address;
    for (int i = 0; i < detail->bytes; i++) {
        if (!detail->write && !valid[i])
            fault(warp, instruction, lane,
                  "uninitialized: reads local memory that nobody has written: local address "
                  "0x%" PRIx64,
                  address + (uint64_t)i);
        valid[i] = 1;
    }
}

static void move_local(struct warp *warp, const struct instruction *instruction, uint32_t active,
                       uint64_t addresses[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    const struct frame *frame = warp->frame;
    const uint64_t bytes = warp->block->launch->checks
                               ? frame->local + frame->function->kernel->local_bytes
                               : frame->top;
    uint8_t *at[LANES];
    fill_inactive(active, addresses);
    check_alignment(warp, instruction, active, addresses, detail->bytes);
    for (int l = 0; l < LANES; l++) {
        if (addresses[l] + detail->bytes > bytes || addresses[l] > bytes)
            device_fault(warp, instruction, (active >> l & 1) ? l : first_lane(active),
                         ENDING_ILLEGAL_ADDRESS,
                         "out of bounds: %s %u bytes at local address 0x%" PRIx64 " of %" PRIu64,
                         detail->write ? "writes" : "reads", detail->bytes, addresses[l], bytes);
        at[l] = warp->local + (size_t)l * warp->local_bytes + addresses[l];
        if (warp->block->launch->checks && (active >> l & 1))
            note_local(warp, instruction, l, addresses[l], detail);
    }
    count_local(warp, instruction);
    detail->move(warp, instruction, active, at);
}

void access_local(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t addresses[LANES];
    lane_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
    move_local(warp, instruction, active, addresses);
}

// Generic addresses and parameters ---------------------------------------------------------------

static enum space window_of(uint64_t address)
{
    if (address >= PARAMETER_WINDOW)
        return SPACE_PARAM;
    if (address >= LOCAL_WINDOW)
        return SPACE_LOCAL;
    return address >= SHARED_WINDOW ? SPACE_SHARED : SPACE_GLOBAL;
}

static uint64_t window_start(enum space space)
{
    return space == SPACE_PARAM ? PARAMETER_WINDOW : space == SPACE_LOCAL ? LOCAL_WINDOW : 0;
}

// What the launch passes: the same for all threads, and nobody may change it.
static void move_parameter(struct warp *warp, const struct instruction *instruction,
                           uint32_t active, const uint64_t offsets[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint64_t bytes = warp->block->launch->code->kernel->parameter_bytes;
    uint8_t *at[LANES];
    for (int l = 0; l < LANES; l++) {
        at[l] = warp->block->launch->parameters;
        if ((active >> l & 1) == 0)
            continue;
        check_aligned(warp, instruction, l, offsets[l], detail->bytes);
        if (detail->write || offsets[l] > bytes || offsets[l] + detail->bytes > bytes)
            device_fault(warp, instruction, l, ENDING_ILLEGAL_ADDRESS,
                         "out of bounds: %s %u bytes at 0x%" PRIx64 " of the kernel's %" PRIu64
                         " bytes of parameters",
                         detail->write ? "writes" : "reads", detail->bytes, offsets[l], bytes);
        at[l] += offsets[l];
    }
    detail->move(warp, instruction, active, at);
}

// The lanes of each window in turn.
void access_generic(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t addresses[LANES];
    lane_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
    for (uint32_t left = active; left != 0;) {
        const enum space space = window_of(addresses[first_lane(left)]);
        uint64_t mine[LANES];
        uint32_t shared[LANES];
        uint32_t lanes = 0;
        for (int l = 0; l < LANES; l++) {
            mine[l] = addresses[l] - window_start(space);
            shared[l] = (uint32_t)(addresses[l] - SHARED_WINDOW);
            if ((left >> l & 1) && window_of(addresses[l]) == space)
                lanes |= 1U << l;
        }
        if (space == SPACE_SHARED) {
            move_shared(warp, instruction, lanes, shared);
        } else if (space == SPACE_LOCAL) {
            move_local(warp, instruction, lanes, mine);
        } else if (space == SPACE_PARAM) {
            move_parameter(warp, instruction, lanes, mine);
        } else {
            move_global(warp, instruction, lanes, mine);
        }
        left &= ~lanes;
    }
}

uint32_t locate_memory(struct warp *warp, const struct instruction *instruction, uint32_t active,
                       uint64_t addresses[LANES], bool *shared, uint8_t *at[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    const bool generic = detail->space == SPACE_GENERIC;
    const enum space space = generic ? window_of(addresses[first_lane(active)]) : detail->space;
    uint64_t mine[LANES];
    uint32_t offsets[LANES];
    uint32_t lanes = 0;
    for (int l = 0; l < LANES; l++) {
        mine[l] = addresses[l];
        offsets[l] = (uint32_t)addresses[l];
        if ((active >> l & 1) && (!generic || window_of(addresses[l]) == space))
            lanes |= 1U << l;
    }
    *shared = space == SPACE_SHARED;
    if (space != SPACE_SHARED && space != SPACE_GLOBAL)
        fault(warp, instruction, first_lane(lanes),
              "out of bounds: an atomic at 0x%" PRIx64 ", which is no global or shared memory",
              addresses[first_lane(lanes)]);
    if (!*shared) {
        locate_global(warp, instruction, lanes, mine, detail->bytes, true, at);
        return lanes;
    }
    locate_shared(warp, instruction, lanes, offsets, detail->bytes, true, at);
    shadow_shared(warp, instruction, offsets[first_lane(lanes)], detail->bytes, true);
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            addresses[l] = offsets[l];
    return lanes;
}

void load_parameter(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint8_t *at[LANES];
    for (int l = 0; l < LANES; l++)
        at[l] = warp->block->launch->parameters + detail->offset;
    detail->move(warp, instruction, active, at);
}

void load_any_parameter(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t offsets[LANES];
    lane_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, offsets);
    move_parameter(warp, instruction, active, offsets);
}

void access_frame(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint64_t bytes = warp->frame->function->kernel->frame_bytes;
    uint8_t *at[LANES];
    for (int l = 0; l < LANES; l++)
        at[l] = warp->frame->variables + (uint64_t)l * bytes + detail->offset;
    detail->move(warp, instruction, active, at);
}

void read_bytes(struct warp *warp, const struct instruction *instruction, int lane,
                uint64_t address, void *out, uint64_t bytes)
{
    const uint8_t *from = NULL;
    const struct block *block = warp->block;
    const enum space space = window_of(address);
    const uint64_t offset = address - window_start(space);
    const uint64_t shared = address - SHARED_WINDOW - block->launch->shared_base;
    if (space == SPACE_LOCAL && offset + bytes <= warp->frame->top)
        from = warp->local + (uint64_t)lane * warp->local_bytes + offset;
    else if (space == SPACE_SHARED && shared < block->shared_bytes &&
             shared + bytes <= block->shared_bytes)
        from = block->shared + shared;
    else if (space == SPACE_GLOBAL)
        from = memory_host(address, bytes);
    if (from == NULL)
        outside(warp, instruction, lane, address, (uint32_t)bytes, false);
    memcpy(out, from, bytes);
}
