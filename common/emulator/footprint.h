// What one execution of a load or store touches: the distinct addresses among its 32 lanes.
//
// Warps touch memory in few patterns, again and again at other addresses. Each pattern is analysed
// once and then recognized.
#ifndef EMULATOR_FOOTPRINT_H
#define EMULATOR_FOOTPRINT_H

#include "request.h"
#include "warp.h"

// What an access takes: sectors of global memory; or wavefronts of shared memory, and how many of
// them are for bank conflicts. 0 parts: not known yet.
struct cost {
    uint8_t parts, conflicts;
};

// The place of an access, as far as its cost depends on it: where in a sector of global memory the
// first active lane's address is, or IN_SHARED and where in a word of shared memory.
enum {
    IN_SHARED = SECTOR_BYTES,
    PHASES = IN_SHARED + BANK_BYTES,
};

// One distinct address.
struct touched {
    int32_t delta;  // from the first active lane's address
    int lane;       // the first that touches it
    bool several;   // others do, too
    uint32_t lanes; // all that do
};

struct footprint {
    uint32_t active;
    int32_t delta[LANES]; // of each lane's address from the first active lane's
    int count;            // of distinct addresses
    bool overlaps;        // some address has several lanes
    struct touched touched[LANES];
    struct cost sectors[SECTOR_BYTES]; // by phase
    struct cost wavefronts[2][5];      // of stores and of loads, by the logarithm of their bytes
    uint32_t serial;                   // another one with each footprint that is kept here
};

// The footprint of these lanes. Inactive lanes must have the address of an active one. It is the
// block's and stays what it is until the next call; later its serial tells. Accesses of one
// instruction are aligned to their size, so that two of them are either the same or apart.
struct footprint *footprint_find(struct block *block, uint32_t active, const int32_t delta[LANES]);

// What the footprint takes as an access to `bytes` bytes a lane in this phase.
struct cost footprint_cost(struct footprint *footprint, uint32_t phase, uint32_t bytes, bool load);

// The last accesses of an instruction, all of which have the same footprint and phase.
struct recent {
    struct footprint *footprint;
    uint32_t serial; // the footprint's
    uint32_t phase;
    uint64_t times;    // how many accesses they are
    struct cost cost;  // of each, where somebody counts
    uint8_t different; // addresses of each
};

// Makes the table of a block's footprints, and frees it.
struct footprints *footprints_new(void);
void footprints_free(struct footprints *footprints);

// A footprint of no lane: that of an instruction which has not been executed yet.
extern struct footprint no_footprint;

static inline int first_lane(uint32_t active)
{
    return __builtin_ctz(active);
}

#endif
