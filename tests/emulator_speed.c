// How fast the emulator is: warp instructions a second on one core, for one product of step 07. Run
// by `make speed`; it prints, and judges nothing.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emulator/emulator.h"
#include "step.h"

enum {
    M = 512,
    N = 512,
    K = 1024,
    RUNS = 5,
};

// Processor time, so that what else runs here counts little.
static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static float *new_matrix(size_t count)
{
    float *device = NULL;

    if (cudaMalloc((void **)&device, count * sizeof *device) != cudaSuccess ||
        cudaMemset(device, 0, count * sizeof *device) != cudaSuccess)
        exit(1);
    return device;
}

// Million warp instructions a second of the fastest of several runs.
static double measure(const struct sgemm *problem, bool counters, bool checks)
{
    const uint64_t before = emulator_warp_instructions();
    const double start = seconds();

    emulator_settings.counters = counters;
    emulator_settings.checks = checks;
    if (step07.launch(problem, NULL) != cudaSuccess)
        exit(1);
    return (double)(emulator_warp_instructions() - before) / (seconds() - start) / 1e6;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

int main(void)
{
    const struct sgemm problem = {.m = M,
                                  .n = N,
                                  .k = K,
                                  .alpha = 1,
                                  .A = new_matrix((size_t)M * K),
                                  .lda = K,
                                  .B = new_matrix((size_t)K * N),
                                  .ldb = N,
                                  .C = new_matrix((size_t)M * N),
                                  .ldc = N};

    double plain = 0;
    double counted = 0;
    double checked = 0;

    emulator_settings.workers = 1;
    for (int i = 0; i < RUNS; i++) { // in turn, so that what slows one down slows all of them
        plain = larger(plain, measure(&problem, false, false));
        counted = larger(counted, measure(&problem, true, false));
        checked = larger(checked, measure(&problem, true, true));
    }
    printf("step 07, m=%d n=%d k=%d, one core, the fastest of %d runs\n"
           "neither counters nor checks  %6.1f M warp instructions/s\n"
           "counters                     %6.1f M warp instructions/s, %.1f %% more time\n"
           "counters and checks          %6.1f M warp instructions/s, %.1f times the time\n",
           M, N, K, RUNS, plain, counted, 100 * (plain / counted - 1), checked, counted / checked);
    cudaFree((void *)problem.A);
    cudaFree((void *)problem.B);
    cudaFree(problem.C);
    return 0;
}
