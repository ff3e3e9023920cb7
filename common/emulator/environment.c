// A program that emucc has built has no options of the emulator's: its environment sets them. This
// file is in no other program.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

extern char **environ;

static const char prefix[] = "EMULATOR_";

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

static void set_gpu(const char *name, const char *value)
{
    const char *const digits = strncmp(value, "sm_", 3) == 0 ? value + 3 : value;
    emulator_settings.capability =
        (int)number(name, digits, 75, 999, "a GPU, sm_75 or later, such as sm_86");
}

static const struct {
    const char *name;
    void (*set)(const char *name, const char *value);
} settings[] = {
    {"CHECKS", set_checks},           {"LEAKS", set_leaks},     {"SCHEDULE", set_schedule},
    {"SHARED_BASE", set_shared_base}, {"WORKERS", set_workers}, {"GPU", set_gpu},
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

// Before the constructors that register kernels.
__attribute__((constructor(101))) static void configure(int argc, char **argv)
{
    const char *const slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    if (argc > 0)
        emulator_settings.program = slash != NULL ? slash + 1 : argv[0];
    emulator_settings.capability = 0; // as the program has been built
    for (char **variable = environ; *variable != NULL; variable++)
        apply(*variable);
}
