// Branches, barriers and the ends of threads.
#include "decoder.h"
#include "execute.h"

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

bool decode_flow(struct decoder *decoder, const struct statement *statement)
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
