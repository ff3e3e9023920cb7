// Instructions of a whole warp: shuffles, votes, matches and reductions.
#include "collectives.h"
#include "decoder.h"
#include "tensor.h"

// One of them, as the text up to its type says.
static const struct collective {
    const char *text;
    operation *run;
    enum combination combination;
    int result, value; // classes of the destination and of what the lanes bring
    enum number_type type;
    int sources;    // before the mask
    bool predicate; // a second destination, which may be missing
} collectives[] = {
    {"shfl.sync.up.b32", shuffle, SHUFFLE_UP, CLASS_32, CLASS_32, TYPE_U32, 3, true},
    {"shfl.sync.down.b32", shuffle, SHUFFLE_DOWN, CLASS_32, CLASS_32, TYPE_U32, 3, true},
    {"shfl.sync.bfly.b32", shuffle, SHUFFLE_XOR, CLASS_32, CLASS_32, TYPE_U32, 3, true},
    {"shfl.sync.idx.b32", shuffle, SHUFFLE_INDEX, CLASS_32, CLASS_32, TYPE_U32, 3, true},
    {"vote.sync.all.pred", vote, COMBINE_AND, CLASS_PREDICATE, CLASS_PREDICATE, TYPE_U32, 1, false},
    {"vote.sync.any.pred", vote, COMBINE_OR, CLASS_PREDICATE, CLASS_PREDICATE, TYPE_U32, 1, false},
    {"vote.sync.uni.pred", vote, COMBINE_EQUAL, CLASS_PREDICATE, CLASS_PREDICATE, TYPE_U32, 1,
     false},
    {"vote.sync.ballot.b32", ballot, COMBINE_BALLOT, CLASS_32, CLASS_PREDICATE, TYPE_U32, 1, false},
    {"match.any.sync.b32", match_any, COMBINE_EQUAL, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"match.any.sync.b64", match_any, COMBINE_EQUAL, CLASS_32, CLASS_64, TYPE_U64, 1, false},
    {"match.all.sync.b32", match_all, COMBINE_EQUAL, CLASS_32, CLASS_32, TYPE_U32, 1, true},
    {"match.all.sync.b64", match_all, COMBINE_EQUAL, CLASS_32, CLASS_64, TYPE_U64, 1, true},
    {"redux.sync.add.u32", reduce, COMBINE_ADD, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"redux.sync.add.s32", reduce, COMBINE_ADD, CLASS_32, CLASS_32, TYPE_S32, 1, false},
    {"redux.sync.min.u32", reduce, COMBINE_MIN, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"redux.sync.min.s32", reduce, COMBINE_MIN, CLASS_32, CLASS_32, TYPE_S32, 1, false},
    {"redux.sync.max.u32", reduce, COMBINE_MAX, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"redux.sync.max.s32", reduce, COMBINE_MAX, CLASS_32, CLASS_32, TYPE_S32, 1, false},
    {"redux.sync.and.b32", reduce, COMBINE_AND, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"redux.sync.or.b32", reduce, COMBINE_OR, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"redux.sync.xor.b32", reduce, COMBINE_XOR, CLASS_32, CLASS_32, TYPE_U32, 1, false},
    {"elect.sync", elect, COMBINE_NONE, CLASS_32, CLASS_32, TYPE_U32, 0, true},
};

static const struct collective *find_collective(struct text text)
{
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (text_is(text, collectives[i].text))
            return &collectives[i];
    return NULL;
}

// d or d|p.
static bool read_results(struct decoder *decoder, const struct collective *how,
                         const struct operand *operand, int d[2])
{
    struct operand first = *operand;
    const struct operand missing = {.kind = OPERAND_SINK, .reg = -1};
    const struct operand *second = operand->second != NULL ? operand->second : &missing;
    first.second = NULL;
    return (how->predicate || operand->second == NULL) &&
           destination(decoder, &first, how->result, &d[0]) &&
           (!how->predicate || destination(decoder, second, CLASS_PREDICATE, &d[1]));
}

static bool decode_collective(struct decoder *decoder, const struct collective *how,
                              const struct statement *statement)
{
    int d[2] = {-1, -1};
    int s[4] = {-1, -1, -1, -1};
    bool negated = false;
    if (statement->count != 2 + how->sources ||
        !read_results(decoder, how, &statement->operands[0], d))
        return false;
    for (int i = 0; i < how->sources; i++) {
        struct operand value = statement->operands[1 + i];
        if (i == 0 && how->value == CLASS_PREDICATE) {
            negated = value.negated;
            value.negated = false;
        }
        if (!source(decoder, &value, i == 0 ? how->value : CLASS_32, &s[i]))
            return false;
    }
    int mask;
    if (!source(decoder, &statement->operands[1 + how->sources], CLASS_32, &mask))
        return false;
    struct draft *draft = draft_to_run(decoder, how->run, s, how->sources);
    draft->flow = FLOW_TOGETHER;
    draft->d[0] = d[0];
    draft->d[1] = d[1];
    draft->s[4] = mask;
    draft->detail.combination = how->combination;
    draft->detail.type = how->type;
    draft->detail.negated = negated;
    return true;
}

static bool decode_tensor(struct decoder *decoder, const struct statement *statement)
{
    static const struct operand all = {.kind = OPERAND_INTEGER, .value = 0xffffffff};
    const struct operand *operands = statement->operands;
    int d[4], a[TENSOR_A + 1], b[TENSOR_B], c[4];
    if (!text_is(statement->opcode, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") ||
        statement->count != 4 || statement->guard >= 0 ||
        !read_registers(decoder, &operands[0], 4, true, CLASS_32, d) ||
        !read_registers(decoder, &operands[1], TENSOR_A, false, CLASS_32, a) ||
        !read_registers(decoder, &operands[2], TENSOR_B, false, CLASS_32, b) ||
        !read_registers(decoder, &operands[3], 4, false, CLASS_32, c) ||
        !source(decoder, &all, CLASS_32, &a[TENSOR_A]))
        return false;
    draft_to_run(decoder, take_a, a, TENSOR_A + 1)->flow = FLOW_TOGETHER;
    draft_to_run(decoder, take_b, b, TENSOR_B);
    struct draft *draft = draft_to_run(decoder, multiply_matrices, c, 4);
    for (int i = 0; i < 4; i++)
        draft->d[i] = d[i];
    return true;
}

bool decode_warp(struct decoder *decoder, const struct statement *statement)
{
    if (decode_tensor(decoder, statement))
        return true;
    const struct collective *how = find_collective(statement->opcode);
    if (how != NULL)
        return decode_collective(decoder, how, statement);
    int d;
    if (!text_is(statement->opcode, "activemask.b32") || statement->count != 1 ||
        !destination(decoder, &statement->operands[0], CLASS_32, &d))
        return false;
    struct draft *draft = new_draft(decoder);
    draft->run = active_mask;
    draft->d[0] = d;
    return true;
}
