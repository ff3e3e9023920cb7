// What the two reports, for people and for programs, have in common.
#ifndef EMULATOR_EXPLAIN_H
#define EMULATOR_EXPLAIN_H

#include "facts.h"
#include "tally.h"

// What a kernel takes of an SM.
struct resources {
    int capability; // that the machine code is for; 0 where the program has none, and then
    int registers, frame_bytes; // these are -1
    int blocks;                 // on an SM
    int warps, most_warps;      // of these blocks, and of an SM
    const char *limit;          // "registers", say: what an SM has no more of
};

struct resources resources_of(const struct kernel_counts *kernel);

// The kernel's name as its source has it.
struct text kernel_name(const struct kernel_counts *kernel);

// The file that a place is in, as far as it is known.
struct text place_file(const struct kernel_counts *kernel, struct place place);

// Whether what is reported of the kernel relies on a topic that has not been tested on the modelled
// GPU.
bool is_assumed(const struct kernel_counts *kernel, const struct tally *tally, enum topic topic);

double percent(uint64_t part, uint64_t whole);
double ratio(uint64_t a, uint64_t b);

#endif
