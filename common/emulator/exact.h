// The checks of kernels whose threads are put in order by more than barriers of the whole block:
// what shadow.h says, with every access that matters noted exactly, and order.h asked what comes
// before what. Their blocks run one after the other, so that nothing here is shared between threads
// of the host.
//
// A strong access (an atomic, or one that the memory model has a meaning for) races with a plain
// one of another thread, but not with another strong one.
#ifndef EMULATOR_EXACT_H
#define EMULATOR_EXACT_H

#include "tags.h"

struct allocation;

// Accesses that are noted: of a block's shared memory, or of all global memory.
struct notes;
struct notes *notes_new(void);
void notes_free(struct notes *notes);
void notes_clear(struct notes *notes);

// Check and note the access whose footprint has just been found. `first` is the first active lane's
// address, in shared memory from the start of the window.
void exact_shared(struct warp *warp, const struct instruction *instruction, uint64_t first,
                  uint32_t bytes);
void exact_global(struct warp *warp, const struct instruction *instruction, uint64_t first,
                  uint32_t bytes, struct allocation *allocation);

// A cp.async to shared memory by a lane.
void exact_pending(struct warp *warp, const struct instruction *instruction, int lane,
                   uint64_t address, uint32_t bytes);

// A bulk copy by a lane: it reads global memory; its destination is pending until the phase of the
// mbarrier with this number ends, and is then there, for those who have waited for that.
void exact_source(struct warp *warp, const struct instruction *instruction, int lane,
                  uint64_t address, uint32_t bytes, struct allocation *allocation);
void exact_flying(struct warp *warp, const struct instruction *instruction, int lane,
                  uint64_t address, uint32_t bytes, int mbarrier);
void exact_landed(struct block *block, uint64_t address, uint32_t bytes, bool valid);

// An mbarrier is made by a lane in these bytes of shared memory, or ends.
void exact_mbarrier(struct warp *warp, const struct instruction *instruction, int lane,
                    uint64_t address, uint32_t bytes, bool made);

// A product of a warpgroup reads an operand in shared memory. `checked` is a tag that has been
// found good for the same product, or 0.
void exact_operand(struct warp *warp, const struct instruction *instruction, uint64_t address,
                   uint32_t bytes, uint64_t *checked);

// The tag of lane 0 at the time of this lane.
uint64_t exact_tag(const struct visitor *v, int lane);

#endif
