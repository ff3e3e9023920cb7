// Instructions of four warps together.
#include <string.h>

#include "decoder.h"
#include "execute.h"
#include "tensor.h"
#include "warpgroup.h"

enum {
    MOST_COLUMNS = 256,
    COLUMNS = 8, // that an instruction computes
    SUMS = 4,    // registers of a lane for these
};

static bool decode_registers(struct decoder *decoder, const struct statement *statement)
{
    if (statement->count != 1 || statement->operands[0].kind != OPERAND_INTEGER)
        return false;
    struct draft *draft = new_draft(decoder);
    draft->run = set_registers;
    draft->detail.registers = (int)statement->operands[0].value;
    return true;
}

// The columns of wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32; 0 where it is another one.
static int columns_of(struct text opcode)
{
    static const char start[] = "wgmma.mma_async.sync.aligned.m64n";
    static const char end[] = "k8.f32.tf32.tf32";
    int columns = 0;
    if (!text_starts(opcode, start) || !text_ends(opcode, end))
        return 0;
    for (size_t i = sizeof start - 1; i < opcode.length - (sizeof end - 1); i++) {
        if (opcode.start[i] < '0' || opcode.start[i] > '9' || columns > MOST_COLUMNS)
            return 0;
        columns = 10 * columns + opcode.start[i] - '0';
    }
    return columns <= MOST_COLUMNS && columns % COLUMNS == 0 ? columns : 0;
}

// A factor of 1 or -1, for A or for B.
static bool read_factor(const struct operand *operand, bool *negated)
{
    *negated ^= operand->value == UINT64_MAX;
    return operand->kind == OPERAND_INTEGER &&
           (operand->value == 1 || operand->value == UINT64_MAX);
}

static void note_registers(struct decoder *decoder, const int regs[], int count)
{
    for (int i = 0; i < count; i++)
        decoder->drafts.registers[regs[i]].of_product = true;
}

// wgmma.mma_async {sums}, a, b, adds, 1, 1; `a` and `b` are descriptors, or `a` is {fragment}.
static bool decode_product(struct decoder *decoder, const struct statement *statement)
{
    const struct operand *operands = statement->operands;
    const int columns = columns_of(statement->opcode);
    const int sums = columns / COLUMNS * SUMS;
    int d[MOST_COLUMNS / COLUMNS * SUMS];
    int fragment[TENSOR_A];
    int s[3];
    bool negated = false;
    if (columns == 0 || statement->count != 6 || statement->guard >= 0)
        return false;
    const bool in_registers = operands[1].kind == OPERAND_VECTOR;
    if (!read_registers(decoder, &operands[0], sums, true, CLASS_32, d) ||
        !source(decoder, &operands[3], CLASS_PREDICATE, &s[0]) ||
        !source(decoder, &operands[2], CLASS_64, &s[1]) ||
        !(in_registers ? read_registers(decoder, &operands[1], TENSOR_A, false, CLASS_32, fragment)
                       : source(decoder, &operands[1], CLASS_64, &s[2])) ||
        !read_factor(&operands[4], &negated) || !read_factor(&operands[5], &negated))
        return false;
    struct draft *first = draft_to_run(decoder, begin_product, s, in_registers ? 2 : 3);
    first->detail.negated = negated;
    first->detail.a_in_registers = in_registers;
    if (in_registers) {
        draft_to_run(decoder, take_a_fragment, fragment, TENSOR_A)->detail.negated = negated;
        note_registers(decoder, fragment, TENSOR_A);
    }
    note_registers(decoder, d, sums);
    for (int i = 0; i < sums; i += SUMS) {
        struct draft *draft = draft_to_run(decoder, multiply_columns, &d[i], SUMS);
        memcpy(draft->d, draft->s, SUMS * sizeof *draft->d);
        draft->detail.part = i / SUMS;
    }
    decoder->groups = true;
    return true;
}

static bool decode_wait(struct decoder *decoder, const struct statement *statement)
{
    if (statement->count != 1 || statement->operands[0].kind != OPERAND_INTEGER)
        return false;
    struct draft *draft = new_draft(decoder);
    draft->flow = FLOW_WARPGROUP;
    draft->detail.groups = (int)statement->operands[0].value;
    return true;
}

bool decode_warpgroup(struct decoder *decoder, const struct statement *statement)
{
    const struct text text = statement->opcode;
    if (text_is(text, "setmaxnreg.inc.sync.aligned.u32") ||
        text_is(text, "setmaxnreg.dec.sync.aligned.u32"))
        return decode_registers(decoder, statement);
    if (text_is(text, "wgmma.wait_group.sync.aligned"))
        return decode_wait(decoder, statement);
    if (text_is(text, "wgmma.fence.sync.aligned"))
        new_draft(decoder)->run = warpgroup_fence;
    else if (text_is(text, "wgmma.commit_group.sync.aligned"))
        new_draft(decoder)->run = warpgroup_commit;
    else
        return decode_product(decoder, statement);
    return statement->count == 0;
}

static bool is_of_product(const struct decoder *decoder, int reg)
{
    return reg >= 0 && decoder->drafts.registers[reg].of_product &&
           !decoder->drafts.registers[reg].constant;
}

void find_touches(struct decoder *decoder)
{
    for (int i = 0; i < decoder->drafts.count; i++) {
        struct draft *draft = &decoder->drafts.list[i];
        unsigned touched = 0;
        if (draft->run == take_a_fragment || draft->run == multiply_columns)
            continue;
        for (int j = 0; j < 9; j++)
            if (is_of_product(decoder, j < 4 ? draft->d[j] : draft->s[j - 4]))
                touched |= 1U << j;
        if (touched == 0)
            continue;
        draft->detail.touched = (uint16_t)touched;
        draft->detail.checked = draft->run;
        draft->run = touch_registers;
    }
}
