#include "collectives.h"

#include <string.h>

#include "execute.h"
#include "footprint.h"

static uint32_t *result_of(const struct warp *warp, const struct instruction *instruction)
{
    return (uint32_t *)(void *)(warp->file + (size_t)SLOT_BYTES * instruction->d[0]);
}

static void set_all(uint32_t *result, uint32_t lanes, uint32_t value)
{
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            result[l] = value;
}

static void set_predicate(struct warp *warp, int index, uint32_t lanes, uint32_t value)
{
    warp->predicates[index] = (warp->predicates[index] & ~lanes) | (value & lanes);
}

// The lane that `lane` reads from. `control` has the bits of the lane's number that its group has
// in common, and where the group ends.
static int source_lane(enum combination mode, int lane, uint32_t by, uint32_t control, bool *inside)
{
    const int common = (int)(control >> 8 & 31);
    const int first = lane & common;
    const int bound = first | (int)(control & 31 & ~(unsigned)common);
    int from = lane;
    switch (mode) {
    case SHUFFLE_UP:
        from = lane - (int)(by & 31);
        *inside = from >= bound;
        break;
    case SHUFFLE_DOWN:
        from = lane + (int)(by & 31);
        *inside = from <= bound;
        break;
    case SHUFFLE_XOR:
        from = lane ^ (int)(by & 31);
        *inside = from <= bound;
        break;
    default:
        from = first | (int)(by & 31 & ~(unsigned)common);
        *inside = from <= bound;
        break;
    }
    return *inside ? from : lane;
}

// What a lane reads that does not take part is not defined: a NaN here.
void shuffle(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const enum combination mode = detail_of(warp, instruction)->combination;
    const uint32_t *by = words_of(warp, instruction->s[1]);
    const uint32_t *control = words_of(warp, instruction->s[2]);
    uint32_t values[LANES];
    uint32_t results[LANES];
    uint32_t insides = 0;
    memcpy(values, words_of(warp, instruction->s[0]), sizeof values);
    for (int l = 0; l < LANES; l++) {
        bool inside = false;
        const int from = source_lane(mode, l, by[l], control[l], &inside);
        results[l] = active >> from & 1 ? values[from] : ~0U;
        insides |= (uint32_t)inside << l;
    }
    for (int l = 0; l < LANES; l++)
        if (active >> l & 1)
            result_of(warp, instruction)[l] = results[l];
    set_predicate(warp, instruction->d[1], active, insides);
}

// The lanes of `active` whose predicate is true.
static uint32_t votes(const struct warp *warp, const struct instruction *instruction,
                      uint32_t active)
{
    const uint32_t word = warp->predicates[instruction->s[0]];
    return (detail_of(warp, instruction)->negated ? ~word : word) & active;
}

void vote(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const enum combination combination = detail_of(warp, instruction)->combination;
    const uint32_t yes = votes(warp, instruction, active);
    const bool result = combination == COMBINE_AND  ? yes == active
                        : combination == COMBINE_OR ? yes != 0
                                                    : yes == active || yes == 0;
    set_predicate(warp, instruction->d[0], active, result ? ALL_LANES : 0);
}

void ballot(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    set_all(result_of(warp, instruction), active, votes(warp, instruction, active));
}

static uint64_t value_of(const struct warp *warp, const struct instruction *instruction, int lane)
{
    const uint8_t *slot = warp->file + (size_t)SLOT_BYTES * instruction->s[0];
    return detail_of(warp, instruction)->type == TYPE_U64
               ? ((const uint64_t *)(const void *)slot)[lane]
               : ((const uint32_t *)(const void *)slot)[lane];
}

// The lanes of `active` that have the same value as this one.
static uint32_t alike(const struct warp *warp, const struct instruction *instruction,
                      uint32_t active, int lane)
{
    uint32_t same = 0;
    for (int l = 0; l < LANES; l++)
        if ((active >> l & 1) &&
            value_of(warp, instruction, l) == value_of(warp, instruction, lane))
            same |= 1U << l;
    return same;
}

void match_any(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    uint32_t results[LANES];
    for (int l = 0; l < LANES; l++)
        results[l] = alike(warp, instruction, active, l);
    for (int l = 0; l < LANES; l++)
        if (active >> l & 1)
            result_of(warp, instruction)[l] = results[l];
}

void match_all(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const bool all = alike(warp, instruction, active, first_lane(active)) == active;
    set_all(result_of(warp, instruction), active, all ? active : 0);
    set_predicate(warp, instruction->d[1], active, all ? ALL_LANES : 0);
}

static uint32_t combined(enum combination combination, enum number_type type, uint32_t a,
                         uint32_t b)
{
    const bool less = type == TYPE_S32 ? (int32_t)a < (int32_t)b : a < b;
    switch (combination) {
    case COMBINE_ADD:
        return a + b;
    case COMBINE_MIN:
        return less ? a : b;
    case COMBINE_MAX:
        return less ? b : a;
    case COMBINE_AND:
        return a & b;
    case COMBINE_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

void reduce(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t *values = words_of(warp, instruction->s[0]);
    uint32_t result = values[first_lane(active)];
    for (uint32_t left = active & (active - 1); left != 0; left &= left - 1)
        result = combined(detail->combination, detail->type, result, values[first_lane(left)]);
    set_all(result_of(warp, instruction), active, result);
}

void elect(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    set_all(result_of(warp, instruction), active, (uint32_t)first_lane(active));
    set_predicate(warp, instruction->d[1], active, 1U << first_lane(active));
}

void active_mask(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    set_all(result_of(warp, instruction), active, active);
}
