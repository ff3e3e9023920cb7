// One line for each fault, and the end of the program.
#ifndef EMULATOR_FAULT_H
#define EMULATOR_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warp.h"

// Prints "<program>: emulator: <message>" on stderr.
void emulator_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same, and ends the program with EMULATOR_FAULT.
_Noreturn void emulator_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The host has no more memory, of which so many bytes are wanted: the same with EMULATOR_NO_MEMORY.
_Noreturn void out_of_memory(uint64_t bytes);

// Whether one of these has been called.
bool emulator_has_failed(void);

// A fault of one thread at one instruction: adds the place in the source and in the PTX, the block
// and the thread to the message, and gives up the block. The program ends once no earlier block of
// the launch can fail any more, so that the fault reported does not depend on the number of cores.
_Noreturn void fault(struct warp *warp, const struct instruction *instruction, int lane,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

// The same for what a GPU notices as well. With the checks off, and for a trap or an assertion
// always, it is the launch that ends, not the program.
_Noreturn void device_fault(struct warp *warp, const struct instruction *instruction, int lane,
                            enum ending ending, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// The last name in a mangled one, where each part has its length before it: "tile" of
// _ZZ7reversePfE4tile. A function's parameters have none: "reverse" of _Z7reversePf.
struct text readable_name(struct text name);

// For messages: where `bytes` bytes at this device address lie relative to the nearest allocation.
// Writes to `out`, room for `size` bytes, and returns it.
const char *describe_address(uint64_t address, uint64_t bytes, char *out, size_t size);

// For messages: where in the block's shared memory an address of the shared window lies. Same
// rules.
const char *describe_shared(const struct block *block, uint64_t address, char *out, size_t size);

// For messages: "in block (x,y,z)" of the block with this number. Same rules.
const char *describe_block(const struct block *block, uint64_t number, char *out, size_t size);

// For messages: "(x,y,z)" of a thread of the warp's block. Same rules.
const char *describe_thread(const struct warp *warp, int thread, char *out, size_t size);

// For messages: "at file:line" of an instruction, with the PTX's line where it names no source.
// Same rules.
const char *describe_place(const struct warp *warp, const struct instruction *instruction,
                           char *out, size_t size);

#endif
