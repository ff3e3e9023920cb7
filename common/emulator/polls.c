// Which loads and atomics poll: what they find decides whether a loop goes on. A warp that does so
// must let others have their turns. And a volatile load that polls has a place in the order between
// threads, while one that reads data has not: volatile orders nothing.
#include <stdlib.h>
#include <string.h>

#include "decoder.h"

struct polls {
    const struct drafts *drafts;
    bool *decides; // of each register: its value reaches the guard of a branch
    bool changed;
};

static void mark(struct polls *polls, int reg)
{
    if (reg < 0 || polls->decides[reg])
        return;
    polls->decides[reg] = true;
    polls->changed = true;
}

static bool leaves_path(const struct draft *draft)
{
    return draft->flow == FLOW_BRANCH || draft->flow == FLOW_SWITCH || draft->flow == FLOW_EXIT ||
           draft->flow == FLOW_RETURN;
}

static bool is_load(const struct draft *draft)
{
    return draft->detail.bytes > 0 && !draft->detail.write;
}

// Values that are parked in local memory or passed to a caller may be looked at there.
static bool parks(const struct draft *draft)
{
    return draft->detail.write &&
           (draft->detail.space == SPACE_LOCAL || draft->detail.space == SPACE_PARAM);
}

static void look_at(struct polls *polls, const struct draft *draft)
{
    bool needed = parks(draft);
    if (leaves_path(draft))
        mark(polls, draft->guard);
    if (draft->flow == FLOW_SWITCH)
        mark(polls, draft->s[0]);
    for (int i = 0; i < 4; i++)
        needed |= draft->d[i] >= 0 && polls->decides[draft->d[i]];
    if (!needed || is_load(draft)) // where a value is loaded from is another question
        return;
    mark(polls, draft->guard);
    for (int i = 0; i < 5; i++)
        mark(polls, draft->s[i]);
}

// Whether `to` can be reached from `from`; `seen` is for the drafts that have been looked at.
static bool reaches(const struct drafts *drafts, int from, int to, bool *seen)
{
    int *stack = zeroed((size_t)drafts->count + 1, sizeof *stack);
    int count = 0;
    memset(seen, 0, (size_t)drafts->count * sizeof *seen);
    stack[count++] = from;
    seen[from] = true;
    while (count > 0 && !seen[to]) {
        const struct draft *draft = &drafts->list[stack[--count]];
        const int next = (int)(draft - drafts->list) + 1;
        const bool goes_on = !leaves_path(draft) || draft->guard >= 0;
        if (goes_on && next < drafts->count && !seen[next])
            seen[stack[count++] = next] = true;
        if (draft->flow == FLOW_BRANCH && !seen[draft->detail.target])
            seen[stack[count++] = draft->detail.target] = true;
        for (int i = 0; draft->flow == FLOW_SWITCH && i < draft->detail.target_count; i++)
            if (!seen[draft->targets[i]])
                seen[stack[count++] = draft->targets[i]] = true;
    }
    free(stack);
    return seen[to];
}

// Marks the branches that go back to the start of a loop: back to where they come from again.
// Returns for each draft whether it is in a loop: between such a branch and its target. A function
// may be called in one.
static bool *find_loops(struct decoder *decoder)
{
    const struct drafts *drafts = &decoder->drafts;
    bool *in_loop = zeroed((size_t)drafts->count + 1, sizeof *in_loop);
    bool *seen = zeroed((size_t)drafts->count + 1, sizeof *seen);
    for (int i = 0; i < drafts->count; i++) {
        struct draft *draft = &drafts->list[i];
        in_loop[i] |= !decoder->kernel->entry;
        draft->detail.loops = draft->flow == FLOW_BRANCH && draft->detail.target <= i &&
                              reaches(drafts, draft->detail.target, i, seen);
        for (int j = draft->detail.target; draft->detail.loops && j <= i; j++)
            in_loop[j] = true;
    }
    free(seen);
    return in_loop;
}

// Whether some instruction reads each register.
static bool *find_used(const struct drafts *drafts)
{
    bool *used = zeroed((size_t)drafts->register_count, sizeof *used);
    for (int i = 0; i < drafts->count; i++) {
        if (drafts->list[i].guard >= 0)
            used[drafts->list[i].guard] = true;
        for (int j = 0; j < 5; j++)
            if (drafts->list[i].s[j] >= 0)
                used[drafts->list[i].s[j]] = true;
    }
    return used;
}

static bool decides(const struct polls *polls, const struct draft *draft)
{
    for (int i = 0; i < 4; i++)
        if (draft->d[i] >= 0 && polls->decides[draft->d[i]])
            return true;
    return false;
}

void find_polls(struct decoder *decoder)
{
    struct drafts *drafts = &decoder->drafts;
    struct polls polls = {.drafts = drafts, .changed = true};
    polls.decides = zeroed((size_t)drafts->register_count, sizeof *polls.decides);
    while (polls.changed) {
        polls.changed = false;
        for (int i = drafts->count - 1; i >= 0; i--)
            look_at(&polls, &drafts->list[i]);
    }
    bool *in_loop = find_loops(decoder);
    bool *used = find_used(drafts);
    for (int i = 0; i < drafts->count; i++) {
        struct detail *detail = &drafts->list[i].detail;
        const bool may = is_load(&drafts->list[i]) && (detail->strong || detail->is_volatile);
        const bool flag = may && decides(&polls, &drafts->list[i]);
        detail->polls = flag && in_loop[i];
        detail->unused = detail->atomic != ATOMIC_NONE && !used[drafts->list[i].d[0]];
        detail->strong |= flag;
        const bool counts =
            may && detail->strong && detail->space != SPACE_PARAM && detail->space != SPACE_LOCAL;
        decoder->sequential |= counts;
        decoder->groups |= counts && detail->space != SPACE_GLOBAL;
    }
    // In code with such loads, volatile stores are what they wait for.
    for (int i = 0; i < drafts->count; i++)
        drafts->list[i].detail.strong |=
            drafts->list[i].detail.is_volatile && drafts->list[i].detail.write;
    free(polls.decides);
    free(in_loop);
    free(used);
}
