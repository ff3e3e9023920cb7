// What comes before what, in kernels whose threads are put in order by more than barriers of the
// whole block and __syncwarp of the whole warp: by barriers of some warps or lanes, and by fences
// and values that threads pass through memory (PTX ISA, "Memory Consistency Model").
//
// Each thread has a time, which moves on when it synchronizes or publishes, and knows of other
// threads up to which of their times everything that they did comes before it.
#ifndef EMULATOR_ORDER_H
#define EMULATOR_ORDER_H

#include "warp.h"

struct knowledge;

// Of one lane.
struct lane_order {
    uint32_t time;
    struct knowledge *knows;
    struct knowledge *published[2]; // by its last fence; [0] to its block only, [1] to all
    struct knowledge *seen[2];      // what others published and it has read, without a fence since
};

// Memory that strong accesses have gone to, and what they have published there.
struct publications;
struct publications *publications_new(void);
void publications_free(struct publications *publications);
void publications_clear(struct publications *publications);

// Makes, resets and frees what a warp needs.
void order_open(struct warp *warp);
void order_reset(struct warp *warp);
void order_close(struct warp *warp);

// Lanes of a warp wait for each other.
void order_lanes(struct warp *warp, uint32_t lanes);

// All threads of the block wait for each other.
void order_block(struct block *block);

// Those of some warps do: each brings what it knows, and those that wait take what all have
// brought. The latter lanes do so by themselves, without the others of their warp.
void order_bring(struct warp *warp, uint32_t lanes, struct knowledge **brought);
void order_bring_lanes(struct warp *warp, uint32_t lanes, struct knowledge **brought);
void order_take(struct warp *warp, uint32_t lanes, struct knowledge *brought);
void order_add(struct knowledge **to, struct knowledge *more);
void order_forget(struct knowledge **knowledge);

// What bulk copies write, by their mbarrier, and what the products of a warpgroup read is done by
// no thread of the block. These give numbers that stand for one; and add that what it has done
// before a time is known.
int order_copies(int mbarrier);
int order_products(int warpgroup);
void order_learn_of(const struct block *block, int thread, uint32_t time,
                    struct knowledge **knowledge);

// fence.proxy.async by these lanes: what comes before it is shown to those. And whether what a
// thread of the block did at a time has been.
void order_show(struct warp *warp, uint32_t lanes);
bool order_shown(const struct block *block, int thread, uint32_t time);

// The two halves of a fence of these lanes, for their block only or for the GPU: what they have
// seen comes before what they do from here on; and what they have done is what they publish from
// here on.
void order_acquire(struct warp *warp, uint32_t lanes, bool block_only);
void order_release(struct warp *warp, uint32_t lanes, bool block_only);

// A strong write or read by a lane at this address: of global memory, or of the block's shared
// memory.
void order_publish(struct warp *warp, int lane, bool shared, uint64_t address, bool replaces);
void order_see(struct warp *warp, int lane, bool shared, uint64_t address);

// Whether everything that a thread of a block did at a time comes before what the lane does now;
// and whether it would, had a fence followed what the lane has read.
bool order_knows(const struct warp *warp, int lane, uint64_t block, int thread, uint32_t time);
bool order_has_seen(const struct warp *warp, int lane, uint64_t block, int thread, uint32_t time);

#endif
