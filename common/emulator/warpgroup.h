// Instructions of four warps together, a warpgroup (PTX ISA, "wgmma" and "setmaxnreg"): products of
// a 64x8 and an 8xN matrix in TF32, added to float32, each warp having 16 rows of the sums.
//
// Each warp computes its rows when it comes to the instruction, with what tensor.h says of sums.
// The product is over when all four have come to it and a wgmma.wait_group covers it: until then
// nobody may touch its registers, nor change its operands in shared memory.
#ifndef EMULATOR_WARPGROUP_H
#define EMULATOR_WARPGROUP_H

#include "warp.h"

enum {
    WARPGROUP = 4, // warps
    WARPGROUPS = LANES / WARPGROUP,
};

// How many registers a thread may have from here on: nothing depends on it here.
operation set_registers;

// A product has more operands than an instruction has room for, so it is several, in this order:
// - begin_product: predicate s[0] tells whether to add the old values; s[1] and s[2] are the
//   descriptors of B and A, without the latter where A is in registers;
// - take_a_fragment, where it is: s[0] to s[3];
// - multiply_columns for each 8 columns, detail.part of them: s and d, the old and the new values.
operation begin_product, take_a_fragment, multiply_columns;

// wgmma.fence, wgmma.commit_group.
operation warpgroup_fence, warpgroup_commit;

// wgmma.wait_group: true where all products that it covers are over; else the warp comes here
// again.
bool warpgroup_wait(struct warp *warp, const struct instruction *instruction, uint32_t active);

// An instruction that touches registers of products, detail.touched of them: a fault where they are
// not over. Then carries out detail.checked.
operation touch_registers;

// For messages: which warp of its warpgroup keeps this one waiting. Writes to `out`, room for
// `size` bytes, and returns it.
const char *warpgroup_lacks(const struct warp *warp, char *out, size_t size);

// At the end of a block: a fault where a product is not over. And to free what a warp has, before
// it starts anew or for good.
void warpgroup_end(struct block *block);
void warpgroup_free(struct warp *warp);

#endif
