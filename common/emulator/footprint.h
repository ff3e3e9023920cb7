// What one execution of a load or store touches: the distinct addresses among its 32 lanes.
//
// Warps touch memory in few patterns, again and again at other addresses. Each pattern is analysed
// once and then recognized.
#ifndef EMULATOR_FOOTPRINT_H
#define EMULATOR_FOOTPRINT_H

#include "warp.h"

// One distinct address.
struct touched {
    int32_t delta; // from the first active lane's address
    int lane;      // the first that touches it
    bool several;  // others do, too
};

struct footprint {
    uint32_t active;
    uint32_t delta[LANES];
    int count;     // of distinct addresses
    bool overlaps; // some address has several lanes
    struct touched touched[LANES];
};

// The footprint of this execution, by the low halves of the addresses, which must be less than 2^31
// apart. Inactive lanes must have the address of an active one. The result is the block's and
// changes with the next call. Accesses of one instruction are aligned to their size, so that two of
// them are either the same or apart.
const struct footprint *footprint_of(struct block *block, const struct instruction *instruction,
                                     uint32_t active, const uint32_t addresses[LANES]);

// Makes the table of a block's footprints, for code of this many instructions; and frees it.
struct footprints *footprints_new(int instructions);
void footprints_free(struct footprints *footprints);

static inline int first_lane(uint32_t active)
{
    return __builtin_ctz(active);
}

#endif
