#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "decoder.h"
#include "execute.h"

// Drafts -----------------------------------------------------------------------------------------

struct draft *new_draft(struct decoder *decoder)
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

static int add_register(struct decoder *decoder, struct draft_register description)
{
    struct drafts *drafts = &decoder->drafts;
    drafts->registers = arena_grow(drafts->arena, drafts->registers, (size_t)drafts->register_count,
                                   sizeof *drafts->registers);
    drafts->registers[drafts->register_count] = description;
    return drafts->register_count++;
}

int new_register(struct decoder *decoder, enum register_kind kind)
{
    return add_register(decoder, (struct draft_register){.kind = kind, .special = SPECIAL_NONE});
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
    return add_register(decoder, wanted);
}

static enum register_kind kind_of_class(int class)
{
    return class == CLASS_64 ? REGISTER_64 : class == CLASS_32 ? REGISTER_32 : REGISTER_PREDICATE;
}

bool is_kind(const struct decoder *decoder, int reg, enum register_kind kind)
{
    return reg >= 0 && reg < decoder->drafts.register_count &&
           decoder->drafts.registers[reg].kind == kind;
}

// The register that holds a source of this class. False for what cannot be one.
bool source(struct decoder *decoder, const struct operand *operand, int class, int *reg)
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

bool destination(struct decoder *decoder, const struct operand *operand, int class, int *reg)
{
    const enum register_kind kind = kind_of_class(class);
    if (operand->kind == OPERAND_SINK) {
        *reg = new_register(decoder, kind);
        return true;
    }
    *reg = operand->reg;
    return operand->kind == OPERAND_REGISTER && operand->second == NULL &&
           is_kind(decoder, *reg, kind);
}

// Statements -------------------------------------------------------------------------------------

static bool decode_known(struct decoder *decoder, const struct statement *statement)
{
    return statement->understood &&
           (decode_computation(decoder, statement) || decode_memory(decoder, statement) ||
            decode_flow(decoder, statement));
}

// Decodes all statements and turns the targets of branches from statements to drafts. A statement
// that is not known becomes an instruction that is a fault when it is executed.
static void decode_statements(struct decoder *decoder)
{
    const struct kernel *kernel = decoder->kernel;
    const struct statement end = {.opcode = text_of("ret"),
                                  .source = text_of("end of the kernel"),
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
    struct decoder decoder = {
        .kernel = kernel, .drafts = {.arena = arena}, .carry = -1, .granule_shift = 2};
    for (int i = 0; i < kernel->register_count; i++)
        new_register(&decoder, kernel->registers[i]);
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
