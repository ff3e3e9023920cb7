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

// What modifiers do to values, each an instruction of its own.
struct changes {
    const struct opcode *source;    // to each of the sources; NULL: nothing
    const struct opcode *result[3]; // to the result, one after the other
    int count;
};

// Takes a modifier out of an opcode's text. False where the table does not know what it does to
// numbers of the type that the text ends in: nothing but .f32, .f16 and .f16x2 has one.
static bool take_change(char text[OPCODE_SIZE], const char *modifier, const char *instruction,
                        struct changes *changes)
{
    char name[OPCODE_SIZE];
    if (!take_modifier(text, modifier))
        return true;
    const char *const type = strrchr(text, '.');
    snprintf(name, sizeof name, "%s%s", instruction, type != NULL ? type : "");
    changes->result[changes->count] = find_opcode(text_of(name));
    return changes->result[changes->count++] != NULL;
}

static bool take_changes(char text[OPCODE_SIZE], struct changes *changes)
{
    *changes = (struct changes){0};
    if (!take_change(text, "ftz", "flush", changes))
        return false;
    changes->source = changes->count > 0 ? changes->result[0] : NULL;
    return take_change(text, "sat", "saturate", changes) &&
           (!text_starts(text_of(text), "fma.") || take_change(text, "relu", "relu", changes)) &&
           changes->count > 0;
}

static bool draft_change(struct decoder *decoder, const struct opcode *change, struct operand d,
                         struct operand a)
{
    const struct operand operands[] = {d, a};
    return draft_opcode(decoder, change, operands, 2);
}

// What is not in the table with .ftz, .sat or .relu: without them, between other instructions that
// change the sources and the result.
static bool draft_modified(struct decoder *decoder, char text[OPCODE_SIZE],
                           const struct operand *operands, int count)
{
    struct changes changes;
    struct operand changed[5];
    if (!take_changes(text, &changes))
        return false;
    const struct opcode *opcode = find_opcode(text_of(text));
    if (opcode == NULL || count > 5 || count != 1 + source_count(opcode))
        return false;
    memcpy(changed, operands, (size_t)count * sizeof *operands);
    for (int i = 1; i < count && changes.source != NULL; i++) {
        changed[i] = temporary(decoder, REGISTER_32);
        if (!draft_change(decoder, changes.source, changed[i], operands[i]))
            return false;
    }
    if (opcode->destination != CLASS_32)
        return draft_opcode(decoder, opcode, changed, count);
    changed[0] = temporary(decoder, REGISTER_32);
    if (!draft_opcode(decoder, opcode, changed, count))
        return false;
    struct operand result = changed[0];
    for (int i = 0; i < changes.count; i++) {
        const struct operand from = result;
        result = i + 1 < changes.count ? temporary(decoder, REGISTER_32) : operands[0];
        if (!draft_change(decoder, changes.result[i], result, from))
            return false;
    }
    return true;
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

// Comparisons of pairs, and comparisons as numbers
// -------------------------------------------------

// The two halves of each source; a predicate, the last of three, stays.
static bool halve(struct decoder *decoder, const struct operand *operands, int count,
                  struct operand halves[2][4])
{
    for (int i = 1; i < count; i++) {
        const bool predicate = i == 3;
        const struct operand parts[] = {
            predicate ? operands[i] : temporary(decoder, REGISTER_32),
            predicate ? operands[i] : temporary(decoder, REGISTER_32),
        };
        if (!predicate && !unpack(decoder, "b32", parts, operands[i]))
            return false;
        halves[0][i] = parts[0];
        halves[1][i] = parts[1];
    }
    return true;
}

// setp.lt.f16x2 p|q, a, b: p from the low halves, q from the high ones.
static bool draft_pair_comparison(struct decoder *decoder, struct text opcode,
                                  const struct operand *operands, int count)
{
    struct operand halves[2][4];
    const struct text one = {opcode.start, opcode.length - strlen("x2")};
    if (count < 3 || count > 4 || operands[0].second == NULL ||
        !halve(decoder, operands, count, halves))
        return false;
    halves[0][0] = operands[0];
    halves[0][0].second = NULL;
    halves[1][0] = *operands[0].second;
    return draft_comparison(decoder, one, halves[0], count) &&
           draft_comparison(decoder, one, halves[1], count);
}

// What `set` gives where a comparison holds, by the type of its result; 0 where that is no such
// type.
static uint64_t truth_of(const char *type)
{
    static const struct {
        const char *type;
        uint64_t truth;
    } truths[] = {{".u32", UINT32_MAX}, {".s32", UINT32_MAX}, {".b32", UINT32_MAX},
                  {".f32", 0x3f800000}, {".u16", UINT16_MAX}, {".s16", UINT16_MAX},
                  {".f16", 0x3c00},     {".f16x2", 0x3c00}};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcmp(truths[i].type, type) == 0)
            return truths[i].truth;
    return 0;
}

static bool draft_truth(struct decoder *decoder, struct text comparison,
                        const struct operand *operands, int count, uint64_t truth)
{
    struct operand compared[4];
    memcpy(compared, operands, (size_t)count * sizeof *operands);
    compared[0] = temporary(decoder, REGISTER_PREDICATE);
    const struct operand choice[] = {operands[0],
                                     {.kind = OPERAND_INTEGER, .value = truth},
                                     {.kind = OPERAND_INTEGER, .value = 0},
                                     compared[0]};
    return draft_comparison(decoder, comparison, compared, count) &&
           draft_opcode(decoder, find_opcode(text_of("selp.b32")), choice, 4);
}

static bool draft_pair_truth(struct decoder *decoder, struct text comparison,
                             const struct operand *operands, int count, uint64_t truth)
{
    struct operand halves[2][4];
    if (!halve(decoder, operands, count, halves))
        return false;
    for (int i = 0; i < 2; i++) {
        halves[i][0] = temporary(decoder, REGISTER_32);
        if (!draft_truth(decoder, comparison, halves[i], count, truth & UINT16_MAX))
            return false;
    }
    const struct operand parts[] = {halves[0][0], halves[1][0]};
    return pack(decoder, "b32", operands[0], parts);
}

// set.lt.u32.f32 d, a, b: all ones (or 1.0) where the comparison holds; of pairs, in each half.
static bool draft_set(struct decoder *decoder, const struct statement *statement)
{
    char text[OPCODE_SIZE];
    char type[OPCODE_SIZE];
    if (statement->opcode.length + 2 > sizeof text || statement->count < 3 || statement->count > 4)
        return false;
    snprintf(text, sizeof text, "setp%.*s", (int)statement->opcode.length - 3,
             statement->opcode.start + 3);
    char *const from = strrchr(text, '.');
    snprintf(type, sizeof type, "%s", from);
    *from = '\0';
    char *const to = strrchr(text, '.');
    const uint64_t truth = to != NULL ? truth_of(to) : 0;
    if (truth == 0)
        return false;
    const bool pair = strcmp(type, ".f16x2") == 0;
    snprintf(to, sizeof text - (size_t)(to - text), "%s", pair ? ".f16" : type);
    return (pair ? draft_pair_truth : draft_truth)(decoder, text_of(text), statement->operands,
                                                   statement->count, truth);
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
    if (text_starts(text, "setp.") && text_ends(text, ".f16x2"))
        return draft_pair_comparison(decoder, text, statement->operands, statement->count);
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
