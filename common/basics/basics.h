// What the experiments of step 00 share: their command line, times, and figures in tables.
#ifndef BASICS_H
#define BASICS_H

#include "check.h"
#include "device.h"
#include "emulation.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the command line has come to.
struct run {
    struct device device;
    int64_t elements; // of a vector: 0 where the experiment has none
};

struct experiment {
    const char *name;    // on the command line; NULL ends a list
    const char *summary; // in a line of --list
    int64_t elements;    // of a vector, unless -n says otherwise; 0: the experiment takes no -n
    int64_t emulated;    // the same on the emulator
    enum exit_code (*run)(const struct run *run);
};

// The whole program: reads the command line, runs the experiment that it names, on a GPU or on the
// emulator, and returns the exit status.
int run_experiments(const struct experiment *experiments, int argc, char **argv);

// How long work(what) takes, in milliseconds: the median of some runs, after one that warms up and
// with L2 flushed before each. `work` puts it on the default stream, or on streams that wait for
// that. On the emulator, and in a debug build,
// it runs once, and the result is NaN.
double time_work(void (*work)(const void *what), const void *what);

// A figure of a table, right-aligned behind a space: "not measured" where it is NaN.
void print_measured(int width, int decimals, double value);

// Host memory, as malloc gives it: where there is none, one line and exit 3.
void *host_memory(size_t bytes);

// An attribute of the current device.
int device_attribute(enum cudaDeviceAttr attribute);

// What the memory's clock and width allow, in GB/s. NaN where the device does not tell.
double peak_bandwidth(void);

// How many blocks of a kernel fit on a multiprocessor.
struct residency {
    int by_threads, by_blocks;   // what these limits allow
    int by_registers, by_shared; // by the plain quotients; by_shared -1: no limit
    int plain;                   // the smallest of the four
    int with_units;              // the smallest, where resources are given out in units
};

// Works it out by hand, for a kernel of so many threads a block, registers a thread and bytes of
// shared memory a block. The rules are those of the toolkit's cuda_occupancy.h.
struct residency work_out_residency(int capability, int threads, int registers, int64_t shared);

#ifdef __cplusplus
}
#endif

#endif
