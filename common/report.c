#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "emulation.h"

// "12.34", or a dash for a number that there is not, right-aligned behind a space.
static void print_number(int width, int decimals, double number)
{
    if (isfinite(number))
        printf(" %*.*f", width, decimals, number);
    else
        printf(" %*s", width, "-");
}

// Below one, as many decimals as it takes to see something.
static void print_rate(double tflops)
{
    print_number(8, tflops < 1 ? 4 : 2, tflops);
}

static void print_step(const struct step *step)
{
    char tile[64], chapter[64];
    char *underscore;

    if (step->tile_k > 0)
        snprintf(tile, sizeof tile, "%dx%dx%d tile", step->tile_m, step->tile_n, step->tile_k);
    else
        snprintf(tile, sizeof tile, "%dx%d tile", step->tile_m, step->tile_n);
    snprintf(chapter, sizeof chapter, "docs/%02d-%s.md", step->number, step->name);
    while ((underscore = strchr(chapter, '_')) != NULL)
        *underscore = '-';
    printf("step %02d  %-22s ", step->number, step->title);
    if (step->threads > 0)
        printf("%s, %d threads, %s\n", tile, step->threads, chapter);
    else
        printf("no kernel of its own, %s\n", chapter);
    if (step->arithmetic != NULL)
        printf("computes %s, not in float32: a ratio to cuBLAS's float32 is not one of equals\n",
               step->arithmetic);
}

static void print_kernel(const struct kernel_facts *kernel)
{
    const double kibibytes = (double)kernel->shared_bytes / 1024;

    if (kernel->registers == 0)
        printf("kernel   %.1f KiB shared; no machine code: registers and occupancy not known",
               kibibytes);
    else
        printf("kernel   %d registers, %.1f KiB shared, %" PRId64
               " B spilled, %d blocks/SM (%.0f %% occupancy)",
               kernel->registers, kibibytes, kernel->spilled_bytes, kernel->blocks_per_sm,
               kernel->occupancy_percent);
    printf("%s%s\n", kernel->path[0] != '\0' ? ", " : "", kernel->path);
}

static void print_kernels_without_device(const struct step *step)
{
    int i;

    printf("device   no CUDA device, CUDA %s, cuBLAS %s\n", cuda_version(), cublas_version());
    for (i = 0; i < STEP_KERNELS && step->kernels[i].function != NULL; i++)
        printf("kernel   %s%sregisters, shared memory and occupancy are known only with a device\n",
               step->kernels[i].path, step->kernels[i].path[0] != '\0' ? ": " : "");
}

void print_device(const struct device *device)
{
    if (emulated())
        printf("device   %s (the GPU is emulated: all checks, no rates), CUDA %s\n", device->name,
               cuda_version());
    else
        printf("device   %s, sm_%d, %d SMs, driver %s, CUDA %s, cuBLAS %s\n", device->name,
               device->capability, device->sms, device->driver, cuda_version(), cublas_version());
}

void print_setting(const struct setting *setting)
{
    const struct device *device = setting->device;
    int i;

    print_step(setting->step);
    if (device == NULL) {
        print_kernels_without_device(setting->step);
        return;
    }
    print_device(device);
    for (i = 0; i < setting->kernel_count; i++)
        print_kernel(&setting->kernels[i]);
}

static const char *colour(const char *code)
{
    const char *no_color = getenv("NO_COLOR"); // no-color.org: set and not empty

    return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') ? code : "";
}

void print_table_head(const struct options *options)
{
    printf("\n%7s %7s %7s  %-12s %8s %8s %7s %10s    ±%% %7s\n", "m", "n", "k", "verify", "TFLOP/s",
           "cuBLAS", "ratio", options->sweep.step > 0 ? "mean ms" : "median ms", "SM MHz");
}

void print_row(const struct setting *setting, const struct record *record)
{
    const struct timing *timing = &record->timing;
    const bool timed = record->timed;
    static const char *const codes[] = {"\033[32m", "\033[31m", "\033[33m"}; // green, red, yellow

    printf("%7" PRId64 " %7" PRId64 " %7" PRId64 "  %s%-12s%s", record->shape.m, record->shape.n,
           record->shape.k, colour(codes[record->verification]),
           verification_name(record->verification), colour("\033[0m"));
    print_rate(record_tflops(setting, record, STEP_SIDE));
    print_rate(record_tflops(setting, record, CUBLAS_SIDE));
    print_number(7, 3, timed ? timing->ratio.median : NAN);
    print_number(10, 4, record_ms(setting, record, STEP_SIDE));
    print_number(5, 1, timed ? spread_percent(timing->time[STEP_SIDE]) : NAN);
    print_number(7, 0, timed ? timing->sm_clock_mhz : NAN);
    printf("%s%s\n", record->runs[0] != '\0' ? "  " : "", record->runs);
}

static void print_power_of(const char *name, const struct record *record, enum side who)
{
    const struct power *power = &record->power[who];

    printf("%25s  %-12s", "", name);
    print_number(8, 1, power->watts);
    printf(" W");
    print_number(10, 4, power->joules);
    printf(" J a product");
    print_number(8, 1, record_gflops_per_watt(record, who));
    printf(" GFLOP/s per W\n");
}

void print_power(const struct record *record)
{
    print_power_of("step", record, STEP_SIDE);
    print_power_of("cuBLAS", record, CUBLAS_SIDE);
}

void print_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void check_stdout(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        fail(EXIT_CUDA, "cannot write to standard output: %s", strerror(errno));
}
