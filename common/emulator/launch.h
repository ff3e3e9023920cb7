// Runs grids.
#ifndef EMULATOR_LAUNCH_H
#define EMULATOR_LAUNCH_H

#include "warp.h"

// Runs a kernel's grid to its end with the settings in force, and says how it has ended.
// `arguments` points to each parameter's value, as cudaLaunchKernel has it. With `cooperative` the
// grid may wait for all of itself. Where the checker finds a fault the program ends with a message.
// The dimensions must be within the device's limits.
enum ending launch_kernel(struct kernel *kernel, struct position grid, struct position dimensions,
                          void *const *arguments, uint64_t dynamic_bytes, bool cooperative);

// Where a block's shared memory starts in its window, by the settings.
uint64_t shared_base(void);

// The kernel touches this allocation; before the first access to it.
void launch_touches(struct launch *launch, struct allocation *allocation);

// Notes how the block ended, with a message, and gives it up.
_Noreturn void launch_failed(struct block *block, enum ending ending, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
