// Instructions of four warps together.
#include "decoder.h"
#include "warpgroup.h"

static bool decode_registers(struct decoder *decoder, const struct statement *statement)
{
    if ((!text_is(statement->opcode, "setmaxnreg.inc.sync.aligned.u32") &&
         !text_is(statement->opcode, "setmaxnreg.dec.sync.aligned.u32")) ||
        statement->count != 1 || statement->operands[0].kind != OPERAND_INTEGER)
        return false;
    struct draft *draft = new_draft(decoder);
    draft->run = set_registers;
    draft->detail.registers = (int)statement->operands[0].value;
    return true;
}

bool decode_warpgroup(struct decoder *decoder, const struct statement *statement)
{
    return decode_registers(decoder, statement);
}
