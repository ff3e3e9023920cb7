#include "program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "emulation.h"
#include "nvml.h"
#include "passes.h"
#include "report.h"
#include "signals.h"

#ifdef DEBUG_BUILD
static const bool debug_build = true; // kernels built with -G: slow, and no rate of theirs counts
#else
static const bool debug_build = false;
#endif

// What a whole run has come to.
struct outcome {
    int64_t done; // shapes, with all that the command line asks for
    bool wrong, impossible, nothing_multiplied, no_power;
    unsigned long long throttle;
    struct shape shape;      // the last one
    struct exact_plan exact; // of the last shape: the factors are the same in all; bound 0: none
};

// Whatever the user's environment says, cuBLAS computes in float32, with no help of tensor cores.
static void use_plain_float32(void)
{
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "0", 1);
}

static bool multiplies(const struct shape *shape, float alpha)
{
    return alpha != 0 && shape->m > 0 && shape->n > 0 && shape->k > 0;
}

// A rate that the device's float32 units cannot reach is no rate: the clock or the device is wrong.
static bool is_possible(const struct setting *setting, const struct record *record)
{
    static const char *const names[] = {"step", "cuBLAS"};
    const double ceiling = setting->device->ceiling_tflops;
    int who;

    for (who = STEP_SIDE; who < SIDES; who++) {
        const double tflops = record_tflops(setting, record, who);

        if (who == STEP_SIDE && setting->step->arithmetic != NULL)
            continue; // it computes elsewhere
        if (!(ceiling > 0) || tflops <= ceiling)
            continue; // there are devices that do not tell their clock
        complain("measuring error at m=%" PRId64 " n=%" PRId64 " k=%" PRId64
                 ": %.4g TFLOP/s of %s is above this device's ceiling, %.4g TFLOP/s "
                 "(%d SMs, %d lanes each, %.0f MHz)",
                 record->shape.m, record->shape.n, record->shape.k, tflops, names[who], ceiling,
                 setting->device->sms, fp32_lanes_per_sm(setting->device->capability),
                 setting->device->max_clock_mhz);
        return false;
    }
    return true;
}

static void measure(struct bench *bench, const struct setting *setting, struct record *record,
                    struct outcome *outcome)
{
    const struct options *options = setting->options;
    const bool verify = !options->no_verify;

    record->timed = time_product(bench, options->alpha, options->beta, verify, &record->timing);
    if (!record->timed) {
        record->verification = WRONG;
        return;
    }
    record->timed = record->timing.pairs > 0;
    if (!record->timed)
        return; // interrupted
    outcome->throttle |= record->timing.throttle;
    if (!is_possible(setting, record)) {
        record->timed = false;
        outcome->impossible = true;
    } else if (options->power && !interrupted()) {
        show_progress("power and energy, 7 s");
        record->power_measured =
            measure_power(bench, options->alpha, options->beta, &record->timing, record->power);
        outcome->no_power |= !record->power_measured && !interrupted();
    }
}

static void run_shape(struct bench *bench, const struct setting *setting, const struct shape *shape,
                      struct outcome *outcome)
{
    const struct options *options = setting->options;
    const bool verify = !options->no_verify;
    struct record record = {.shape = *shape,
                            .verification = verify ? VERIFIED : NOT_VERIFIED,
                            .exact = plan_exact_pass(shape->k, options->alpha, options->beta)};

    show_progress("size %" PRId64 " of %" PRId64 ": m=%" PRId64 " n=%" PRId64 " k=%" PRId64,
                  outcome->done + 1, shape_count(options), shape->m, shape->n, shape->k);
    set_shape(bench, shape);
    describe_step(bench, options->alpha, options->beta, record.runs, sizeof record.runs);
    if (verify && !verify_step(bench, shape, options->alpha, options->beta, &record.exact))
        record.verification = WRONG;
    if (interrupted() && record.verification != WRONG) {
        hide_progress();
        return; // in the middle of verification: nothing to say
    }
    if (!multiplies(shape, options->alpha))
        outcome->nothing_multiplied = true;
    else if (record.verification != WRONG && !options->verify_only && !debug_build)
        measure(bench, setting, &record, outcome);
    hide_progress();

    outcome->done += !interrupted();
    outcome->wrong |= record.verification == WRONG;
    outcome->exact = record.exact;
    outcome->shape = *shape;
    print_row(setting, &record);
    if (record.power_measured)
        print_power(&record);
    check_stdout();
    write_record(setting, &record);
}

static void print_notes(const struct setting *setting, const struct outcome *outcome)
{
    const struct options *options = setting->options;
    const struct exact_plan *exact = &outcome->exact;
    char reasons[200];

    name_throttle_reasons(outcome->throttle, reasons, sizeof reasons);
    if (reasons[0] != '\0')
        print_note("note: the clocks were held back: %s", reasons);
    if (outcome->no_power)
        print_note("note: no power: NVML (libnvidia-ml.so.1) is not here, or does not tell it");
    if (debug_build)
        print_note("note: debug build: no rates");
    else if (outcome->nothing_multiplied && !options->verify_only)
        print_note("note: no rate where nothing is multiplied (m, n, k or alpha is 0)");
    if (exact->bound > 0 && !options->no_verify &&
        (exact->alpha != options->alpha || exact->beta != options->beta))
        print_note("note: the exact pass took alpha = %g and beta = %g, for sums without rounding",
                   (double)exact->alpha, (double)exact->beta);
}

static enum exit_code conclude(const struct setting *setting, const struct outcome *outcome)
{
    const int64_t count = shape_count(setting->options);

    if (interrupted())
        complain("interrupted: %" PRId64 " of %" PRId64 " sizes done", outcome->done, count);
    if (outcome->wrong)
        return EXIT_WRONG;
    if (interrupted())
        return EXIT_INTERRUPTED;
    return outcome->impossible ? EXIT_CUDA : EXIT_VERIFIED;
}

static enum exit_code run_all(const struct options *options, const struct step *step)
{
    struct outcome outcome = {0};
    struct setting setting = {.step = step, .options = options};
    struct device device;
    struct bench bench;
    int64_t i;

    device = open_device(options->device);
    check_capability(&device, step);
    open_records(options->csv, options->json); // not before: what a file held is lost
    setting.device = &device;
    setting.kernel_count = query_kernels(step, &device, setting.kernels);
    bench = open_bench(step, options, &device);
    print_setting(&setting);
    print_table_head(options);
    check_stdout();
    for (i = 0; i < shape_count(options) && !interrupted(); i++) {
        const struct shape shape = shape_at(options, i);

        run_shape(&bench, &setting, &shape, &outcome);
    }
    print_notes(&setting, &outcome);
    if (outcome.done > 0)
        print_counts(&outcome.shape, options->lines);
    check_stdout();
    draw_figure(options);
    close_bench(&bench);
    finish_emulation();
    close_records(&setting, outcome.done == shape_count(options) && !interrupted());
    nvml_close();
    return conclude(&setting, &outcome);
}

// What runs, as far as it can be known here.
static void list_step(const struct options *options, const struct step *step)
{
    struct setting setting = {.step = step, .options = options};
    struct device device;
    char needed[STEP_TEXT];

    if (count_devices() > 0) {
        device = open_device(options->device);
        setting.device = &device;
        if (step_runs_on(step, device.capability))
            setting.kernel_count = query_kernels(step, &device, setting.kernels);
    }
    print_setting(&setting);
    if (setting.device != NULL && !step_runs_on(step, setting.device->capability))
        print_note("kernel   none that this device can run: they need %s",
                   describe_needed(step, needed, sizeof needed));
}

// On the GPU, or on the emulator where that has been asked for or there is no GPU.
static enum exit_code run_step(struct options *options, const struct step *step, char **argv)
{
    if (emulated())
        prepare_emulation(options);
    else if (options->emulate || count_devices() == 0)
        become_twin(argv);
    if (!emulated() && !options->emulate &&
        (options->schedule != 0 || options->shared_base != UNSET || options->lines ||
         options->figure != NULL))
        fail(EXIT_USAGE, "--schedule, --shared-base, --lines and --figure are the emulator's: they "
                         "want --emulate, too");
    if (options->emulate && !emulated())
        fail(EXIT_CUDA, "--emulate: build/%s-emulated is not there: make %s", program_name,
             program_name);
    if (!options->list)
        return run_all(options, step);
    list_step(options, step);
    check_stdout();
    return EXIT_VERIFIED;
}

int run_program(const struct step *step, int argc, char **argv)
{
    struct options options;

    hold_standard_streams();
    set_program_name(step->number);
    use_plain_float32();
    catch_signals();
    if (!parse_options(&options, emulated(), argc, argv))
        fail(EXIT_USAGE, "%s", options.error);
    if (debug_build && (options.no_verify || options.power))
        fail(EXIT_USAGE, "debug build: no rates, so without --no-verify and --power");
    if (options.help)
        print_help(program_name, step->title);
    else if (options.version)
        printf("%s (%s), CUDA %s, cuBLAS %s\n", program_name, step->title, cuda_version(),
               cublas_version());
    else
        return run_step(&options, step, argv);
    check_stdout();
    return EXIT_VERIFIED;
}
