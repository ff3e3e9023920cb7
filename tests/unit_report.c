// The table, and the records in CSV and JSON.
#include "report.h"

#include <stdlib.h>
#include <unistd.h>

#include "nvml.h"
#include "tap.h"

enum {
    TEXT_SIZE = 20000
};

static const struct step step = {.number = 7,
                                 .name = "inline_ptx",
                                 .title = "inline PTX",
                                 .tile_m = 128,
                                 .tile_n = 128,
                                 .tile_k = 8,
                                 .threads = 256};
static const struct options options = {.alpha = 1};
static const struct device device = {.name = "GPU \"X\", 80\\90",
                                     .driver = "580.159",
                                     .capability = 90,
                                     .sms = 132,
                                     .max_clock_mhz = 1980,
                                     .ceiling_tflops = 66.9};
static const struct setting setting = {
    .step = &step,
    .options = &options,
    .device = &device,
    .kernels = {{.path = "",
                 .registers = 126,
                 .shared_bytes = 24576,
                 .blocks_per_sm = 2,
                 .occupancy_percent = 25},
                {.path = "PTX only", .shared_bytes = 24832}},
    .kernel_count = 2,
};

static struct record measured(int64_t size, double milliseconds)
{
    struct record record = {.shape = {size, size, size, size, size, size},
                            .timed = true,
                            .timing = {.pairs = 15, .sm_clock_mhz = NAN, .throttle = 0x4 | 0x20}};

    record.timing.time[STEP_SIDE] =
        (struct interval){milliseconds, 0.99 * milliseconds, 1.01 * milliseconds};
    record.timing.time[CUBLAS_SIDE] = record.timing.time[STEP_SIDE];
    record.timing.ratio = (struct interval){1, 0.99, 1.01};
    return record;
}

// Moves what has been written to a temporary file into `text`, room for TEXT_SIZE.
static void take_text(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    const size_t length = file != NULL ? fread(text, 1, TEXT_SIZE - 1, file) : 0;

    text[length] = '\0';
    if (file != NULL)
        fclose(file);
    unlink(path);
}

// Calls print() and returns in `text` what it puts on stdout.
static void capture(void (*print)(void), char *text)
{
    char path[] = "/tmp/unit_report_XXXXXX";
    const int file = mkstemp(path), usual = dup(STDOUT_FILENO);

    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    print();
    fflush(stdout);
    dup2(usual, STDOUT_FILENO);
    close(usual);
    close(file);
    take_text(path, text);
}

// Columns that a line takes on a terminal: of a character in several bytes only the first counts.
static int columns(const char *line)
{
    int count = 0;

    for (; *line != '\0' && *line != '\n'; line++)
        count += ((unsigned char)*line & 0xc0U) != 0x80U;
    return count;
}

static void print_example(void)
{
    const struct record usual = measured(4096, 3.0266), large = measured(9999999, 54321098.7654);
    struct record small = measured(8, 0.0041), wrong = measured(64, 1);

    small.verification = NOT_VERIFIED;
    wrong.timed = false;
    wrong.verification = WRONG;
    print_setting(&setting);
    print_table_head(&options);
    print_row(&setting, &usual);
    print_row(&setting, &small);
    print_row(&setting, &large);
    print_row(&setting, &wrong);
}

static void check_table(void)
{
    static const char *const parts[] = {
        "step 07  inline PTX             128x128x8 tile, 256 threads, docs/07-inline-ptx.md\n",
        ", sm_90, 132 SMs, driver 580.159, CUDA ",
        "kernel   126 registers, 24.0 KiB shared, 0 B spilled, 2 blocks/SM (25 % occupancy)\n",
        "kernel   24.2 KiB shared; no machine code: registers and occupancy not known, PTX only\n",
        "      m       n       k  verify        TFLOP/s   cuBLAS   ratio  median ms    ±%  SM "
        "MHz\n",
        "   4096    4096    4096  exact           45.41    45.41   1.000     3.0266   1.0       "
        "-\n",
        "      8       8       8  not verified   0.0002   0.0002   1.000     0.0041   1.0       "
        "-\n",
        "     64      64      64  WRONG               -        -       -          -     -       "
        "-\n",
    };
    char text[TEXT_SIZE];
    const char *line = text;
    int widest = 0;
    size_t i;

    capture(print_example, text);
    for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ok(strstr(text, parts[i]) != NULL, "the table has: %.*s", (int)strcspn(parts[i], "\n"),
           parts[i]);
    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        widest = columns(line) > widest ? columns(line) : widest;
    ok(widest <= 100, "%d columns fit into 100", widest);
}

static void check_records(void)
{
    char csv_path[] = "/tmp/unit_report_XXXXXX", json_path[] = "/tmp/unit_report_XXXXXX";
    char text[TEXT_SIZE];
    const struct record record = measured(64, 2);

    close(mkstemp(csv_path));
    close(mkstemp(json_path));
    open_records(csv_path, json_path);
    write_record(&setting, &record);
    write_record(&setting, &record);
    close_records(&setting, true);
    take_text(csv_path, text);
    ok(strncmp(text, "date,step,", 10) == 0, "CSV begins with the names of the fields");
    ok(strstr(text, ",\"GPU \"\"X\"\", 80\\90\",") != NULL, "CSV doubles quotes");
    ok(strstr(text, ",\"software power cap + software thermal slowdown\",") != NULL,
       "throttle reasons by name");
    ok(strstr(text, ",15,2,2,,,1,1,") != NULL, "what is not known is an empty field in CSV");
    take_text(json_path, text);
    ok(strstr(text, "\"device\": \"GPU \\\"X\\\", 80\\\\90\"") != NULL, "JSON escapes quotes");
    ok(strstr(text, "\"sm_clock_mhz\": null") != NULL, "what is not known is null in JSON");
    ok(strstr(text, "\"registers\": null") != NULL, "nor are registers without machine code");
    ok(strstr(text, "\"l2_flushed\": true") != NULL, "true is true");
    ok(strstr(text, "\"complete\":  true\n}\n") != NULL, "JSON ends");
}

static void check_reasons(void)
{
    char text[12];

    name_throttle_reasons(0, text, sizeof text);
    is_text(text, "", "no reason, no name");
    name_throttle_reasons(~0ULL, text, sizeof text);
    is_text(text, "application", "names that do not fit are cut off");
}

int main(void)
{
    check_table();
    check_records();
    check_reasons();
    return finish();
}
