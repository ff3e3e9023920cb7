#include "specials.h"

#include "device.h"

static uint64_t special_value(const struct warp *warp, enum special special, int lane)
{
    const struct block *block = warp->block;
    const struct launch *launch = block->launch;
    const struct position dimensions = launch->dimensions;
    const unsigned thread = (unsigned)(warp->index * LANES + lane);
    const uint32_t bit = 1U << lane;
    const uint64_t values[SPECIAL_CLOCK] = {
        [SPECIAL_TID] = thread % dimensions.x,
        [SPECIAL_TID + 1] = thread / dimensions.x % dimensions.y,
        [SPECIAL_TID + 2] = thread / dimensions.x / dimensions.y,
        [SPECIAL_NTID] = dimensions.x,
        [SPECIAL_NTID + 1] = dimensions.y,
        [SPECIAL_NTID + 2] = dimensions.z,
        [SPECIAL_CTAID] = block->position.x,
        [SPECIAL_CTAID + 1] = block->position.y,
        [SPECIAL_CTAID + 2] = block->position.z,
        [SPECIAL_NCTAID] = launch->grid.x,
        [SPECIAL_NCTAID + 1] = launch->grid.y,
        [SPECIAL_NCTAID + 2] = launch->grid.z,
        [SPECIAL_LANE] = (unsigned)lane,
        [SPECIAL_WARP] = (unsigned)warp->index,
        [SPECIAL_WARPS] = (unsigned)block->warp_count,
        [SPECIAL_SM] = block->index % (unsigned)device_model()->sms,
        [SPECIAL_SMS] = (unsigned)device_model()->sms,
        [SPECIAL_LANES_EQ] = bit,
        [SPECIAL_LANES_LE] = bit | (bit - 1),
        [SPECIAL_LANES_LT] = bit - 1,
        [SPECIAL_LANES_GE] = ~(bit - 1),
        [SPECIAL_LANES_GT] = ~(bit | (bit - 1)),
        [SPECIAL_DYNAMIC_BYTES] = launch->dynamic_bytes,
        [SPECIAL_TOTAL_BYTES] = block->shared_bytes,
        [SPECIAL_GRID_BARRIER_HIGH] = launch->grid_barrier >> 32,
        [SPECIAL_GRID_BARRIER_LOW] = (uint32_t)launch->grid_barrier,
        [SPECIAL_ONE] = 1,
    };
    return values[special];
}

static bool differs(enum special special)
{
    return (special >= SPECIAL_CTAID && special < SPECIAL_NCTAID) || special == SPECIAL_SM;
}

static void set_constant(struct warp *warp, const struct constant *constant)
{
    uint8_t *slot = warp->file + (size_t)SLOT_BYTES * constant->slot;
    const uint64_t start = constant->window == SPACE_SHARED  ? warp->block->launch->shared_base
                           : constant->window == SPACE_LOCAL ? warp->frame->local
                                                             : 0;
    for (int l = 0; l < LANES; l++) {
        const uint64_t value = constant->special != SPECIAL_NONE
                                   ? special_value(warp, constant->special, l)
                                   : constant->value + start;
        if (constant->kind == REGISTER_64)
            ((uint64_t *)(void *)slot)[l] = value;
        else if (constant->kind == REGISTER_32)
            ((uint32_t *)(void *)slot)[l] = (uint32_t)value;
        else
            warp->predicates[constant->slot] = value != 0 ? ALL_LANES : 0;
    }
}

// Nothing else writes to them.
void set_constants(struct warp *warp, bool all)
{
    const struct function_code *function = warp->frame->function;
    for (int i = 0; i < function->constant_count; i++)
        if (all || differs(function->constants[i].special))
            set_constant(warp, &function->constants[i]);
}

// Clocks count warp instructions of the block, and a few more for each reading, so that who waits
// for time to pass does not wait for ever.
void read_special(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const enum special special = detail_of(warp, instruction)->special;
    uint8_t *slot = warp->file + (size_t)SLOT_BYTES * instruction->d[0];
    const uint64_t now = warp->block->executed + 32 * ++warp->block->readings;
    const bool high = special == SPECIAL_CLOCK_HIGH || special == SPECIAL_TIMER_HIGH;
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        if (special == SPECIAL_CLOCK_64 || special == SPECIAL_TIMER)
            ((uint64_t *)(void *)slot)[l] = now;
        else
            ((uint32_t *)(void *)slot)[l] = (uint32_t)(high ? now >> 32 : now);
    }
}
