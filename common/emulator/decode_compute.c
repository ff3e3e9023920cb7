// Instructions that compute: what opcodes.def has, and what is made of it.
#include <stdio.h>
#include <string.h>

#include "carry.h"
#include "convert.h"
#include "decoder.h"

enum {
    OPCODE_SIZE = 64, // room for the text of an opcode
};

static int source_count(const struct opcode *opcode)
{
    int count = 0;
    while (count < 4 && opcode->sources[count] != CLASS_NONE)
        count++;
    return count;
}

// One draft, of an opcode from the table.
static bool draft_opcode(struct decoder *decoder, const struct opcode *opcode,
                         const struct operand *operands, int count)
{
    if (opcode == NULL || operands == NULL || count != 1 + source_count(opcode))
        return false;
    int d;
    int s[4] = {-1, -1, -1, -1};
    if (!destination(decoder, &operands[0], opcode->destination, &d))
        return false;
    for (int i = 0; i + 1 < count; i++)
        if (!source(decoder, &operands[i + 1], opcode->sources[i], &s[i]))
            return false;
    struct draft *draft = new_draft(decoder);
    draft->run = opcode->run;
    draft->d[0] = d;
    memcpy(draft->s, s, sizeof s);
    return true;
}

// The same for an opcode that the table is known to have.
static bool draft_known(struct decoder *decoder, const char *text, struct operand d,
                        struct operand a, struct operand b)
{
    const struct opcode *opcode = find_opcode(text_of(text));
    const struct operand operands[] = {d, a, b};
    return draft_opcode(decoder, opcode, operands, 1 + source_count(opcode));
}

static struct operand temporary(struct decoder *decoder, enum register_kind kind)
{
    return register_operand(new_register(decoder, kind));
}

// Takes a modifier out of an opcode's text. Whether it was there.
static bool take_modifier(char text[OPCODE_SIZE], const char *modifier)
{
    const size_t length = strlen(modifier);
    for (char *at = strchr(text, '.'); at != NULL; at = strchr(at + 1, '.'))
        if (strncmp(at + 1, modifier, length) == 0 &&
            (at[1 + length] == '.' || at[1 + length] == 0)) {
            memmove(at, at + 1 + length, strlen(at + 1 + length) + 1);
            return true;
        }
    return false;
}

// What is not in the table with .ftz or .sat: without them, between other instructions that change
// the sources and the result.
static bool draft_modified(struct decoder *decoder, char text[OPCODE_SIZE],
                           const struct operand *operands, int count)
{
    const bool flush = take_modifier(text, "ftz");
    const bool saturate = take_modifier(text, "sat");
    const struct opcode *opcode = find_opcode(text_of(text));
    struct operand changed[5];
    if ((!flush && !saturate) || opcode == NULL || !text_ends(text_of(text), ".f32") || count > 5 ||
        count != 1 + source_count(opcode))
        return false;
    memcpy(changed, operands, (size_t)count * sizeof *operands);
    for (int i = 1; i < count && flush; i++) {
        changed[i] = temporary(decoder, REGISTER_32);
        if (!draft_known(decoder, "flush.f32", changed[i], operands[i], operands[i]))
            return false;
    }
    if (opcode->destination != CLASS_32)
        return draft_opcode(decoder, opcode, changed, count);
    changed[0] = temporary(decoder, REGISTER_32);
    if (!draft_opcode(decoder, opcode, changed, count))
        return false;
    const struct operand flushed =
        flush && saturate ? temporary(decoder, REGISTER_32) : operands[0];
    if (flush && !draft_known(decoder, "flush.f32", flushed, changed[0], changed[0]))
        return false;
    return !saturate || draft_known(decoder, "saturate.f32", operands[0],
                                    flush ? flushed : changed[0], changed[0]);
}

static bool draft_text(struct decoder *decoder, struct text text, const struct operand *operands,
                       int count)
{
    char copy[OPCODE_SIZE];
    if (draft_opcode(decoder, find_opcode(text), operands, count))
        return true;
    if (text.length >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.start);
    return draft_modified(decoder, copy, operands, count);
}

// Comparisons ------------------------------------------------------------------------------------

// A predicate, or a new one that is its inverse.
static bool plain_predicate(struct decoder *decoder, struct operand *operand)
{
    if (!operand->negated)
        return true;
    struct operand inverse = temporary(decoder, REGISTER_PREDICATE);
    operand->negated = false;
    if (!draft_known(decoder, "not.pred", inverse, *operand, *operand))
        return false;
    *operand = inverse;
    return true;
}

// setp.lt.and.s32 p|q, a, b, c: p is (a < b) and c, q is not (a < b) and c. The combination and c
// may be missing, and so may q.
static bool draft_comparison(struct decoder *decoder, struct text opcode,
                             const struct operand *operands, int count)
{
    char text[OPCODE_SIZE];
    const char *combination = NULL;
    if (opcode.length >= sizeof text || count < 3)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)opcode.length, opcode.start);
    if (take_modifier(text, "and"))
        combination = "and.pred";
    else if (take_modifier(text, "or"))
        combination = "or.pred";
    else if (take_modifier(text, "xor"))
        combination = "xor.pred";
    if (count != (combination != NULL ? 4 : 3))
        return false;
    struct operand first = operands[0];
    const struct operand *second = first.second;
    first.second = NULL;
    struct operand result = temporary(decoder, REGISTER_PREDICATE);
    struct operand inverse = temporary(decoder, REGISTER_PREDICATE);
    struct operand other = combination != NULL ? operands[3] : first;
    const struct operand compared[] = {result, operands[1], operands[2]};
    const char *const last = combination != NULL ? combination : "mov.pred";
    if (!draft_text(decoder, text_of(text), compared, 3) || !plain_predicate(decoder, &other) ||
        !draft_known(decoder, "not.pred", inverse, result, result))
        return false;
    return draft_known(decoder, last, first, result, other) &&
           (second == NULL || draft_known(decoder, last, *second, inverse, other));
}

// set.lt.u32.f32 d, a, b: all ones (or 1.0) where the comparison holds.
static bool draft_set(struct decoder *decoder, const struct statement *statement)
{
    char text[OPCODE_SIZE];
    struct operand operands[4];
    if (statement->opcode.length + 2 > sizeof text || statement->count < 3 || statement->count > 4)
        return false;
    snprintf(text, sizeof text, "setp%.*s", (int)statement->opcode.length - 3,
             statement->opcode.start + 3);
    const bool is_float = text_ends(text_of(text), ".f32.f32") || strstr(text, ".f32.") != NULL;
    const bool known = is_float ? take_modifier(text, "f32")
                                : take_modifier(text, "u32") || take_modifier(text, "s32") ||
                                      take_modifier(text, "b32");
    memcpy(operands, statement->operands, (size_t)statement->count * sizeof *operands);
    operands[0] = temporary(decoder, REGISTER_PREDICATE);
    if (!known || !draft_comparison(decoder, text_of(text), operands, statement->count))
        return false;
    const struct operand choice[] = {
        statement->operands[0],
        {.kind = OPERAND_INTEGER, .value = is_float ? 0x3f800000 : 0xffffffff},
        {.kind = OPERAND_INTEGER, .value = 0},
        operands[0]};
    return draft_opcode(decoder, find_opcode(text_of("selp.b32")), choice, 4);
}

// Halves -----------------------------------------------------------------------------------------

// A register from a vector of two or four parts, or the other way round: mov.b64 d, {low, high}.
static bool pack(struct decoder *decoder, const char *type, struct operand to,
                 const struct operand *parts)
{
    char text[OPCODE_SIZE];
    snprintf(text, sizeof text, "pack.%s", type);
    return draft_known(decoder, text, to, parts[0], parts[1]);
}

static bool unpack(struct decoder *decoder, const char *type, const struct operand *parts,
                   struct operand from)
{
    char text[OPCODE_SIZE];
    snprintf(text, sizeof text, "low.%s", type);
    if (!draft_known(decoder, text, parts[0], from, from))
        return false;
    snprintf(text, sizeof text, "high.%s", type);
    return draft_known(decoder, text, parts[1], from, from);
}

static bool draft_parts(struct decoder *decoder, const struct statement *statement)
{
    if (statement->count != 2 || statement->opcode.length != strlen("mov.b64"))
        return false;
    const struct operand *to = &statement->operands[0];
    const struct operand *from = &statement->operands[1];
    const bool packs = from->kind == OPERAND_VECTOR;
    const struct operand *vector = packs ? from : to;
    const char *const type = text_ends(statement->opcode, "64") ? "b64" : "b32";
    if (vector->kind != OPERAND_VECTOR || (packs && to->kind == OPERAND_VECTOR))
        return false;
    if (vector->count == 2)
        return packs ? pack(decoder, type, *to, vector->elements)
                     : unpack(decoder, type, vector->elements, *from);
    if (vector->count != 4 || strcmp(type, "b64") != 0)
        return false;
    const struct operand halves[] = {temporary(decoder, REGISTER_32),
                                     temporary(decoder, REGISTER_32)};
    if (packs)
        return pack(decoder, "b32", halves[0], &from->elements[0]) &&
               pack(decoder, "b32", halves[1], &from->elements[2]) &&
               pack(decoder, "b64", *to, halves);
    return unpack(decoder, "b64", halves, *from) &&
           unpack(decoder, "b32", &to->elements[0], halves[0]) &&
           unpack(decoder, "b32", &to->elements[2], halves[1]);
}

// Conversions ------------------------------------------------------------------------------------

static bool read_conversion(struct text opcode, struct conversion *how)
{
    static const char *const directions[] = {"rn", "rz", "rm", "rp"};
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    struct text rest = opcode;
    struct text word;
    int types = 0;
    text_split(&rest, '.', &word);
    while (text_split(&rest, '.', &word)) {
        bool known = find_number_type(word, types == 0 ? &how->to : &how->from);
        types += known;
        for (int i = 0; i < 4; i++)
            if (text_is(word, directions[i]) || text_is(word, whole[i])) {
                how->rounding = (enum rounding)i;
                how->whole = text_is(word, whole[i]);
                known = true;
            }
        how->saturate |= text_is(word, "sat");
        how->flush |= text_is(word, "ftz");
        if (types > 2 || (!known && !text_is(word, "sat") && !text_is(word, "ftz")))
            return false;
    }
    return types == 2;
}

static bool either_class(struct decoder *decoder, const struct operand *operand, bool wide)
{
    return operand->kind == OPERAND_REGISTER && operand->reg >= 0
               ? is_kind(decoder, operand->reg, REGISTER_64)
               : wide;
}

// A register may be wider than the type, which is then in its low bits.
static bool draft_conversion(struct decoder *decoder, const struct statement *statement)
{
    struct conversion how = {.rounding = ROUND_NEAREST};
    int d;
    int s;
    if (statement->count != 2 || !read_conversion(statement->opcode, &how))
        return false;
    const bool long_to = how.to == TYPE_U64 || how.to == TYPE_S64 || how.to == TYPE_F64;
    const bool long_from = how.from == TYPE_U64 || how.from == TYPE_S64 || how.from == TYPE_F64;
    how.wide_to = either_class(decoder, &statement->operands[0], long_to);
    how.wide_from = either_class(decoder, &statement->operands[1], long_from);
    if ((long_to && !how.wide_to) || (long_from && !how.wide_from) ||
        !destination(decoder, &statement->operands[0], how.wide_to ? CLASS_64 : CLASS_32, &d) ||
        !source(decoder, &statement->operands[1], how.wide_from ? CLASS_64 : CLASS_32, &s))
        return false;
    struct draft *draft = new_draft(decoder);
    draft->run = convert;
    draft->detail.conversion = how;
    draft->d[0] = d;
    draft->s[0] = s;
    return true;
}

// Carries ----------------------------------------------------------------------------------------

static bool draft_carry(struct decoder *decoder, const struct statement *statement)
{
    struct carrying how;
    int d;
    int s[3] = {-1, -1, -1};
    if (!find_carrying(statement->opcode, &how) || statement->count != (how.multiplies ? 4 : 3) ||
        !destination(decoder, &statement->operands[0], how.wide ? CLASS_64 : CLASS_32, &d))
        return false;
    for (int i = 1; i < statement->count; i++)
        if (!source(decoder, &statement->operands[i], how.wide ? CLASS_64 : CLASS_32, &s[i - 1]))
            return false;
    if (decoder->carry < 0)
        decoder->carry = new_register(decoder, REGISTER_PREDICATE);
    struct draft *draft = new_draft(decoder);
    draft->run = add_with_carry;
    draft->detail.carrying = how;
    draft->d[0] = d;
    memcpy(draft->s, s, sizeof s);
    if (how.reads)
        draft->s[3] = decoder->carry;
    if (how.writes)
        draft->d[1] = decoder->carry;
    return true;
}

bool decode_computation(struct decoder *decoder, const struct statement *statement)
{
    const struct text text = statement->opcode;
    if (draft_text(decoder, text, statement->operands, statement->count))
        return true;
    if (text_starts(text, "setp."))
        return draft_comparison(decoder, text, statement->operands, statement->count);
    if (text_starts(text, "set."))
        return draft_set(decoder, statement);
    if (text_starts(text, "cvt."))
        return draft_conversion(decoder, statement);
    if (text_starts(text, "mov."))
        return draft_parts(decoder, statement);
    return draft_carry(decoder, statement);
}
