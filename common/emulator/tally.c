#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

static bool starts_with(struct text text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.start, prefix, length) == 0;
}

static bool starts_with_any(struct text text, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (starts_with(text, *prefixes))
            return true;
    return false;
}

// What stands behind the last period.
static struct text last_modifier(struct text opcode)
{
    size_t start = opcode.length;
    while (start > 0 && opcode.start[start - 1] != '.')
        start--;
    return (struct text){opcode.start + start, opcode.length - start};
}

static bool is_integer(struct text opcode)
{
    static const char *const moves[] = {"mov.", "ld.",    "st.",        "shfl.", "vote.",
                                        "cvt.", "match.", "activemask", NULL};
    const struct text type = last_modifier(opcode);
    return !starts_with_any(opcode, moves) && type.length > 0 &&
           strchr("subp", *type.start) != NULL;
}

const char *work_name(enum work work)
{
    static const char *const names[] = {"FFMA",    "shared", "global", "integer",
                                        "control", "tensor", "other"};
    return names[work];
}

const char *work_key(enum work work)
{
    return work == WORK_FFMA ? "ffma" : work_name(work);
}

static enum work work_of(const struct detail *detail)
{
    static const char *const control[] = {"bra",           "brx",        "ret",
                                          "exit",          "call",       "bar",
                                          "trap",          "membar",     "fence",
                                          "nanosleep",     "mbarrier",   "cp.async.commit",
                                          "cp.async.wait", "setmaxnreg", "wgmma.fence",
                                          "wgmma.commit",  "wgmma.wait", NULL};
    static const char *const memory[] = {"ld.", "st.", "atom.", "red.", "cp.async.", "tex.", NULL};
    const struct text opcode = detail->statement->opcode;
    if (starts_with_any(opcode, control))
        return WORK_CONTROL;
    if (starts_with(opcode, "mma.") || starts_with(opcode, "wgmma.mma_async."))
        return WORK_TENSOR;
    if (starts_with(opcode, "fma.") || starts_with(opcode, "mad."))
        return text_is(last_modifier(opcode), "f32") ? WORK_FFMA
               : is_integer(opcode)                  ? WORK_INTEGER
                                                     : WORK_OTHER;
    if (!starts_with_any(opcode, memory))
        return is_integer(opcode) ? WORK_INTEGER : WORK_OTHER;
    if (starts_with(opcode, "cp.") || starts_with(opcode, "tex."))
        return WORK_GLOBAL;
    return detail->space == SPACE_SHARED                                     ? WORK_SHARED
           : detail->space == SPACE_GLOBAL || detail->space == SPACE_GENERIC ? WORK_GLOBAL
                                                                             : WORK_OTHER;
}

const char *traffic_name(enum traffic traffic)
{
    static const char *const names[] = {
        "global load", "global store", "global atomic", "texture load", "bulk copy",
        "shared load", "shared store", "shared atomic", "local load",   "local store"};
    return names[traffic];
}

enum traffic traffic_of(const struct detail *detail, enum window window)
{
    const struct text opcode = detail->statement->opcode;
    const bool atomic = starts_with(opcode, "atom.") || starts_with(opcode, "red.");
    if (starts_with(opcode, "tex."))
        return TEXTURE_LOAD;
    if (starts_with(opcode, "cp.async.bulk."))
        return BULK_COPY;
    if (window == WINDOW_LOCAL)
        return detail->write ? LOCAL_STORE : LOCAL_LOAD;
    if (window == WINDOW_SHARED)
        return atomic ? SHARED_ATOMIC : detail->write ? SHARED_STORE : SHARED_LOAD;
    return atomic ? GLOBAL_ATOMIC : detail->write ? GLOBAL_STORE : GLOBAL_LOAD;
}

static enum trust trust_in(const struct detail *detail, enum traffic traffic)
{
    if (in_local(traffic))
        return TRUST_NONE;
    return in_shared(traffic) && traffic != SHARED_ATOMIC && detail->vector == 1 ? TRUST_JOINED
                                                                                 : TRUST_SAME;
}

static void add_sum(struct access_sum *sum, const struct access_count *count, enum trust trust)
{
    sum->requests += count->requests;
    sum->parts += count->parts;
    sum->conflicts += count->conflicts;
    sum->bytes += count->bytes;
    if (count->requests > 0 && trust > sum->trust)
        sum->trust = trust;
}

// What an instruction has done in a window. Constants are not counted, nor is what a cp.async does
// in shared memory: how the hardware serves these has not been measured.
static struct access_count count_in(const struct kernel_counts *kernel, int instruction,
                                    enum window window)
{
    const struct detail *detail = &kernel->code->details[instruction];
    const struct instruction_count *count = &kernel->counters.instructions[instruction];
    const bool copy = starts_with(detail->statement->opcode, "cp.async.");
    if (window == WINDOW_LOCAL)
        return (struct access_count){.requests = count->local};
    if (window == WINDOW_SHARED)
        return copy ? (struct access_count){0} : count->shared;
    return detail->space == SPACE_CONST ? (struct access_count){0} : count->global;
}

// A statement may have become several instructions: the first one counts for all of them.
static bool is_first(const struct code *code, int instruction)
{
    return instruction == 0 ||
           code->details[instruction].statement != code->details[instruction - 1].statement;
}

static void add_instruction(struct tally *tally, const struct kernel_counts *kernel,
                            int instruction)
{
    const struct detail *detail = &kernel->code->details[instruction];
    const struct instruction_count *count = &kernel->counters.instructions[instruction];
    const struct instruction *decoded = &kernel->code->instructions[instruction];
    for (enum window window = WINDOW_GLOBAL; window <= WINDOW_LOCAL; window++) {
        const struct access_count access = count_in(kernel, instruction, window);
        const enum traffic traffic = traffic_of(detail, window);
        add_sum(&tally->traffic[traffic], &access, trust_in(detail, traffic));
    }
    if (!is_first(kernel->code, instruction))
        return;
    tally->executed += (uint64_t)count->executed;
    tally->idle += (uint64_t)count->idle;
    tally->parted += count->parted;
    tally->work[work_of(detail)] += (uint64_t)count->executed;
    if ((decoded->flow == FLOW_BRANCH && decoded->guard >= 0) || decoded->flow == FLOW_SWITCH)
        tally->branches += (uint64_t)count->executed;
}

struct tally tally_kernel(const struct kernel_counts *kernel)
{
    struct tally tally = {0};
    for (int i = 0; i < kernel->code->count; i++)
        add_instruction(&tally, kernel, i);
    return tally;
}

static int compare_places(const struct place *a, const struct place *b)
{
    return a->file != b->file ? a->file - b->file : a->line - b->line;
}

static int compare_lines(const void *a, const void *b)
{
    return compare_places(&((const struct line_tally *)a)->place,
                          &((const struct line_tally *)b)->place);
}

int tally_lines(const struct kernel_counts *kernel, struct line_tally **lines)
{
    const struct code *code = kernel->code;
    struct line_tally *list = zeroed((size_t)code->count, sizeof *list);
    int count = 0;
    for (int i = 0; i < code->count; i++) {
        const struct place place = code->details[i].statement->place;
        int line = 0;
        while (line < count && compare_places(&list[line].place, &place) != 0)
            line++;
        if (line == count)
            list[count++].place = place;
        add_instruction(&list[line].tally, kernel, i);
    }
    qsort(list, (size_t)count, sizeof *list, compare_lines);
    *lines = list;
    return count;
}

static int compare_accesses(const void *a, const void *b)
{
    const struct line_access *x = a;
    const struct line_access *y = b;
    const int order = compare_places(&x->place, &y->place);
    return order != 0                 ? order
           : x->traffic != y->traffic ? (int)x->traffic - (int)y->traffic
                                      : x->bytes - y->bytes;
}

int tally_accesses(const struct kernel_counts *kernel, struct line_access **accesses)
{
    const struct code *code = kernel->code;
    struct line_access *list = zeroed(3 * (size_t)code->count, sizeof *list);
    int count = 0;
    for (int i = 0; i < code->count; i++) {
        const struct detail *detail = &code->details[i];
        for (enum window window = WINDOW_GLOBAL; window <= WINDOW_LOCAL; window++) {
            const struct access_count access = count_in(kernel, i, window);
            const struct line_access wanted = {.place = detail->statement->place,
                                               .traffic = traffic_of(detail, window),
                                               .bytes = detail->bytes};
            int at = 0;
            while (at < count && compare_accesses(&list[at], &wanted) != 0)
                at++;
            if (access.requests == 0)
                continue;
            if (at == count)
                list[count++] = wanted;
            add_sum(&list[at].sum, &access, trust_in(detail, wanted.traffic));
        }
    }
    qsort(list, (size_t)count, sizeof *list, compare_accesses);
    *accesses = list;
    return count;
}
