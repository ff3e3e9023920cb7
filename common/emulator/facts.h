// What the emulator takes the hardware to do: each a row of docs/emulator-facts.tsv, which names
// the source and the test on a GPU. What has not been tested on the modelled GPU is assumed, and
// reports that rely on it say so.
#ifndef EMULATOR_FACTS_H
#define EMULATOR_FACTS_H

#include <stdbool.h>

// What a report can rely on.
enum topic {
    TOPIC_SECTORS,   // of global memory
    TOPIC_BANKS,     // of shared memory
    TOPIC_NARROW,    // accesses to shared memory by less than a word a lane
    TOPIC_TEXTURES,  // their sectors
    TOPIC_BULK,      // those of bulk copies
    TOPIC_ATOMICS,   // of atomics
    TOPIC_TENSOR,    // how tensor cores round in mma
    TOPIC_WGMMA,     // and in wgmma
    TOPIC_OCCUPANCY, //
    TOPICS,
    TOPIC_NONE, // results rely on it, reports do not
};

// Whether everything that the topic takes for granted has been tested on the modelled GPU.
bool topic_is_measured(enum topic topic);

// "sectors", as in a list of what is assumed.
const char *topic_name(enum topic topic);

#endif
