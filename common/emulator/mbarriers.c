#include "mbarriers.h"

#include <stdio.h>

#include "access.h"
#include "barriers.h"
#include "bulk.h"
#include "exact.h"
#include "execute.h"
#include "fault.h"
#include "order.h"

enum {
    MBARRIER_BYTES = 8,
    MOST_ARRIVALS = (1 << 20) - 1,
    MOST_BYTES = (1 << 20) - 1,
};

// Finding them -----------------------------------------------------------------------------------

static const char *name_of(const struct block *block, uint32_t place, char *out, size_t size)
{
    return describe_shared(block, place + block->launch->shared_base, out, size);
}

// Where an address of the shared window is.
static uint32_t place_of(struct warp *warp, const struct instruction *instruction, int lane,
                         uint32_t address)
{
    char name[256];
    const struct block *block = warp->block;
    const uint32_t place = address - (uint32_t)block->launch->shared_base;
    if (address % MBARRIER_BYTES != 0)
        device_fault(warp, instruction, lane, ENDING_MISALIGNED,
                     "misaligned: an mbarrier at 0x%x, which is no multiple of %d", address,
                     MBARRIER_BYTES);
    if ((uint64_t)place + MBARRIER_BYTES > block->shared_bytes)
        device_fault(warp, instruction, lane, ENDING_ILLEGAL_ADDRESS,
                     "out of bounds: an mbarrier at %s",
                     describe_shared(block, address, name, sizeof name));
    return place;
}

static struct mbarrier *at_place(struct block *block, uint32_t place)
{
    for (int i = 0; i < block->mbarrier_count; i++)
        if (block->mbarriers[i].place == place)
            return &block->mbarriers[i];
    return NULL;
}

static struct mbarrier *find(struct warp *warp, const struct instruction *instruction, int lane,
                             uint32_t address)
{
    char name[256];
    char thread[64];
    const uint32_t place = place_of(warp, instruction, lane, address);
    struct mbarrier *barrier = at_place(warp->block, place);
    if (barrier == NULL || !barrier->live)
        fault(warp, instruction, lane, "mbarrier: none has been made (mbarrier.init) at %s",
              name_of(warp->block, place, name, sizeof name));
    if (warp->order != NULL &&
        !order_knows(warp, lane, warp->block->index, barrier->maker, barrier->made))
        fault(warp, instruction, lane,
              "race: uses the mbarrier that thread %s has made (no barrier lies between): %s",
              describe_thread(warp, barrier->maker, thread, sizeof thread),
              name_of(warp->block, place, name, sizeof name));
    return barrier;
}

static void addresses_of(const struct warp *warp, const struct instruction *instruction,
                         uint32_t addresses[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    shared_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
}

static int number_in(const struct block *block, const struct mbarrier *barrier)
{
    return (int)(barrier - block->mbarriers);
}

// Making them ------------------------------------------------------------------------------------

void mbarriers_reset(struct block *block)
{
    for (int i = 0; i < block->mbarrier_count; i++) {
        order_forget(&block->mbarriers[i].brought);
        order_forget(&block->mbarriers[i].passed);
    }
    block->mbarrier_count = 0;
    order_forget(&block->shown);
}

static struct mbarrier *new_mbarrier(struct warp *warp, const struct instruction *instruction,
                                     int lane, uint32_t place)
{
    char name[256];
    struct block *block = warp->block;
    struct mbarrier *barrier = at_place(block, place);
    if (barrier != NULL && barrier->live)
        fault(warp, instruction, lane,
              "mbarrier: there is one already (no mbarrier.inval has ended it) at %s",
              name_of(block, place, name, sizeof name));
    if (barrier == NULL && block->mbarrier_count == MBARRIERS)
        fault(warp, instruction, lane, "mbarrier: the emulator has no more than %d in a block",
              MBARRIERS);
    if (barrier == NULL)
        barrier = &block->mbarriers[block->mbarrier_count++];
    order_forget(&barrier->brought);
    order_forget(&barrier->passed);
    return barrier;
}

static void note_mbarrier(struct warp *warp, const struct instruction *instruction, int lane,
                          uint32_t place, bool made)
{
    if (warp->order != NULL)
        exact_mbarrier(warp, instruction, lane, place, MBARRIER_BYTES, made);
}

void mbarrier_init(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const uint32_t *counts = words_of(warp, instruction->s[1]);
    uint32_t addresses[LANES];
    addresses_of(warp, instruction, addresses);
    for (uint32_t left = active; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        const uint32_t place = place_of(warp, instruction, l, addresses[l]);
        if (counts[l] < 1 || counts[l] > MOST_ARRIVALS)
            fault(warp, instruction, l, "mbarrier: a phase of %u arrivals, of 1 to %d", counts[l],
                  MOST_ARRIVALS);
        struct mbarrier *barrier = new_mbarrier(warp, instruction, l, place);
        note_mbarrier(warp, instruction, l, place, true);
        *barrier = (struct mbarrier){.place = place,
                                     .live = true,
                                     .count = counts[l],
                                     .pending = counts[l],
                                     .maker = warp->index * LANES + l,
                                     .made = warp->order != NULL ? warp->order[l].time : 0};
    }
    warp->block->moved = true;
}

void mbarrier_inval(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    uint32_t addresses[LANES];
    addresses_of(warp, instruction, addresses);
    for (uint32_t left = active; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        struct mbarrier *barrier = find(warp, instruction, l, addresses[l]);
        barrier->live = false;
        note_mbarrier(warp, instruction, l, barrier->place, false);
    }
}

void proxy_fence(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    struct block *block = warp->block;
    if (warp->order != NULL && detail_of(warp, instruction)->space == SPACE_SHARED) {
        tick(warp, instruction, active);
        order_show(warp, active);
    }
    for (int i = 0; i < block->mbarrier_count; i++)
        for (uint32_t left = active; left != 0; left &= left - 1) {
            struct mbarrier *barrier = &block->mbarriers[i];
            barrier->fenced |=
                warp->order == NULL ||
                order_knows(warp, first_lane(left), block->index, barrier->maker, barrier->made);
        }
}

// Phases -----------------------------------------------------------------------------------------

static void expect(struct warp *warp, const struct instruction *instruction, int lane,
                   struct mbarrier *barrier, uint32_t bytes)
{
    char name[256];
    barrier->bytes += bytes;
    if (barrier->bytes > MOST_BYTES)
        fault(warp, instruction, lane,
              "mbarrier: phase %u is to wait for %lld bytes, of at most %d: %s", barrier->phase,
              (long long)barrier->bytes, MOST_BYTES,
              name_of(warp->block, barrier->place, name, sizeof name));
}

// Ends the phase if nothing lacks.
static void end_phase(struct warp *warp, const struct instruction *instruction, int lane,
                      struct mbarrier *barrier)
{
    char name[256];
    struct block *block = warp->block;
    const int number = number_in(block, barrier);
    if (barrier->bytes < -MOST_BYTES || (barrier->pending == 0 && barrier->bytes < 0))
        fault(warp, instruction, lane,
              "mbarrier: %lld bytes more than phase %u expects have come to %s",
              -(long long)barrier->bytes, barrier->phase,
              name_of(block, barrier->place, name, sizeof name));
    if (barrier->pending > 0 || barrier->bytes > 0)
        return;
    if (bulk_land(block, number)) {
        tick(warp, instruction, 1U << lane);
        if (warp->order != NULL)
            order_learn_of(block, order_copies(number), block->clock, &barrier->brought);
    }
    order_add(&barrier->passed, barrier->brought);
    order_forget(&barrier->brought);
    barrier->pending = barrier->count;
    barrier->phase++;
}

void mbarrier_expect(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const uint32_t *bytes = words_of(warp, instruction->s[1]);
    uint32_t addresses[LANES];
    addresses_of(warp, instruction, addresses);
    for (uint32_t left = active; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        struct mbarrier *barrier = find(warp, instruction, l, addresses[l]);
        expect(warp, instruction, l, barrier, bytes[l]);
    }
    warp->block->moved = true;
}

// How many arrivals a lane counts for.
static uint32_t weight(const struct warp *warp, const struct instruction *instruction, int lane)
{
    return detail_of(warp, instruction)->has_count ? words_of(warp, instruction->s[1])[lane] : 1;
}

// The first of the lanes, and those after it that arrive in the same phase of the same mbarrier.
static uint32_t arrive_together(struct warp *warp, const struct instruction *instruction,
                                uint32_t lanes, const uint32_t addresses[LANES],
                                const struct mbarrier *barrier)
{
    char name[256];
    const int first = first_lane(lanes);
    uint32_t together = 0;
    uint64_t arrivals = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        if (addresses[l] != addresses[first])
            continue;
        arrivals += weight(warp, instruction, l);
        if (arrivals > barrier->pending)
            break;
        together |= 1U << l;
    }
    if (together == 0 || weight(warp, instruction, first) == 0)
        fault(warp, instruction, first,
              "mbarrier: %u more arrival%s, and phase %u lacks %u and %lld bytes: %s",
              weight(warp, instruction, first), weight(warp, instruction, first) == 1 ? "" : "s",
              barrier->phase, barrier->pending, (long long)barrier->bytes,
              name_of(warp->block, barrier->place, name, sizeof name));
    return together;
}

void mbarrier_arrive(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t *bytes = words_of(warp, instruction->s[1]);
    uint64_t *phases = (uint64_t *)(void *)(warp->file + (size_t)SLOT_BYTES * instruction->d[0]);
    uint32_t addresses[LANES];
    addresses_of(warp, instruction, addresses);
    tick(warp, instruction, active);
    for (uint32_t left = active; left != 0;) {
        struct mbarrier *barrier =
            find(warp, instruction, first_lane(left), addresses[first_lane(left)]);
        const uint32_t together = arrive_together(warp, instruction, left, addresses, barrier);
        if (warp->order != NULL && detail->releases)
            order_bring_lanes(warp, together, &barrier->brought);
        for (uint32_t lanes = together; lanes != 0; lanes &= lanes - 1) {
            const int l = first_lane(lanes);
            find(warp, instruction, l, addresses[l]);
            if (detail->expects)
                expect(warp, instruction, l, barrier, bytes[l]);
            barrier->pending -= weight(warp, instruction, l);
            phases[l] = barrier->phase;
        }
        end_phase(warp, instruction, first_lane(together), barrier);
        left &= ~together;
    }
    warp->block->moved = true;
}

int mbarrier_of_copy(struct warp *warp, const struct instruction *instruction, int lane,
                     uint32_t address)
{
    char name[256];
    const struct mbarrier *barrier = find(warp, instruction, lane, address);
    if (warp->order != NULL && !barrier->fenced)
        fault(warp, instruction, lane,
              "mbarrier: no fence (fence.mbarrier_init or fence.proxy.async) has shown copies the "
              "one at %s",
              name_of(warp->block, barrier->place, name, sizeof name));
    return number_in(warp->block, barrier);
}

void mbarrier_bytes(struct warp *warp, const struct instruction *instruction, int lane, int number,
                    uint32_t bytes)
{
    struct mbarrier *barrier = &warp->block->mbarriers[number];
    barrier->bytes -= bytes;
    end_phase(warp, instruction, lane, barrier);
    warp->block->moved = true;
}

// Waits ------------------------------------------------------------------------------------------

// Whether the phase that the lane asks for has ended.
static bool has_ended(struct warp *warp, const struct instruction *instruction, int lane,
                      const struct mbarrier *barrier)
{
    if (!detail_of(warp, instruction)->parity)
        return barrier->phase > wide_words_of(warp, instruction->s[1])[lane];
    const uint32_t parity = words_of(warp, instruction->s[1])[lane];
    if (parity > 1)
        fault(warp, instruction, lane, "mbarrier: a parity of %u, which is 0 or 1", parity);
    return (barrier->phase & 1) != parity;
}

void mbarrier_wait(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    uint32_t addresses[LANES];
    uint32_t ended = 0;
    addresses_of(warp, instruction, addresses);
    for (uint32_t left = active; left != 0; left &= left - 1) {
        const int l = first_lane(left);
        struct mbarrier *barrier = find(warp, instruction, l, addresses[l]);
        warp->waited_for[l] = number_in(warp->block, barrier);
        if (!has_ended(warp, instruction, l, barrier))
            continue;
        ended |= 1U << l;
        bulk_seen(warp, instruction, l, number_in(warp->block, barrier));
        if (warp->order != NULL && detail_of(warp, instruction)->acquires)
            order_take(warp, 1U << l, barrier->passed);
    }
    uint32_t *word = &warp->predicates[instruction->d[0]];
    *word = (*word & ~active) | ended;
    if (ended != active)
        warp->poll = index_of(warp, instruction);
}

const char *mbarrier_lacks(const struct warp *warp, int lane, char *out, size_t size)
{
    char name[256];
    const struct mbarrier *barrier = &warp->block->mbarriers[warp->waited_for[lane]];
    snprintf(out, size,
             "waits for phase %u of the mbarrier at %s, which lacks %u of %u arrivals and "
             "%lld bytes",
             barrier->phase, name_of(warp->block, barrier->place, name, sizeof name),
             barrier->pending, barrier->count, (long long)barrier->bytes);
    return out;
}
