// Of a kernel in a program that emucc has built: tells where it is, after it has run for 10 s and
// whenever it has run twice as long, and where Ctrl-C has stopped it.
#ifndef EMULATOR_WATCH_H
#define EMULATOR_WATCH_H

#include "execute.h"

// Around a launch. The second ends the program where Ctrl-C has been pressed meanwhile.
void watch_begin(struct launch *launch);
void watch_end(struct launch *launch);

// The block has had a turn. By any of the threads that run blocks.
void watch_turn(const struct block *block, enum turn turn);

#endif
