#include "power.h"

#include <math.h>

#include "check.h"
#include "nvml.h"
#include "passes.h"
#include "signals.h"

static const double SETTLING_SECONDS = 0.5; // until the power is that of the product
static const double PHASE_SECONDS = 3;
static const double BATCH_SECONDS = 0.05; // of launches in the queue at a time

// What a phase of launches has taken.
struct consumption {
    double seconds, joules, launches;
};

// The energy comes from the GPU's own counter where it has one, else from samples of the power.
static struct consumption run_back_to_back(struct bench *bench, enum side who,
                                           const struct sgemm *problem, int batch, double seconds)
{
    const double energy = nvml_energy_joules();
    const double start = seconds_now();
    struct consumption taken = {0};
    double watts = 0;
    int samples = 0, i;

    do {
        // Over and over C := ... + beta * C may leave the range of numbers.
        if (problem->beta != 0)
            copy_like_c(bench, who == STEP_SIDE ? bench->C.words : bench->want, bench->scratch);
        for (i = 0; i < batch; i++)
            launch(bench, who, problem);
        watts += nvml_power_watts();
        samples++;
        CHECK_CUDA(cudaDeviceSynchronize());
        taken.launches += batch;
        taken.seconds = seconds_now() - start;
    } while (taken.seconds < seconds && !interrupted());
    taken.joules = nvml_energy_joules() - energy;
    if (isnan(taken.joules))
        taken.joules = watts / samples * taken.seconds;
    return taken;
}

bool measure_power(struct bench *bench, float alpha, float beta, const struct timing *timing,
                   struct power power[SIDES])
{
    const struct product product = current_product(bench, alpha, beta);
    struct consumption taken;
    struct sgemm problem;
    int who;

    if (isnan(nvml_energy_joules()) && isnan(nvml_power_watts()))
        return false;
    fill_product(bench, &product, CONTENT_UNIFORM, bench->options->seed + 1);
    copy_like_c(bench, bench->scratch, bench->C.words);
    problem = prepare_step(bench, alpha, beta);
    for (who = STEP_SIDE; who < SIDES && !interrupted(); who++) {
        const int batch = (int)ceil(BATCH_SECONDS / (timing->time[who].median / 1e3));

        run_back_to_back(bench, who, &problem, batch, SETTLING_SECONDS);
        taken = run_back_to_back(bench, who, &problem, batch, PHASE_SECONDS);
        power[who].watts = taken.joules / taken.seconds;
        power[who].joules = taken.joules / taken.launches;
    }
    release_step(bench, &problem);
    return !interrupted();
}
