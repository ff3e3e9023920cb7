// Calls of functions: each has registers, parameters and local variables of its own.
#ifndef EMULATOR_FRAMES_H
#define EMULATOR_FRAMES_H

#include "warp.h"

// Makes and frees the frame of a warp's kernel and all that its calls will need.
void frames_open(struct warp *warp);
void frames_close(struct warp *warp);

// Puts all lanes into the kernel at the start of a block, and gives its registers their first
// values.
void frames_reset(struct warp *warp);

// Executes in this frame from now on.
void frame_enter(struct warp *warp, struct frame *frame);

// A new frame for a call by these lanes of the current frame, with the arguments in place.
// `function` is an index of the code's functions.
struct frame *frame_call(struct warp *warp, const struct instruction *call, int function,
                         uint32_t lanes);

// Lanes of the current frame return: their results go to the caller.
void frame_return(struct warp *warp, uint32_t lanes);

// Lanes of the current frame end, whoever has called.
void frame_exit(struct warp *warp, uint32_t lanes);

// Of a call by address: the function, or a fault.
int frame_target(struct warp *warp, const struct instruction *call, int lane);

#endif
