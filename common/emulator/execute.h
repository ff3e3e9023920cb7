// Runs warps and blocks.
#ifndef EMULATOR_EXECUTE_H
#define EMULATOR_EXECUTE_H

#include "warp.h"

operation do_nothing, unknown_instruction, trap;

// Runs the block from its first instruction to its last; block->index says which one. A fault
// leaves through block->escape.
void run_block(struct block *block);

#endif
