// Loads, stores, copies and texture fetches.
#include <string.h>

#include "access.h"
#include "async.h"
#include "atomics.h"
#include "decoder.h"
#include "texture.h"

static const struct {
    const char *name;
    enum element_form form;
    uint8_t bytes;
} element_types[] = {
    {"u8", FORM_U8, 1},     {"b8", FORM_U8, 1},   {"s8", FORM_S8, 1},   {"u16", FORM_U16, 2},
    {"b16", FORM_U16, 2},   {"s16", FORM_S16, 2}, {"u32", FORM_U32, 4}, {"s32", FORM_S32, 4},
    {"b32", FORM_U32, 4},   {"f32", FORM_U32, 4}, {"u64", FORM_64, 8},  {"s64", FORM_64, 8},
    {"b64", FORM_64, 8},    {"f64", FORM_64, 8},  {"f16", FORM_U16, 2}, {"bf16", FORM_U16, 2},
    {"f16x2", FORM_U32, 4},
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
    } spaces[] = {{"global", SPACE_GLOBAL},      {"shared", SPACE_SHARED},
                  {"shared::cta", SPACE_SHARED}, {"param::entry", SPACE_PARAM},
                  {"param::func", SPACE_PARAM},  {"local", SPACE_LOCAL},
                  {"param", SPACE_PARAM},        {"const", SPACE_CONST}};
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
    static const char *const hints[] = {"nc", "ca", "cg", "cs",   "cv",
                                        "lu", "wb", "wt", "weak", "L2::cache_hint"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (text_is(modifier, hints[i]))
            return true;
    return text_starts(modifier, "L1::") || text_starts(modifier, "L2::");
}

// What the access means for the order between threads. One that is volatile is strong only where it
// polls: that shows later.
static bool read_order(struct text modifier, struct detail *detail)
{
    detail->is_volatile |= text_is(modifier, "volatile");
    detail->acquires |= text_is(modifier, "acquire") || text_is(modifier, "acq_rel");
    detail->releases |= text_is(modifier, "release") || text_is(modifier, "acq_rel");
    detail->strong |= text_is(modifier, "relaxed") || text_is(modifier, "mmio") ||
                      detail->acquires || detail->releases;
    detail->block_only |= text_is(modifier, "cta");
    return text_is(modifier, "volatile") || text_is(modifier, "acquire") ||
           text_is(modifier, "release") || text_is(modifier, "acq_rel") ||
           text_is(modifier, "relaxed") || text_is(modifier, "mmio") || text_is(modifier, "cta") ||
           text_is(modifier, "cluster") || text_is(modifier, "gpu") || text_is(modifier, "sys");
}

static bool read_access(struct text opcode, struct detail *detail, enum element_form *form)
{
    struct text rest = opcode;
    struct text modifier;
    text_split(&rest, '.', &modifier);
    detail->write = text_is(modifier, "st");
    detail->space = SPACE_GENERIC;
    detail->vector = 1;
    while (text_split(&rest, '.', &modifier)) {
        if (read_space(modifier, &detail->space) || is_hint(modifier) ||
            read_order(modifier, detail) || read_element(modifier, form, &detail->element))
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

bool read_address(struct decoder *decoder, const struct operand *memory, int *reg, bool *wide,
                  int64_t *offset)
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

static bool is_within(const struct draft *draft, uint64_t bytes)
{
    return draft->detail.offset >= 0 &&
           (uint64_t)draft->detail.offset + draft->detail.bytes <= bytes;
}

// ld.param and st.param: a variable of a call, or a parameter of the kernel.
static bool decode_parameter(struct decoder *decoder, const struct operand *memory,
                             struct draft *draft)
{
    if (memory->kind != OPERAND_MEMORY || memory->count != 1)
        return false;
    const struct variable *variable = memory->elements[0].variable;
    if (memory->elements[0].kind != OPERAND_VARIABLE) {
        draft->run = load_any_parameter;
        return !draft->detail.write &&
               read_address(decoder, memory, &draft->s[0], &draft->detail.wide_address,
                            &draft->detail.offset);
    }
    draft->detail.offset = (int64_t)variable->offset + memory->offset;
    draft->run = variable->in_frame ? access_frame : load_parameter;
    return variable->space == SPACE_PARAM && (variable->in_frame || !draft->detail.write) &&
           is_within(draft, variable->in_frame ? decoder->kernel->frame_bytes
                                               : decoder->entry->parameter_bytes);
}

// The registers that an access moves.
static bool decode_elements(struct decoder *decoder, const struct operand *operand,
                            struct draft *draft, int class)
{
    const bool write = draft->detail.write;
    return read_registers(decoder, operand, draft->detail.vector, !write, class,
                          write ? &draft->s[1] : draft->d);
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

// A policy for the cache comes last, as an operand.
static bool has_cache_hint(struct text opcode)
{
    struct text modifier;
    while (text_split(&opcode, '.', &modifier))
        if (text_is(modifier, "L2::cache_hint"))
            return true;
    return false;
}

static bool decode_access(struct decoder *decoder, const struct statement *statement)
{
    struct draft draft = {.guard = statement->guard,
                          .guard_negated = statement->guard_negated,
                          .d = {-1, -1, -1, -1},
                          .s = {-1, -1, -1, -1, -1}};
    enum element_form form = FORM_U32;
    if (statement->count < 2 || statement->count > (has_cache_hint(statement->opcode) ? 3 : 2) ||
        !read_access(statement->opcode, &draft.detail, &form))
        return false;
    const bool write = draft.detail.write;
    const struct operand *memory = &statement->operands[write ? 0 : 1];
    draft.detail.statement = statement;
    if (!decode_move(decoder, &statement->operands[write ? 1 : 0], &draft, form))
        return false;
    draft.run = access_of(draft.detail.space);
    if (draft.detail.space == SPACE_PARAM
            ? !decode_parameter(decoder, memory, &draft)
            : !read_address(decoder, memory, &draft.s[0], &draft.detail.wide_address,
                            &draft.detail.offset))
        return false;
    note_granule(decoder, &draft.detail);
    *new_draft(decoder) = draft;
    return true;
}

static operation *texture_operation(struct text opcode, int *coordinates)
{
    static const struct {
        const char *name;
        operation *run;
        int coordinates;
    } operations[] = {
        {"tex.1d.v4.f32.s32", texture_by_index, 1}, {"tex.1d.v4.s32.s32", texture_by_index, 1},
        {"tex.1d.v4.u32.s32", texture_by_index, 1}, {"tex.1d.v4.f32.f32", texture_1d, 1},
        {"tex.1d.v4.s32.f32", texture_1d, 1},       {"tex.1d.v4.u32.f32", texture_1d, 1},
        {"tex.2d.v4.f32.f32", texture_2d, 2},       {"tex.2d.v4.s32.f32", texture_2d, 2},
        {"tex.2d.v4.u32.f32", texture_2d, 2},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (text_is(opcode, operations[i].name)) {
            *coordinates = operations[i].coordinates;
            return operations[i].run;
        }
    return NULL;
}

// tex.2d.v4.f32.f32 {r, g, b, a}, [object, {x, y}]
static bool decode_texture(struct decoder *decoder, const struct statement *statement)
{
    int coordinates;
    operation *run = texture_operation(statement->opcode, &coordinates);
    if (run == NULL || statement->count != 2 || statement->operands[1].kind != OPERAND_MEMORY ||
        statement->operands[1].count != 2)
        return false;
    const struct operand *object = &statement->operands[1].elements[0];
    const struct operand *at = &statement->operands[1].elements[1];
    struct draft draft = {.detail = {.vector = 4, .element = 4, .bytes = 16}};
    int s[5] = {-1, -1, -1, -1, -1};
    const bool tuple = at->kind == OPERAND_VECTOR; // one coordinate may do without the braces
    if ((tuple ? at->count : 1) < coordinates ||
        !decode_elements(decoder, &statement->operands[0], &draft, CLASS_32) ||
        !source(decoder, object, CLASS_64, &s[0]))
        return false;
    for (int i = 0; i < coordinates; i++)
        if (!source(decoder, tuple ? &at->elements[i] : at, CLASS_32, &s[1 + i]))
            return false;
    struct draft *kept = new_draft(decoder);
    kept->run = run;
    kept->detail.vector = 4;
    kept->detail.element = 4;
    kept->detail.bytes = 16;
    kept->detail.move = instruction_set()->load[FORM_4X32];
    memcpy(kept->d, draft.d, sizeof draft.d);
    memcpy(kept->s, s, sizeof s);
    return true;
}

// Atomics ---------------------------------------------------------------------------------------

static bool read_operation(struct text modifier, enum atomic *atomic)
{
    static const char *const names[] = {
        [ATOMIC_ADD] = "add",     [ATOMIC_MIN] = "min", [ATOMIC_MAX] = "max",
        [ATOMIC_INC] = "inc",     [ATOMIC_DEC] = "dec", [ATOMIC_AND] = "and",
        [ATOMIC_OR] = "or",       [ATOMIC_XOR] = "xor", [ATOMIC_EXCHANGE] = "exch",
        [ATOMIC_COMPARE] = "cas",
    };
    for (int i = ATOMIC_ADD; i <= ATOMIC_COMPARE; i++)
        if (text_is(modifier, names[i])) {
            *atomic = (enum atomic)i;
            return true;
        }
    return false;
}

static bool read_type(struct text modifier, struct detail *detail)
{
    static const struct {
        const char *name;
        enum number_type type;
        uint8_t bytes;
    } types[] = {{"b16", TYPE_U16, 2},   {"b32", TYPE_U32, 4},     {"u32", TYPE_U32, 4},
                 {"s32", TYPE_S32, 4},   {"b64", TYPE_U64, 8},     {"u64", TYPE_U64, 8},
                 {"s64", TYPE_S64, 8},   {"f16", TYPE_F16, 2},     {"f16x2", TYPE_F16, 4},
                 {"bf16", TYPE_BF16, 2}, {"bf16x2", TYPE_BF16, 4}, {"f32", TYPE_F32, 4},
                 {"f64", TYPE_F64, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_is(modifier, types[i].name)) {
            detail->type = types[i].type;
            detail->element = detail->bytes = types[i].bytes;
            return true;
        }
    return false;
}

static bool read_atomic(struct text opcode, struct detail *detail)
{
    struct text modifier;
    text_split(&opcode, '.', &modifier);
    detail->space = SPACE_GENERIC;
    detail->vector = 1;
    while (text_split(&opcode, '.', &modifier))
        if (!read_operation(modifier, &detail->atomic) && !read_type(modifier, detail) &&
            !read_space(modifier, &detail->space) && !read_order(modifier, detail) &&
            !is_hint(modifier) && !text_is(modifier, "noftz"))
            return false;
    const bool is_float = detail->type == TYPE_F16 || detail->type == TYPE_BF16 ||
                          detail->type == TYPE_F32 || detail->type == TYPE_F64;
    detail->strong = true;
    return detail->atomic != ATOMIC_NONE && detail->bytes > 0 &&
           (!is_float || detail->atomic == ATOMIC_ADD || detail->atomic == ATOMIC_EXCHANGE);
}

// atom.global.add.u32 d, [a], b; atom.global.cas.b32 d, [a], b, c; red: the same without d.
static bool decode_atomic(struct decoder *decoder, const struct statement *statement)
{
    const bool reduction = text_starts(statement->opcode, "red.");
    struct draft draft = {.d = {-1, -1, -1, -1}, .s = {-1, -1, -1, -1, -1}};
    if (!read_atomic(statement->opcode, &draft.detail))
        return false;
    const int class = draft.detail.bytes == 8 ? CLASS_64 : CLASS_32;
    const int sources = draft.detail.atomic == ATOMIC_COMPARE ? 2 : 1;
    const struct operand *operands = statement->operands + !reduction;
    const int count = statement->count - !reduction - has_cache_hint(statement->opcode);
    if (count != 1 + sources || !read_address(decoder, &operands[0], &draft.s[0],
                                              &draft.detail.wide_address, &draft.detail.offset))
        return false;
    for (int i = 1; i <= sources; i++)
        if (!source(decoder, &operands[i], class, &draft.s[i]))
            return false;
    const struct operand sink = {.kind = OPERAND_SINK, .reg = -1};
    if (!destination(decoder, reduction ? &sink : &statement->operands[0], class, &draft.d[0]))
        return false;
    note_granule(decoder, &draft.detail);
    struct draft *kept = new_draft(decoder);
    draft.guard = kept->guard;
    draft.guard_negated = kept->guard_negated;
    draft.detail.statement = statement;
    draft.run = access_atomic;
    *kept = draft;
    decoder->sequential = true;
    decoder->groups |= draft.detail.space != SPACE_GLOBAL;
    return true;
}

// membar.gl, fence.acq_rel.gpu, fence.sc.sys ...
static bool decode_fence(struct decoder *decoder, const struct statement *statement)
{
    struct text rest = statement->opcode;
    struct text modifier;
    bool block_only = false;
    text_split(&rest, '.', &modifier);
    while (text_split(&rest, '.', &modifier)) {
        block_only |= text_is(modifier, "cta");
        if (!text_is(modifier, "cta") && !text_is(modifier, "gl") && !text_is(modifier, "gpu") &&
            !text_is(modifier, "sys") && !text_is(modifier, "cluster") &&
            !text_is(modifier, "sc") && !text_is(modifier, "acq_rel") &&
            !text_is(modifier, "acquire") && !text_is(modifier, "release"))
            return false;
    }
    struct draft *draft = new_draft(decoder);
    draft->run = fence;
    draft->detail.block_only = block_only;
    decoder->groups |= block_only;
    return statement->count == 0;
}

// prefetch.global.L1 [a] and the like change nothing.
static bool decode_prefetch(struct decoder *decoder, const struct statement *statement)
{
    int reg;
    bool wide;
    int64_t offset;
    return (statement->count == 1 || statement->count == 2) &&
           read_address(decoder, &statement->operands[0], &reg, &wide, &offset) &&
           new_draft(decoder) != NULL;
}

// Copies ----------------------------------------------------------------------------------------

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
    const int count = statement->count - has_cache_hint(statement->opcode);
    if (count == 4) {
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
    return count <= 4;
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
    text_split(&rest, '.', &modifier);
    text_split(&rest, '.', &modifier);
    while (text_split(&rest, '.', &modifier)) {
        enum space space;
        if (!is_hint(modifier) && !read_space(modifier, &space))
            return false;
    }
    return decode_copy(decoder, statement);
}

bool decode_memory(struct decoder *decoder, const struct statement *statement)
{
    const struct text text = statement->opcode;
    if (text_starts(text, "ld.") || text_starts(text, "ldu.") || text_starts(text, "st."))
        return decode_access(decoder, statement);
    if (text_starts(text, "tex."))
        return decode_texture(decoder, statement);
    if (text_starts(text, "atom.") || text_starts(text, "red."))
        return decode_atomic(decoder, statement);
    if (text_starts(text, "membar.") || text_starts(text, "fence."))
        return decode_fence(decoder, statement);
    if (text_starts(text, "prefetch.") || text_starts(text, "prefetchu.") ||
        text_starts(text, "applypriority.") || text_starts(text, "discard."))
        return decode_prefetch(decoder, statement);
    return text_starts(text, "cp.async.") && decode_async(decoder, statement);
}
