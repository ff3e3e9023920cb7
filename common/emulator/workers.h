// Runs the blocks of a launch: one thread a core, or one for code that is sequential.
//
// A worker runs a block to its end. One that waits for others stays where it is until these have
// had a turn: those that have begun before, or, when all of them wait, the next one of the grid.
#ifndef EMULATOR_WORKERS_H
#define EMULATOR_WORKERS_H

#include "warp.h"

void run_grid(struct launch *launch);

#endif
