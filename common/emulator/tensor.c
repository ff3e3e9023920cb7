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

// A finite number, magnitude * 2^exponent; or not finite.
struct number {
    bool negative, infinite, nan;
    uint64_t magnitude;
    int exponent;
};

static struct number number_of(uint32_t bits)
{
    const uint32_t field = bits >> FRACTION & INFINITE;
    const uint32_t fraction = bits & ((1U << FRACTION) - 1);
    return (struct number){
        .negative = bits & SIGN,
        .infinite = field == INFINITE && fraction == 0,
        .nan = field == INFINITE && fraction != 0,
        .magnitude = field == 0 ? fraction : fraction | 1U << FRACTION,
        .exponent = (int)(field == 0 ? 1 : field) - 1 - LEAST_EXPONENT,
    };
}

static struct number product(uint32_t a, uint32_t b)
{
    const struct number x = number_of(a & TF32_BITS);
    const struct number y = number_of(b & TF32_BITS);
    const bool zero = (x.magnitude == 0 && !x.nan) || (y.magnitude == 0 && !y.nan);
    const bool infinite = x.infinite || y.infinite;
    return (struct number){
        .negative = x.negative != y.negative,
        .infinite = infinite,
        .nan = x.nan || y.nan || (infinite && zero),
        .magnitude = x.magnitude * y.magnitude,
        .exponent = x.exponent + y.exponent,
    };
}

// What is left of a magnitude where bits worth less than 2^least are cut off.
static int64_t cut(const struct number *number, int least)
{
    const int shift = least - number->exponent;
    const uint64_t kept = shift > GREATEST_SHIFT ? 0
                          : shift > 0            ? number->magnitude >> shift
                                                 : number->magnitude << -shift;
    return number->negative ? -(int64_t)kept : (int64_t)kept;
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

static uint32_t add_products(const uint32_t a[TERMS], const uint32_t b[TERMS], uint32_t old)
{
    struct number terms[TERMS + 1];
    int largest = -4 * (LEAST_EXPONENT + FRACTION);
    bool positive = false, negative = false, nan = false;
    for (int i = 0; i <= TERMS; i++) {
        terms[i] = i < TERMS ? product(a[i], b[i]) : number_of(old);
        // Of the first bit, if the factors have no zeros in front.
        const int place = terms[i].exponent + (i < TERMS ? 2 : 1) * FRACTION;
        nan |= terms[i].nan;
        positive |= terms[i].infinite && !terms[i].negative;
        negative |= terms[i].infinite && terms[i].negative;
        if (terms[i].magnitude != 0 && place > largest)
            largest = place;
    }
    if (nan || (positive && negative))
        return NOT_A_NUMBER;
    if (positive || negative)
        return INFINITY_BITS | (negative ? SIGN : 0);
    int64_t sum = 0;
    for (int i = 0; i <= TERMS; i++)
        sum += terms[i].magnitude == 0 ? 0 : cut(&terms[i], largest - TENSOR_KEPT);
    return to_float(sum, largest - TENSOR_KEPT);
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
void tensor_multiply(struct warp *warp, const struct instruction *instruction, bool adds)
{
    uint32_t results[4][LANES];
    for (int x = 0; x < 4; x++) {
        const uint32_t *old = words_of(warp, instruction->s[x]);
        for (int l = 0; l < LANES; l++) {
            const int row = l / 4, col = l % 4 * 2 + x % 2; // of the upper or of the lower 8 rows
            uint32_t a[TERMS], b[TERMS];
            for (int k = 0; k < TERMS; k++) {
                a[k] = warp->tensor_a[x / 2 + k / 4 * 2][row * 4 + k % 4];
                b[k] = warp->tensor_b[k / 4][col * 4 + k % 4];
            }
            results[x][l] = add_products(a, b, adds ? old[l] : 0);
        }
    }
    for (int x = 0; x < 4; x++)
        memcpy(warp->file + (size_t)SLOT_BYTES * instruction->d[x], results[x], SLOT_BYTES);
}

void multiply_matrices(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    (void)active;
    tensor_multiply(warp, instruction, true);
}
