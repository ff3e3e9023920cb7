// A program that emucc has built has no options of the emulator's: its environment sets them. This
// file is in no other program.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "emulator.h"
#include "fault.h"
#include "output.h"

extern char **environ;

static const char prefix[] = "EMULATOR_";

// What to do at the end of the program.
static struct {
    bool report, lines;
    const char *json, *figure; // files to write
} wanted;

static _Noreturn void bad_setting(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "%s: emulator: %s%s=%s: %s\n", emulator_settings.program, prefix, name, value,
            allowed);
    exit(EMULATOR_BAD_SETTING);
}

static int64_t number(const char *name, const char *value, int64_t smallest, int64_t greatest,
                      const char *allowed)
{
    char *end;
    errno = 0;
    const long long result = strtoll(value, &end, 0);
    if (errno != 0 || end == value || *end != '\0' || result < smallest || result > greatest)
        bad_setting(name, value, allowed);
    return result;
}

static bool on_or_off(const char *name, const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "1") != 0 && strcmp(value, "off") != 0 &&
        strcmp(value, "0") != 0)
        bad_setting(name, value, "on or off");
    return strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

static void set_checks(const char *name, const char *value)
{
    emulator_settings.checks = on_or_off(name, value);
}

static void set_leaks(const char *name, const char *value)
{
    emulator_settings.leaks_at_exit = on_or_off(name, value);
}

static void set_schedule(const char *name, const char *value)
{
    emulator_settings.schedule =
        (uint64_t)number(name, value, 0, INT64_MAX, "a number, 0 or greater");
}

static void set_shared_base(const char *name, const char *value)
{
    emulator_settings.shared_base =
        number(name, value, 0, 1 << 20, "bytes, a multiple of 128 up to 1048576");
    if (emulator_settings.shared_base % 128 != 0)
        bad_setting(name, value, "bytes, a multiple of 128 up to 1048576");
}

static void set_workers(const char *name, const char *value)
{
    emulator_settings.workers = (int)number(name, value, 1, 64, "threads, 1 to 64");
}

// The value is the name of a GPU that is modelled.
static void set_gpu(const char *name, const char *value)
{
    char known[128] = "a modelled GPU:";
    for (int i = 0; device_capability_of(i) > 0; i++) {
        char gpu[16];
        snprintf(gpu, sizeof gpu, " sm_%d", device_capability_of(i));
        if (strcmp(gpu + 1, value) == 0) {
            emulator_settings.capability = device_capability_of(i);
            emulator_settings.only_this_gpu = true;
            return;
        }
        strncat(known, gpu, sizeof known - strlen(known) - 1);
    }
    bad_setting(name, value, known);
}

static void set_report(const char *name, const char *value)
{
    wanted.report = on_or_off(name, value);
}

static void set_lines(const char *name, const char *value)
{
    wanted.lines = on_or_off(name, value);
}

static void set_json(const char *name, const char *value)
{
    (void)name;
    wanted.json = value;
}

static void set_figure(const char *name, const char *value)
{
    (void)name;
    wanted.figure = value;
}

static void set_line(const char *name, const char *value)
{
    emulator_settings.figure_line =
        (int)number(name, value, 1, INT32_MAX, "the number of a line of the source");
}

static const struct {
    const char *name;
    void (*set)(const char *name, const char *value);
} settings[] = {
    {"CHECKS", set_checks},           {"LEAKS", set_leaks},     {"SCHEDULE", set_schedule},
    {"SHARED_BASE", set_shared_base}, {"WORKERS", set_workers}, {"GPU", set_gpu},
    {"REPORT", set_report},           {"LINES", set_lines},     {"JSON", set_json},
    {"FIGURE", set_figure},           {"LINE", set_line},
};

// A variable that begins like a setting and is none has been misspelt.
static void apply(const char *variable)
{
    char name[64];
    const char *const equals = strchr(variable, '=');
    if (strncmp(variable, prefix, sizeof prefix - 1) != 0 || equals == NULL)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(equals - variable) - (int)(sizeof prefix - 1),
             variable + sizeof prefix - 1);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i].name, name) == 0) {
            settings[i].set(name, equals + 1);
            return;
        }
    bad_setting(name, equals + 1, "there is no such setting (emucc --help lists them)");
}

// What has been counted ---------------------------------------------------------------------------

static _Noreturn void cannot_write(const char *name, const char *file, const char *why)
{
    fprintf(stderr, "%s: emulator: %s%s=%s: %s\n", emulator_settings.program, prefix, name, file,
            why);
    _Exit(EMULATOR_BAD_SETTING);
}

static void write_json(void)
{
    struct output output;
    if (!output_open(&output, wanted.json))
        cannot_write("JSON", wanted.json, strerror(errno));
    emulator_write_counts(output.file, "");
    fputc('\n', output.file);
    if (!output_keep(&output))
        cannot_write("JSON", wanted.json, strerror(errno));
}

static void write_figure(void)
{
    char problem[300];
    if (!emulator_draw(wanted.figure, problem, sizeof problem))
        cannot_write("FIGURE", wanted.figure, problem);
}

// On stderr, so that what the program prints stays as it is.
static void report(void)
{
    if (emulator_has_failed())
        return;
    fflush(stdout);
    if (wanted.report || wanted.lines)
        emulator_print_counts(stderr, wanted.lines);
    if (wanted.json != NULL)
        write_json();
    if (wanted.figure != NULL)
        write_figure();
}

// ------------------------------------------------------------------------------------------------

static bool is_svg(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static void check_figure(void)
{
    if (wanted.figure != NULL && !is_svg(wanted.figure))
        bad_setting("FIGURE", wanted.figure, "the name of a file that ends in .svg");
    if (wanted.figure != NULL && emulator_settings.figure_line == 0)
        bad_setting("FIGURE", wanted.figure, "of which line? EMULATOR_LINE=N says so");
    if (wanted.figure == NULL && emulator_settings.figure_line != 0)
        bad_setting("LINE", "N", "for which drawing? EMULATOR_FIGURE=FILE.svg says so");
}

// Before the run: at its end it would be too late.
static void check_output(const char *name, const char *file)
{
    const char *const problem = file != NULL ? emulator_output_problem(file) : NULL;
    if (problem != NULL)
        bad_setting(name, file, problem);
}

// Before the constructors that register kernels, and after the one that sees to the check for
// leaks: the report comes before the check, and both after all destructors.
__attribute__((constructor(102))) static void configure(int argc, char **argv)
{
    const char *const slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    if (argc > 0)
        emulator_settings.program = slash != NULL ? slash + 1 : argv[0];
    emulator_settings.own_program = true;
    emulator_settings.capability = 0; // as the program has been built
    for (char **variable = environ; *variable != NULL; variable++)
        apply(*variable);
    check_figure();
    check_output("JSON", wanted.json);
    check_output("FIGURE", wanted.figure);
    emulator_settings.counters =
        wanted.report || wanted.lines || wanted.json != NULL || wanted.figure != NULL;
    if (emulator_settings.counters)
        atexit(report);
}
