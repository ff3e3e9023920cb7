// What kernels did: counts by instruction. Each worker counts for itself; the sums do not depend on
// how many there are.
#ifndef EMULATOR_COUNTERS_H
#define EMULATOR_COUNTERS_H

#include "warp.h"

struct footprint;
struct recent;

// What the accesses of one instruction came to.
struct access_count {
    uint64_t requests;
    uint64_t parts;     // sectors of global memory, wavefronts of shared memory
    uint64_t conflicts; // wavefronts of shared memory that different words in one bank cost
    uint64_t bytes;     // distinct ones of each request
};

// Executions are counted by runs, stretches of code that the same lanes go through: one is added
// where a run begins and taken off behind its end. Summed up from the first instruction on, that is
// how often each has been executed.
struct instruction_count {
    int64_t executed;
    int64_t idle;    // lanes that did not take part, over all executions; summed up likewise
    uint64_t parted; // how often some lanes took the branch and others did not
    struct access_count global, shared;
    uint64_t local; // requests
};

// One access of one warp, kept for a drawing.
struct snapshot {
    int instruction; // -1: none
    uint64_t place;  // in the schedule: of the block
    struct position block;
    int warp;
    uint32_t active;
    bool shared;
    uint64_t base;             // of shared memory, or of the allocation
    uint64_t addresses[LANES]; // of inactive lanes: some
};

struct counters {
    struct instruction_count *instructions; // one more than the code has: the last run ends there
    int line;                               // of which a snapshot is wanted; 0: of none
    struct snapshot snapshot;
};

// What all launches of a kernel have come to.
struct kernel_counts {
    const struct code *code;
    uint64_t launches, blocks;
    int threads;           // of a block
    uint64_t shared_bytes; // of a block, static and dynamic
    struct counters counters;
    struct kernel_counts *next;
};

struct counters *counters_new(const struct code *code);
void counters_free(struct counters *counters);

// Notes a launch; and adds what one of its workers has counted.
void counters_launched(const struct launch *launch);
void counters_add(const struct launch *launch, struct block *block);

// The kernels that have been launched since the last call of emulator_clear_counts, in the order of
// their first launches.
const struct kernel_counts *counters_of_kernels(void);

// Accesses of an instruction are noted in block->recent. This counts them, before it is used for
// others. Does nothing where nobody counts, as do those below.
void count_recent(struct block *block, const struct recent *recent);

// These count one more request to global memory: of lanes that are too far apart for a footprint,
// with some address in inactive ones; of a footprint.
void count_apart(struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint64_t addresses[LANES], uint32_t bytes);
void count_copy(struct warp *warp, const struct instruction *instruction,
                struct footprint *footprint, uint64_t first);

// A bulk copy of so many bytes from this address.
void count_bulk(struct warp *warp, const struct instruction *instruction, uint64_t address,
                uint64_t bytes);

// And this one to local memory.
void count_local(struct warp *warp, const struct instruction *instruction);

// Keep a snapshot of an access where one is wanted and this shows more than the one before.
// Addresses of shared memory are offsets from its start.
void keep_global(const struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint64_t addresses[LANES]);
void keep_shared(const struct warp *warp, const struct instruction *instruction, uint32_t active,
                 const uint32_t offsets[LANES]);

// Whether a statement is of this line of the source, or of a function that is called there.
bool is_in_line(const struct statement *statement, int line);

// The same lanes have gone through the instructions [from, to).
static inline void count_run(struct block *block, int from, int to, uint32_t lanes)
{
    block->executed += (uint64_t)(to - from);
    if (block->counters == NULL)
        return;
    struct instruction_count *counts = block->counters->instructions;
    counts[from].executed++;
    counts[to].executed--;
    if (lanes != ALL_LANES) {
        const int idle = LANES - __builtin_popcount(lanes);
        counts[from].idle += idle;
        counts[to].idle -= idle;
    }
}

static inline void count_parted(struct block *block, int at)
{
    if (block->counters != NULL)
        block->counters->instructions[at].parted++;
}

#endif
