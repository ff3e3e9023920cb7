#include "tensor.h"

#include <string.h>

#include "execute.h"
#include "fault.h"
#include "footprint.h"

enum {
    TERMS = 8,
    FRACTION = 23,
    INFINITE = 255,       // exponent field
    LEAST_EXPONENT = 149, // a float's last bit is worth at least 2^-149
    GREATEST_SHIFT = 62,
};

static const uint32_t TF32_BITS = 0xffffe000;
static const uint32_t NOT_A_NUMBER = 0x7fffffff;
static const uint32_t INFINITY_BITS = 0x7f800000;
static const uint32_t SIGN = 0x80000000;

// A finite number, value * 2^exponent; or not finite, of the value's sign.
struct number {
    int64_t value;
    int exponent;
    bool infinite, nan;
};

// The operands of a product of matrices, by register and lane.
struct operands {
    struct number a[TENSOR_A][LANES], b[TENSOR_B][LANES];
    bool finite;
};

static struct number number_of(uint32_t bits)
{
    const uint32_t field = bits >> FRACTION & INFINITE;
    const uint32_t fraction = bits & ((1U << FRACTION) - 1);
    const int64_t magnitude = field == 0 ? fraction : fraction | 1U << FRACTION;
    return (struct number){
        .value = bits & SIGN ? -magnitude : magnitude,
        .exponent = (int)(field == 0 ? 1 : field) - 1 - LEAST_EXPONENT,
        .infinite = field == INFINITE && fraction == 0,
        .nan = field == INFINITE && fraction != 0,
    };
}

static void read_numbers(struct operands *operands, const uint32_t *words, struct number *numbers)
{
    for (int l = 0; l < LANES; l++) {
        numbers[l] = number_of(words[l] & TF32_BITS);
        operands->finite &= !numbers[l].infinite && !numbers[l].nan;
    }
}

// What is left of a value shifted by so many bits, cut off toward zero.
static int64_t cut(int64_t value, int shift)
{
    const uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    const uint64_t kept = shift > GREATEST_SHIFT ? 0
                          : shift > 0            ? magnitude >> shift
                                                 : magnitude << -shift;
    return value < 0 ? -(int64_t)kept : (int64_t)kept;
}

// sum * 2^least as a float, cut off.
static uint32_t to_float(int64_t sum, int least)
{
    const uint32_t sign = sum < 0 ? SIGN : 0;
    const uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    if (magnitude == 0)
        return 0;
    const int top = 63 - __builtin_clzll(magnitude) - FRACTION; // of the 24 bits, the last one
    const int last = top + least < -LEAST_EXPONENT ? -LEAST_EXPONENT - least : top;
    const uint64_t bits = last >= 64 ? 0 : last >= 0 ? magnitude >> last : magnitude << -last;
    const int field = least + last + LEAST_EXPONENT + (bits >> FRACTION ? 1 : 0);
    if (field >= INFINITE)
        return sign | INFINITY_BITS;
    if (bits == 0)
        return 0;
    return sign | (uint32_t)field << FRACTION | (bits & ((1U << FRACTION) - 1));
}

static uint32_t add_finite(const struct number *const a[TERMS], const struct number *const b[TERMS],
                           const struct number *old)
{
    int64_t products[TERMS];
    int exponents[TERMS];
    int largest = old->value == 0 ? -4 * (LEAST_EXPONENT + FRACTION) : old->exponent + FRACTION;
    for (int i = 0; i < TERMS; i++) {
        products[i] = a[i]->value * b[i]->value;
        exponents[i] = a[i]->exponent + b[i]->exponent;
        // Of the first bit, if the factors have no zeros in front.
        const int place = exponents[i] + 2 * FRACTION;
        if (products[i] != 0 && place > largest)
            largest = place;
    }
    const int least = largest - TENSOR_KEPT;
    int64_t sum = old->value == 0 ? 0 : cut(old->value, least - old->exponent);
    for (int i = 0; i < TERMS; i++)
        sum += products[i] == 0 ? 0 : cut(products[i], least - exponents[i]);
    return to_float(sum, least);
}

// Of terms some of which are not finite.
static uint32_t add_special(const struct number *const a[TERMS],
                            const struct number *const b[TERMS], const struct number *old)
{
    bool positive = old->infinite && old->value > 0;
    bool negative = old->infinite && old->value < 0;
    bool nan = old->nan;
    for (int i = 0; i < TERMS; i++) {
        const bool infinite = a[i]->infinite || b[i]->infinite;
        nan |= a[i]->nan || b[i]->nan || (infinite && (a[i]->value == 0 || b[i]->value == 0));
        positive |= infinite && (a[i]->value < 0) == (b[i]->value < 0);
        negative |= infinite && (a[i]->value < 0) != (b[i]->value < 0);
    }
    if (nan || (positive && negative))
        return NOT_A_NUMBER;
    return positive || negative ? INFINITY_BITS | (negative ? SIGN : 0) : add_finite(a, b, old);
}

void take_a(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    if (active != ALL_LANES)
        fault(warp, instruction, first_lane(active),
              "tensor core: mma takes all 32 lanes of a warp, and 0x%08x are not there", ~active);
    for (int i = 0; i < TENSOR_A; i++)
        memcpy(warp->tensor_a[i], words_of(warp, instruction->s[i]), SLOT_BYTES);
}

void take_b(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)active;
    for (int i = 0; i < TENSOR_B; i++)
        memcpy(warp->tensor_b[i], words_of(warp, instruction->s[i]), SLOT_BYTES);
}

// With q = lane / 4 and r = lane % 4, a lane has of A (q, r), (q + 8, r), (q, r + 4), (q + 8, r +
// 4); of B (r, q), (r + 4, q); of the sums (q, 2r), (q, 2r + 1), (q + 8, 2r), (q + 8, 2r + 1).
static uint32_t sum_of(const struct operands *operands, int x, int lane, uint32_t old_bits)
{
    const int row = lane / 4, col = lane % 4 * 2 + x % 2; // of the upper or of the lower 8 rows
    const struct number old = number_of(old_bits);
    const struct number *a[TERMS], *b[TERMS];
    for (int k = 0; k < TERMS; k++) {
        a[k] = &operands->a[x / 2 + k / 4 * 2][row * 4 + k % 4];
        b[k] = &operands->b[k / 4][col * 4 + k % 4];
    }
    return operands->finite && !old.infinite && !old.nan ? add_finite(a, b, &old)
                                                         : add_special(a, b, &old);
}

void tensor_multiply(struct warp *warp, const struct instruction *instruction, bool adds)
{
    uint32_t results[4][LANES];
    struct operands operands = {.finite = true};
    for (int x = 0; x < TENSOR_A; x++)
        read_numbers(&operands, warp->tensor_a[x], operands.a[x]);
    for (int x = 0; x < TENSOR_B; x++)
        read_numbers(&operands, warp->tensor_b[x], operands.b[x]);
    for (int x = 0; x < 4; x++) {
        const uint32_t *old = words_of(warp, instruction->s[x]);
        for (int l = 0; l < LANES; l++)
            results[x][l] = sum_of(&operands, x, l, adds ? old[l] : 0);
    }
    for (int x = 0; x < 4; x++)
        memcpy(warp->file + (size_t)SLOT_BYTES * instruction->d[x], results[x], SLOT_BYTES);
}

void multiply_matrices(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)active;
    tensor_multiply(warp, instruction, true);
}
