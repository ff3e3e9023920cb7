#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "emulator.h"
#include "fatbin.h"
#include "fault.h"
#include "request.h"
#include "source.h"

enum {
    WIDTH = 100, // of a line
    BEFORE_SOURCE = 72,
    SMALL = 1, // percent of the instructions: lines with less are not listed one by one
};

double percent(uint64_t part, uint64_t whole)
{
    return 100 * ratio(part, whole);
}

double ratio(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : (double)a / (double)b;
}

struct text kernel_name(const struct kernel_counts *kernel)
{
    const char *const name = kernel->code->kernel->name;
    return readable_name((struct text){name, strlen(name)});
}

struct text place_file(const struct kernel_counts *kernel, struct place place)
{
    return module_file(kernel->code->kernel->module, place.file);
}

// Where more blocks would fit if they took nothing of a resource, that is what limits them.
static const char *limit_of(int threads, int registers, int64_t shared, int blocks)
{
    if (device_blocks_per_sm(threads, 0, 0) == blocks)
        return "threads";
    if (device_blocks_per_sm(threads, 0, shared) > blocks)
        return "registers";
    return device_blocks_per_sm(threads, registers, 0) > blocks ? "shared memory"
                                                                : "registers and shared memory";
}

struct resources resources_of(const struct kernel_counts *kernel)
{
    const void *container = kernel->code->kernel->module->container;
    const char *const name = kernel->code->kernel->name;
    struct resources found = {.registers = -1, .frame_bytes = -1};
    if (container != NULL)
        found.capability = fatbin_code_capability(container, name);
    if (found.capability == 0)
        return found;
    const int64_t shared = (int64_t)kernel->shared_bytes;
    found.registers = fatbin_registers(container, name);
    found.frame_bytes = fatbin_frame_bytes(container, name);
    found.blocks = device_blocks_per_sm(kernel->threads, found.registers, shared);
    found.warps = found.blocks * ((kernel->threads + LANES - 1) / LANES);
    found.most_warps = device_model()->sm_threads / LANES;
    found.limit = limit_of(kernel->threads, found.registers, shared, found.blocks);
    return found;
}

// The table ---------------------------------------------------------------------------------------

static void print_resources(FILE *out, const struct kernel_counts *kernel)
{
    const struct resources found = resources_of(kernel);
    if (found.capability == 0) {
        fprintf(out, "  occupancy     not known: the program has no machine code of this kernel\n");
        return;
    }
    fprintf(out,
            "  occupancy     %d blocks on an SM, %d of its %d warps, %.0f %%, limited by %s\n"
            "                %d registers, %.1f KiB shared, %d B spilled in the code for sm_%d\n",
            found.blocks, found.warps, found.most_warps,
            percent((uint64_t)found.warps, (uint64_t)found.most_warps), found.limit,
            found.registers, (double)kernel->shared_bytes / 1024, found.frame_bytes,
            found.capability);
}

static const char *mark_of(enum trust trust)
{
    static const char *const marks[] = {" ", "~", "?"};
    return marks[trust];
}

static void print_traffic(FILE *out, const struct tally *tally, enum traffic traffic)
{
    const struct access_sum *sum = &tally->traffic[traffic];
    if (sum->requests == 0)
        return;
    fprintf(out, "  %-13s%12" PRIu64 "%s", traffic_name(traffic), sum->requests,
            mark_of(sum->trust));
    if (in_shared(traffic) && sum->parts > 0)
        fprintf(out, "%26" PRIu64 "%13.2f%26" PRIu64, sum->parts, ratio(sum->parts, sum->requests),
                sum->conflicts);
    else if (sum->parts > 0)
        fprintf(out, "%13" PRIu64 "%26.2f%14.1f", sum->parts, ratio(sum->parts, sum->requests),
                ratio(sum->bytes, sum->parts));
    fputc('\n', out);
}

static void print_instructions(FILE *out, const struct tally *tally)
{
    fprintf(out, "  instructions  %" PRIu64 " of PTX, %.1f %% of them FFMA\n", tally->executed,
            percent(tally->work[WORK_FFMA], tally->executed));
    fprintf(out, "%15s", "");
    for (enum work work = WORK_FFMA + 1; work < WORKS; work++)
        if (work != WORK_TENSOR || tally->work[work] > 0)
            fprintf(out, "%s %.1f %% %s", work > WORK_FFMA + 1 ? "," : "",
                    percent(tally->work[work], tally->executed), work_name(work));
    fprintf(out,
            "\n  divergence    %" PRIu64 " of %" PRIu64
            " branches parted a warp, %.1f %% of lanes idle\n",
            tally->parted, tally->branches, percent(tally->idle, LANES * tally->executed));
}

// Lines -------------------------------------------------------------------------------------------

static void print_access(FILE *out, const struct line_access *access)
{
    const struct access_sum *sum = &access->sum;
    fprintf(out, "  %-13s%3d%11" PRIu64 "%s", traffic_name(access->traffic), access->bytes,
            sum->requests, mark_of(sum->trust));
    if (in_shared(access->traffic) && sum->parts > 0)
        fprintf(out, "%13.2f%10" PRIu64, ratio(sum->parts, sum->requests), sum->conflicts);
    else if (sum->parts > 0)
        fprintf(out, "%13.2f%10s", ratio(sum->parts, sum->requests), "");
    else
        fprintf(out, "%23s", "");
}

static void print_source(FILE *out, const struct kernel_counts *kernel, struct place place)
{
    char text[WIDTH - BEFORE_SOURCE + 1];
    source_line(place_file(kernel, place), place.line, text, sizeof text);
    fprintf(out, "  %s\n", text);
}

static bool is_of(const struct line_access *access, struct place place)
{
    return access->place.file == place.file && access->place.line == place.line;
}

// A line of the source with its accesses below each other, as far as the first `count` of them are
// its own. Returns how many those are.
static int print_line(FILE *out, const struct kernel_counts *kernel, const struct line_tally *line,
                      const struct line_access *accesses, int count)
{
    int own = 0;
    fprintf(out, "%6d%11" PRIu64, line->place.line, line->tally.executed);
    if (count == 0 || !is_of(&accesses[0], line->place))
        fprintf(out, "%53s", "");
    for (; own < count && is_of(&accesses[own], line->place); own++) {
        if (own > 0)
            fprintf(out, own == 1 ? "%17s" : "\n%17s", "");
        print_access(out, &accesses[own]);
        if (own == 0)
            print_source(out, kernel, line->place);
    }
    if (own == 0)
        print_source(out, kernel, line->place);
    else if (own > 1)
        fputc('\n', out);
    return own;
}

// Lines that access memory, and those that much of the work is in.
static void print_lines(FILE *out, const struct kernel_counts *kernel, uint64_t executed)
{
    struct line_tally *lines;
    struct line_access *accesses;
    const int count = tally_lines(kernel, &lines);
    const int access_count = tally_accesses(kernel, &accesses);
    int file = 0;
    int next = 0;
    uint64_t rest = 0;
    for (int i = 0; i < count; i++) {
        const bool accesses_memory = next < access_count && is_of(&accesses[next], lines[i].place);
        if (!accesses_memory &&
            (lines[i].place.line == 0 || percent(lines[i].tally.executed, executed) < SMALL)) {
            rest += lines[i].tally.executed;
            continue;
        }
        if (lines[i].place.file != file) {
            const struct text name = place_file(kernel, lines[i].place);
            fprintf(
                out,
                "\n  line   executed  access, bytes     requests   per request conflicts  %.*s\n",
                (int)name.length, name.start);
            file = lines[i].place.file;
        }
        next += print_line(out, kernel, &lines[i], &accesses[next], access_count - next);
    }
    fprintf(out, "  else%11" PRIu64 "\n", rest);
    free(lines);
    free(accesses);
}

// The report
// ---------------------------------------------------------------------------------------

static bool has_narrow(const struct kernel_counts *kernel)
{
    struct line_access *accesses;
    const int count = tally_accesses(kernel, &accesses);
    bool narrow = false;
    for (int i = 0; i < count; i++)
        narrow |= in_shared(accesses[i].traffic) && accesses[i].bytes < BANK_BYTES;
    free(accesses);
    return narrow;
}

static bool has_wgmma(const struct kernel_counts *kernel)
{
    bool any = false;
    for (int i = 0; i < kernel->code->count; i++)
        any |= kernel->counters.instructions[i].executed > 0 &&
               text_starts(kernel->code->details[i].statement->opcode, "wgmma.mma_async.");
    return any;
}

bool is_assumed(const struct kernel_counts *kernel, const struct tally *tally, enum topic topic)
{
    const struct access_sum *traffic = tally->traffic;
    if (topic_is_measured(topic))
        return false;
    switch (topic) {
    case TOPIC_SECTORS:
        return traffic[GLOBAL_LOAD].requests + traffic[GLOBAL_STORE].requests > 0;
    case TOPIC_BANKS:
        return traffic[SHARED_LOAD].requests + traffic[SHARED_STORE].requests > 0;
    case TOPIC_NARROW:
        return has_narrow(kernel);
    case TOPIC_TEXTURES:
        return traffic[TEXTURE_LOAD].requests > 0;
    case TOPIC_BULK:
        return traffic[BULK_COPY].requests > 0;
    case TOPIC_ATOMICS:
        return traffic[GLOBAL_ATOMIC].requests > 0;
    case TOPIC_TENSOR:
        return tally->work[WORK_TENSOR] > 0;
    case TOPIC_WGMMA:
        return has_wgmma(kernel);
    default:
        return kernel->code->kernel->module->container != NULL;
    }
}

static void print_assumed(FILE *out, const struct kernel_counts *kernel, const struct tally *tally)
{
    bool any = false;
    for (enum topic topic = TOPIC_SECTORS; topic < TOPICS; topic++)
        if (is_assumed(kernel, tally, topic)) {
            if (!any)
                fprintf(out, "  assumed, not tested on an sm_%d: ", device_capability());
            fprintf(out, "%s%s", any ? ", " : "", topic_name(topic));
            any = true;
        }
    if (any)
        fputs(" (docs/emulator-facts.tsv)\n", out);
}

static void print_marks(FILE *out, const struct tally *tally)
{
    bool used[] = {false, false, false};
    for (enum traffic traffic = GLOBAL_LOAD; traffic < TRAFFICS; traffic++)
        used[tally->traffic[traffic].trust] = true;
    if (used[TRUST_JOINED])
        fprintf(out,
                "  ~ of the PTX: the assembler may join such accesses into fewer, wider ones\n");
    if (used[TRUST_NONE])
        fprintf(out, "  ? of the PTX: the assembler decides what goes to local memory\n");
}

static void print_kernel(FILE *out, const struct kernel_counts *kernel, bool lines)
{
    const struct text name = kernel_name(kernel);
    const struct tally tally = tally_kernel(kernel);
    fprintf(out, "%.*s: %" PRIu64 " block%s of %d threads", (int)name.length, name.start,
            kernel->blocks, kernel->blocks > 1 ? "s" : "", kernel->threads);
    if (kernel->launches > 1)
        fprintf(out, " in %" PRIu64 " launches", kernel->launches);
    fprintf(out, "\n");
    print_resources(out, kernel);
    print_instructions(out, &tally);
    fprintf(out, "%27s%14s%12s%13s%14s%12s\n", "requests", "sectors", "wavefronts", "per request",
            "bytes/sector", "conflicts");
    for (enum traffic traffic = GLOBAL_LOAD; traffic < TRAFFICS; traffic++)
        print_traffic(out, &tally, traffic);
    if (lines)
        print_lines(out, kernel, tally.executed);
    print_marks(out, &tally);
    print_assumed(out, kernel, &tally);
}

struct emulator_totals emulator_totals(void)
{
    struct emulator_totals totals = {0};
    for (const struct kernel_counts *k = counters_of_kernels(); k != NULL; k = k->next) {
        const struct tally tally = tally_kernel(k);
        totals.instructions += tally.executed;
        totals.idle_lanes += tally.idle;
        totals.load_requests += tally.traffic[GLOBAL_LOAD].requests;
        totals.load_sectors += tally.traffic[GLOBAL_LOAD].parts;
    }
    return totals;
}

void emulator_print_counts(FILE *out, bool lines)
{
    if (counters_of_kernels() == NULL)
        fputs("no kernel has been started\n", out);
    for (const struct kernel_counts *kernel = counters_of_kernels(); kernel != NULL;
         kernel = kernel->next) {
        print_kernel(out, kernel, lines);
        if (kernel->next != NULL)
            fputc('\n', out);
    }
}
