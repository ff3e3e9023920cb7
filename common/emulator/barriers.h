// Threads that wait for each other: in a warp, in a block, or some warps of a block.
#ifndef EMULATOR_BARRIERS_H
#define EMULATOR_BARRIERS_H

#include "warp.h"

// Before a block starts: nobody has come to any barrier.
void barriers_reset(struct block *block);

// Lanes come to a barrier of the block. True where they need not wait. (A barrier for some warps is
// passed as soon as all of these have come, one for the whole block by barrier_pass.)
bool barrier_arrive(struct warp *warp, const struct instruction *instruction, uint32_t lanes);

// When no warp can go on: passes the barrier that the whole block waits at, or is a fault where not
// all threads have come to it. False where nobody waits: the block has ended.
bool barrier_pass(struct block *block);

// Lanes come to a __syncwarp. True where they need not wait.
bool sync_lanes(struct warp *warp, const struct instruction *instruction, uint32_t lanes);

// Lanes come to an instruction that all lanes of a mask execute together. True where it has been
// executed for all of these; else they wait and come here again.
bool come_together(struct warp *warp, const struct instruction *instruction, uint32_t lanes);

// When no lane of the warp can go on: lets those go on whose whole mask has come or ended. A fault
// where that is nobody, and nobody is left who could come.
void release_lanes(struct warp *warp);

// The block's clock moves on.
void tick(struct warp *warp, const struct instruction *instruction, uint32_t lanes);

#endif
