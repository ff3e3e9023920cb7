// What one execution of a load or store touches: the distinct addresses among its 32 lanes.
//
// Warps touch memory in few patterns, again and again at other addresses. Each pattern is analysed
// once and then recognized.
#ifndef EMULATOR_FOOTPRINT_H
#define EMULATOR_FOOTPRINT_H

#include "request.h"
#include "warp.h"

// What an access to shared memory takes. 0 wavefronts: not known yet.
struct wavefronts {
    uint8_t all, conflicts;
};

// One distinct address.
struct touched {
    int32_t delta; // from the first active lane's address
    int lane;      // the first that touches it
    bool several;  // others do, too
};

struct footprint {
    uint32_t active;
    int32_t delta[LANES]; // of each lane's address from the first active lane's
    int count;            // of distinct addresses
    bool overlaps;        // some address has several lanes
    struct touched touched[LANES];
    uint8_t sectors[SECTOR_BYTES]; // by where in a sector the first address is; 0: not known yet
    struct wavefronts wavefronts[2][5]; // of stores and of loads, by the logarithm of their bytes
};

// The footprint of these lanes. Inactive lanes must have the address of an active one. It is the
// block's and stays until the next call. Accesses of one instruction are aligned to their size, so
// that two of them are either the same or apart.
struct footprint *footprint_find(struct block *block, uint32_t active, const int32_t delta[LANES]);

// What the footprint takes as an access to shared memory by `bytes` bytes a lane. Of accesses
// narrower than a word `first`, the first active lane's address, counts.
struct wavefronts footprint_wavefronts(struct footprint *footprint, uint32_t first, uint32_t bytes,
                                       bool load);

// How many sectors of global memory it touches, where the first active lane's address is this far
// into one.
int footprint_sectors(struct footprint *footprint, uint32_t phase);

// The last accesses of an instruction, all with the same footprint.
struct recent {
    struct footprint *footprint;
    uint32_t times; // how many they are
    uint32_t phase; // the first active lane's address: where in a sector, or IN_SHARED and where
                    // in a word
};

enum {
    IN_SHARED = SECTOR_BYTES,
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
