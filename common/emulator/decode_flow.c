// Branches, calls, barriers and the ends of threads.
#include "decoder.h"
#include "execute.h"
#include "system.h"

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

// brx.idx index, table;
static bool decode_switch(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *table = &statement->operands[1];
    int index;
    if (statement->count != 2 || table->kind != OPERAND_TARGETS ||
        !source(decoder, &statement->operands[0], CLASS_32, &index))
        return false;
    struct draft *draft = new_draft(decoder);
    draft->flow = FLOW_SWITCH;
    draft->s[0] = index;
    draft->targets = arena_get(decoder->drafts.arena, (size_t)table->count * sizeof(int));
    draft->detail.target_count = table->count;
    for (int i = 0; i < table->count; i++)
        draft->targets[i] = (int)table->elements[i].value; // of statements, as above
    return true;
}

// Calls -----------------------------------------------------------------------------------------

// The variables in a list of a call.
static bool read_list(struct decoder *decoder, const struct operand *list, struct variable ***found,
                      int *count)
{
    *count = list->count;
    *found = arena_get(decoder->drafts.arena, (size_t)(list->count + 1) * sizeof(void *));
    for (int i = 0; i < list->count; i++) {
        (*found)[i] = list->elements[i].variable;
        if (list->elements[i].kind != OPERAND_VARIABLE || !(*found)[i]->in_frame)
            return false;
    }
    return true;
}

static int function_index(const struct decoder *decoder, const struct kernel *function)
{
    int index = decoder->entry->function_count - 1;
    while (index > 0 && decoder->entry->functions[index] != function)
        index--;
    return index; // 0, the kernel, where it is none of them
}

// call (results), function, (arguments), prototype; all but the function may be missing.
static bool decode_call(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *operands = statement->operands;
    struct call *call = arena_get(decoder->drafts.arena, sizeof *call);
    int at = 0;
    int address = -1;
    if (at < statement->count && operands[at].kind == OPERAND_LIST &&
        !read_list(decoder, &operands[at++], &call->results, &call->result_count))
        return false;
    if (at == statement->count)
        return false;
    const struct operand *target = &operands[at++];
    if (at < statement->count && operands[at].kind == OPERAND_LIST &&
        !read_list(decoder, &operands[at++], &call->arguments, &call->argument_count))
        return false;
    call->function = -1;
    if (target->kind == OPERAND_REGISTER) {
        if (!source(decoder, target, CLASS_64, &address))
            return false;
    } else if (target->kind != OPERAND_FUNCTION || at != statement->count) {
        return false;
    }
    struct draft *draft = new_draft(decoder);
    draft->detail.call = call;
    draft->s[0] = address;
    draft->flow = FLOW_CALL;
    if (address >= 0)
        return true;
    if (!target->function->defined) {
        draft->flow = FLOW_NEXT;
        draft->run = find_system_function(target->function, call);
        decoder->sequential = true; // what is printed comes in the order of the schedule
        return draft->run != NULL;
    }
    call->function = function_index(decoder, target->function);
    return call->function > 0;
}

// Barriers --------------------------------------------------------------------------------------

// bar.sync a; bar.sync a, b; bar.arrive a, b; bar.red.popc.u32 d, a, {b,} p; and barrier.cta...
static bool read_barrier(struct text opcode, struct detail *detail)
{
    struct text modifier;
    text_split(&opcode, '.', &modifier);
    while (text_split(&opcode, '.', &modifier)) {
        detail->arrives |= text_is(modifier, "arrive");
        if (text_is(modifier, "popc"))
            detail->combination = COMBINE_COUNT;
        else if (text_is(modifier, "and"))
            detail->combination = COMBINE_AND;
        else if (text_is(modifier, "or"))
            detail->combination = COMBINE_OR;
        else if (!text_is(modifier, "sync") && !text_is(modifier, "red") &&
                 !text_is(modifier, "arrive") && !text_is(modifier, "aligned") &&
                 !text_is(modifier, "cta") && !text_is(modifier, "u32") &&
                 !text_is(modifier, "pred"))
            return false;
    }
    return true;
}

static bool decode_barrier(struct decoder *decoder, const struct statement *statement)
{
    struct draft draft = {.d = {-1, -1, -1, -1}, .s = {-1, -1, -1, -1, -1}};
    if (!read_barrier(statement->opcode, &draft.detail))
        return false;
    const bool reduces = draft.detail.combination != COMBINE_NONE;
    const struct operand *operands = statement->operands + reduces;
    const int count = statement->count - 2 * reduces;
    const int class = draft.detail.combination == COMBINE_COUNT ? CLASS_32 : CLASS_PREDICATE;
    draft.detail.has_count = count == 2;
    if (count < 1 || count > 2 || !source(decoder, &operands[0], CLASS_32, &draft.s[0]) ||
        (count == 2 && !source(decoder, &operands[1], CLASS_32, &draft.s[1])) ||
        (draft.detail.arrives && count != 2) ||
        (reduces && !destination(decoder, &statement->operands[0], class, &draft.d[0])))
        return false;
    if (reduces) {
        struct operand predicate = operands[count];
        draft.detail.negated = predicate.negated;
        predicate.negated = false;
        if (!source(decoder, &predicate, CLASS_PREDICATE, &draft.s[2]))
            return false;
    }
    struct draft *kept = new_draft(decoder);
    draft.guard = kept->guard;
    draft.guard_negated = kept->guard_negated;
    draft.detail.statement = statement;
    draft.run = do_nothing;
    draft.flow = FLOW_BARRIER;
    *kept = draft;
    decoder->groups |= draft.detail.has_count;
    return true;
}

static bool decode_warp_barrier(struct decoder *decoder, const struct statement *statement)
{
    int mask;
    if (statement->count != 1 || !source(decoder, &statement->operands[0], CLASS_32, &mask))
        return false;
    struct draft *draft = new_draft(decoder);
    draft->flow = FLOW_SYNC_WARP;
    draft->s[0] = mask;
    const struct draft_register *reg = &decoder->drafts.registers[mask];
    decoder->groups |= !reg->constant || reg->value != ALL_LANES;
    return true;
}

static bool is_one_of(struct text opcode, const char *const *words)
{
    for (; *words != NULL; words++)
        if (text_is(opcode, *words))
            return true;
    return false;
}

bool decode_flow(struct decoder *decoder, const struct statement *statement)
{
    static const char *const branches[] = {"bra", "bra.uni", NULL};
    static const char *const returns[] = {"ret", "ret.uni", NULL};
    static const char *const switches[] = {"brx.idx", "brx.idx.uni", NULL};
    static const char *const calls[] = {"call", "call.uni", NULL};
    const struct text text = statement->opcode;
    if (is_one_of(text, switches))
        return decode_switch(decoder, statement);
    if (is_one_of(text, calls))
        return decode_call(decoder, statement);
    if (is_one_of(text, branches))
        return decode_branch(decoder, statement);
    if (text_is(text, "bar.warp.sync"))
        return decode_warp_barrier(decoder, statement);
    if (text_starts(text, "bar.") || text_starts(text, "barrier."))
        return decode_barrier(decoder, statement);
    if (is_one_of(text, returns))
        new_draft(decoder)->flow = decoder->kernel->entry ? FLOW_EXIT : FLOW_RETURN;
    else if (text_is(text, "exit"))
        new_draft(decoder)->flow = FLOW_EXIT;
    else if (text_is(text, "trap") || text_is(text, "brkpt"))
        new_draft(decoder)->run = trap;
    else if (text_is(text, "nanosleep.u32"))
        new_draft(decoder)->run = sleep_a_while;
    else
        return false;
    return true;
}
