#include "footprint.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

enum {
    TABLE_SIZE = 256,
};

struct footprints {
    struct footprint *table[TABLE_SIZE]; // by hash; NULL where nothing has been kept yet
    uint32_t serial;                     // the last one
};

struct footprint no_footprint;

struct footprints *footprints_new(void)
{
    return zeroed(1, sizeof(struct footprints));
}

void footprints_free(struct footprints *footprints)
{
    for (int i = 0; i < TABLE_SIZE; i++)
        free(footprints->table[i]);
    free(footprints);
}

static unsigned hash_of(uint32_t active, const int32_t delta[LANES])
{
    uint64_t hash = active;
    for (int l = 0; l < LANES; l++)
        hash = (hash ^ (uint32_t)delta[l]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 32) % TABLE_SIZE;
}

static void analyse(struct footprint *footprint, uint32_t active, const int32_t delta[LANES])
{
    footprint->active = active;
    memcpy(footprint->delta, delta, sizeof footprint->delta);
    footprint->count = 0;
    footprint->overlaps = false;
    memset(footprint->sectors, 0, sizeof footprint->sectors);
    memset(footprint->wavefronts, 0, sizeof footprint->wavefronts);
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        int same = 0;
        while (same < footprint->count && footprint->touched[same].delta != delta[l])
            same++;
        if (same < footprint->count) {
            footprint->touched[same].several = true;
            footprint->touched[same].lanes |= 1U << l;
            footprint->overlaps = true;
        } else {
            footprint->touched[footprint->count++] = (struct touched){delta[l], l, false, 1U << l};
        }
    }
}

struct footprint *footprint_find(struct block *block, uint32_t active, const int32_t delta[LANES])
{
    struct footprint **kept = &block->footprints->table[hash_of(active, delta)];
    if (*kept == NULL)
        *kept = zeroed(1, sizeof **kept);
    if ((*kept)->active != active || memcmp((*kept)->delta, delta, sizeof(*kept)->delta) != 0) {
        analyse(*kept, active, delta);
        (*kept)->serial = ++block->footprints->serial;
    }
    return *kept;
}

static struct cost cost_in_shared(const struct footprint *footprint, uint32_t first, uint32_t bytes,
                                  bool load)
{
    uint32_t addresses[LANES];
    for (int l = 0; l < LANES; l++)
        addresses[l] = first + (uint32_t)footprint->delta[l];
    const struct service service = serve_shared(footprint->active, addresses, (int)bytes, load);
    return (struct cost){(uint8_t)service.wavefronts, (uint8_t)service.conflicts};
}

static struct cost cost_in_global(const struct footprint *footprint, uint32_t phase)
{
    uint64_t addresses[LANES];
    for (int l = 0; l < LANES; l++)
        addresses[l] = phase + (uint64_t)(int64_t)footprint->delta[l];
    return (struct cost){(uint8_t)count_sectors(footprint->active, addresses), 0};
}

// What whole words of shared memory take depends on which are the same and which are in one bank,
// and not on where the first one is.
struct cost footprint_cost(struct footprint *footprint, uint32_t phase, uint32_t bytes, bool load)
{
    const bool shared = phase >= IN_SHARED;
    struct cost *known =
        shared ? &footprint->wavefronts[load][__builtin_ctz(bytes)] : &footprint->sectors[phase];
    if (shared && bytes < BANK_BYTES)
        return cost_in_shared(footprint, phase - IN_SHARED, bytes, load);
    if (known->parts == 0)
        *known =
            shared ? cost_in_shared(footprint, 0, bytes, load) : cost_in_global(footprint, phase);
    return *known;
}
