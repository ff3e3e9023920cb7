#include "carry.h"

// add.cc.u32, addc.cc.s64, mad.lo.cc.u32, madc.hi.u64 ...
bool find_carrying(struct text opcode, struct carrying *how)
{
    struct text rest = opcode;
    struct text word = {"", 0};
    bool known = text_split(&rest, '.', &word);
    *how = (struct carrying){.multiplies = text_starts(word, "mad"),
                             .subtracts = text_starts(word, "sub")};
    how->reads = text_is(word, "addc") || text_is(word, "subc") || text_is(word, "madc");
    known = known &&
            (how->reads || text_is(word, "add") || text_is(word, "sub") || text_is(word, "mad"));
    known = known && text_split(&rest, '.', &word);
    if (known && how->multiplies) {
        how->high = text_is(word, "hi");
        known = (how->high || text_is(word, "lo")) && text_split(&rest, '.', &word);
    }
    if (known && text_is(word, "cc")) {
        how->writes = true;
        known = text_split(&rest, '.', &word);
    }
    how->is_signed = *word.start == 's';
    how->wide = known && (text_is(word, "u64") || text_is(word, "s64") || text_is(word, "b64"));
    return known && rest.length == 0 && (how->reads || how->writes) &&
           (how->wide || text_is(word, "u32") || text_is(word, "s32") || text_is(word, "b32"));
}

static uint64_t source(const struct warp *warp, const struct instruction *instruction, int index,
                       bool wide, int lane)
{
    const uint8_t *slot = warp->file + (size_t)SLOT_BYTES * instruction->s[index];
    return wide ? ((const uint64_t *)(const void *)slot)[lane]
                : ((const uint32_t *)(const void *)slot)[lane];
}

static uint64_t half_product(const struct carrying *how, uint64_t a, uint64_t b)
{
    const int bits = how->wide ? 64 : 32;
    const uint64_t mask = how->wide ? UINT64_MAX : 0xffffffff;
    const unsigned __int128 product = (unsigned __int128)a * b;
    uint64_t high = (uint64_t)(product >> bits);
    if (how->is_signed) // a factor with its sign is 2^bits less
        high -= (a >> (bits - 1) & 1) * b + (b >> (bits - 1) & 1) * a;
    return (how->high ? high : (uint64_t)product) & mask;
}

// The sum of two words and a carry; `carry` becomes that of the sum. As in the hardware a - b is
// the sum a + ~b + 1, whose carry says that nothing was borrowed: nvcc's division of 128 bits reads
// it.
static uint64_t sum(uint64_t a, uint64_t b, bool subtract, int bits, bool *carry)
{
    const uint64_t mask = bits == 32 ? 0xffffffff : UINT64_MAX;
    const unsigned __int128 result = (unsigned __int128)a + (subtract ? ~b & mask : b) + *carry;
    *carry = (result & ~(unsigned __int128)mask) != 0;
    return (uint64_t)result & mask;
}

void add_with_carry(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct carrying *how = &detail_of(warp, instruction)->carrying;
    const uint32_t none = how->subtracts ? ALL_LANES : 0;
    const uint32_t carries = how->reads ? warp->predicates[instruction->s[3]] : none;
    const int bits = how->wide ? 64 : 32;
    uint8_t *to = warp->file + (size_t)SLOT_BYTES * instruction->d[0];
    uint32_t left = 0;
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        uint64_t a = source(warp, instruction, 0, how->wide, l);
        uint64_t b = source(warp, instruction, 1, how->wide, l);
        bool carry = carries >> l & 1;
        if (how->multiplies) {
            a = half_product(how, a, b);
            b = source(warp, instruction, 2, how->wide, l);
        }
        const uint64_t result = sum(a, b, how->subtracts, bits, &carry);
        if (how->wide)
            ((uint64_t *)(void *)to)[l] = result;
        else
            ((uint32_t *)(void *)to)[l] = (uint32_t)result;
        left |= (uint32_t)carry << l;
    }
    if (how->writes) {
        uint32_t *word = &warp->predicates[instruction->d[1]];
        *word = (*word & ~active) | left;
    }
}
