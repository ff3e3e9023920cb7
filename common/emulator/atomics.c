#include "atomics.h"

#include <math.h>
#include <string.h>

#include "access.h"
#include "barriers.h"
#include "execute.h"
#include "half.h"
#include "order.h"

// Order -----------------------------------------------------------------------------------------

void fence(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    if (warp->order == NULL)
        return;
    tick(warp, instruction, active);
    order_acquire(warp, active, detail_of(warp, instruction)->block_only);
    order_release(warp, active, detail_of(warp, instruction)->block_only);
}

void strong_begin(struct warp *warp, const struct instruction *instruction, uint32_t lanes)
{
    const struct detail *detail = detail_of(warp, instruction);
    if (detail->polls)
        warp->poll = index_of(warp, instruction);
    if (warp->order == NULL || !detail->releases)
        return;
    tick(warp, instruction, lanes);
    order_release(warp, lanes, detail->block_only);
}

void strong_end(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                bool shared, const uint64_t addresses[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    if (warp->order == NULL)
        return;
    for (int l = 0; l < LANES; l++) {
        if ((lanes >> l & 1) == 0)
            continue;
        if (detail->write || detail->atomic != ATOMIC_NONE)
            order_publish(warp, l, shared, addresses[l], detail->atomic == ATOMIC_NONE);
        if (!detail->write && !detail->unused)
            order_see(warp, l, shared, addresses[l]);
    }
    if (detail->acquires)
        order_acquire(warp, lanes, detail->block_only);
}

// Numbers ---------------------------------------------------------------------------------------

static float as_float(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// In global memory, what is too small for a normal float32 counts as 0, and becomes 0.
static uint64_t add_float(uint64_t a, uint64_t b, bool flush)
{
    float x = as_float(a);
    float y = as_float(b);
    if (flush) {
        x = fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
        y = fpclassify(y) == FP_SUBNORMAL ? copysignf(0, y) : y;
    }
    float sum = x + y;
    if (flush && fpclassify(sum) == FP_SUBNORMAL)
        sum = copysignf(0, sum);
    uint32_t word;
    memcpy(&word, &sum, sizeof word);
    return word;
}

static uint64_t add_double(uint64_t a, uint64_t b)
{
    double x;
    double y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

// One float16 or, in 32 bits, two.
static uint64_t add_halves(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    for (int i = 0; i < 32; i += 16)
        sum |= (uint64_t)to_half(from_half((uint16_t)(a >> i)) + from_half((uint16_t)(b >> i)))
               << i;
    return sum;
}

static uint64_t add_bfloats(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    for (int i = 0; i < 32; i += 16)
        sum |=
            (uint64_t)to_bfloat(from_bfloat((uint16_t)(a >> i)) + from_bfloat((uint16_t)(b >> i)))
            << i;
    return sum;
}

static uint64_t add(enum number_type type, uint64_t a, uint64_t b, bool flush)
{
    switch (type) {
    case TYPE_F16:
        return add_halves(a, b);
    case TYPE_BF16:
        return add_bfloats(a, b);
    case TYPE_F32:
        return add_float(a, b, flush);
    case TYPE_F64:
        return add_double(a, b);
    default:
        return a + b;
    }
}

static bool is_less(enum number_type type, uint64_t a, uint64_t b)
{
    if (type == TYPE_S32)
        return (int32_t)a < (int32_t)b;
    return type == TYPE_S64 ? (int64_t)a < (int64_t)b : a < b;
}

// What the memory holds after the atomic. `a` is what it held before.
static uint64_t new_value(const struct detail *detail, uint64_t a, uint64_t b, uint64_t c,
                          bool flush)
{
    switch (detail->atomic) {
    case ATOMIC_ADD:
        return add(detail->type, a, b, flush);
    case ATOMIC_MIN:
        return is_less(detail->type, b, a) ? b : a;
    case ATOMIC_MAX:
        return is_less(detail->type, a, b) ? b : a;
    case ATOMIC_INC:
        return a >= b ? 0 : a + 1;
    case ATOMIC_DEC:
        return a == 0 || a > b ? b : a - 1;
    case ATOMIC_AND:
        return a & b;
    case ATOMIC_OR:
        return a | b;
    case ATOMIC_XOR:
        return a ^ b;
    case ATOMIC_COMPARE:
        return a == b ? c : a;
    default:
        return b;
    }
}

// Atomics ---------------------------------------------------------------------------------------

static uint64_t operand(const struct warp *warp, int slot, uint32_t bytes, int lane)
{
    const uint8_t *file = warp->file + (size_t)SLOT_BYTES * (size_t)slot;
    if (bytes == 8)
        return ((const uint64_t *)(const void *)file)[lane];
    const uint32_t word = ((const uint32_t *)(const void *)file)[lane];
    return bytes == 4 ? word : word & 0xffff;
}

static void carry_out(struct warp *warp, const struct instruction *instruction, uint32_t lanes,
                      bool flush, uint8_t *const at[LANES])
{
    const struct detail *detail = detail_of(warp, instruction);
    uint8_t *result = warp->file + (size_t)SLOT_BYTES * instruction->d[0];
    for (int l = 0; l < LANES; l++) {
        if ((lanes >> l & 1) == 0)
            continue;
        uint64_t old = 0;
        memcpy(&old, at[l], detail->bytes);
        const uint64_t b = operand(warp, instruction->s[1], detail->bytes, l);
        const uint64_t c = detail->atomic == ATOMIC_COMPARE
                               ? operand(warp, instruction->s[2], detail->bytes, l)
                               : 0;
        const uint64_t value = new_value(detail, old, b, c, flush);
        if (memcmp(at[l], &value, detail->bytes) != 0) {
            memcpy(at[l], &value, detail->bytes);
            warp->block->moved = true;
        }
        if (detail->bytes == 8)
            ((uint64_t *)(void *)result)[l] = old;
        else
            ((uint32_t *)(void *)result)[l] = (uint32_t)old;
    }
}

void access_atomic(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t addresses[LANES];
    uint8_t *at[LANES];
    lane_addresses(warp, instruction->s[0], detail->wide_address, detail->offset, addresses);
    strong_begin(warp, instruction, active);
    for (uint32_t left = active; left != 0;) {
        bool shared;
        const uint32_t lanes = locate_memory(warp, instruction, left, addresses, &shared, at);
        carry_out(warp, instruction, lanes, detail->type == TYPE_F32 && !shared, at);
        strong_end(warp, instruction, lanes, shared, addresses);
        left &= ~lanes;
    }
}
