#include "unasked.h"

#include <stdio.h>

#include "emulator.h"
#include "fault.h"

static struct {
    bool any;
    char call[160], error[128], reason[512];
} first;

bool unasked_note(const char *call, const char *error, const char *reason)
{
    if (first.any)
        return false;
    first.any = true;
    snprintf(first.call, sizeof first.call, "%s", call);
    snprintf(first.error, sizeof first.error, "%s", error);
    snprintf(first.reason, sizeof first.reason, "%s", reason);
    return true;
}

void unasked_rename(const char *call)
{
    snprintf(first.call, sizeof first.call, "%s", call);
}

void unasked_forget(void)
{
    first.any = false;
}

bool unasked_take(char *line, size_t size)
{
    const bool some = first.reason[0] != '\0';
    if (!first.any || !emulator_settings.own_program || !emulator_settings.checks)
        return false;
    first.any = false;
    snprintf(line, size,
             "%s gave \"%s\"%s%s%s, and nobody asked for it: check what calls return, and "
             "cudaGetLastError() after a launch",
             first.call, first.error, some ? " (" : "", first.reason, some ? ")" : "");
    return true;
}

void unasked_tell(void)
{
    char line[1024];
    if (unasked_take(line, sizeof line))
        emulator_say("%s", line);
}
