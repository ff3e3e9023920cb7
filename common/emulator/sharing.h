// Memory that the host and the device take turns with: from a launch until the host has waited for
// it, the host must leave alone what the kernel touches. Nothing on a GPU tells a program that does
// not. And what happens where the host's own code touches what it must not.
#ifndef EMULATOR_SHARING_H
#define EMULATOR_SHARING_H

#include "memory.h"

// The host's turn with this allocation is over: something asynchronous has read it or written it,
// and is called `by` in messages, which must live on. Nothing happens where the host does not share
// it.
void device_takes(struct allocation *allocation, bool written, const char *by);

// The same for what a kernel has touched (allocation->used), if it is managed memory.
void device_takes_used(struct allocation *allocation, const char *kernel);

// All that was asynchronous has come to its end, and the host knows.
void device_gives_back(void);

// From now on a SIGSEGV in code that is not the emulator's is told in one line where it comes from
// memory of the device, and ends the program with EMULATOR_FAULT.
void watch_host(void);

// Whether this thread runs the emulator's code, whose mistakes are not the program's.
extern _Thread_local bool in_emulator;

#endif
