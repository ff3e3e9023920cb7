// The Test Anything Protocol, as much of it as the unit tests need: include it once in a program.
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_tests, tap_failures;

// One test, with a name as of printf. Returns whether it passed.
__attribute__((format(printf, 2, 3))) static inline bool ok(bool passed, const char *name, ...)
{
    va_list arguments;

    tap_tests++;
    tap_failures += !passed;
    printf("%s %d - ", passed ? "ok" : "not ok", tap_tests);
    va_start(arguments, name);
    vprintf(name, arguments);
    va_end(arguments);
    putchar('\n');
    return passed;
}

// Tests that say what they got. Numbers must be equal to 12 digits.
static inline void is_number(double got, double wanted, const char *name)
{
    if (!ok(got == wanted || fabs(got - wanted) <= 1e-12 * fabs(wanted), "%s", name))
        printf("# got %.17g, wanted %.17g\n", got, wanted);
}

static inline void is_integer(int64_t got, int64_t wanted, const char *name)
{
    if (!ok(got == wanted, "%s", name))
        printf("# got %" PRId64 ", wanted %" PRId64 "\n", got, wanted);
}

static inline void is_text(const char *got, const char *wanted, const char *name)
{
    if (!ok(strcmp(got, wanted) == 0, "%s", name))
        printf("# got    %s\n# wanted %s\n", got, wanted);
}

// The plan, which comes last. Returns the program's exit status.
static inline int finish(void)
{
    printf("1..%d\n", tap_tests);
    return tap_failures > 0;
}

#endif
