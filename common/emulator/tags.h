// How the checks note who touched a piece of memory and when, and what they say.
#ifndef EMULATOR_TAGS_H
#define EMULATOR_TAGS_H

#include "footprint.h"

// A tag, from the top: two flags, the time, a number that in shared memory is the instruction's and
// in global memory the block's, and the thread in the block. 0: nobody.
enum {
    THREAD_BITS = 10,
    NUMBER_BITS = 28,
    TIME_SHIFT = THREAD_BITS + NUMBER_BITS,
    TIME_BITS = 24,
};

static const uint64_t ONE = 1;
static const uint64_t TIME_MASK = ((UINT64_C(1) << TIME_BITS) - 1) << TIME_SHIFT;
static const uint64_t NUMBER_MASK = (UINT64_C(1) << NUMBER_BITS) - 1;
static const uint64_t THREAD_MASK = (UINT64_C(1) << THREAD_BITS) - 1;

// Flags of a write.
static const uint64_t PENDING = UINT64_C(1) << 63; // by a cp.async nobody has waited for
static const uint64_t INVALID = UINT64_C(1) << 62; // by a copy of bytes that were never written

// Of a write: an mbarrier is here, which takes instructions of its own.
static const uint64_t OF_MBARRIER = ~UINT64_C(0);

// Flags of a read.
static const uint64_t MANY_WARPS = UINT64_C(1) << 63;
static const uint64_t MANY_LANES = UINT64_C(1) << 62; // of one warp, since it last synchronized
static const uint64_t MANY_BLOCKS = ~UINT64_C(0);

// One access, in the terms of its tag.
struct visitor {
    struct warp *warp;
    const struct instruction *instruction;
    uint64_t tag;     // of lane 0
    uint64_t barrier; // the time of the last barrier, where a tag has it
    bool global;
    uint64_t base; // the address of granule 0
};

// `global`: the memory is an allocation that starts at `base`, else the block's shared memory.
static inline struct visitor visitor_of(struct warp *warp, const struct instruction *instruction,
                                        bool global, uint64_t base)
{
    const struct block *block = warp->block;
    const uint64_t number =
        global ? block->index : (uint64_t)(instruction - block->launch->code->instructions);
    return (struct visitor){
        .warp = warp,
        .instruction = instruction,
        .tag = (uint64_t)warp->time << TIME_SHIFT | (number & NUMBER_MASK) << THREAD_BITS |
               (uint64_t)warp->index * LANES,
        .barrier = (uint64_t)block->barrier_time << TIME_SHIFT,
        .global = global,
        .base = base,
    };
}

static inline uint64_t number_of(uint64_t tag)
{
    return tag >> THREAD_BITS & NUMBER_MASK;
}

static inline int thread_in(uint64_t tag)
{
    return (int)(tag & THREAD_MASK);
}

static inline uint64_t warp_of(uint64_t tag)
{
    return (tag & THREAD_MASK) / LANES;
}

static inline uint32_t time_in(uint64_t tag)
{
    return (uint32_t)((tag & TIME_MASK) >> TIME_SHIFT);
}

// The footprint of the access being checked: access.c has found it.
static inline const struct footprint *footprint_of(const struct warp *warp,
                                                   const struct instruction *instruction)
{
    const struct block *block = warp->block;
    return block->recent[instruction - block->launch->code->instructions].footprint;
}

// Lanes of one store that go to the same address must agree: which of them wins is not defined.
void check_overlap(struct warp *warp, const struct instruction *instruction,
                   const struct footprint *footprint);

// Faults of a lane at granule `index`. Of the earlier access the tag is known, of reads with its
// flags.
_Noreturn void race(const struct visitor *v, uint64_t earlier, const char *wrote, int lane,
                    const char *verb, const char *reason, uint64_t index);
_Noreturn void never_written(const struct visitor *v, int lane, uint64_t index);
_Noreturn void not_waited(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                          uint64_t index);
_Noreturn void on_mbarrier(const struct visitor *v, int lane, const char *verb, uint64_t index);

// The same of what a bulk copy brings: it is on its way, or the lane has not waited for it.
_Noreturn void not_landed(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                          uint64_t index);

// Of what a thread has written, without a fence that shows it to copies and products; and of what a
// product may still read.
_Noreturn void not_shown(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                         uint64_t index);
_Noreturn void still_read(const struct visitor *v, uint64_t earlier, int lane, uint64_t index);

#endif
