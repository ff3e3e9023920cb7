#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "decoder.h"
#include "execute.h"
#include "specials.h"

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

struct draft *draft_to_run(struct decoder *decoder, operation *run, const int s[], int count)
{
    struct draft *draft = new_draft(decoder);
    draft->run = run;
    for (int i = 0; i < count; i++)
        draft->s[i] = s[i];
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
            have->special == wanted.special && have->window == wanted.window)
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

// One that changes while the kernel runs is read before the instruction.
static int special_register(struct decoder *decoder, enum special special,
                            struct draft_register constant)
{
    constant.special = special;
    if (special < SPECIAL_CLOCK)
        return constant_register(decoder, constant);
    const int reg = new_register(decoder, constant.kind);
    struct draft *draft = new_draft(decoder);
    draft->run = read_special;
    draft->d[0] = reg;
    draft->detail.special = special;
    return reg;
}

static bool special_fits(enum special special, int class)
{
    return class == CLASS_64 ||
           (class == CLASS_32 && special != SPECIAL_CLOCK_64 && special != SPECIAL_TIMER);
}

// The address of a variable. False for one whose address nobody can take.
static bool address_of(const struct decoder *decoder, const struct variable *variable,
                       struct draft_register *constant)
{
    constant->value = variable->offset;
    if (variable->space == SPACE_SHARED || variable->space == SPACE_LOCAL)
        constant->window = variable->space;
    for (int i = 0; variable->space == SPACE_SHARED && i < decoder->entry->shared_count; i++)
        if (decoder->entry->shared[i].variable == variable)
            constant->value = decoder->entry->shared[i].offset;
    return !variable->in_frame;
}

bool source(struct decoder *decoder, const struct operand *operand, int class, int *reg)
{
    struct draft_register constant = {
        .kind = kind_of_class(class), .special = SPECIAL_NONE, .window = SPACE_GENERIC};
    bool known = class != CLASS_PREDICATE && operand->second == NULL;
    switch (operand->kind) {
    case OPERAND_REGISTER:
        *reg = operand->reg;
        return is_kind(decoder, *reg, constant.kind) && !operand->negated &&
               operand->second == NULL;
    case OPERAND_SPECIAL:
        known = known && special_fits(operand->special, class);
        if (known)
            *reg = special_register(decoder, operand->special, constant);
        return known;
    case OPERAND_INTEGER:
        constant.value = operand->value;
        known = true;
        break;
    case OPERAND_FLOAT32:
    case OPERAND_FLOAT64:
        constant.value = operand->value;
        known = class == (operand->kind == OPERAND_FLOAT32 ? CLASS_32 : CLASS_64);
        break;
    case OPERAND_VARIABLE:
        known = known && address_of(decoder, operand->variable, &constant);
        break;
    case OPERAND_FUNCTION:
        constant.value = FUNCTION_WINDOW + 16 * operand->function->number;
        break;
    default:
        return false;
    }
    if (known)
        *reg = constant_register(decoder, constant);
    return known;
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

bool read_registers(struct decoder *decoder, const struct operand *operand, int count, bool written,
                    int class, int regs[])
{
    const bool vector = operand->kind == OPERAND_VECTOR;
    const struct operand *elements = vector ? operand->elements : operand;
    if (count != (vector ? operand->count : 1))
        return false;
    for (int i = 0; i < count; i++)
        if (!(written ? destination : source)(decoder, &elements[i], class, &regs[i]))
            return false;
    return true;
}

// Statements -------------------------------------------------------------------------------------

static bool decode_known(struct decoder *decoder, const struct statement *statement)
{
    return statement->understood &&
           (decode_computation(decoder, statement) || decode_memory(decoder, statement) ||
            decode_bulk(decoder, statement) || decode_flow(decoder, statement) ||
            decode_warp(decoder, statement) || decode_warpgroup(decoder, statement));
}

// Decodes all statements and turns the targets of branches from statements to drafts. A statement
// that is not known becomes an instruction that is a fault when it is executed.
static void decode_statements(struct decoder *decoder)
{
    const struct kernel *kernel = decoder->kernel;
    struct statement *last = arena_get(decoder->drafts.arena, sizeof *last);
    int *first = zeroed((size_t)kernel->count + 1, sizeof *first);
    *last = (struct statement){.opcode = text_of("ret"),
                               .source = text_of("end of the kernel"),
                               .guard = -1,
                               .understood = true};
    for (int i = 0; i <= kernel->count; i++) {
        first[i] = decoder->drafts.count;
        decoder->statement = i < kernel->count ? &kernel->statements[i] : last;
        if (!decode_known(decoder, decoder->statement)) {
            decoder->drafts.count = first[i];
            new_draft(decoder)->run = unknown_instruction;
        }
    }
    for (int i = 0; i < decoder->drafts.count; i++) {
        struct draft *draft = &decoder->drafts.list[i];
        if (draft->flow == FLOW_BRANCH)
            draft->detail.target = first[draft->detail.target];
        for (int j = 0; draft->flow == FLOW_SWITCH && j < draft->detail.target_count; j++)
            draft->targets[j] = first[draft->targets[j]];
    }
    free(first);
}

static int slot_of(const struct drafts *drafts, int reg)
{
    return reg < 0 ? 0 : drafts->registers[reg].slot;
}

// Instructions are numbered through all functions.
static void write_instruction(const struct drafts *drafts, const struct draft *draft, int first,
                              struct instruction *instruction, struct detail *detail)
{
    instruction->run = draft->run;
    instruction->flow = (uint8_t)draft->flow;
    if (draft->flow == FLOW_NEXT && draft->guard >= 0)
        instruction->flow = FLOW_GUARDED;
    instruction->guard = (int16_t)(draft->guard < 0 ? -1 : slot_of(drafts, draft->guard));
    instruction->guard_negated = draft->guard_negated;
    for (int j = 0; j < 4; j++)
        instruction->d[j] = (uint16_t)slot_of(drafts, draft->d[j]);
    for (int j = 0; j < 5; j++)
        instruction->s[j] = (uint16_t)slot_of(drafts, draft->s[j]);
    *detail = draft->detail;
    detail->target += first;
    detail->targets = draft->targets;
    for (int j = 0; j < detail->target_count; j++)
        draft->targets[j] += first;
}

static void write_constants(const struct drafts *drafts, struct function_code *function)
{
    function->constants =
        arena_get(drafts->arena, (size_t)drafts->register_count * sizeof *function->constants);
    for (int i = 0; i < drafts->register_count; i++) {
        const struct draft_register *reg = &drafts->registers[i];
        if (reg->constant && reg->slot >= 0)
            function->constants[function->constant_count++] =
                (struct constant){.slot = (uint16_t)reg->slot,
                                  .kind = reg->kind,
                                  .window = reg->window,
                                  .special = reg->special,
                                  .value = reg->value};
    }
}

// Appends a function to the code.
static void decode_function(struct code *code, const struct kernel *kernel)
{
    struct arena *arena = &code->kernel->module->arena;
    struct decoder decoder = {.entry = code->kernel,
                              .kernel = kernel,
                              .drafts = {.arena = arena},
                              .carry = -1,
                              .granule_shift = code->granule_shift};
    struct function_code *function = &code->functions[code->function_count++];
    for (int i = 0; i < kernel->register_count; i++)
        new_register(&decoder, kernel->registers[i]);
    decode_statements(&decoder);
    find_polls(&decoder);
    find_touches(&decoder);
    assign_slots(&decoder.drafts);
    *function = (struct function_code){.kernel = kernel,
                                       .first = code->count,
                                       .slots = decoder.drafts.slots,
                                       .predicates = decoder.drafts.predicates};
    write_constants(&decoder.drafts, function);
    for (int i = 0; i < decoder.drafts.count; i++) {
        code->instructions =
            arena_grow(arena, code->instructions, (size_t)code->count, sizeof *code->instructions);
        code->details =
            arena_grow(arena, code->details, (size_t)code->count, sizeof *code->details);
        write_instruction(&decoder.drafts, &decoder.drafts.list[i], function->first,
                          &code->instructions[code->count], &code->details[code->count]);
        code->count++;
    }
    code->granule_shift = decoder.granule_shift;
    code->sequential |= decoder.sequential || decoder.groups;
    code->groups |= decoder.groups;
}

struct code *decode(struct kernel *kernel)
{
    if (kernel->code != NULL)
        return kernel->code;
    struct arena *arena = &kernel->module->arena;
    struct code *code = arena_get(arena, sizeof *code);
    code->kernel = kernel;
    code->granule_shift = 2;
    code->functions = arena_get(arena, (size_t)kernel->function_count * sizeof *code->functions);
    for (int i = 0; i < kernel->function_count; i++)
        decode_function(code, kernel->functions[i]);
    kernel->code = code;
    return code;
}
