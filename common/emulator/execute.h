// Runs warps and blocks.
#ifndef EMULATOR_EXECUTE_H
#define EMULATOR_EXECUTE_H

#include "warp.h"

operation do_nothing, unknown_instruction, trap, sleep_a_while;

// Puts all threads of block->index at the first instruction.
void start_block(struct block *block);

// How far a block has come in its turn.
enum turn {
    TURN_ENDED,
    TURN_MOVED, // something has changed that others may wait for
    TURN_RAN,   // it has run for as long as it may
    TURN_STUCK, // all its threads wait for others
};

// Runs a block until it has ended or lets others have a turn. A fault leaves through block->escape.
enum turn run_block(struct block *block);

// A number that two states of a block share only if they are the same, as far as threads go: where
// they are, their registers and local variables.
uint64_t fingerprint(const struct block *block);

// Lanes of the warp's block go on, or will when others have had a turn.
void make_ready(struct warp *warp, struct frame *frame, int at, uint32_t lanes);

// The lanes that the warp has had from the start.
uint32_t lanes_of(const struct warp *warp);

static inline int index_of(const struct warp *warp, const struct instruction *instruction)
{
    return (int)(instruction - warp->block->launch->code->instructions);
}

static inline const uint32_t *words_of(const struct warp *warp, int slot)
{
    return (const uint32_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * (size_t)slot);
}

static inline const uint64_t *wide_words_of(const struct warp *warp, int slot)
{
    return (const uint64_t *)(const void *)(warp->file + (size_t)SLOT_BYTES * (size_t)slot);
}

#endif
