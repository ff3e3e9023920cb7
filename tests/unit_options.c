// What the command line means, and what its errors say.
#include "options.h"

#include <stdlib.h>

#include "tap.h"

enum {
    MAX_WORDS = 20
};

// Parses a command line whose words are separated by single spaces.
static bool parse(struct options *options, const char *line)
{
    static char copy[200];
    char *words[MAX_WORDS] = {"step99"};
    char *rest = copy, *word;
    int count = 1;

    snprintf(copy, sizeof copy, "%s", line);
    while ((word = strtok_r(rest, " ", &rest)) != NULL && count < MAX_WORDS)
        words[count++] = word;
    return parse_options(options, false, count, words);
}

static bool same_shape(struct shape shape, int64_t m, int64_t n, int64_t k, int64_t lda,
                       int64_t ldb, int64_t ldc)
{
    return shape.m == m && shape.n == n && shape.k == k && shape.lda == lda && shape.ldb == ldb &&
           shape.ldc == ldc;
}

static void check_shapes(void)
{
    struct options o;

    ok(parse(&o, "") && shape_count(&o) == 3, "without options: three sizes");
    ok(same_shape(shape_at(&o, 0), 1024, 1024, 1024, 1024, 1024, 1024), "the first is 1024");
    ok(same_shape(shape_at(&o, 2), 4096, 4096, 4096, 4096, 4096, 4096), "the last is 4096");
    ok(parse(&o, "-s 7") && shape_count(&o) == 1 && same_shape(shape_at(&o, 0), 7, 7, 7, 7, 7, 7),
       "-s sets m, n and k");
    ok(parse(&o, "-m 3 -s 7") && same_shape(shape_at(&o, 0), 3, 7, 7, 7, 7, 7),
       "-m before -s still counts");
    ok(parse(&o, "-k 3") && same_shape(shape_at(&o, 0), 1024, 1024, 3, 3, 1024, 1024),
       "what is not given is 1024");
    ok(parse(&o, "-m 4 -n 5 -k 6 --lda 7 --ldb=8 --ldc 9") &&
           same_shape(shape_at(&o, 0), 4, 5, 6, 7, 8, 9),
       "leading dimensions");
    ok(parse(&o, "-m 0 -n 0 -k 0") && same_shape(shape_at(&o, 0), 0, 0, 0, 1, 1, 1),
       "leading dimensions are at least 1");
    ok(parse(&o, "--sweep 10:31:10") && shape_count(&o) == 3 && shape_at(&o, 2).k == 30,
       "a sweep ends at or before its end");
    ok(parse(&o, "--sweep 10:30:10") && shape_count(&o) == 3, "a sweep reaches its end");
    ok(parse(&o, "--sweep=5:5:9") && shape_count(&o) == 1 && shape_at(&o, 0).m == 5,
       "a sweep of one size");
}

static void check_values(void)
{
    struct options o;

    ok(parse(&o, "") && o.alpha == 1 && o.beta == 0 && o.repeats == UNSET && o.seed == 1 &&
           o.device == 0 && o.csv == NULL && o.json == NULL && !o.warm && !o.power,
       "defaults");
    ok(parse(&o, "--alpha -1.5e-3 --beta=0x1p-2") && o.alpha == -1.5e-3F && o.beta == 0.25F,
       "factors, decimal and hexadecimal");
    ok(parse(&o, "--alpha -1e26 --beta 0x1p-126") && o.alpha == -1e26F && o.beta == 0x1p-126F,
       "the largest and the smallest factor");
    ok(parse(&o, "--offset 1,20,300") && o.offset[0] == 1 && o.offset[1] == 20 &&
           o.offset[2] == 300,
       "offsets");
    ok(parse(&o, "--csv=a=b --json c") && strcmp(o.csv, "a=b") == 0 && strcmp(o.json, "c") == 0,
       "a value may hold an equals sign");
    ok(parse(&o, "--warm --power --no-verify --repeats 1000 --no-guards --device 3") && o.warm &&
           o.power && o.no_verify && o.repeats == 1000 && o.no_guards && o.device == 3,
       "flags");
    ok(parse(&o, "-s 5 -s 6") && o.size == 6, "the last one counts");
    ok(parse(&o, "--help --nonsense") && o.help, "nothing matters behind --help");
    ok(parse(&o, "-s 1099511627776") && o.size == INT64_C(1) << 40, "the largest number");
}

static void check_error(const char *line, const char *message)
{
    struct options o;

    if (ok(!parse(&o, line), "%s is refused", line))
        is_text(o.error, message, "  with a message");
}

#define FACTOR(option, value)                                                                      \
    option " wants 0 or a normal float32 number, 1.18e-38 to 1e26 in magnitude, not '" value "'"

static void check_errors(void)
{
    check_error("-m", "-m wants a whole number from 0 to 1099511627776 after it");
    check_error("-m 12x", "-m wants a whole number from 0 to 1099511627776, not '12x'");
    check_error("-m -1", "-m wants a whole number from 0 to 1099511627776, not '-1'");
    check_error("--lda 0", "--lda wants a whole number from 1 to 1099511627776, not '0'");
    check_error("--repeats 1001", "--repeats wants a whole number from 1 to 1000, not '1001'");
    check_error("-n 99999999999999999999",
                "-n wants a whole number from 0 to 1099511627776, not '99999999999999999999'");
    check_error("--alpha=nan", FACTOR("--alpha", "nan"));
    check_error("--alpha=-1.001e26", FACTOR("--alpha", "-1.001e26"));
    check_error("--beta 1e39", FACTOR("--beta", "1e39"));
    check_error("--beta 1e-60", FACTOR("--beta", "1e-60"));
    check_error("--beta 0x1p-127", FACTOR("--beta", "0x1p-127")); // subnormal, if exactly so
    check_error("--offset 1,2",
                "--offset wants three whole numbers A,B,C from 0 to 1099511627776, not '1,2'");
    check_error(
        "--sweep 9:8:1",
        "--sweep wants FIRST:LAST:STEP, whole numbers from 1, FIRST up to LAST, not '9:8:1'");
    check_error("--csv=", "--csv wants the name of a file, not ''");
    check_error("--warm=1", "--warm takes no value");
    check_error("--frob", "unknown option '--frob' (--help shows what there is)");
    check_error("64", "unknown argument '64' (--help shows what there is)");
    check_error("-m 4 -k 9 --lda 8", "--lda 8 is too small: a row of A has k = 9 elements");
    check_error("--ldc 4095", "--ldc 4095 is too small: a row of C has n = 4096 elements");
    check_error("--sweep 1:2:1 -k 3", "--sweep sets m, n and k: leave out -s, -m, -n and -k");
    check_error("--verify-only --no-verify",
                "--verify-only and --no-verify together leave nothing to do");
    check_error("--power --verify-only",
                "--power measures, --verify-only does not: leave one of them out");
}

int main(void)
{
    check_shapes();
    check_values();
    check_errors();
    return finish();
}
