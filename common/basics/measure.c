#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "basics.h"
#include "statistics.h"

#ifdef DEBUG_BUILD
static const bool debug_build = true; // kernels built with -G: slow, and no time of theirs counts
#else
static const bool debug_build = false;
#endif

enum {
    RUNS = 11,
};

// Writes twice as much as L2 holds: nothing of what was there is left.
static void flush_l2(void *scratch, size_t bytes)
{
    CHECK_CUDA(cudaMemsetAsync(scratch, 0, bytes, 0));
}

double time_work(void (*work)(const void *what), const void *what)
{
    const size_t bytes = 2 * (size_t)device_attribute(cudaDevAttrL2CacheSize);
    double times[RUNS];
    cudaEvent_t start, stop;
    void *scratch;
    int i;

    work(what);
    CHECK_CUDA(cudaDeviceSynchronize());
    if (emulated() || debug_build)
        return NAN;
    CHECK_CUDA(cudaMalloc(&scratch, bytes));
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    for (i = 0; i < RUNS; i++) {
        float milliseconds;

        flush_l2(scratch, bytes);
        CHECK_CUDA(cudaEventRecord(start, 0));
        work(what);
        CHECK_CUDA(cudaEventRecord(stop, 0));
        CHECK_CUDA(cudaEventSynchronize(stop));
        CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
        times[i] = (double)milliseconds;
    }
    CHECK_CUDA(cudaEventDestroy(start));
    CHECK_CUDA(cudaEventDestroy(stop));
    CHECK_CUDA(cudaFree(scratch));
    return median_interval(times, RUNS).median;
}

void print_measured(int width, int decimals, double value)
{
    if (isfinite(value))
        printf(" %*.*f", width, decimals, value);
    else
        printf(" %*s", width, "not measured");
}

void *host_memory(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        fail(EXIT_CUDA, "no %zu bytes of host memory", bytes);
    return memory;
}

int device_attribute(enum cudaDeviceAttr attribute)
{
    int device, value;

    CHECK_CUDA(cudaGetDevice(&device));
    CHECK_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
    return value;
}

double peak_bandwidth(void)
{
    const double hertz = 1e3 * device_attribute(cudaDevAttrMemoryClockRate);
    const double bytes = device_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    const double transfers = 2; // a clock: double data rate

    return hertz > 0 && bytes > 0 ? transfers * hertz * bytes / 1e9 : NAN;
}
