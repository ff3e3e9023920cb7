// mbarriers and bulk copies.
#include "bulk.h"
#include "decoder.h"
#include "mbarriers.h"

// What an instruction for mbarriers is, by its modifiers.
struct form {
    operation *run;
    bool expects, parity, relaxed, shared;
};

static bool read_form(struct text opcode, struct form *form)
{
    static const struct {
        const char *name;
        operation *run;
    } operations[] = {{"init", mbarrier_init},
                      {"inval", mbarrier_inval},
                      {"arrive", mbarrier_arrive},
                      {"test_wait", mbarrier_wait},
                      {"try_wait", mbarrier_wait}};
    struct text modifier;
    text_split(&opcode, '.', &modifier);
    text_split(&opcode, '.', &modifier);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (text_is(modifier, operations[i].name))
            form->run = operations[i].run;
    if (text_is(modifier, "expect_tx"))
        form->run = mbarrier_expect;
    while (text_split(&opcode, '.', &modifier)) {
        form->expects |= text_is(modifier, "expect_tx");
        form->parity |= text_is(modifier, "parity");
        form->relaxed |= text_is(modifier, "relaxed");
        form->shared |= text_is(modifier, "shared") || text_is(modifier, "shared::cta");
        if (!text_is(modifier, "expect_tx") && !text_is(modifier, "parity") &&
            !text_is(modifier, "relaxed") && !text_starts(modifier, "shared") &&
            !text_is(modifier, "acquire") && !text_is(modifier, "release") &&
            !text_is(modifier, "cta") && !text_is(modifier, "cluster") && !text_is(modifier, "b64"))
            return false;
    }
    return form->run != NULL && form->shared && (!form->expects || form->run == mbarrier_arrive) &&
           (!form->parity || form->run == mbarrier_wait);
}

// mbarrier.init [a], count; mbarrier.inval [a]; mbarrier.expect_tx [a], bytes;
// mbarrier.arrive state, [a] {, count}; mbarrier.arrive.expect_tx state, [a], bytes;
// mbarrier.try_wait done, [a], state {, time}; mbarrier.try_wait.parity done, [a], parity {, time}
static bool decode_mbarrier(struct decoder *decoder, const struct statement *statement)
{
    struct form form = {.run = NULL};
    int d = -1;
    int s[3] = {-1, -1, -1};
    bool wide;
    int64_t offset;
    if (!read_form(statement->opcode, &form))
        return false;
    const bool waits = form.run == mbarrier_wait;
    const bool arrives = form.run == mbarrier_arrive;
    const int results = waits || arrives;
    const struct operand *operands = statement->operands + results;
    const int sources = statement->count - results - 1;
    const int least = form.run == mbarrier_inval || (arrives && !form.expects) ? 0 : 1;
    const int most = form.run == mbarrier_inval ? 0 : waits ? 2 : 1;
    if (sources < least || sources > most ||
        (results == 1 &&
         !destination(decoder, &statement->operands[0], waits ? CLASS_PREDICATE : CLASS_64, &d)) ||
        !read_address(decoder, &operands[0], &s[0], &wide, &offset))
        return false;
    for (int i = 1; i <= sources; i++)
        if (!source(decoder, &operands[i], i == 1 && waits && !form.parity ? CLASS_64 : CLASS_32,
                    &s[i]))
            return false;
    struct draft *draft = new_draft(decoder);
    draft->run = form.run;
    draft->d[0] = d;
    draft->s[0] = s[0];
    draft->s[1] = s[1];
    draft->detail.wide_address = wide;
    draft->detail.offset = offset;
    draft->detail.has_count = arrives && !form.expects && sources == 1;
    draft->detail.expects = form.expects;
    draft->detail.parity = form.parity;
    draft->detail.acquires = draft->detail.releases = !form.relaxed;
    decoder->groups = true;
    return true;
}

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]
// {, policy}
static bool decode_copy(struct decoder *decoder, const struct statement *statement)
{
    static const char *const opcodes[] = {
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes",
    };
    static const char hint[] = ".L2::cache_hint";
    struct text opcode = statement->opcode;
    const struct operand *operands = statement->operands;
    struct detail detail = {.statement = statement, .bytes = 16, .space = SPACE_SHARED};
    int s[4];
    bool wide_source;
    const bool hinted = text_ends(opcode, hint);
    if (hinted)
        opcode.length -= sizeof hint - 1;
    if ((!text_is(opcode, opcodes[0]) && !text_is(opcode, opcodes[1])) ||
        statement->count != 4 + hinted ||
        !read_address(decoder, &operands[0], &s[0], &detail.wide_address, &detail.offset) ||
        !read_address(decoder, &operands[1], &s[1], &wide_source, &detail.from_offset) ||
        !wide_source || !source(decoder, &operands[2], CLASS_32, &s[2]) ||
        !read_address(decoder, &operands[3], &s[3], &detail.wide_mbarrier, &detail.mbarrier_offset))
        return false;
    draft_to_run(decoder, bulk_copy, s, 4)->detail = detail;
    decoder->groups = true;
    return true;
}

static bool decode_fence(struct decoder *decoder, const struct statement *statement)
{
    const struct text opcode = statement->opcode;
    const bool shared =
        text_is(opcode, "fence.proxy.async") || text_is(opcode, "fence.proxy.async.shared::cta");
    if (statement->count != 0 ||
        (!shared && !text_is(opcode, "fence.mbarrier_init.release.cluster") &&
         !text_is(opcode, "fence.proxy.async.global")))
        return false;
    struct draft *draft = new_draft(decoder);
    draft->run = proxy_fence;
    draft->detail.space = shared ? SPACE_SHARED : SPACE_GENERIC;
    decoder->groups = true;
    return true;
}

bool decode_bulk(struct decoder *decoder, const struct statement *statement)
{
    if (text_starts(statement->opcode, "mbarrier."))
        return decode_mbarrier(decoder, statement);
    if (text_starts(statement->opcode, "cp.async.bulk."))
        return decode_copy(decoder, statement);
    return decode_fence(decoder, statement);
}
