#include "emulation.h"

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "emulator/emulator.h"

// Only twins have these: in other programs their addresses are NULL.
#pragma weak emulator_settings
#pragma weak emulator_limit
#pragma weak emulator_check_leaks
#pragma weak emulator_clear_counts
#pragma weak emulator_print_counts
#pragma weak emulator_write_counts
#pragma weak emulator_output_problem
#pragma weak emulator_draw
#pragma weak emulator_totals

bool emulated(void)
{
    return &emulator_settings != NULL;
}

void prepare_emulation(struct options *options)
{
    const char *problem;

    if (options->no_verify || options->power)
        fail(EXIT_USAGE, "the emulator verifies and measures nothing: leave out %s",
             options->power ? "--power" : "--no-verify");
    options->verify_only = true;
    options->no_guards = true; // the emulator sees every access outside a matrix by itself
    emulator_settings.program = program_name;
    emulator_settings.leaks_at_exit = false; // where the program gives up, it leaves what it has
    emulator_settings.shared_base = options->shared_base;
    emulator_settings.schedule = (uint64_t)options->schedule;
    emulator_settings.counters = false; // but for the product that the report is about
    if (options->figure == NULL)
        return;
    emulator_settings.figure_line = (int)options->line;
    problem = emulator_output_problem(options->figure);
    if (problem != NULL)
        fail(EXIT_USAGE, "cannot write --figure '%s': %s", options->figure, problem);
}

void begin_counting(void)
{
    if (!emulated())
        return;
    emulator_clear_counts();
    emulator_settings.counters = true;
}

void end_counting(void)
{
    if (emulated())
        emulator_settings.counters = false;
}

void print_counts(const struct shape *shape, bool lines)
{
    if (!emulated())
        return;
    printf("\ncounted for one product of m=%" PRId64 " n=%" PRId64 " k=%" PRId64 ":\n\n", shape->m,
           shape->n, shape->k);
    emulator_print_counts(stdout, lines);
}

void write_counts(FILE *file, const char *indent)
{
    if (emulated())
        emulator_write_counts(file, indent);
}

struct counted counted(void)
{
    struct counted counted = {NAN, NAN};

    if (emulated()) {
        const struct emulator_totals totals = emulator_totals();

        counted.sectors = (double)totals.load_sectors / (double)totals.load_requests;
        counted.idle_percent = 100 * (double)totals.idle_lanes / (32 * (double)totals.instructions);
    }
    return counted;
}

void draw_figure(const struct options *options)
{
    char problem[300];

    if (options->figure != NULL && !emulator_draw(options->figure, problem, sizeof problem))
        fail(EXIT_USAGE, "--figure '%s': %s", options->figure, problem);
}

void finish_emulation(void)
{
    if (emulated())
        emulator_check_leaks();
}

void become_twin(char **argv)
{
    char self[4096];
    char copy[4096];
    char twin[2 * sizeof self];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length <= 0)
        return;
    self[length] = '\0';
    memcpy(copy, self, sizeof copy);
    snprintf(twin, sizeof twin, "%s/build/%s-emulated", dirname(copy), basename(self));
    fflush(stdout);
    execv(twin, argv);
}

void limit_kernels(const void *first, size_t bytes, char name)
{
    const char text[] = {name, '\0'};

    if (emulated())
        emulator_limit(first, bytes, text);
}
