#include "footprint.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

enum {
    TABLE_SIZE = 256,
};

struct footprints {
    struct footprint *table[TABLE_SIZE]; // by hash; NULL where nothing has been kept yet
    struct footprint **last;             // the one that each instruction had last
};

struct footprints *footprints_new(int instructions)
{
    struct footprints *footprints = zeroed(1, sizeof *footprints);
    footprints->last = zeroed((size_t)instructions, sizeof(struct footprint *));
    return footprints;
}

void footprints_free(struct footprints *footprints)
{
    for (int i = 0; i < TABLE_SIZE; i++)
        free(footprints->table[i]);
    free(footprints->last);
    free(footprints);
}

static bool matches(const struct footprint *footprint, uint32_t active, const uint32_t delta[LANES])
{
    return footprint != NULL && footprint->active == active &&
           memcmp(footprint->delta, delta, sizeof footprint->delta) == 0;
}

static unsigned hash_of(uint32_t active, const uint32_t delta[LANES])
{
    uint64_t hash = active;
    for (int l = 0; l < LANES; l++)
        hash = (hash ^ delta[l]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 32) % TABLE_SIZE;
}

static void analyse(struct footprint *footprint, uint32_t active, const uint32_t delta[LANES])
{
    footprint->active = active;
    memcpy(footprint->delta, delta, sizeof footprint->delta);
    footprint->count = 0;
    footprint->overlaps = false;
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        int same = 0;
        while (same < footprint->count && footprint->touched[same].delta != (int32_t)delta[l])
            same++;
        if (same < footprint->count) {
            footprint->touched[same].several = true;
            footprint->overlaps = true;
        } else {
            footprint->touched[footprint->count++] = (struct touched){(int32_t)delta[l], l, false};
        }
    }
}

const struct footprint *footprint_of(struct block *block, const struct instruction *instruction,
                                     uint32_t active, const uint32_t addresses[LANES])
{
    struct footprints *footprints = block->footprints;
    struct footprint **last = &footprints->last[instruction - block->launch->code->instructions];
    const uint32_t first = addresses[first_lane(active)];
    uint32_t delta[LANES];
    for (int l = 0; l < LANES; l++)
        delta[l] = addresses[l] - first;
    if (matches(*last, active, delta))
        return *last;
    struct footprint **kept = &footprints->table[hash_of(active, delta)];
    if (*kept == NULL)
        *kept = zeroed(1, sizeof **kept);
    if (!matches(*kept, active, delta))
        analyse(*kept, active, delta);
    *last = *kept;
    return *kept;
}
