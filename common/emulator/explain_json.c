#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "emulator.h"
#include "explain.h"

// A JSON text being written.
struct json {
    FILE *out;
    const char *indent;
    int depth;
    bool first; // nothing stands before in this object or list
};

// Where the next field or element goes; elements have no name.
static void begin(struct json *json, const char *name)
{
    fprintf(json->out, "%s\n%s%*s", json->first ? "" : ",", json->indent, 2 * json->depth, "");
    json->first = false;
    if (name != NULL)
        fprintf(json->out, "\"%s\": ", name);
}

static void open_group(struct json *json, const char *name, char bracket)
{
    begin(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

static void close_group(struct json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%s%*s", json->indent, 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = false;
}

static void add_count(struct json *json, const char *name, uint64_t value)
{
    begin(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

static void add_real(struct json *json, const char *name, double value)
{
    begin(json, name);
    fprintf(json->out, "%.9g", value);
}

static void add_known(struct json *json, const char *name, bool known, uint64_t value)
{
    if (known) {
        add_count(json, name, value);
        return;
    }
    begin(json, name);
    fputs("null", json->out);
}

static void add_text(struct json *json, const char *name, struct text text)
{
    begin(json, name);
    fputc('"', json->out);
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] == '"' || text.start[i] == '\\')
            fputc('\\', json->out);
        if ((unsigned char)text.start[i] >= ' ')
            fputc(text.start[i], json->out);
    }
    fputc('"', json->out);
}

static void add_word(struct json *json, const char *name, const char *word)
{
    add_text(json, name, (struct text){word, strlen(word)});
}

static void add_resources(struct json *json, const struct kernel_counts *kernel)
{
    const struct resources found = resources_of(kernel);
    const bool known = found.capability > 0;
    add_count(json, "modelled_capability_x10", (uint64_t)device_capability());
    add_known(json, "code_capability_x10", known, (uint64_t)found.capability);
    add_known(json, "registers", known, (uint64_t)found.registers);
    add_known(json, "spilled_bytes", known, (uint64_t)found.frame_bytes);
    add_count(json, "shared_bytes", kernel->shared_bytes);
    add_known(json, "blocks_per_sm", known, (uint64_t)found.blocks);
    add_known(json, "warps_per_sm", known, (uint64_t)found.warps);
    add_known(json, "most_warps_per_sm", known, (uint64_t)found.most_warps);
    if (known)
        add_word(json, "limited_by", found.limit);
}

static void add_work(struct json *json, const struct tally *tally)
{
    add_count(json, "warp_instructions", tally->executed);
    for (enum work work = WORK_FFMA; work < WORKS; work++) {
        char name[40];
        snprintf(name, sizeof name, "%s_instructions", work_key(work));
        add_count(json, name, tally->work[work]);
    }
    add_count(json, "conditional_branches", tally->branches);
    add_count(json, "parted_branches", tally->parted);
    add_real(json, "idle_lanes_percent", percent(tally->idle, LANES * tally->executed));
}

static void add_sum(struct json *json, enum traffic traffic, const struct access_sum *sum)
{
    static const char *const words[] = {"same", "may be fewer", "unknown"};
    const bool known = sum->parts > 0;
    add_count(json, "requests", sum->requests);
    add_known(json, "sectors", known && !in_shared(traffic), sum->parts);
    add_known(json, "wavefronts", known && in_shared(traffic), sum->parts);
    add_known(json, "conflicts", known && in_shared(traffic), sum->conflicts);
    add_known(json, "bytes", known, sum->bytes);
    add_word(json, "on_gpu", words[sum->trust]);
}

static void add_totals(struct json *json, const struct tally *tally)
{
    open_group(json, "accesses", '[');
    for (enum traffic traffic = GLOBAL_LOAD; traffic < TRAFFICS; traffic++) {
        if (tally->traffic[traffic].requests == 0)
            continue;
        open_group(json, NULL, '{');
        add_word(json, "kind", traffic_name(traffic));
        add_sum(json, traffic, &tally->traffic[traffic]);
        close_group(json, '}');
    }
    close_group(json, ']');
}

static void add_place(struct json *json, const struct kernel_counts *kernel, struct place place)
{
    add_text(json, "file", place_file(kernel, place));
    add_count(json, "line", (uint64_t)place.line);
}

static void add_lines(struct json *json, const struct kernel_counts *kernel)
{
    struct line_tally *lines;
    const int count = tally_lines(kernel, &lines);
    open_group(json, "lines", '[');
    for (int i = 0; i < count; i++) {
        if (lines[i].tally.executed == 0)
            continue;
        open_group(json, NULL, '{');
        add_place(json, kernel, lines[i].place);
        add_work(json, &lines[i].tally);
        close_group(json, '}');
    }
    close_group(json, ']');
    free(lines);
}

static void add_line_accesses(struct json *json, const struct kernel_counts *kernel)
{
    struct line_access *accesses;
    const int count = tally_accesses(kernel, &accesses);
    open_group(json, "line_accesses", '[');
    for (int i = 0; i < count; i++) {
        open_group(json, NULL, '{');
        add_place(json, kernel, accesses[i].place);
        add_word(json, "kind", traffic_name(accesses[i].traffic));
        add_count(json, "bytes_per_lane", (uint64_t)accesses[i].bytes);
        add_sum(json, accesses[i].traffic, &accesses[i].sum);
        close_group(json, '}');
    }
    close_group(json, ']');
    free(accesses);
}

static void add_assumed(struct json *json, const struct kernel_counts *kernel,
                        const struct tally *tally)
{
    open_group(json, "assumed", '[');
    for (enum topic topic = TOPIC_SECTORS; topic < TOPICS; topic++)
        if (is_assumed(kernel, tally, topic))
            add_word(json, NULL, topic_name(topic));
    close_group(json, ']');
}

static void add_kernel(struct json *json, const struct kernel_counts *kernel)
{
    const struct tally tally = tally_kernel(kernel);
    open_group(json, NULL, '{');
    add_text(json, "kernel", kernel_name(kernel));
    add_count(json, "launches", kernel->launches);
    add_count(json, "blocks", kernel->blocks);
    add_count(json, "threads", (uint64_t)kernel->threads);
    add_resources(json, kernel);
    add_work(json, &tally);
    add_totals(json, &tally);
    add_assumed(json, kernel, &tally);
    add_lines(json, kernel);
    add_line_accesses(json, kernel);
    close_group(json, '}');
}

void emulator_write_counts(FILE *out, const char *indent)
{
    struct json json = {.out = out, .indent = indent, .depth = 1, .first = true};
    fputc('[', out);
    for (const struct kernel_counts *kernel = counters_of_kernels(); kernel != NULL;
         kernel = kernel->next)
        add_kernel(&json, kernel);
    close_group(&json, ']');
}
