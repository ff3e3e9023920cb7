#include "timing.h"

#include <math.h>
#include <time.h>

#include "check.h"
#include "nvml.h"
#include "passes.h"
#include "signals.h"

static const double WARM_UP_SECONDS = 0.2;
static const double SAMPLING_SECONDS = 0.02; // between two looks at the clocks
static const double ENOUGH_PERCENT = 0.25;   // spread
static const double FEWEST_SECONDS = 0.5;    // runs that follow each other closely are alike
static const double ENOUGH_SECONDS = 2;

enum {
    FEWEST_PAIRS = 15, // that a small spread is believed of
    MOST_PAIRS = 1000,
};

// A series of pairs of runs in progress.
struct series {
    struct bench *bench;
    struct sgemm problem;
    bool restore; // C before each run
    int pairs;
    double times[SIDES][MAX_SAMPLES];
    double clock_sum, last_look;
    int clock_count;
    unsigned long long throttle;
};

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Called while a launch is in flight. NVML may take longer than a kernel, so not at every launch.
static void look_at_clocks(struct series *series)
{
    const double now = seconds_now();
    double mhz;

    if (now - series->last_look < SAMPLING_SECONDS)
        return;
    mhz = nvml_sm_clock_mhz();
    if (!isnan(mhz)) {
        series->clock_sum += mhz;
        series->clock_count++;
    }
    series->throttle |= nvml_throttle_reasons();
    series->last_look = now;
}

static void restore_c(struct series *series, enum side who)
{
    struct bench *bench = series->bench;

    if (series->restore)
        copy_like_c(bench, who == STEP_SIDE ? bench->C.words : bench->want, bench->scratch);
}

// Milliseconds of one run. What leads up to it is queued before it and gives the host the time to
// queue the run behind it, so that the GPU does not wait for the host between the two events. (With
// --warm, and a run of a few microseconds, it may.)
static double time_run(struct series *series, enum side who)
{
    struct bench *bench = series->bench;
    float milliseconds;

    if (bench->options->warm)
        launch(bench, who, &series->problem);
    restore_c(series, who);
    if (!bench->options->warm)
        CHECK_CUDA(cudaMemset(bench->flush, 0, bench->flush_bytes));
    CHECK_CUDA(cudaEventRecord(bench->start, NULL));
    launch(bench, who, &series->problem);
    CHECK_CUDA(cudaEventRecord(bench->stop, NULL));
    look_at_clocks(series);
    CHECK_CUDA(cudaEventSynchronize(bench->stop));
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, bench->start, bench->stop));
    return milliseconds;
}

static void time_pair(struct series *series, enum side first)
{
    const enum side second = first == STEP_SIDE ? CUBLAS_SIDE : STEP_SIDE;

    series->times[first][series->pairs] = time_run(series, first);
    series->times[second][series->pairs] = time_run(series, second);
    series->pairs++;
}

// Untimed runs, until the clocks have come up.
static void warm_up(struct series *series, double seconds)
{
    const double start = seconds_now();

    do {
        launch(series->bench, STEP_SIDE, &series->problem);
        launch(series->bench, CUBLAS_SIDE, &series->problem);
        CHECK_CUDA(cudaDeviceSynchronize());
    } while (seconds_now() - start < seconds && !interrupted());
}

static void fill_series(struct series *series, const struct product *product, int64_t seed)
{
    fill_product(series->bench, product, CONTENT_UNIFORM, seed);
    copy_like_c(series->bench, series->bench->scratch, series->bench->C.words);
}

// How many pairs the command line asks for; 0: as many as it takes.
static int planned_pairs(const struct bench *bench)
{
    const struct options *options = bench->options;

    if (options->repeats != UNSET)
        return (int)options->repeats;
    return options->sweep.step > 0 ? sweep_runs(bench->C.rows) : 0;
}

static bool is_steady(const struct series *series, enum side who)
{
    return spread_percent(median_interval(series->times[who], series->pairs)) < ENOUGH_PERCENT;
}

// True when only the last pair is still to be made.
static bool is_enough(const struct series *series, int planned, double seconds)
{
    const int pairs = series->pairs + 1;

    if (interrupted())
        return true;
    if (planned > 0)
        return pairs >= planned;
    if (pairs >= MOST_PAIRS || (pairs >= FEWEST_SAMPLES && seconds > ENOUGH_SECONDS))
        return true;
    return pairs >= FEWEST_PAIRS && seconds >= FEWEST_SECONDS && pairs % 5 == 0 &&
           is_steady(series, STEP_SIDE) && is_steady(series, CUBLAS_SIDE);
}

static void summarise(const struct series *series, struct timing *timing)
{
    const bool sweep = series->bench->options->sweep.step > 0;
    const int first = sweep ? series->pairs / 2 : 0;
    const int count = series->pairs - first;
    double ratios[MAX_SAMPLES];
    int i, who;

    for (i = 0; i < series->pairs; i++)
        ratios[i] = series->times[CUBLAS_SIDE][i] / series->times[STEP_SIDE][i];
    for (who = 0; who < SIDES; who++) {
        timing->time[who] = median_interval(series->times[who] + first, count);
        timing->mean[who] = mean_of_later_half(series->times[who], series->pairs);
    }
    timing->pairs = series->pairs;
    timing->ratio = median_interval(ratios + first, count);
    timing->sm_clock_mhz = series->clock_count > 0 ? series->clock_sum / series->clock_count : NAN;
    timing->throttle = series->throttle;
}

bool time_product(struct bench *bench, float alpha, float beta, bool verify, struct timing *timing)
{
    const struct product product = current_product(bench, alpha, beta);
    const int64_t seed = bench->options->seed;
    const int planned = planned_pairs(bench);
    struct series series = {.bench = bench, .restore = beta != 0};
    double start;
    bool right;

    series.problem = prepare_step(bench, alpha, beta);
    fill_series(&series, &product, seed + 1);
    warm_up(&series, WARM_UP_SECONDS);
    start = seconds_now();
    // Which of the two goes first alternates, so that neither always runs on what the other left
    // behind.
    while (!is_enough(&series, planned, seconds_now() - start))
        time_pair(&series, series.pairs % 2 == 0 ? STEP_SIDE : CUBLAS_SIDE);
    if (interrupted() && series.pairs < FEWEST_SAMPLES) {
        release_step(bench, &series.problem);
        timing->pairs = 0;
        return true;
    }

    // The last pair is the one that is judged: on other numbers, so that no result of a run before
    // it can pass for its own, and before cuBLAS has left its own result of them.
    fill_series(&series, &product, seed + 2);
    series.restore = true;
    warm_up(&series, planned == 0 ? WARM_UP_SECONDS : 0); // the GPU has idled while the host filled
    copy_like_c(bench, bench->want, bench->scratch);
    time_pair(&series, STEP_SIDE);
    CHECK_CUDA(cudaDeviceSynchronize());
    copy_like_c(bench, bench->want, bench->scratch);
    right = !verify || judge_result(bench, PASS_TIMED, &product);
    release_step(bench, &series.problem);
    summarise(&series, timing);
    return right;
}
