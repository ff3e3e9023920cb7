// How the hardware serves one access of a warp: by sectors of global memory, by banks of shared
// memory. The rules agree with what the hardware counted for every pattern of lanes in
// docs/results/nvidia-h200/access_patterns.csv.
#ifndef EMULATOR_REQUEST_H
#define EMULATOR_REQUEST_H

#include "warp.h"

enum {
    SECTOR_BYTES = 32,
    BANKS = 32,
    BANK_BYTES = 4,    // a word
    GROUP_BYTES = 128, // what lanes of a group may want together
    PAIRED_GROUPS = 2, // that become one where pairs of lanes load the same
    MOST_GROUPS = 4,
    MOST_WORDS = 4, // of one lane
};

// An access to shared memory is served group by group. The lanes of a group that want different
// words of one bank take turns, and each turn is a wavefront.
struct service {
    int groups; // that have an active lane
    uint32_t lanes[MOST_GROUPS];
    int turns[MOST_GROUPS];
    uint8_t turn[LANES][MOST_WORDS]; // of its group, from 0: when a lane's word is served
    int wavefronts;                  // the turns of all groups
    int conflicts;                   // those beyond one a group
};

// Serves the active lanes, of which there is at least one. `addresses` are in bytes, multiples of
// `bytes`, which is 1, 2, 4, 8 or 16; those of inactive lanes do not matter. An access narrower
// than a word is taken to be served as one of a word is.
struct service serve_shared(uint32_t active, const uint32_t addresses[LANES], int bytes, bool load);

// The number of sectors that the active lanes touch. An access that is aligned to its size lies in
// one.
int count_sectors(uint32_t active, const uint64_t addresses[LANES]);

#endif
