// cp.async: copies from global to shared memory that take place when they are waited for.
#ifndef EMULATOR_ASYNC_H
#define EMULATOR_ASYNC_H

#include "warp.h"

operation async_copy, async_commit, async_wait;

// Forgets what has not been waited for: at the start of a block. Makes the queue on the first call.
void async_reset(struct warp *warp);
void async_free(struct warp *warp);

#endif
