#include "async.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "arena.h"
#include "counters.h"
#include "fault.h"
#include "footprint.h"
#include "launch.h"
#include "memory.h"
#include "shadow.h"

// What one lane asked one cp.async for.
struct copy {
    int lane;
    int group;             // of this lane's groups: 0 is the first
    uint64_t to;           // from the start of the window
    uint64_t address;      // to read from
    const uint8_t *from;   // that on the host
    uint32_t read, bytes;  // bytes from `read` on become zero
    bool valid;            // every byte read had been written
    uint8_t asked_for[16]; // what was there when the copy began
};

struct copy_queue {
    struct copy *copies;
    int count, room;
    int committed[LANES]; // groups that each lane has closed
};

void async_reset(struct warp *warp)
{
    if (warp->copies == NULL)
        warp->copies = zeroed(1, sizeof *warp->copies);
    warp->copies->count = 0;
    memset(warp->copies->committed, 0, sizeof warp->copies->committed);
}

void async_free(struct warp *warp)
{
    if (warp->copies != NULL)
        free(warp->copies->copies);
    free(warp->copies);
    warp->copies = NULL;
}

static struct copy *append(struct copy_queue *queue)
{
    if (queue->count == queue->room) {
        queue->room = queue->room == 0 ? 16 * LANES : 2 * queue->room;
        queue->copies = realloc(queue->copies, (size_t)queue->room * sizeof *queue->copies);
        if (queue->copies == NULL)
            out_of_memory((size_t)queue->room * sizeof *queue->copies);
    }
    return &queue->copies[queue->count++];
}

// How many bytes each lane reads; the lanes that read any.
static uint32_t bytes_to_read(const struct warp *warp, const struct instruction *instruction,
                              uint32_t active, uint32_t read[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t *sizes =
        (const uint32_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * instruction->s[2]);
    uint32_t reading = 0;
    for (int l = 0; l < LANES; l++) {
        read[l] = detail->has_size ? sizes[l] : detail->bytes;
        if (detail->has_ignore && (warp->predicates[instruction->s[2]] >> l & 1))
            read[l] = 0;
        if ((active >> l & 1) && read[l] > 0)
            reading |= 1U << l;
    }
    return reading;
}

static void check_sizes(struct warp *warp, const struct instruction *instruction, uint32_t active,
                        const uint32_t read[LANES])
{
    const uint32_t bytes = detail_of(warp, instruction)->bytes;
    for (int l = 0; l < LANES; l++)
        if ((active >> l & 1) && read[l] > bytes)
            fault(warp, instruction, l, "cp.async: asks to read %u bytes of a copy of %u", read[l],
                  bytes);
}

// Where the bytes to read are: one lane at a time, because each may read another number of them.
// The address must be aligned to the size of the copy, whatever is read.
static const uint8_t *find_source(struct warp *warp, const struct instruction *instruction,
                                  int lane, uint64_t address, uint32_t read, bool *valid)
{
    char place[512];
    const uint32_t bytes = detail_of(warp, instruction)->bytes;
    struct allocation *allocation = memory_holding(address);
    if (address % bytes != 0)
        fault(warp, instruction, lane,
              "misaligned: a cp.async of %u bytes from 0x%llx, which is no multiple of %u", bytes,
              (unsigned long long)address, bytes);
    if (allocation == NULL || address < allocation->first || address + read > allocation->last)
        fault(warp, instruction, lane, "%s: cp.async reads %u bytes at %s",
              memory_nearest(address) != NULL && memory_nearest(address)->host == NULL
                  ? "use after free"
                  : "out of bounds",
              read, describe_address(address, read, place, sizeof place));
    launch_touches(warp->block->launch, allocation);
    memory_note_use(allocation, false);
    *valid = memory_valid(allocation, address - allocation->address, read);
    return allocation->host + (address - allocation->address);
}

// Copies are requests to global memory; one that reads nothing is none.
static void count_source(struct warp *warp, const struct instruction *instruction, uint32_t reading,
                         uint64_t from[LANES])
{
    const uint64_t first = from[first_lane(reading)];
    int32_t delta[LANES];
    bool near = true;
    for (int l = 0; l < LANES; l++) {
        if ((reading >> l & 1) == 0)
            from[l] = first;
        delta[l] = (int32_t)(from[l] - first);
        near &= from[l] - first == (uint64_t)(int64_t)delta[l];
    }
    if (near)
        count_copy(warp, instruction, footprint_find(warp->block, reading, delta), first);
    else
        count_apart(warp, instruction, reading, from, detail_of(warp, instruction)->bytes);
}

void async_copy(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint32_t to[LANES];
    uint64_t from[LANES];
    uint8_t *at[LANES];
    uint32_t read[LANES];
    const uint32_t reading = bytes_to_read(warp, instruction, active, read);
    check_sizes(warp, instruction, active, read);
    shared_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, to);
    lane_addresses(warp, instruction->s[1], true, detail->from_offset, from);
    locate_shared(warp, instruction, active, to, detail->bytes, true, at);
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        struct copy *copy = append(warp->copies);
        *copy = (struct copy){.lane = l,
                              .group = warp->copies->committed[l],
                              .to = to[l],
                              .address = from[l],
                              .read = read[l],
                              .bytes = detail->bytes,
                              .valid = true};
        if (reading >> l & 1) {
            copy->from = find_source(warp, instruction, l, from[l], read[l], &copy->valid);
            memcpy(copy->asked_for, copy->from, read[l]);
        }
        if (warp->block->launch->checks)
            shadow_pending(warp, instruction, l, to[l], detail->bytes);
    }
    if (reading != 0 && warp->block->counters != NULL)
        count_source(warp, instruction, reading, from);
}

void async_commit(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)instruction;
    for (int l = 0; l < LANES; l++)
        warp->copies->committed[l] += (int)(active >> l & 1);
}

// The GPU reads the source at any time until the wait is over.
static void check_source(struct warp *warp, const struct instruction *instruction,
                         const struct copy *copy)
{
    char place[512];
    if (copy->read > 0 && memcmp(copy->from, copy->asked_for, copy->read) != 0)
        fault(warp, instruction, copy->lane,
              "cp.async: the source of a copy of %u bytes has changed before the wait for it: %s",
              copy->read, describe_address(copy->address, copy->read, place, sizeof place));
}

static void carry_out(struct warp *warp, const struct instruction *instruction,
                      const struct copy *copy)
{
    uint8_t *to = warp->block->shared + copy->to;
    if (warp->block->launch->checks)
        check_source(warp, instruction, copy);
    if (copy->read > 0)
        memcpy(to, copy->from, copy->read);
    memset(to + copy->read, 0, copy->bytes - copy->read);
    warp->block->moved = true;
    if (warp->block->launch->checks)
        shadow_arrived(warp, instruction, copy->lane, copy->to, copy->bytes, copy->valid);
}

// wait_group n: all but the last n groups that a lane has closed. wait_all: closed or not.
void async_wait(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const int groups = detail_of(warp, instruction)->groups;
    struct copy_queue *queue = warp->copies;
    int kept = 0;
    for (int i = 0; i < queue->count; i++) {
        const struct copy *copy = &queue->copies[i];
        const bool due = groups < 0 || copy->group < queue->committed[copy->lane] - groups;
        if (due && (active >> copy->lane & 1))
            carry_out(warp, instruction, copy);
        else
            queue->copies[kept++] = *copy;
    }
    queue->count = kept;
}
