#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "fault.h"

// A straight piece of code, and which registers are needed when it is entered and left: one bit
// each.
struct piece {
    int first, last;
    uint64_t *in, *out;
    int *next; // pieces that may follow
    int next_count;
};

struct liveness {
    const struct drafts *drafts;
    struct piece *pieces;
    int count;
    size_t words;     // of a set of registers
    int *begin, *end; // of each register: the first and last instruction between which it is needed
};

typedef void visit_register(struct liveness *live, int reg, int at, uint64_t *set);

static bool is_jump(const struct draft *draft)
{
    return draft->flow == FLOW_BRANCH || draft->flow == FLOW_SWITCH || draft->flow == FLOW_RETURN ||
           draft->flow == FLOW_EXIT;
}

static int piece_at(const struct liveness *live, int instruction)
{
    int low = 0;
    int high = live->count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (live->pieces[middle].first <= instruction)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Where a jump may go to; `one` has room for the target of a branch.
static const int *targets_of(const struct draft *draft, int *one, int *count)
{
    *one = draft->detail.target;
    *count = draft->flow == FLOW_BRANCH   ? 1
             : draft->flow == FLOW_SWITCH ? draft->detail.target_count
                                          : 0;
    return draft->flow == FLOW_SWITCH ? draft->targets : one;
}

static void link_pieces(struct liveness *live)
{
    for (int i = 0; i < live->count; i++) {
        struct piece *piece = &live->pieces[i];
        const struct draft *last = &live->drafts->list[piece->last];
        int one;
        int count;
        const int *targets = targets_of(last, &one, &count);
        piece->next = zeroed((size_t)count + 1, sizeof *piece->next);
        if ((!is_jump(last) || last->guard >= 0) && i + 1 < live->count)
            piece->next[piece->next_count++] = i + 1;
        for (int j = 0; j < count; j++)
            piece->next[piece->next_count++] = piece_at(live, targets[j]);
    }
}

static void find_pieces(struct liveness *live)
{
    const struct drafts *drafts = live->drafts;
    bool *starts = zeroed((size_t)drafts->count + 1, sizeof *starts);
    starts[0] = true;
    for (int i = 0; i < drafts->count; i++)
        if (is_jump(&drafts->list[i])) {
            int one;
            int count;
            const int *targets = targets_of(&drafts->list[i], &one, &count);
            starts[i + 1] = true;
            for (int j = 0; j < count; j++)
                starts[targets[j]] = true;
        }
    live->pieces = zeroed((size_t)drafts->count, sizeof *live->pieces);
    for (int i = 0; i < drafts->count; i++) {
        if (starts[i])
            live->pieces[live->count++].first = i;
        live->pieces[live->count - 1].last = i;
    }
    free(starts);
    for (int i = 0; i < live->count; i++) {
        live->pieces[i].in = zeroed(live->words, sizeof(uint64_t));
        live->pieces[i].out = zeroed(live->words, sizeof(uint64_t));
    }
    link_pieces(live);
}

static void add(struct liveness *live, int reg, int at, uint64_t *set)
{
    (void)live;
    (void)at;
    set[reg / 64] |= UINT64_C(1) << reg % 64;
}

static void drop(struct liveness *live, int reg, int at, uint64_t *set)
{
    (void)live;
    (void)at;
    set[reg / 64] &= ~(UINT64_C(1) << reg % 64);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is that of all visitors
static void stretch(struct liveness *live, int reg, int at, uint64_t *set)
{
    (void)set;
    if (at < live->begin[reg])
        live->begin[reg] = at;
    if (at > live->end[reg])
        live->end[reg] = at;
}

static void visit_sources(struct liveness *live, int at, uint64_t *set, visit_register *visit)
{
    const struct draft *draft = &live->drafts->list[at];
    for (int i = 0; i < 5; i++)
        if (draft->s[i] >= 0)
            visit(live, draft->s[i], at, set);
    if (draft->guard >= 0)
        visit(live, draft->guard, at, set);
}

static void visit_destinations(struct liveness *live, int at, uint64_t *set, visit_register *visit)
{
    const struct draft *draft = &live->drafts->list[at];
    for (int i = 0; i < 4; i++)
        if (draft->d[i] >= 0)
            visit(live, draft->d[i], at, set);
}

// Goes through a piece backwards; true where its `in` has grown.
static bool update_piece(struct liveness *live, struct piece *piece, uint64_t *set)
{
    for (int i = 0; i < piece->next_count; i++)
        for (size_t word = 0; word < live->words; word++)
            piece->out[word] |= live->pieces[piece->next[i]].in[word];
    memcpy(set, piece->out, live->words * sizeof *set);
    for (int at = piece->last; at >= piece->first; at--) {
        if (live->drafts->list[at].guard < 0) // a guarded write may leave the old value
            visit_destinations(live, at, set, drop);
        visit_sources(live, at, set, add);
    }
    if (memcmp(set, piece->in, live->words * sizeof *set) == 0)
        return false;
    memcpy(piece->in, set, live->words * sizeof *set);
    return true;
}

static void find_live(struct liveness *live)
{
    uint64_t *set = zeroed(live->words, sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = live->count - 1; i >= 0; i--)
            changed |= update_piece(live, &live->pieces[i], set);
    }
    free(set);
}

static void find_intervals(struct liveness *live)
{
    const int registers = live->drafts->register_count;
    live->begin = zeroed((size_t)registers, sizeof *live->begin);
    live->end = zeroed((size_t)registers, sizeof *live->end);
    for (int i = 0; i < registers; i++) {
        live->begin[i] = live->drafts->count;
        live->end[i] = -1;
    }
    for (int i = 0; i < live->count; i++) {
        const struct piece *piece = &live->pieces[i];
        for (int reg = 0; reg < registers; reg++) {
            if (piece->in[reg / 64] >> reg % 64 & 1)
                stretch(live, reg, piece->first, NULL);
            if (piece->out[reg / 64] >> reg % 64 & 1)
                stretch(live, reg, piece->last, NULL);
        }
    }
    for (int at = 0; at < live->drafts->count; at++) {
        visit_sources(live, at, NULL, stretch);
        visit_destinations(live, at, NULL, stretch);
    }
}

struct interval {
    int reg, begin, end;
};

static int compare_begin(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return x->begin != y->begin ? x->begin - y->begin : x->reg - y->reg;
}

// Hands out numbers to intervals in the order in which they begin, each free again when its
// interval has ended. Returns how many it took. Constants keep theirs.
static int hand_out(struct drafts *drafts, const struct interval *intervals, int count,
                    enum register_kind kind)
{
    int *busy_until = zeroed((size_t)drafts->register_count + 1, sizeof *busy_until);
    int used = 0;
    for (int i = 0; i < count; i++) {
        struct draft_register *reg = &drafts->registers[intervals[i].reg];
        if (reg->kind != kind)
            continue;
        int number = reg->constant ? used : 0;
        while (number < used && busy_until[number] >= intervals[i].begin)
            number++;
        used += number == used;
        busy_until[number] = reg->constant ? drafts->count : intervals[i].end;
        reg->slot = number;
    }
    free(busy_until);
    return used;
}

static void hand_out_all(struct drafts *drafts, const struct liveness *live)
{
    struct interval *intervals = zeroed((size_t)drafts->register_count, sizeof *intervals);
    int count = 0;
    for (int i = 0; i < drafts->register_count; i++) {
        struct draft_register *reg = &drafts->registers[i];
        reg->slot = -1;
        if (live->end[i] >= 0)
            intervals[count++] =
                (struct interval){i, reg->constant ? -1 : live->begin[i], live->end[i]};
    }
    qsort(intervals, (size_t)count, sizeof *intervals, compare_begin);
    const int wide = hand_out(drafts, intervals, count, REGISTER_64);
    const int narrow = hand_out(drafts, intervals, count, REGISTER_32);
    drafts->predicates = hand_out(drafts, intervals, count, REGISTER_PREDICATE) + 1;
    drafts->slots = 2 * wide + narrow;
    for (int i = 0; i < drafts->register_count; i++) {
        struct draft_register *reg = &drafts->registers[i];
        if (reg->slot >= 0 && reg->kind == REGISTER_64)
            reg->slot *= 2;
        else if (reg->slot >= 0 && reg->kind == REGISTER_32)
            reg->slot += 2 * wide;
    }
    if (drafts->slots > UINT16_MAX || drafts->predicates > INT16_MAX)
        emulator_fail("PTX: a kernel needs more registers than the emulator has");
    free(intervals);
}

void assign_slots(struct drafts *drafts)
{
    struct liveness live = {.drafts = drafts, .words = ((size_t)drafts->register_count + 63) / 64};
    find_pieces(&live);
    find_live(&live);
    find_intervals(&live);
    hand_out_all(drafts, &live);
    for (int i = 0; i < live.count; i++) {
        free(live.pieces[i].in);
        free(live.pieces[i].out);
        free(live.pieces[i].next);
    }
    free(live.pieces);
    free(live.begin);
    free(live.end);
}
