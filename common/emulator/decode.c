#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "async.h"
#include "draft.h"
#include "execute.h"
#include "opcodes.h"
#include "texture.h"

struct decoder {
    const struct kernel *kernel;
    struct drafts drafts;
    const struct statement *statement; // the one being decoded
    int granule_shift;
};

// A modifier of an opcode: what stands between two periods.
static bool next_modifier(struct text *rest, struct text *modifier)
{
    if (rest->length == 0)
        return false;
    size_t length = 0;
    while (length < rest->length && rest->start[length] != '.')
        length++;
    *modifier = (struct text){rest->start, length};
    const size_t step = length < rest->length ? length + 1 : length;
    rest->start += step;
    rest->length -= step;
    return true;
}

static bool starts_with(struct text text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.start, prefix, length) == 0;
}

static struct text literal(const char *word)
{
    return (struct text){word, strlen(word)};
}

// Drafts -----------------------------------------------------------------------------------------

static struct draft *new_draft(struct decoder *decoder)
{
    struct drafts *drafts = &decoder->drafts;
    drafts->list =
        arena_grow(drafts->arena, drafts->list, (size_t)drafts->count, sizeof *drafts->list);
    struct draft *draft = &drafts->list[drafts->count++];
    *draft = (struct draft){.run = do_nothing,
                            .flow = FLOW_NEXT,
                            .guard = decoder->statement->guard,
                            .guard_negated = decoder->statement->guard_negated,
                            .d = {-1, -1, -1, -1},
                            .s = {-1, -1, -1, -1, -1},
                            .detail = {.statement = decoder->statement}};
    return draft;
}

static int new_register(struct decoder *decoder, struct draft_register description)
{
    struct drafts *drafts = &decoder->drafts;
    drafts->registers = arena_grow(drafts->arena, drafts->registers, (size_t)drafts->register_count,
                                   sizeof *drafts->registers);
    drafts->registers[drafts->register_count] = description;
    return drafts->register_count++;
}

static int constant_register(struct decoder *decoder, struct draft_register wanted)
{
    wanted.constant = true;
    if (wanted.kind == REGISTER_32)
        wanted.value &= 0xffffffff;
    for (int i = decoder->kernel->register_count; i < decoder->drafts.register_count; i++) {
        const struct draft_register *have = &decoder->drafts.registers[i];
        if (have->constant && have->kind == wanted.kind && have->value == wanted.value &&
            have->special == wanted.special && have->shared == wanted.shared)
            return i;
    }
    return new_register(decoder, wanted);
}

static enum register_kind kind_of_class(int class)
{
    return class == CLASS_64 ? REGISTER_64 : class == CLASS_32 ? REGISTER_32 : REGISTER_PREDICATE;
}

static bool is_kind(const struct decoder *decoder, int reg, enum register_kind kind)
{
    return reg >= 0 && reg < decoder->drafts.register_count &&
           decoder->drafts.registers[reg].kind == kind;
}

// The register that holds a source of this class. False for what cannot be one.
static bool source(struct decoder *decoder, const struct operand *operand, int class, int *reg)
{
    struct draft_register constant = {.kind = kind_of_class(class), .special = SPECIAL_NONE};
    switch (operand->kind) {
    case OPERAND_REGISTER:
        *reg = operand->reg;
        return is_kind(decoder, *reg, constant.kind) && !operand->negated &&
               operand->second == NULL;
    case OPERAND_SPECIAL:
        constant.special = operand->special;
        break;
    case OPERAND_INTEGER:
        constant.value = operand->value;
        break;
    case OPERAND_FLOAT32:
        constant.value = operand->value;
        if (class != CLASS_32)
            return false;
        break;
    case OPERAND_FLOAT64:
        constant.value = operand->value;
        if (class != CLASS_64)
            return false;
        break;
    case OPERAND_VARIABLE:
        constant.value = operand->variable->offset;
        constant.shared = operand->variable->space == SPACE_SHARED;
        if (operand->variable->space == SPACE_PARAM)
            return false;
        break;
    default:
        return false;
    }
    if (constant.kind == REGISTER_PREDICATE && operand->kind != OPERAND_INTEGER)
        return false;
    *reg = constant_register(decoder, constant);
    return true;
}

static bool destination(struct decoder *decoder, const struct operand *operand, int class, int *reg)
{
    const struct draft_register any = {.kind = kind_of_class(class), .special = SPECIAL_NONE};
    if (operand->kind == OPERAND_SINK) {
        *reg = new_register(decoder, any);
        return true;
    }
    *reg = operand->reg;
    return operand->kind == OPERAND_REGISTER && operand->second == NULL &&
           is_kind(decoder, *reg, any.kind);
}

// Computation ------------------------------------------------------------------------------------

static int source_count(const struct opcode *opcode)
{
    int count = 0;
    while (count < 4 && opcode->sources[count] != CLASS_NONE)
        count++;
    return count;
}

static bool decode_opcode(struct decoder *decoder, const struct opcode *opcode,
                          const struct operand *operands, int count)
{
    if (operands == NULL || count != 1 + source_count(opcode))
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

static struct operand register_operand(int reg)
{
    return (struct operand){.kind = OPERAND_REGISTER, .reg = reg};
}

// mov.b64 d, {low, high} and mov.b64 {low, high}, s
static bool decode_halves(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *to = &statement->operands[0];
    const struct operand *from = &statement->operands[1];
    if (statement->count != 2 || !text_is(statement->opcode, "mov.b64"))
        return false;
    if (from->kind == OPERAND_VECTOR && from->count == 2) {
        const struct operand operands[] = {*to, from->elements[0], from->elements[1]};
        return decode_opcode(decoder, find_opcode(literal("pack")), operands, 3);
    }
    if (to->kind != OPERAND_VECTOR || to->count != 2)
        return false;
    const struct operand low[] = {to->elements[0], *from};
    const struct operand high[] = {to->elements[1], *from};
    return decode_opcode(decoder, find_opcode(literal("unpack.low")), low, 2) &&
           decode_opcode(decoder, find_opcode(literal("unpack.high")), high, 2);
}

// Takes "and", "or" or "xor" out of the text of a comparison. Returns the opcode that it stands
// for, or NULL where there is none; `plain` has room for `size` bytes.
static const struct opcode *take_combination(struct text opcode, char *plain, size_t size)
{
    const struct opcode *combination = NULL;
    size_t length = 0;
    struct text modifier;
    while (next_modifier(&opcode, &modifier)) {
        if (text_is(modifier, "and"))
            combination = find_opcode(literal("and.pred"));
        else if (text_is(modifier, "or"))
            combination = find_opcode(literal("or.pred"));
        else if (text_is(modifier, "xor"))
            combination = find_opcode(literal("xor.pred"));
        else if (length < size)
            length += (size_t)snprintf(plain + length, size - length, "%s%.*s",
                                       length > 0 ? "." : "", (int)modifier.length, modifier.start);
    }
    return combination;
}

// cvt.s64.s16 d, s where s is a 64-bit register: its low half has all that the conversion looks at.
static bool decode_wide_conversion(struct decoder *decoder, const struct statement *statement)
{
    const struct draft_register word = {.kind = REGISTER_32, .special = SPECIAL_NONE};
    const struct opcode *opcode = find_opcode(statement->opcode);
    if (opcode == NULL || statement->count != 2)
        return false;
    const struct operand low = register_operand(new_register(decoder, word));
    const struct operand halved[] = {low, statement->operands[1]};
    const struct operand converted[] = {statement->operands[0], low};
    return decode_opcode(decoder, find_opcode(literal("unpack.low")), halved, 2) &&
           decode_opcode(decoder, opcode, converted, 2);
}

// setp.lt.and.s32 p, a, b, c: the comparison, then its combination with c.
static bool decode_combined_comparison(struct decoder *decoder, const struct statement *statement)
{
    char plain[64] = "";
    const struct opcode *combination = take_combination(statement->opcode, plain, sizeof plain);
    const struct opcode *comparison = find_opcode(literal(plain));
    if (statement->count != 4 || combination == NULL || comparison == NULL)
        return false;
    const struct draft_register predicate = {.kind = REGISTER_PREDICATE, .special = SPECIAL_NONE};
    const struct operand result = register_operand(new_register(decoder, predicate));
    struct operand other = statement->operands[3];
    if (other.negated) {
        const struct operand inverse = register_operand(new_register(decoder, predicate));
        other.negated = false;
        const struct operand operands[] = {inverse, other};
        if (!decode_opcode(decoder, find_opcode(literal("not.pred")), operands, 2))
            return false;
        other = inverse;
    }
    const struct operand compared[] = {result, statement->operands[1], statement->operands[2]};
    const struct operand combined[] = {statement->operands[0], result, other};
    return decode_opcode(decoder, comparison, compared, 3) &&
           decode_opcode(decoder, combination, combined, 3);
}

// Memory -----------------------------------------------------------------------------------------

static const struct {
    const char *name;
    enum element_form form;
    uint8_t bytes;
} element_types[] = {
    {"u8", FORM_U8, 1},   {"b8", FORM_U8, 1},   {"s8", FORM_S8, 1},   {"u16", FORM_U16, 2},
    {"b16", FORM_U16, 2}, {"s16", FORM_S16, 2}, {"u32", FORM_U32, 4}, {"s32", FORM_S32, 4},
    {"b32", FORM_U32, 4}, {"f32", FORM_U32, 4}, {"u64", FORM_64, 8},  {"s64", FORM_64, 8},
    {"b64", FORM_64, 8},  {"f64", FORM_64, 8},
};

static bool read_element(struct text modifier, enum element_form *form, uint8_t *bytes)
{
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
        if (text_is(modifier, element_types[i].name)) {
            *form = element_types[i].form;
            *bytes = element_types[i].bytes;
            return true;
        }
    return false;
}

static bool read_space(struct text modifier, enum space *space)
{
    static const struct {
        const char *name;
        enum space space;
    } spaces[] = {{"global", SPACE_GLOBAL}, {"shared", SPACE_SHARED}, {"shared::cta", SPACE_SHARED},
                  {"local", SPACE_LOCAL},   {"param", SPACE_PARAM},   {"const", SPACE_CONST}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (text_is(modifier, spaces[i].name)) {
            *space = spaces[i].space;
            return true;
        }
    return false;
}

// Modifiers that say how caches are used, or promise what always holds here.
static bool is_hint(struct text modifier)
{
    static const char *const hints[] = {"nc", "ca",       "cg",   "cs",      "cv",  "lu",  "wb",
                                        "wt", "volatile", "weak", "relaxed", "cta", "gpu", "sys"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (text_is(modifier, hints[i]))
            return true;
    return starts_with(modifier, "L1::") || starts_with(modifier, "L2::");
}

static bool read_access(struct text opcode, struct detail *detail, enum element_form *form)
{
    struct text rest = opcode;
    struct text modifier;
    next_modifier(&rest, &modifier);
    detail->write = text_is(modifier, "st");
    detail->space = SPACE_GENERIC;
    detail->vector = 1;
    while (next_modifier(&rest, &modifier)) {
        if (read_space(modifier, &detail->space) || is_hint(modifier) ||
            read_element(modifier, form, &detail->element))
            continue;
        if (text_is(modifier, "v2"))
            detail->vector = 2;
        else if (text_is(modifier, "v4"))
            detail->vector = 4;
        else
            return false;
    }
    detail->bytes = (uint8_t)(detail->vector * detail->element);
    if ((*form == FORM_U32 || *form == FORM_S32) && detail->vector > 1)
        *form = detail->vector == 2 ? FORM_2X32 : FORM_4X32;
    return detail->element > 0 && detail->bytes <= 16;
}

// The address of an access: s[index] and the offset.
static bool read_address(struct decoder *decoder, const struct operand *memory, int *reg,
                         bool *wide, int64_t *offset)
{
    if (memory->kind != OPERAND_MEMORY || memory->count != 1)
        return false;
    const struct operand *base = &memory->elements[0];
    *offset = memory->offset;
    *wide = base->kind != OPERAND_REGISTER || is_kind(decoder, base->reg, REGISTER_64);
    return source(decoder, base, *wide ? CLASS_64 : CLASS_32, reg);
}

static operation *access_of(enum space space)
{
    switch (space) {
    case SPACE_GLOBAL:
    case SPACE_CONST:
        return access_global;
    case SPACE_SHARED:
        return access_shared;
    case SPACE_LOCAL:
        return access_local;
    default:
        return access_generic;
    }
}

static bool decode_parameter(struct decoder *decoder, const struct statement *statement,
                             struct draft *draft)
{
    const struct operand *memory = &statement->operands[1];
    if (draft->detail.write || memory->kind != OPERAND_MEMORY || memory->count != 1 ||
        memory->elements[0].kind != OPERAND_VARIABLE ||
        memory->elements[0].variable->space != SPACE_PARAM)
        return false;
    draft->run = load_parameter;
    draft->detail.offset = (int64_t)memory->elements[0].variable->offset + memory->offset;
    return draft->detail.offset >= 0 &&
           (uint64_t)draft->detail.offset + draft->detail.bytes <= decoder->kernel->parameter_bytes;
}

// The registers that an access moves.
static bool decode_elements(struct decoder *decoder, const struct operand *operand,
                            struct draft *draft, int class)
{
    const int count = operand->kind == OPERAND_VECTOR ? operand->count : 1;
    const struct operand *elements = operand->kind == OPERAND_VECTOR ? operand->elements : operand;
    if (count != draft->detail.vector)
        return false;
    for (int i = 0; i < count; i++) {
        const bool known = draft->detail.write
                               ? source(decoder, &elements[i], class, &draft->s[i + 1])
                               : destination(decoder, &elements[i], class, &draft->d[i]);
        if (!known)
            return false;
    }
    return true;
}

// Finds the registers and what moves them. Elements that are narrower than 64 bits may be in 64-bit
// registers, too.
static bool decode_move(struct decoder *decoder, const struct operand *operand, struct draft *draft,
                        enum element_form form)
{
    const struct instruction_set *set = instruction_set();
    const bool write = draft->detail.write;
    draft->detail.move = write ? set->store[form] : set->load[form];
    if (decode_elements(decoder, operand, draft, form == FORM_64 ? CLASS_64 : CLASS_32))
        return true;
    draft->detail.move = write ? set->store_wide[form] : set->load_wide[form];
    return draft->detail.move != NULL && decode_elements(decoder, operand, draft, CLASS_64);
}

static void note_granule(struct decoder *decoder, const struct detail *detail)
{
    if (detail->element < 4 && detail->space != SPACE_PARAM)
        decoder->granule_shift = 0;
}

static bool decode_access(struct decoder *decoder, const struct statement *statement)
{
    struct draft draft = {.guard = statement->guard,
                          .guard_negated = statement->guard_negated,
                          .d = {-1, -1, -1, -1},
                          .s = {-1, -1, -1, -1, -1}};
    enum element_form form = FORM_U32;
    if (statement->count != 2 || !read_access(statement->opcode, &draft.detail, &form))
        return false;
    const bool write = draft.detail.write;
    const struct operand *memory = &statement->operands[write ? 0 : 1];
    draft.detail.statement = statement;
    if (!decode_move(decoder, &statement->operands[write ? 1 : 0], &draft, form))
        return false;
    draft.run = access_of(draft.detail.space);
    if (draft.detail.space == SPACE_PARAM
            ? !decode_parameter(decoder, statement, &draft)
            : !read_address(decoder, memory, &draft.s[0], &draft.detail.wide_address,
                            &draft.detail.offset))
        return false;
    note_granule(decoder, &draft.detail);
    *new_draft(decoder) = draft;
    return true;
}

// tex.1d.v4.f32.s32 {r, g, b, a}, [object, {x}]
static bool decode_texture(struct decoder *decoder, const struct statement *statement)
{
    if (!text_is(statement->opcode, "tex.1d.v4.f32.s32") || statement->count != 2 ||
        statement->operands[1].kind != OPERAND_MEMORY || statement->operands[1].count != 2)
        return false;
    const struct operand *object = &statement->operands[1].elements[0];
    const struct operand *at = &statement->operands[1].elements[1];
    struct draft draft = {.detail = {.vector = 4, .element = 4, .bytes = 16}};
    int s[2];
    if (at->kind == OPERAND_VECTOR)
        at = at->elements;
    if (!decode_elements(decoder, &statement->operands[0], &draft, CLASS_32) ||
        !source(decoder, object, CLASS_64, &s[0]) || !source(decoder, at, CLASS_32, &s[1]))
        return false;
    struct draft *kept = new_draft(decoder);
    kept->run = texture_fetch;
    kept->detail.vector = 4;
    kept->detail.element = 4;
    kept->detail.bytes = 16;
    kept->detail.move = instruction_set()->load[FORM_4X32];
    memcpy(kept->d, draft.d, sizeof draft.d);
    memcpy(kept->s, s, sizeof s);
    return true;
}

// cp.async.ca.shared.global [to], [from], bytes [, size or predicate]
static bool decode_copy(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *operands = statement->operands;
    struct draft draft = {.d = {-1, -1, -1, -1}, .s = {-1, -1, -1, -1, -1}};
    bool wide_source;
    if (statement->count < 3 || operands[2].kind != OPERAND_INTEGER ||
        (operands[2].value != 4 && operands[2].value != 8 && operands[2].value != 16) ||
        !read_address(decoder, &operands[0], &draft.s[0], &draft.detail.wide_address,
                      &draft.detail.offset) ||
        !read_address(decoder, &operands[1], &draft.s[1], &wide_source,
                      &draft.detail.from_offset) ||
        !wide_source)
        return false;
    if (statement->count == 4) {
        const struct operand *last = &operands[3];
        draft.detail.has_ignore =
            last->kind == OPERAND_REGISTER && is_kind(decoder, last->reg, REGISTER_PREDICATE);
        draft.detail.has_size = !draft.detail.has_ignore;
        if (!source(decoder, last, draft.detail.has_ignore ? CLASS_PREDICATE : CLASS_32,
                    &draft.s[2]))
            return false;
    }
    struct draft *kept = new_draft(decoder);
    draft.detail.statement = statement;
    draft.detail.space = SPACE_SHARED;
    draft.detail.bytes = (uint8_t)operands[2].value;
    draft.guard = kept->guard;
    draft.guard_negated = kept->guard_negated;
    draft.run = async_copy;
    *kept = draft;
    return statement->count <= 4;
}

static bool decode_async(struct decoder *decoder, const struct statement *statement)
{
    const struct text opcode = statement->opcode;
    if (text_is(opcode, "cp.async.commit_group")) {
        new_draft(decoder)->run = async_commit;
        return statement->count == 0;
    }
    if (text_is(opcode, "cp.async.wait_all") || text_is(opcode, "cp.async.wait_group")) {
        const bool all = statement->count == 0;
        struct draft *draft = new_draft(decoder);
        draft->run = async_wait;
        draft->detail.groups = all ? -1 : (int)statement->operands[0].value;
        return all == text_is(opcode, "cp.async.wait_all") &&
               (all || statement->operands[0].kind == OPERAND_INTEGER);
    }
    struct text rest = opcode;
    struct text modifier;
    next_modifier(&rest, &modifier);
    next_modifier(&rest, &modifier);
    while (next_modifier(&rest, &modifier)) {
        enum space space;
        if (!is_hint(modifier) && !read_space(modifier, &space))
            return false;
        if (text_is(modifier, "L2::cache_hint"))
            return false;
    }
    return decode_copy(decoder, statement);
}

// Control flow -----------------------------------------------------------------------------------

static bool decode_branch(struct decoder *decoder, const struct statement *statement)
{
    if (statement->count != 1 || statement->operands[0].kind != OPERAND_LABEL)
        return false;
    struct draft *draft = new_draft(decoder);
    draft->flow = FLOW_BRANCH;
    draft->detail.target =
        (int)statement->operands[0].value; // of a statement, until all have drafts
    return true;
}

static bool decode_barrier(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *operands = statement->operands;
    if (text_is(statement->opcode, "bar.warp.sync")) {
        int mask;
        if (statement->count != 1 || !source(decoder, &operands[0], CLASS_32, &mask))
            return false;
        struct draft *draft = new_draft(decoder);
        draft->flow = FLOW_SYNC_WARP;
        draft->s[0] = mask;
        return true;
    }
    if (statement->count != 1 || operands[0].kind != OPERAND_INTEGER || operands[0].value != 0)
        return false;
    new_draft(decoder)->flow = FLOW_BARRIER;
    return true;
}

static bool is_one_of(struct text opcode, const char *const *words)
{
    for (; *words != NULL; words++)
        if (text_is(opcode, *words))
            return true;
    return false;
}

static bool decode_known(struct decoder *decoder, const struct statement *statement)
{
    static const char *const barriers[] = {"bar.sync",
                                           "bar.warp.sync",
                                           "barrier.sync",
                                           "barrier.sync.aligned",
                                           "bar.cta.sync",
                                           "barrier.cta.sync",
                                           NULL};
    static const char *const fences[] = {"membar.cta",        "membar.gl",         "membar.sys",
                                         "fence.acq_rel.cta", "fence.acq_rel.gpu", NULL};
    static const char *const branches[] = {"bra", "bra.uni", NULL};
    static const char *const exits[] = {"ret", "ret.uni", "exit", NULL};
    const struct text text = statement->opcode;
    const struct opcode *opcode = find_opcode(text);
    if (!statement->understood)
        return false;
    if (opcode != NULL && decode_opcode(decoder, opcode, statement->operands, statement->count))
        return true;
    if (starts_with(text, "setp."))
        return decode_combined_comparison(decoder, statement);
    if (starts_with(text, "cvt."))
        return decode_wide_conversion(decoder, statement);
    if (starts_with(text, "mov."))
        return decode_halves(decoder, statement);
    if (starts_with(text, "ld.") || starts_with(text, "st."))
        return decode_access(decoder, statement);
    if (starts_with(text, "tex."))
        return decode_texture(decoder, statement);
    if (starts_with(text, "cp.async."))
        return decode_async(decoder, statement);
    if (is_one_of(text, branches))
        return decode_branch(decoder, statement);
    if (is_one_of(text, barriers))
        return decode_barrier(decoder, statement);
    if (is_one_of(text, exits))
        new_draft(decoder)->flow = FLOW_EXIT;
    else if (is_one_of(text, fences))
        new_draft(decoder);
    else if (text_is(text, "trap"))
        new_draft(decoder)->run = trap;
    else
        return false;
    return true;
}

// Decodes all statements and turns the targets of branches from statements to drafts. A statement
// that is not known becomes an instruction that is a fault when it is executed.
static void decode_statements(struct decoder *decoder)
{
    const struct kernel *kernel = decoder->kernel;
    const struct statement end = {.opcode = literal("ret"),
                                  .source = literal("end of the kernel"),
                                  .guard = -1,
                                  .understood = true};
    struct statement *last = arena_get(decoder->drafts.arena, sizeof *last);
    int *first = zeroed((size_t)kernel->count + 1, sizeof *first);
    *last = end;
    for (int i = 0; i <= kernel->count; i++) {
        first[i] = decoder->drafts.count;
        decoder->statement = i < kernel->count ? &kernel->statements[i] : last;
        if (!decode_known(decoder, decoder->statement)) {
            decoder->drafts.count = first[i];
            new_draft(decoder)->run = unknown_instruction;
        }
    }
    for (int i = 0; i < decoder->drafts.count; i++)
        if (decoder->drafts.list[i].flow == FLOW_BRANCH) {
            int *target = &decoder->drafts.list[i].detail.target;
            *target = first[*target];
        }
    free(first);
}

static int slot_of(const struct drafts *drafts, int reg)
{
    return reg < 0 ? 0 : drafts->registers[reg].slot;
}

static void write_instructions(const struct drafts *drafts, struct code *code)
{
    code->count = drafts->count;
    code->instructions = arena_get(drafts->arena, (size_t)code->count * sizeof(struct instruction));
    code->details = arena_get(drafts->arena, (size_t)code->count * sizeof(struct detail));
    for (int i = 0; i < code->count; i++) {
        const struct draft *draft = &drafts->list[i];
        struct instruction *instruction = &code->instructions[i];
        instruction->run = draft->run;
        instruction->flow = (uint8_t)draft->flow;
        instruction->guard = (int16_t)(draft->guard < 0 ? -1 : slot_of(drafts, draft->guard));
        instruction->guard_negated = draft->guard_negated;
        for (int j = 0; j < 4; j++)
            instruction->d[j] = (uint16_t)slot_of(drafts, draft->d[j]);
        for (int j = 0; j < 5; j++)
            instruction->s[j] = (uint16_t)slot_of(drafts, draft->s[j]);
        code->details[i] = draft->detail;
    }
}

static void write_constants(const struct drafts *drafts, struct code *code)
{
    code->constants =
        arena_get(drafts->arena, (size_t)drafts->register_count * sizeof *code->constants);
    for (int i = 0; i < drafts->register_count; i++) {
        const struct draft_register *reg = &drafts->registers[i];
        if (reg->constant && reg->slot >= 0)
            code->constants[code->constant_count++] = (struct constant){.slot = (uint16_t)reg->slot,
                                                                        .kind = reg->kind,
                                                                        .shared = reg->shared,
                                                                        .special = reg->special,
                                                                        .value = reg->value};
    }
}

struct code *decode(struct kernel *kernel)
{
    if (kernel->code != NULL)
        return kernel->code;
    struct arena *arena = &kernel->module->arena;
    struct decoder decoder = {.kernel = kernel, .drafts = {.arena = arena}, .granule_shift = 2};
    for (int i = 0; i < kernel->register_count; i++)
        new_register(&decoder, (struct draft_register){.kind = kernel->registers[i],
                                                       .special = SPECIAL_NONE});
    decode_statements(&decoder);
    assign_slots(&decoder.drafts);
    struct code *code = arena_get(arena, sizeof *code);
    code->kernel = kernel;
    code->granule_shift = decoder.granule_shift;
    write_instructions(&decoder.drafts, code);
    write_constants(&decoder.drafts, code);
    code->slots = decoder.drafts.slots;
    code->predicates = decoder.drafts.predicates;
    kernel->code = code;
    return code;
}
