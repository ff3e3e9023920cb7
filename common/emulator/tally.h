// Sums over what has been counted by instruction: what kernels, lines of source and kinds of access
// come to.
#ifndef EMULATOR_TALLY_H
#define EMULATOR_TALLY_H

#include "counters.h"

// What instructions are for.
enum work {
    WORK_FFMA, // float32 multiply-add
    WORK_SHARED,
    WORK_GLOBAL, // textures and cp.async, too
    WORK_INTEGER,
    WORK_CONTROL, // branches, barriers, waits
    WORK_TENSOR,  // mma, wgmma
    WORK_OTHER,
    WORKS
};

enum traffic {
    GLOBAL_LOAD, // cp.async, too
    GLOBAL_STORE,
    GLOBAL_ATOMIC,
    TEXTURE_LOAD,
    BULK_COPY, // of cp.async.bulk
    SHARED_LOAD,
    SHARED_STORE,
    SHARED_ATOMIC,
    LOCAL_LOAD,
    LOCAL_STORE,
    TRAFFICS
};

// Where an access went.
enum window {
    WINDOW_GLOBAL,
    WINDOW_SHARED,
    WINDOW_LOCAL,
};

// What can be said of a count when the GPU runs not the PTX but what the assembler makes of it.
enum trust {
    TRUST_SAME,   // it is the GPU's
    TRUST_JOINED, // the assembler may join such accesses into fewer and wider ones
    TRUST_NONE,   // the assembler decides anew
};

struct access_sum {
    uint64_t requests, parts, conflicts, bytes;
    enum trust trust; // the least of any
};

struct tally {
    uint64_t executed; // PTX instructions, by warps
    uint64_t idle;     // lanes that did not take part in them
    uint64_t branches; // executed ones with a condition
    uint64_t parted;   // those after which a warp went two ways
    uint64_t work[WORKS];
    struct access_sum traffic[TRAFFICS];
};

// All that one line of the source does.
struct line_tally {
    struct place place;
    struct tally tally;
};

// All accesses of one kind by one line of the source, with as many bytes a lane.
struct line_access {
    struct place place;
    enum traffic traffic;
    int bytes;
    struct access_sum sum;
};

// The kind of an instruction's accesses in a window.
enum traffic traffic_of(const struct detail *detail, enum window window);

struct tally tally_kernel(const struct kernel_counts *kernel);

// In the order of the source; they return how many there are. The caller frees the lists.
int tally_lines(const struct kernel_counts *kernel, struct line_tally **lines);
int tally_accesses(const struct kernel_counts *kernel, struct line_access **accesses);

// "FFMA", "ffma", "global load".
const char *work_name(enum work work);
const char *work_key(enum work work);
const char *traffic_name(enum traffic traffic);

static inline bool in_shared(enum traffic traffic)
{
    return traffic >= SHARED_LOAD && traffic <= SHARED_ATOMIC;
}

static inline bool in_local(enum traffic traffic)
{
    return traffic >= LOCAL_LOAD;
}

#endif
