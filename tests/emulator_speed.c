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
static double measure(const struct sgemm *problem, bool checks)
{
    double best = 0;

    emulator_settings.checks = checks;
    for (int i = 0; i < RUNS; i++) {
        const uint64_t before = emulator_warp_instructions();
        const double start = seconds();
        if (step07.launch(problem, NULL) != cudaSuccess)
            exit(1);
        const double rate =
            (double)(emulator_warp_instructions() - before) / (seconds() - start) / 1e6;
        best = rate > best ? rate : best;
    }
    return best;
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

    emulator_settings.workers = 1;
    const double unchecked = measure(&problem, false);
    const double checked = measure(&problem, true);
    printf("step 07, m=%d n=%d k=%d, one core\n"
           "checks off  %6.1f M warp instructions/s\n"
           "checks on   %6.1f M warp instructions/s, %.1f times the time\n",
           M, N, K, unchecked, checked, unchecked / checked);
    cudaFree((void *)problem.A);
    cudaFree((void *)problem.B);
    cudaFree(problem.C);
    return 0;
}
