// A program of small kernels, each right or wrong in one way, that runs the one named on the
// command line: PROGRAM CASE [SCHEDULE [SHARED_BASE
// [WORKERS [VECTOR_BITS]]]]. Prints "ok" where the case has come to its
// end.
#ifndef CASES_H
#define CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"

struct test_case {
    const char *name;
    void (*run)(void);
};

// Device memory that holds 0, 1, 2, ... and must be freed.
static float *numbers(int count)
{
    float *device;
    float *host = (float *)malloc((size_t)count * sizeof *host);
    for (int i = 0; i < count; i++)
        host[i] = (float)i;
    cudaMalloc((void **)&device, (size_t)count * sizeof *device);
    cudaMemcpy(device, host, (size_t)count * sizeof *device, cudaMemcpyHostToDevice);
    free(host);
    return device;
}

static int run_case(const struct test_case *cases, int argc, char **argv)
{
    emulator_settings.program = "case";
    emulator_settings.schedule = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    emulator_settings.shared_base = argc > 3 ? strtoll(argv[3], NULL, 0) : -1;
    emulator_settings.workers = argc > 4 ? atoi(argv[4]) : 0;
    emulator_settings.vector_bits = argc > 5 ? atoi(argv[5]) : 0;
    for (; cases->name != NULL; cases++)
        if (argc > 1 && strcmp(cases->name, argv[1]) == 0) {
            cases->run();
            if (cudaGetLastError() != cudaSuccess)
                return 3;
            puts("ok");
            return 0;
        }
    fprintf(stderr, "no such case\n");
    return 2;
}

#endif
