// What sgemm() chooses, and the table that it reads: no device is needed.
#include "library/handle.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

enum {
    H200 = 90,
    H200_SMS = 132,
    SEEDS = 3, // the first candidates: steps 07, 08 and 09; most tests of the choice are of these
    TABLE_SIZE = 2000,
};

static char path[] = "/tmp/unit_dispatch.XXXXXX";

static struct sgemm product(int64_t m, int64_t n, int64_t k)
{
    const struct sgemm problem = {.m = m, .n = n, .k = k, .alpha = 1, .lda = k, .ldb = n, .ldc = n};

    return problem;
}

static int step_for(const struct sgemm *problem, int capability, int sms)
{
    return choose(candidates, SEEDS, problem, capability, sms)->step->number;
}

// The choice is the step that was the fastest on the reference GPU (docs/results).
static void test_measured_choices(void)
{
    static const struct {
        int64_t m, n, k;
        int of_seeds, of_all;
    } measured[] = {
        {256, 256, 256, 8, 16},    {1024, 1024, 1024, 8, 16}, {1152, 1152, 1152, 8, 17},
        {2048, 2048, 2048, 9, 14}, {4096, 4096, 4096, 9, 14}, {12288, 12288, 12288, 9, 14},
        {4096, 4096, 256, 9, 14},  {8192, 64, 8192, 8, 17},   {256, 256, 16384, 8, 16},
    };
    size_t i;

    for (i = 0; i < sizeof measured / sizeof *measured; i++) {
        const struct sgemm problem = product(measured[i].m, measured[i].n, measured[i].k);
        const struct candidate *best =
            choose(candidates, candidate_count, &problem, H200, H200_SMS);

        ok(step_for(&problem, H200, H200_SMS) == measured[i].of_seeds &&
               best->step->number == measured[i].of_all,
           "%" PRId64 "x%" PRId64 "x%" PRId64 " on an H200: step %02d, or %02d of all",
           measured[i].m, measured[i].n, measured[i].k, measured[i].of_seeds, measured[i].of_all);
    }
}

// Large tiles need enough of them for all SMs, whatever their number.
static void test_waves(void)
{
    const struct sgemm small = product(1024, 1024, 1024); // 64 tiles or 32
    const struct sgemm flat = product(128, INT64_C(256) * 132, 4096);
    const struct sgemm one_more = product(128, INT64_C(256) * 133, 4096);

    is_integer(step_for(&small, H200, 16), 9, "1024 fills 16 SMs with large tiles");
    is_integer(step_for(&small, H200, 1), 9, "and one");
    ok(step_for(&small, H200, 1000) != 9, "1000 SMs get small tiles");
    is_integer(step_for(&flat, H200, 132), 9, "132 large tiles on 132 SMs: one for each");
    ok(step_for(&one_more, H200, 132) != 9, "133: three small tiles beat two large ones");
}

// A pointer that nobody follows.
static float *at(uintptr_t address)
{
    return (float *)address; // NOLINT(performance-no-int-to-ptr)
}

static void test_alignment(void)
{
    is_integer(alignment_of(at(4096), 8, 8), 512, "all is aligned");
    is_integer(alignment_of(at(4096 + 256), 8, 8), 256, "to 256 bytes");
    is_integer(alignment_of(at(4096 + 16), 8, 8), 16, "to 16");
    is_integer(alignment_of(at(4096 + 4), 8, 8), 4, "to 4");
    is_integer(alignment_of(at(4096), 6, 8), 4, "rows that do not end at 16 bytes");
    is_integer(alignment_of(at(4096), 8, 10), 4, "rows that do not start at 16 bytes");
}

static void test_conditions(void)
{
    struct sgemm problem = product(4096, 4096, 4096);

    ok(step_for(&problem, 75, 72) != 9, "no cp.async at compute capability 7.5");
    problem.A = at(4);
    is_integer(step_for(&problem, H200, H200_SMS), 9, "step 09 takes any A");
    problem.B = at(16);
    is_integer(step_for(&problem, H200, H200_SMS), 9, "and a B at 16 bytes");
    problem.B = at(8);
    is_integer(step_for(&problem, H200, H200_SMS), 7, "but not at 8");
    problem = product(1024, 1024, 1024);
    is_integer(step_for(&problem, H200, H200_SMS), 8, "step 08 takes aligned matrices");
    problem.A = at(256);
    is_integer(step_for(&problem, H200, H200_SMS), 7, "but no A at 256 bytes");
    problem = product(1024, 1024, 1022);
    is_integer(step_for(&problem, H200, H200_SMS), 7, "nor rows that end elsewhere");
    problem = product(INT64_C(1) << 40, INT64_C(1) << 20, 0);
    ok(step_for(&problem, H200, H200_SMS) > 0, "sizes beyond 32 bits");
}

// A step whose blocks share tiles loses nothing in a last round that is not full, but has parts to
// add up.
static void test_shared_tiles(void)
{
    const struct step shares = {
        .tile_m = 128, .tile_n = 256, .sharing_blocks = 1, .least_share = 128};
    const struct speed *same = &candidates[2].speed;
    const struct candidate list[] = {
        candidates[2],
        {&shares, {4, 16, 4}, {same->alone, same->alone, same->overhead, 10}},
    };
    const struct candidate dear[] = {
        candidates[2],
        {&shares, {4, 16, 4}, {same->alone, same->alone, same->overhead, 1000}},
    };
    const struct sgemm even = product(128, INT64_C(256) * 132, 4096);
    const struct sgemm one_more = product(128, INT64_C(256) * 133, 4096);
    const struct sgemm one = product(128, 256, 16384);

    ok(choose(list, 2, &even, H200, H200_SMS) == &list[0], "a full round: sharing brings nothing");
    ok(choose(list, 2, &one_more, H200, H200_SMS) == &list[1], "one tile more: it does");
    ok(choose(list, 2, &one, H200, H200_SMS) == &list[1], "and so for one deep tile");
    ok(choose(dear, 2, &one, H200, H200_SMS) == &dear[0], "unless it takes long to add up");
}

// Workspaces: a step that counts what it is asked for
// ----------------------------------------------

static int prepared, released;
static void *launched_with;

static cudaError_t count_prepare(struct sgemm *problem)
{
    problem->workspace = &prepared;
    prepared++;
    return cudaSuccess;
}

static cudaError_t count_launch(const struct sgemm *problem, cudaStream_t stream)
{
    (void)stream;
    launched_with = problem->workspace;
    return cudaSuccess;
}

static cudaError_t count_release(struct sgemm *problem)
{
    problem->workspace = NULL;
    released++;
    return cudaSuccess;
}

static cudaError_t fail_to_prepare(struct sgemm *problem)
{
    (void)problem;
    return cudaErrorMemoryAllocation;
}

static void test_workspaces(void)
{
    struct step step = {.prepare = count_prepare, .launch = count_launch, .release = count_release};
    const struct sgemm small = product(8, 8, 8), large = product(9, 8, 8);
    struct sgemm_handle *handle = calloc(1, sizeof *handle);

    is_integer(run(handle, &step, small), SGEMM_OK, "a product");
    ok(launched_with == &prepared, "is launched with the workspace that was prepared");
    is_integer(run(handle, &step, small), SGEMM_OK, "the same again");
    is_integer(prepared, 1, "takes the same workspace");
    is_integer(run(handle, &step, large), SGEMM_OK, "another product");
    is_integer(prepared, 2, "takes another");
    step.reusable = true;
    is_integer(run(handle, &step, product(10, 8, 8)), SGEMM_OK, "a reusable workspace");
    is_integer(prepared, 2, "serves any product");
    is_integer(released, 0, "and none is given back before its time");
    step.reusable = false;
    step.prepare = fail_to_prepare;
    is_integer(run(handle, &step, product(11, 8, 8)), SGEMM_CUDA_ERROR,
               "no memory for a workspace");
    is_text(sgemm_message(handle), "cudaErrorMemoryAllocation: out of memory", "is said");
    is_integer(released, 1, "and what there was of it is given back");
    free(handle);
}

// Tables ------------------------------------------------------------------------------------------

static struct sgemm_handle *handle_of(int capability, int sms)
{
    struct sgemm_handle *handle = calloc(1, sizeof *handle);

    handle->capability = capability;
    handle->sms = sms;
    handle->candidate_count = candidate_count;
    memcpy(handle->candidates, candidates, (size_t)candidate_count * sizeof *candidates);
    return handle;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    fputs(text, file);
    fclose(file);
}

static void add_line(char *text, const struct candidate *candidate, int mflops)
{
    const size_t length = strlen(text);
    const int *alignment = candidate->alignment;

    snprintf(text + length, TABLE_SIZE - length, "%02d\t%d\t%d\t%d\t%d\t%d\t0\t0\r\n",
             candidate->step->number, alignment[0], alignment[1], alignment[2], mflops, mflops);
}

// Every candidate in turn is made the fastest by far, and chosen.
static void test_good_tables(void)
{
    const struct sgemm problem = product(512, 512, 512);
    int fast, i;

    for (fast = 0; fast < candidate_count; fast++) {
        struct sgemm_handle *handle = handle_of(H200, H200_SMS);
        char text[TABLE_SIZE] = "# a table\n\ndevice\t90\t132\n# lines of candidates\n";

        for (i = 0; i < candidate_count; i++)
            add_line(text, &candidates[i], i == fast ? 1000 : 1);
        write_file(text);
        is_integer(sgemm_load_table(handle, path), SGEMM_OK, "a table is read");
        is_text(sgemm_message(handle), "", "without a word");
        is_integer(choose(handle->candidates, handle->candidate_count, &problem, H200, H200_SMS)
                       ->step->number,
                   candidates[fast].step->number, "and the fastest in it is chosen");
        free(handle);
    }
}

static void test_bad_table(const char *text, const char *wanted)
{
    struct sgemm_handle *handle = handle_of(H200, H200_SMS);
    const char *message;

    write_file(text);
    ok(sgemm_load_table(handle, path) == SGEMM_BAD_TABLE, "refused: %s", wanted);
    message = sgemm_message(handle);
    if (!ok(strncmp(message, path, strlen(path)) == 0 && strstr(message, wanted) != NULL &&
                strchr(message, '\n') == NULL,
            "in one line, with the file's name"))
        printf("# got %s\n", message);
    ok(memcmp(handle->candidates, candidates, (size_t)candidate_count * sizeof *candidates) == 0,
       "and nothing of it is used");
    free(handle);
}

// A table with all lines but the first candidate's, which is `line` instead.
static void test_bad_line(const char *line, const char *wanted)
{
    char text[TABLE_SIZE];
    int i;

    snprintf(text, sizeof text, "device 90 132\n%s", line);
    for (i = 1; i < candidate_count; i++)
        add_line(text, &candidates[i], 1);
    test_bad_table(text, wanted);
}

static void test_bad_tables(void)
{
    char long_line[300];

    test_bad_table("", "no line for step 7 with alignments 4, 4, 4");
    test_bad_table("# only a comment\n", "no line for step 7 with alignments 4, 4, 4");
    test_bad_table("7 4 4 4 1 1 1\n", ":1: the first line is 'device'");
    test_bad_table("device 90\n", ":1: the first line is 'device'");
    test_bad_table("device 90 132 5\n", ":1: the first line is 'device'");
    test_bad_table("device 86 82\n", ":1: measured on an sm_86 with 82 SMs, and this device is an");
    test_bad_table("device 90 114\n", "with 114 SMs, and this device is an sm_90 with 132");
    test_bad_line("", "no line for step 7 with alignments 4, 4, 4");
    test_bad_line("device 90 132\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 1 1 1\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 1 1 1 1 1\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 1 1 1 1x\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 1 1.5 1 1\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 1 1 1 99999999999999999999\n", ":2: a line is eight whole numbers");
    test_bad_line("7 4 4 4 0 1 1 1\n", ":2: alone and full are 1 to 1000000000 MFLOP/s");
    test_bad_line("7 4 4 4 1 -1 1 1\n", ":2: alone and full are 1 to 1000000000 MFLOP/s");
    test_bad_line("7 4 4 4 1 2000000000 1 1\n", ":2: alone and full are 1 to 1000000000 MFLOP/s");
    test_bad_line("7 4 4 4 1 1 -1 1\n", "overhead and part 0 to 1000000 terms");
    test_bad_line("7 4 4 4 1 1 1 -1\n", "overhead and part 0 to 1000000 terms");
    test_bad_line("7 4 8 4 1 1 1 1\n", "no line for step 7 with alignments 4, 4, 4");
    test_bad_line("1 4 4 4 1 1 1 1\n", "no line for step 7 with alignments 4, 4, 4");
    test_bad_line("7 4 4 4 1 1 1 1\n7 4 4 4 1 1 1 1\n",
                  ":3: step 7 with these alignments for the second time");
    snprintf(long_line, sizeof long_line, "7 4 4 4 1 1 1 1%250s\n", "");
    test_bad_line(long_line, ":2: a line has at most 198 characters");
}

static void test_unreadable(const char *name, const char *wanted)
{
    struct sgemm_handle *handle = handle_of(H200, H200_SMS);

    is_integer(sgemm_load_table(handle, name), SGEMM_UNREADABLE_TABLE, wanted);
    ok(strstr(sgemm_message(handle), wanted) != NULL, "said so: %s", sgemm_message(handle));
    free(handle);
}

static void test_unreadable_tables(void)
{
    struct sgemm_handle *old = handle_of(75, 72);

    test_unreadable("/nowhere/table.tsv", "cannot read '/nowhere/table.tsv': No such file");
    test_unreadable("/tmp", "cannot read '/tmp': Is a directory");
    test_unreadable(NULL, "path is NULL");
    is_integer(sgemm_load_table(NULL, path), SGEMM_NO_HANDLE, "no handle");
    write_file("device 75 72\n7 4 4 4 1 1 1 1\n8 512 512 4 1 1 1 1\n99 4 4 4 1 1 1 1\n");
    is_integer(
        sgemm_load_table(old, path), SGEMM_OK,
        "a device without step 09 needs no line of it, and one of no step here does no harm");
    free(old);
}

int main(void)
{
    close(mkstemp(path));
    test_measured_choices();
    test_waves();
    test_alignment();
    test_conditions();
    test_shared_tiles();
    test_workspaces();
    test_good_tables();
    test_bad_tables();
    test_unreadable_tables();
    unlink(path);
    return finish();
}
