// Bulk copies: whole tiles from global to shared memory, counted by an mbarrier (PTX ISA,
// "cp.async.bulk").
//
// Their bytes are taken when the copy begins and count at once, the earliest that a GPU may do it.
// They are put in place when the phase ends. Nobody may touch the destination from the beginning on
// who has not waited for that phase.
#ifndef EMULATOR_BULK_H
#define EMULATOR_BULK_H

#include "warp.h"

// s[0] is the destination, s[1] the source, s[2] how many bytes, s[3] the mbarrier.
operation bulk_copy;

// The phase of an mbarrier has ended: puts what its copies have brought in place. Returns whether
// there was any.
bool bulk_land(struct block *block, int mbarrier);

// A lane has waited for it.
void bulk_seen(struct warp *warp, const struct instruction *instruction, int lane, int mbarrier);

// Before a block starts: there are none. The first call makes the queue.
void bulk_reset(struct block *block);
void bulk_free(struct block *block);

// At the end of a block: a fault where there is one that nobody has waited for.
void bulk_end(struct block *block);

#endif
