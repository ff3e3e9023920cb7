#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The largest number that any option takes. It leaves room for sums of a few of them; what does not
// fit in memory is refused later, by its size in bytes.
#define MAX_NUMBER (INT64_C(1) << 40)

// The largest alpha and beta: with elements up to 1 and at most MAX_NUMBER terms, no sum is more
// than float32 holds, in whatever order it is added up.
static const float MOST_FACTOR = 1e26F;

#define FIELD(name) offsetof(struct options, name)

enum {
    DEFAULT_SIZE = 1024, // and, with nothing said at all, twice and four times that as well
    EMULATED_SIZE = 64,  // the same on the emulator, which is slower
    DEFAULT_SIZES = 3,
};

enum kind {
    HEADING, // of a group in the help text
    FLAG,    // bool
    NUMBER,  // int64_t in [least, most]
    REAL,    // float
    TEXT,    // const char *
    OFFSETS, // int64_t[3], each in [least, most]
    SWEEP,   // struct sweep, each in [least, most]
};

// One row an option: all that it takes to parse and to explain it.
struct option {
    enum kind kind;
    const char *name;
    const char *argument; // its name in the help text
    size_t field;         // in struct options
    int64_t least, most;
    const char *help;
};

static const struct option table[] = {
    {HEADING, "The problem (m = n = k = 1024, then 2048, then 4096)", "", 0, 0, 0, ""},
    {NUMBER, "-s", "SIZE", FIELD(size), 0, MAX_NUMBER, "m = n = k = SIZE"},
    {NUMBER, "-m", "M", FIELD(m), 0, MAX_NUMBER, "rows of A and C (SIZE, or else 1024)"},
    {NUMBER, "-n", "N", FIELD(n), 0, MAX_NUMBER, "columns of B and C (likewise)"},
    {NUMBER, "-k", "K", FIELD(k), 0, MAX_NUMBER, "columns of A and rows of B (likewise)"},
    {NUMBER, "--lda", "L", FIELD(lda), 1, MAX_NUMBER, "elements from a row of A to the next (k)"},
    {NUMBER, "--ldb", "L", FIELD(ldb), 1, MAX_NUMBER, "elements from a row of B to the next (n)"},
    {NUMBER, "--ldc", "L", FIELD(ldc), 1, MAX_NUMBER, "elements from a row of C to the next (n)"},
    {OFFSETS, "--offset", "A,B,C", FIELD(offset), 0, MAX_NUMBER,
     "elements from an aligned address to each matrix (0,0,0)"},
    {REAL, "--alpha", "F", FIELD(alpha), 0, 0,
     "factor of the product, up to 1e26 in magnitude (1)"},
    {REAL, "--beta", "F", FIELD(beta), 0, 0, "factor of the old C, likewise (0: C is not read)"},
    {SWEEP, "--sweep", "FIRST:LAST:STEP", FIELD(sweep), 1, MAX_NUMBER,
     "m = n = k = FIRST, FIRST + STEP, ... up to LAST; each size\n"
     "is run 4 to 1390 times (fewer for large sizes); the mean\n"
     "of the second half is reported"},
    {NUMBER, "--seed", "S", FIELD(seed), 0, MAX_NUMBER, "seed of the random numbers (1)"},

    {HEADING, "The run", "", 0, 0, 0, ""},
    {FLAG, "--verify-only", "", FIELD(verify_only), 0, 0, "check the results, time nothing"},
    {FLAG, "--no-verify", "", FIELD(no_verify), 0, 0,
     "time without checking: rates are marked \"not verified\""},
    {FLAG, "--warm", "", FIELD(warm), 0, 0, "keep the operands in L2 between runs (it is flushed)"},
    {NUMBER, "--repeats", "N", FIELD(repeats), 1, MAX_REPEATS,
     "time N pairs of runs (until the spread of both is under\n"
     "0.25 %, at least 15 pairs; at most 1000, or 2 s)"},
    {FLAG, "--power", "", FIELD(power), 0, 0, "then 3 s more of each, for watts and joules"},
    {FLAG, "--no-guards", "", FIELD(no_guards), 0, 0,
     "allocate what the matrices need and no word more, so that\n"
     "compute-sanitizer sees every read past an end"},
    {NUMBER, "--device", "ID", FIELD(device), 0, INT32_MAX, "run on this GPU (0)"},

    {HEADING, "The emulator, which runs where there is no GPU (64, then 128, then 256)", "", 0, 0,
     0, ""},
    {FLAG, "--emulate", "", FIELD(emulate), 0, 0, "use it even where there is a GPU"},
    {NUMBER, "--schedule", "S", FIELD(schedule), 0, MAX_NUMBER,
     "run warps and blocks in another order (0: one after the other)"},
    {NUMBER, "--shared-base", "B", FIELD(shared_base), 0, 1 << 20,
     "the address of shared memory (1024 from sm_90 on, 0 before)"},

    {FLAG, "--lines", "", FIELD(lines), 0, 0, "report by line of the source, too"},
    {TEXT, "--figure", "FILE.svg", FIELD(figure), 0, 0,
     "draw which banks or sectors a warp touches ..."},
    {NUMBER, "--line", "N", FIELD(line), 1, INT32_MAX, "... in this line of the source"},

    {HEADING, "Output", "", 0, 0, 0, ""},
    {TEXT, "--csv", "FILE", FIELD(csv), 0, 0, "also write one line a size, with every figure"},
    {TEXT, "--json", "FILE", FIELD(json), 0, 0, "the same as one JSON object"},
    {FLAG, "--list", "", FIELD(list), 0, 0, "show this step's tile and kernels, run nothing"},
    {FLAG, "--help", "", FIELD(help), 0, 0, "show this text"},
    {FLAG, "--version", "", FIELD(version), 0, 0, "show the versions of CUDA and cuBLAS"},
};

enum {
    OPTIONS = sizeof table / sizeof table[0]
};

// Sets the error message. Returns false, so that a parser can end with it.
__attribute__((format(printf, 2, 3))) static bool refuse(struct options *options,
                                                         const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(options->error, sizeof options->error, format, arguments);
    va_end(arguments);
    return false;
}

// Reads a whole number in the option's range at *text and moves *text behind it.
static bool read_number(const struct option *option, const char **text, int64_t *number)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false; // a sign, white space, nothing
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0 && *number >= option->least && *number <= option->most;
}

// Reads `count` numbers with separators between them, and nothing more.
static bool read_numbers(const struct option *option, const char *text, char separator,
                         int64_t *numbers, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        if (i > 0 && *text++ != separator)
            return false;
        if (!read_number(option, &text, &numbers[i]))
            return false;
    }
    return *text == '\0';
}

static bool read_sweep(const struct option *option, const char *text, struct sweep *sweep)
{
    int64_t numbers[3];

    if (!read_numbers(option, text, ':', numbers, 3) || numbers[0] > numbers[1])
        return false;
    *sweep = (struct sweep){numbers[0], numbers[1], numbers[2]};
    return true;
}

// Underflow is refused like overflow: a factor must not turn into 0 unseen, nor lose digits.
static bool read_real(const char *text, float *real)
{
    char *end;

    if (isspace((unsigned char)*text))
        return false;
    errno = 0;
    *real = strtof(text, &end);
    return end != text && *end == '\0' && errno == 0 && (*real == 0 || isnormal(*real)) &&
           fabsf(*real) <= MOST_FACTOR;
}

static bool read_value(const struct option *option, const char *text, void *field)
{
    switch (option->kind) {
    case NUMBER:
        return read_numbers(option, text, '\0', field, 1);
    case REAL:
        return read_real(text, field);
    case OFFSETS:
        return read_numbers(option, text, ',', field, 3);
    case SWEEP:
        return read_sweep(option, text, field);
    default:
        *(const char **)field = text;
        return *text != '\0';
    }
}

// What an option wants, as the end of "--alpha wants ...".
static void describe_value(const struct option *option, char *text, size_t size)
{
    switch (option->kind) {
    case NUMBER:
        snprintf(text, size, "a whole number from %" PRId64 " to %" PRId64, option->least,
                 option->most);
        break;
    case REAL:
        snprintf(text, size, "0 or a normal float32 number, 1.18e-38 to 1e26 in magnitude");
        break;
    case OFFSETS:
        snprintf(text, size, "three whole numbers A,B,C from 0 to %" PRId64, option->most);
        break;
    case SWEEP:
        snprintf(text, size, "FIRST:LAST:STEP, whole numbers from 1, FIRST up to LAST");
        break;
    default:
        snprintf(text, size, "the name of a file");
    }
}

// Reads argv[*index], and argv[*index + 1] where the value is there.
static bool parse_option(struct options *options, int argc, char **argv, int *index)
{
    const char *argument = strcmp(argv[*index], "-h") == 0 ? "--help" : argv[*index];
    const size_t length = strcspn(argument, "=");
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL;
    const struct option *option = table;
    char wanted[80];
    void *field;

    while (option < table + OPTIONS && (option->kind == HEADING || strlen(option->name) != length ||
                                        strncmp(option->name, argument, length) != 0))
        option++;
    if (option == table + OPTIONS)
        return refuse(options, "unknown %s '%s' (--help shows what there is)",
                      argument[0] == '-' ? "option" : "argument", argument);

    field = (char *)options + option->field;
    if (option->kind == FLAG) {
        *(bool *)field = true;
        return value == NULL || refuse(options, "%s takes no value", option->name);
    }
    describe_value(option, wanted, sizeof wanted);
    if (value == NULL && *index + 1 < argc)
        value = argv[++*index];
    if (value == NULL)
        return refuse(options, "%s wants %s after it", option->name, wanted);
    return read_value(option, value, field) ||
           refuse(options, "%s wants %s, not '%s'", option->name, wanted, value);
}

static bool check_leading_dimension(struct options *options, char matrix, int64_t ld,
                                    char dimension, int64_t columns)
{
    if (ld != UNSET && ld < columns)
        return refuse(options,
                      "--ld%c %" PRId64 " is too small: a row of %c has %c = %" PRId64 " elements",
                      matrix, ld, toupper(matrix), dimension, columns);
    return true;
}

static bool has_dimension(const struct options *options)
{
    return options->m != UNSET || options->n != UNSET || options->k != UNSET ||
           options->size != UNSET;
}

static bool is_path(const char *path, const char *other)
{
    return path != NULL && other != NULL && strcmp(path, other) == 0;
}

static bool is_svg(const char *path)
{
    const size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static bool check_figure(struct options *options)
{
    if (options->figure != NULL && options->line == UNSET)
        return refuse(options, "--figure wants --line N, too: the line whose access is drawn");
    if (options->line != UNSET && options->figure == NULL)
        return refuse(options, "--line wants --figure FILE.svg, too: what the line is drawn to");
    if (is_path(options->figure, options->csv) || is_path(options->figure, options->json))
        return refuse(options, "--figure '%s' is the same file as another output", options->figure);
    if (options->figure != NULL && !is_svg(options->figure))
        return refuse(options, "--figure wants a file whose name ends in .svg, not '%s'",
                      options->figure);
    return true;
}

// What no option can see alone.
static bool check_together(struct options *options)
{
    const struct shape largest = shape_at(options, shape_count(options) - 1);

    if (options->sweep.step > 0 && has_dimension(options))
        return refuse(options, "--sweep sets m, n and k: leave out -s, -m, -n and -k");
    if (options->verify_only && options->no_verify)
        return refuse(options, "--verify-only and --no-verify together leave nothing to do");
    if (options->verify_only && options->power)
        return refuse(options, "--power measures, --verify-only does not: leave one of them out");
    if (options->shared_base != UNSET && options->shared_base % 128 != 0)
        return refuse(options, "--shared-base %" PRId64 " is no multiple of 128",
                      options->shared_base);
    return check_figure(options) &&
           check_leading_dimension(options, 'a', options->lda, 'k', largest.k) &&
           check_leading_dimension(options, 'b', options->ldb, 'n', largest.n) &&
           check_leading_dimension(options, 'c', options->ldc, 'n', largest.n);
}

bool parse_options(struct options *options, bool emulated, int argc, char **argv)
{
    int i;

    *options = (struct options){.m = UNSET,
                                .n = UNSET,
                                .k = UNSET,
                                .size = UNSET,
                                .lda = UNSET,
                                .ldb = UNSET,
                                .ldc = UNSET,
                                .alpha = 1,
                                .repeats = UNSET,
                                .seed = 1,
                                .shared_base = UNSET,
                                .line = UNSET,
                                .default_size = emulated ? EMULATED_SIZE : DEFAULT_SIZE};
    for (i = 1; i < argc; i++) {
        if (!parse_option(options, argc, argv, &i))
            return false;
        if (options->help || options->version)
            return true; // what follows does not matter to someone who asks for help
    }
    return check_together(options);
}

int64_t shape_count(const struct options *options)
{
    if (options->sweep.step > 0)
        return (options->sweep.last - options->sweep.first) / options->sweep.step + 1;
    return has_dimension(options) ? 1 : DEFAULT_SIZES;
}

static int64_t given_or(int64_t number, int64_t otherwise)
{
    return number != UNSET ? number : otherwise;
}

static int64_t at_least_one(int64_t number)
{
    return number > 1 ? number : 1;
}

struct shape shape_at(const struct options *options, int64_t index)
{
    struct shape shape;
    int64_t size = options->size;

    if (options->sweep.step > 0)
        size = options->sweep.first + index * options->sweep.step;
    else if (size == UNSET)
        size = options->default_size << index;
    shape.m = given_or(options->m, size);
    shape.n = given_or(options->n, size);
    shape.k = given_or(options->k, size);
    shape.lda = given_or(options->lda, at_least_one(shape.k));
    shape.ldb = given_or(options->ldb, at_least_one(shape.n));
    shape.ldc = given_or(options->ldc, at_least_one(shape.n));
    return shape;
}

// One option's lines; further lines of its text are indented like the first.
static void print_option(const struct option *option)
{
    char call[40];
    const char *line = option->help;

    snprintf(call, sizeof call, "%s %s", option->name, option->argument);
    printf("  %-25s ", call);
    for (; strchr(line, '\n') != NULL; line = strchr(line, '\n') + 1)
        printf("%.*s\n%28s", (int)strcspn(line, "\n"), line, "");
    puts(line);
}

void print_help(const char *program, const char *title)
{
    const struct option *option;

    printf("usage: ./%s [--option value or --option=value ...]\n\n"
           "%s: C := alpha * A * B + beta * C, in float32.\n"
           "The step is verified against cuBLAS, and only then timed, side by side with it.\n"
           "Defaults are in parentheses.\n",
           program, title);
    for (option = table; option < table + OPTIONS; option++) {
        if (option->kind == HEADING)
            printf("\n%s\n", option->name);
        else
            print_option(option);
    }
    printf(
        "\nExit status\n"
        "  0 verified    1 a result is wrong    2 bad usage    77 this GPU cannot run this step\n"
        "  3 an error of CUDA, memory, an output file or the clock    130 interrupted\n"
        "  4 the emulator has found a fault in the kernel\n");
}
