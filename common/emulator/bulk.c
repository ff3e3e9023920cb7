#include "bulk.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "arena.h"
#include "counters.h"
#include "exact.h"
#include "execute.h"
#include "fault.h"
#include "launch.h"
#include "mbarriers.h"
#include "memory.h"

enum {
    UNIT = 16, // addresses and sizes are multiples of it
};

struct bulk {
    struct warp *warp;
    const struct instruction *instruction;
    int lane, mbarrier;
    uint32_t to; // from the start of the window
    uint64_t address;
    const struct allocation *allocation;
    uint8_t *taken; // what was at the source
    uint32_t bytes;
    bool landed;
};

struct bulk_queue {
    struct bulk *list;
    int count, room;
};

void bulk_reset(struct block *block)
{
    if (block->bulk == NULL)
        block->bulk = zeroed(1, sizeof *block->bulk);
    for (int i = 0; i < block->bulk->count; i++)
        free(block->bulk->list[i].taken);
    block->bulk->count = 0;
}

void bulk_free(struct block *block)
{
    bulk_reset(block);
    free(block->bulk->list);
    free(block->bulk);
}

static void append(struct bulk_queue *queue, struct bulk copy)
{
    if (queue->count == queue->room) {
        queue->room = queue->room == 0 ? LANES : 2 * queue->room;
        queue->list =
            enlarged(queue->list, (size_t)queue->count, (size_t)queue->room, sizeof *queue->list);
    }
    queue->list[queue->count++] = copy;
}

// Beginning --------------------------------------------------------------------------------------

static void check_multiples(const struct bulk *copy, uint32_t to)
{
    const char *const wrong = to % UNIT != 0              ? "destination"
                              : copy->address % UNIT != 0 ? "source"
                              : copy->bytes % UNIT != 0   ? "size"
                                                          : NULL;
    if (wrong != NULL)
        fault(copy->warp, copy->instruction, copy->lane,
              "misaligned: a bulk copy of %u bytes from 0x%llx to shared address 0x%x, whose %s is "
              "no multiple of %d",
              copy->bytes, (unsigned long long)copy->address, to, wrong, UNIT);
}

static void check_destination(const struct bulk *copy, uint32_t to)
{
    char place[512];
    const struct block *block = copy->warp->block;
    const uint32_t end = to + copy->bytes;
    const bool before = to < block->launch->shared_base;
    if (before || (uint64_t)copy->to + copy->bytes > block->shared_bytes)
        fault(copy->warp, copy->instruction, copy->lane,
              "out of bounds: a bulk copy of %u bytes to shared address 0x%x ends at %s",
              copy->bytes, to, describe_shared(block, before ? to : end, place, sizeof place));
}

static const uint8_t *find_source(struct bulk *copy)
{
    char place[512];
    const uint64_t address = copy->address;
    struct allocation *allocation = memory_holding(address);
    if (allocation == NULL || address < allocation->first ||
        address + copy->bytes > allocation->last) {
        const struct allocation *near = memory_nearest(address);
        fault(copy->warp, copy->instruction, copy->lane, "%s: a bulk copy reads %u bytes at %s",
              near != NULL && near->host == NULL ? "use after free" : "out of bounds", copy->bytes,
              describe_address(address, copy->bytes, place, sizeof place));
    }
    launch_touches(copy->warp->block->launch, allocation);
    memory_note_use(allocation, false);
    if (copy->warp->order != NULL)
        exact_source(copy->warp, copy->instruction, copy->lane, address, copy->bytes, allocation);
    copy->allocation = allocation;
    return allocation->host + (address - allocation->address);
}

static void begin(struct bulk copy, uint32_t to, uint32_t mbarrier)
{
    copy.to = to - (uint32_t)copy.warp->block->launch->shared_base;
    check_multiples(&copy, to);
    check_destination(&copy, to);
    const uint8_t *from = find_source(&copy);
    copy.mbarrier = mbarrier_of_copy(copy.warp, copy.instruction, copy.lane, mbarrier);
    if (copy.warp->order != NULL)
        exact_flying(copy.warp, copy.instruction, copy.lane, copy.to, copy.bytes, copy.mbarrier);
    copy.taken = zeroed(copy.bytes + 1, 1);
    memcpy(copy.taken, from, copy.bytes);
    append(copy.warp->block->bulk, copy);
    count_bulk(copy.warp, copy.instruction, copy.address, copy.bytes);
    mbarrier_bytes(copy.warp, copy.instruction, copy.lane, copy.mbarrier, copy.bytes);
}

void bulk_copy(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint32_t to[LANES];
    uint64_t from[LANES];
    uint32_t mbarrier[LANES];
    shared_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, to);
    lane_addresses(warp, instruction->s[1], true, detail->from_offset, from);
    shared_addresses(warp, instruction->s[3], detail->wide_mbarrier, detail->mbarrier_offset,
                     mbarrier);
    for (uint32_t left = active; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        begin((struct bulk){.warp = warp,
                            .instruction = instruction,
                            .lane = l,
                            .address = from[l],
                            .bytes = words_of(warp, instruction->s[2])[l]},
              to[l], mbarrier[l]);
    }
}

// Coming to an end -------------------------------------------------------------------------------

// Which bytes of the source have been written shows at the destination, piece by piece.
static void land(struct block *block, const struct bulk *copy)
{
    const uint64_t from = copy->address - copy->allocation->address;
    const bool valid = memory_valid(copy->allocation, from, copy->bytes);
    memcpy(block->shared + copy->to, copy->taken, copy->bytes);
    if (block->notes == NULL)
        return;
    exact_landed(block, copy->to, copy->bytes, true);
    const uint32_t piece = 1U << block->launch->code->granule_shift;
    for (uint32_t i = 0; i < copy->bytes && !valid; i += piece)
        if (!memory_valid(copy->allocation, from + i, piece))
            exact_landed(block, copy->to + i, piece, false);
}

bool bulk_land(struct block *block, int mbarrier)
{
    bool any = false;
    for (int i = 0; i < block->bulk->count; i++) {
        struct bulk *copy = &block->bulk->list[i];
        if (copy->mbarrier != mbarrier || copy->landed)
            continue;
        land(block, copy);
        copy->landed = any = true;
    }
    return any;
}

// The GPU reads the source at any time until somebody knows that it has.
static void check_source(struct warp *warp, const struct instruction *instruction, int lane,
                         const struct bulk *copy)
{
    char place[512];
    char start[256];
    const uint8_t *from = copy->allocation->host + (copy->address - copy->allocation->address);
    if (warp->block->launch->checks && memcmp(from, copy->taken, copy->bytes) != 0)
        fault(warp, instruction, lane,
              "bulk copy: the source of the one %s has changed before this first wait for it: %s",
              describe_place(copy->warp, copy->instruction, start, sizeof start),
              describe_address(copy->address, copy->bytes, place, sizeof place));
}

void bulk_seen(struct warp *warp, const struct instruction *instruction, int lane, int mbarrier)
{
    struct bulk_queue *queue = warp->block->bulk;
    int kept = 0;
    for (int i = 0; i < queue->count; i++) {
        struct bulk *copy = &queue->list[i];
        if (copy->mbarrier != mbarrier || !copy->landed) {
            queue->list[kept++] = *copy;
            continue;
        }
        check_source(warp, instruction, lane, copy);
        free(copy->taken);
    }
    queue->count = kept;
}

void bulk_end(struct block *block)
{
    if (block->bulk->count == 0 || !block->launch->checks)
        return;
    const struct bulk *copy = &block->bulk->list[0];
    fault(copy->warp, copy->instruction, copy->lane,
          "bulk copy: the block ends before a thread has waited for this one");
}
