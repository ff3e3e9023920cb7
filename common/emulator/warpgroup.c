#include "warpgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "barriers.h"
#include "exact.h"
#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "order.h"
#include "tensor.h"

enum {
    LEAST_REGISTERS = 24,
    MOST_REGISTERS = 256,
    REGISTERS_UNIT = 8,
    CORE_BYTES = 128, // of a core matrix: 8 rows of 16 bytes
    IN_FLIGHT = 256,  // products, and groups of them, of a warp
    KEPT = 4 * IN_FLIGHT,
};

// A matrix in shared memory, as its descriptor says: core matrices lie `leading` bytes apart along
// k, and `stride` bytes along the other dimension.
struct layout {
    const char *name;
    uint32_t start, leading, stride;
};

// A product that a warp has come to.
struct issue {
    const struct instruction *instruction;
    uint64_t a, b; // descriptors
    uint32_t time; // by the block's clock
};

struct products {
    uint32_t issued, over;   // products: the warp has come to, and has waited for
    uint32_t closed;         // groups
    uint32_t ends[KEPT];     // of groups: the number of products until there
    struct issue kept[KEPT]; // by number
    struct layout b;         // of the product that is being computed, as is the next one
    bool adds;
    bool fenced;               // by a wgmma.fence
    const struct frame *frame; // in which the registers are
    uint32_t *user;            // of each: the last product that has it, counted from 1
    bool *touched;             // by other instructions since the last wgmma.fence
    int slots;
    uint64_t checked; // the tag of operands that has been found good
};

static void whole_warp(struct warp *warp, const struct instruction *instruction, uint32_t active,
                       const char *what)
{
    if (active != ALL_LANES)
        fault(warp, instruction, first_lane(active),
              "warpgroup: %s takes all 32 lanes of a warp, and 0x%08x are not there", what,
              ~active);
}

void set_registers(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const int registers = detail_of(warp, instruction)->registers;
    whole_warp(warp, instruction, active, "setmaxnreg");
    if (registers < LEAST_REGISTERS || registers > MOST_REGISTERS ||
        registers % REGISTERS_UNIT != 0)
        fault(warp, instruction, 0, "warpgroup: %d registers are no multiple of %d from %d to %d",
              registers, REGISTERS_UNIT, LEAST_REGISTERS, MOST_REGISTERS);
}

// A warp's products -----------------------------------------------------------------------------

void warpgroup_free(struct warp *warp)
{
    if (warp->products != NULL) {
        free(warp->products->user);
        free(warp->products->touched);
    }
    free(warp->products);
    warp->products = NULL;
}

static struct products *products_of(struct warp *warp)
{
    const int slots = warp->frame->function->slots;
    struct products *p = warp->products;
    if (p == NULL)
        warp->products = p = zeroed(1, sizeof *p);
    if (p->frame != warp->frame) {
        free(p->user);
        free(p->touched);
        p->user = zeroed((size_t)slots, sizeof *p->user);
        p->touched = zeroed((size_t)slots, sizeof *p->touched);
        p->slots = slots;
        p->frame = warp->frame;
    }
    return p;
}

static struct warp *first_of_group(const struct warp *warp)
{
    return &warp->block->warps[warp->index - warp->index % WARPGROUP];
}

static uint32_t issued_by(const struct warp *warp)
{
    return warp->products == NULL ? 0 : warp->products->issued;
}

// All four warps execute the same product with the same operands.
static void compare_issues(struct warp *warp, const struct instruction *instruction)
{
    char place[256];
    const struct products *p = warp->products;
    const struct issue *mine = &p->kept[p->issued % KEPT];
    for (int i = 0; i < WARPGROUP; i++) {
        const struct warp *other = &first_of_group(warp)[i];
        if (other == warp || issued_by(other) < p->issued)
            continue;
        const struct issue *theirs = &other->products->kept[p->issued % KEPT];
        if (theirs->instruction != mine->instruction)
            fault(warp, instruction, 0,
                  "warpgroup: warp %d is here with its product number %u, and warp %d has been %s",
                  warp->index, p->issued, other->index,
                  describe_place(other, theirs->instruction, place, sizeof place));
        if (theirs->a != mine->a || theirs->b != mine->b)
            fault(warp, instruction, 0,
                  "warpgroup: warp %d has other descriptors than warp %d of the same warpgroup",
                  warp->index, other->index);
    }
}

static void issue(struct warp *warp, const struct instruction *instruction, uint64_t a, uint64_t b)
{
    struct products *p = products_of(warp);
    const int first = warp->index / WARPGROUP * WARPGROUP;
    if (first + WARPGROUP > warp->block->warp_count)
        fault(warp, instruction, 0,
              "warpgroup: wgmma takes warps %d to %d, and the block has %d warps", first,
              first + WARPGROUP - 1, warp->block->warp_count);
    if (!p->fenced && warp->block->launch->checks)
        fault(warp, instruction, 0, "wgmma: no wgmma.fence has come before this first one");
    if (p->issued - p->over == IN_FLIGHT)
        fault(warp, instruction, 0, "wgmma: the emulator has no more than %d that are not over",
              IN_FLIGHT);
    tick(warp, instruction, ALL_LANES);
    p->issued++;
    p->kept[p->issued % KEPT] = (struct issue){instruction, a, b, warp->block->clock};
    compare_issues(warp, instruction);
    warp->block->moved = true;
}

// Operands in shared memory ----------------------------------------------------------------------

static struct layout layout_of(struct warp *warp, const struct instruction *instruction,
                               uint64_t descriptor, const char *name)
{
    static const uint64_t meant = UINT64_C(0xc00e3fff3fff3fff);
    const unsigned swizzle = (unsigned)(descriptor >> 62);
    if (swizzle != 0)
        fault(warp, instruction, 0,
              "unknown instruction: the emulator has no wgmma with swizzled operands (%s's "
              "descriptor 0x%llx has %u in bits 62 and 63)",
              name, (unsigned long long)descriptor, swizzle);
    if (descriptor & ~meant)
        fault(warp, instruction, 0,
              "wgmma: %s's descriptor 0x%llx has bits that mean nothing: 0x%llx", name,
              (unsigned long long)descriptor, (unsigned long long)(descriptor & ~meant));
    return (struct layout){
        .name = name,
        .start = (uint32_t)(descriptor & 0x3fff) << 4,
        .leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
        .stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
    };
}

// The core matrix of these 8 rows of A or columns of B, and 4 terms.
static void load_core(struct warp *warp, const struct instruction *instruction,
                      const struct layout *layout, int rows, int terms, uint32_t to[LANES])
{
    char place[512];
    const struct block *block = warp->block;
    const uint32_t address =
        layout->start + (uint32_t)rows * layout->stride + (uint32_t)terms * layout->leading;
    const uint32_t offset = address - (uint32_t)block->launch->shared_base;
    if ((uint64_t)offset + CORE_BYTES > block->shared_bytes)
        fault(warp, instruction, 0, "out of bounds: wgmma reads %d bytes of %s at %s", CORE_BYTES,
              layout->name, describe_shared(block, address, place, sizeof place));
    if (warp->order != NULL)
        exact_operand(warp, instruction, offset, CORE_BYTES, &warp->products->checked);
    memcpy(to, block->shared + offset, CORE_BYTES);
}

static void negate_a(struct warp *warp)
{
    for (int x = 0; x < TENSOR_A; x++)
        for (int l = 0; l < LANES; l++)
            warp->tensor_a[x][l] ^= 0x80000000;
}

// Products ---------------------------------------------------------------------------------------

static uint64_t descriptor_in(struct warp *warp, const struct instruction *instruction, int slot,
                              const char *name)
{
    const uint64_t *values = wide_words_of(warp, slot);
    for (int l = 1; l < LANES; l++)
        if (values[l] != values[0])
            fault(warp, instruction, l,
                  "warpgroup: this lane has another descriptor of %s than "
                  "lane 0",
                  name);
    return values[0];
}

void begin_product(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    const uint32_t adds = warp->predicates[instruction->s[0]];
    whole_warp(warp, instruction, active, "wgmma");
    if (adds != 0 && adds != ALL_LANES)
        fault(warp, instruction, 0, "warpgroup: scale-d is not the same for all lanes: 0x%08x",
              adds);
    const uint64_t b = descriptor_in(warp, instruction, instruction->s[1], "B");
    const uint64_t a =
        detail->a_in_registers ? 0 : descriptor_in(warp, instruction, instruction->s[2], "A");
    issue(warp, instruction, a, b);
    struct products *p = warp->products;
    p->adds = adds != 0;
    p->checked = 0;
    p->b = layout_of(warp, instruction, b, "B");
    if (detail->a_in_registers)
        return;
    const struct layout layout = layout_of(warp, instruction, a, "A");
    for (int x = 0; x < TENSOR_A; x++)
        load_core(warp, instruction, &layout, warp->index % WARPGROUP * 2 + x % 2, x / 2,
                  warp->tensor_a[x]);
    if (detail->negated)
        negate_a(warp);
}

// The product has these registers from now on.
static void take_registers(struct warp *warp, const struct instruction *instruction,
                           const uint16_t slots[4])
{
    struct products *p = warp->products;
    for (int x = 0; x < 4; x++) {
        p->user[slots[x]] = p->issued;
        if (p->touched[slots[x]] && warp->block->launch->checks)
            fault(warp, instruction, 0,
                  "wgmma: another instruction has read or written one of its registers since the "
                  "last wgmma.fence");
    }
}

void take_a_fragment(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)active;
    take_registers(warp, instruction, instruction->s);
    for (int x = 0; x < TENSOR_A; x++)
        memcpy(warp->tensor_a[x], words_of(warp, instruction->s[x]), SLOT_BYTES);
    if (detail_of(warp, instruction)->negated)
        negate_a(warp);
}

void multiply_columns(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct products *p = warp->products;
    (void)active;
    take_registers(warp, instruction, instruction->d);
    for (int x = 0; x < TENSOR_B; x++)
        load_core(warp, instruction, &p->b, detail_of(warp, instruction)->part, x,
                  warp->tensor_b[x]);
    tensor_multiply(warp, instruction, p->adds);
}

void touch_registers(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    char place[256];
    const struct detail *detail = detail_of(warp, instruction);
    struct products *p = warp->products;
    for (int i = 0; i < 9 && p != NULL && p->frame == warp->frame; i++) {
        if ((detail->touched >> i & 1) == 0)
            continue;
        const int slot = i < 4 ? instruction->d[i] : instruction->s[i - 4];
        p->touched[slot] = true;
        if (p->user[slot] > p->over && warp->block->launch->checks)
            fault(warp, instruction, first_lane(active),
                  "wgmma: %s a register of the one %s, for which no wgmma.wait_group has waited",
                  i < 4 ? "writes" : "reads",
                  describe_place(warp, p->kept[p->user[slot] % KEPT].instruction, place,
                                 sizeof place));
    }
    detail->checked(warp, instruction, active);
}

// Fences, groups and waits -----------------------------------------------------------------------

void warpgroup_fence(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    whole_warp(warp, instruction, active, "wgmma.fence");
    struct products *p = products_of(warp);
    p->fenced = true;
    memset(p->touched, 0, (size_t)p->slots * sizeof *p->touched);
}

void warpgroup_commit(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    whole_warp(warp, instruction, active, "wgmma.commit_group");
    struct products *p = products_of(warp);
    p->ends[p->closed++ % KEPT] = p->issued;
}

// The number of products that are to be over: those of all groups but the last ones.
static uint32_t wanted(struct warp *warp, const struct instruction *instruction)
{
    const struct products *p = products_of(warp);
    const uint32_t left = (uint32_t)detail_of(warp, instruction)->groups;
    const uint32_t number = p->closed > left ? p->ends[(p->closed - left - 1) % KEPT] : 0;
    return number > p->over ? number : p->over;
}

// Operands of products that are over may be changed by who knows that.
static void learn_over(struct warp *warp, uint32_t number)
{
    struct knowledge *over = NULL;
    uint32_t time = 0;
    for (int i = 0; i < WARPGROUP; i++) {
        const uint32_t at = first_of_group(warp)[i].products->kept[number % KEPT].time;
        time = at > time ? at : time;
    }
    order_learn_of(warp->block, order_products(warp->index / WARPGROUP), time + 1, &over);
    order_take(warp, ALL_LANES, over);
    order_forget(&over);
}

bool warpgroup_wait(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    whole_warp(warp, instruction, active, "wgmma.wait_group");
    const uint32_t number = wanted(warp, instruction);
    struct products *p = warp->products;
    if (number == p->over)
        return true;
    for (int i = 0; i < WARPGROUP; i++)
        if (issued_by(&first_of_group(warp)[i]) < number)
            return false;
    p->over = number;
    if (warp->order != NULL)
        learn_over(warp, number);
    return true;
}

const char *warpgroup_lacks(const struct warp *warp, char *out, size_t size)
{
    const struct warp *other = first_of_group(warp);
    while (issued_by(other) >= issued_by(warp))
        other++;
    snprintf(out, size,
             "waits for warp %d, which has come to %u products of the warpgroup, and warp %d "
             "to %u",
             other->index, issued_by(other), warp->index, issued_by(warp));
    return out;
}

void warpgroup_end(struct block *block)
{
    for (int i = 0; i < block->warp_count && block->launch->checks; i++) {
        struct warp *warp = &block->warps[i];
        const struct products *p = warp->products;
        if (p != NULL && p->over < p->issued)
            fault(warp, p->kept[p->issued % KEPT].instruction, 0,
                  "wgmma: the block ends before a wgmma.wait_group has waited for this one");
    }
}
