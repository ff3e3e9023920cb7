// mbarriers: barriers in shared memory that count arrivals and the bytes of bulk copies (PTX ISA,
// "mbarrier"). A phase ends when all arrivals and all bytes that it waits for have come.
//
// What an mbarrier knows is kept here; its 8 bytes of shared memory stay as they are, and nothing
// but these instructions may touch them.
#ifndef EMULATOR_MBARRIERS_H
#define EMULATOR_MBARRIERS_H

#include "warp.h"

// s[0] is the address. s[1]: how many arrivals a phase takes; how many bytes are to come; of an
// arrival, how many it counts for or the bytes, and d[0] gets the phase; of a wait, the phase or
// its parity, and predicate d[0] tells whether it has ended.
operation mbarrier_init, mbarrier_inval, mbarrier_expect, mbarrier_arrive, mbarrier_wait;

// fence.mbarrier_init, fence.proxy.async: lets bulk copies use the mbarriers that these lanes know
// of; where detail.space is that of shared memory, shows what they know of it to the async proxy.
operation proxy_fence;

// The number of the mbarrier at an address of the shared window, for a lane's bulk copy.
int mbarrier_of_copy(struct warp *warp, const struct instruction *instruction, int lane,
                     uint32_t address);

// So many bytes of a bulk copy by the lane come to it. The last ones end its phase.
void mbarrier_bytes(struct warp *warp, const struct instruction *instruction, int lane, int number,
                    uint32_t bytes);

// Before a block starts: there is none, and no fence has shown anything.
void mbarriers_reset(struct block *block);

// For messages: what the lane, which waits at mbarrier_wait, waits for. Writes to `out`, room for
// `size` bytes, and returns it.
const char *mbarrier_lacks(const struct warp *warp, int lane, char *out, size_t size);

#endif
