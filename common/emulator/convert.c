#include "convert.h"

#include <math.h>
#include <string.h>

#include "half.h"

// What a type is. Of floats: how many bits of precision, and what the last bit of the smallest
// number is worth, as a power of two.
static const struct type {
    const char *name;
    bool is_float, is_signed;
    int bits;
    int precision, least, greatest; // all finite numbers are below 2^greatest
} types[] = {
    [TYPE_U8] = {.name = "u8", .bits = 8},
    [TYPE_S8] = {.name = "s8", .bits = 8, .is_signed = true},
    [TYPE_U16] = {.name = "u16", .bits = 16},
    [TYPE_S16] = {.name = "s16", .bits = 16, .is_signed = true},
    [TYPE_U32] = {.name = "u32", .bits = 32},
    [TYPE_S32] = {.name = "s32", .bits = 32, .is_signed = true},
    [TYPE_U64] = {.name = "u64", .bits = 64},
    [TYPE_S64] = {.name = "s64", .bits = 64, .is_signed = true},
    [TYPE_F16] = {"f16", true, true, 16, 11, -24, 16},
    [TYPE_BF16] = {"bf16", true, true, 16, 8, -133, 128},
    [TYPE_F32] = {"f32", true, true, 32, 24, -149, 128},
    [TYPE_F64] = {"f64", true, true, 64, 53, -1074, 1024},
};

bool find_number_type(struct text name, enum number_type *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_is(name, types[i].name)) {
            *type = (enum number_type)i;
            return true;
        }
    return false;
}

// A number of any type: a float, or a whole number by its size and sign.
struct number {
    double value;
    uint64_t magnitude;
    bool negative;
};

static struct number read_integer(const struct type *type, uint64_t bits)
{
    const uint64_t mask = type->bits == 64 ? UINT64_MAX : (UINT64_C(1) << type->bits) - 1;
    const bool negative = type->is_signed && (bits >> (type->bits - 1) & 1);
    return (struct number){.magnitude = (negative ? 0 - bits : bits) & mask, .negative = negative};
}

static double read_float(enum number_type type, uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    double wide;
    float narrow;
    switch (type) {
    case TYPE_F16:
        return from_half((uint16_t)bits);
    case TYPE_BF16:
        return from_bfloat((uint16_t)bits);
    case TYPE_F32:
        memcpy(&narrow, &word, sizeof narrow);
        return narrow;
    default:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
}

// `value` must be one of the type's.
static uint64_t write_float(enum number_type type, double value)
{
    uint64_t bits;
    uint32_t word;
    const float narrow = (float)value;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&word, &narrow, sizeof word);
    switch (type) {
    case TYPE_F16:
        return to_half(value);
    case TYPE_BF16:
        return to_bfloat(narrow);
    case TYPE_F32:
        return word;
    default:
        return bits;
    }
}

// The greatest magnitude of a whole number of this type and sign.
static uint64_t limit(const struct type *type, bool negative)
{
    if (!type->is_signed)
        return negative ? 0 : UINT64_MAX >> (64 - type->bits);
    return (UINT64_C(1) << (type->bits - 1)) - !negative;
}

static uint64_t write_integer(const struct type *type, struct number number, bool clamp)
{
    if (clamp && number.magnitude > limit(type, number.negative))
        number.magnitude = limit(type, number.negative);
    const uint64_t bits = number.negative ? 0 - number.magnitude : number.magnitude;
    if (type->bits == 64)
        return bits;
    const uint64_t kept = bits & ((UINT64_C(1) << type->bits) - 1);
    const bool extend = type->is_signed && (kept >> (type->bits - 1) & 1);
    return extend ? kept | UINT64_MAX << type->bits : kept;
}

static struct number whole(double value)
{
    const double size = fabs(value);
    return (struct number){.magnitude = size >= 0x1p64 ? UINT64_MAX
                                        : size > 0     ? (uint64_t)size
                                                       : 0,
                           .negative = value < 0};
}

// What lies beyond the greatest number is rounded to it or to infinity.
static double round_float(const struct conversion *how, const struct type *to, double value)
{
    const double rounded = round_to(how->rounding, value, to->precision, to->least);
    if (!isfinite(value) || fabs(rounded) < ldexp(1, to->greatest - 1) * 2)
        return rounded;
    const bool outwards =
        how->rounding == ROUND_NEAREST || how->rounding == (value < 0 ? ROUND_DOWN : ROUND_UP);
    const double greatest = (2 - ldexp(1, 1 - to->precision)) * ldexp(1, to->greatest - 1);
    return copysign(outwards ? (double)INFINITY : greatest, value);
}

static double flush(const struct conversion *how, enum number_type type, double value)
{
    return how->flush && type == TYPE_F32 && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

// A NaN becomes 0, but from or to 64 bits the number with only the highest bit set.
static uint64_t nan_as_integer(const struct conversion *how)
{
    const struct type *to = &types[how->to];
    const bool is_zero = how->from != TYPE_F64 && to->bits != 64;
    const struct number highest = {.magnitude = UINT64_C(1) << (to->bits - 1)};
    return is_zero ? 0 : write_integer(to, highest, false);
}

static uint64_t convert_float(const struct conversion *how, double value)
{
    const struct type *to = &types[how->to];
    value = flush(how, how->from, value);
    if (how->whole)
        value = round_whole(how->rounding, value);
    if (!to->is_float)
        return isnan(value) ? nan_as_integer(how) : write_integer(to, whole(value), true);
    if (!how->whole)
        value = round_float(how, to, value);
    if (how->saturate)
        value = value > 0 ? fmin(value, 1) : 0;
    return write_float(how->to, flush(how, how->to, value));
}

static uint64_t convert_bits(const struct conversion *how, uint64_t bits)
{
    const struct type *from = &types[how->from];
    const struct type *to = &types[how->to];
    if (from->is_float)
        return convert_float(how, read_float(how->from, bits));
    const struct number number = read_integer(from, bits);
    if (!to->is_float)
        return write_integer(to, number, how->saturate);
    const double rounded =
        round_integer(how->rounding, number.magnitude, number.negative, to->precision);
    return convert_float(
        &(struct conversion){
            .from = TYPE_F64, .to = how->to, .rounding = how->rounding, .saturate = how->saturate},
        rounded);
}

void convert(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct conversion *how = &detail_of(warp, instruction)->conversion;
    uint8_t *to = warp->file + (size_t)SLOT_BYTES * instruction->d[0];
    const uint8_t *from = warp->file + (size_t)SLOT_BYTES * instruction->s[0];
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        const uint64_t bits = how->wide_from ? ((const uint64_t *)(const void *)from)[l]
                                             : ((const uint32_t *)(const void *)from)[l];
        const uint64_t result = convert_bits(how, bits);
        if (how->wide_to)
            ((uint64_t *)(void *)to)[l] = result;
        else
            ((uint32_t *)(void *)to)[l] = (uint32_t)result;
    }
}
