// The GPU that the program runs on.
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device {
    char name[256];
    char driver[96]; // "580.159", or the CUDA version that the driver is for
    int capability;  // compute capability times ten, 90 for sm_90
    int sms;         // streaming multiprocessors
    int max_threads_per_sm;
    int max_grid_x; // blocks in a grid
    int64_t l2_bytes;
    double max_clock_mhz;
    double application_clock_mhz; // NaN where NVML does not tell
    double ceiling_tflops;        // two operations a cycle on every FP32 lane at the highest clock
};

// What the runtime says of one kernel of a step on this device.
struct kernel_facts {
    const char *path;      // as in struct step_kernel
    int registers;         // per thread; 0 without machine code, as the emulator may have it
    int64_t shared_bytes;  // static, per block
    int64_t spilled_bytes; // local memory per thread: spills and what cannot be in registers
    int blocks_per_sm;
    double occupancy_percent; // of the threads that an SM has room for
};

// FP32 lanes of one SM, by compute capability times ten.
int fp32_lanes_per_sm(int capability);

// How many CUDA devices there are; 0 also where the driver cannot tell.
int count_devices(void);

// Makes device `id` the current one. Where there is no device: one line and exit 3; none with this
// id: exit 2.
struct device open_device(int64_t id);

// What the step takes: "compute capability 9.0 and no other". Writes to `text`, room for `size`
// bytes, and returns it.
const char *describe_needed(const struct step *step, char *text, size_t size);

// Where this device cannot run this step: one line that says what it takes, and exit 77.
void check_capability(const struct device *device, const struct step *step);

// Fills `facts`, room for STEP_KERNELS, and returns how many kernels there are.
int query_kernels(const struct step *step, const struct device *device, struct kernel_facts *facts);

// "13.0", the toolkit this program was built with, and "13.1", the cuBLAS it runs with. The text is
// the callee's; neither needs a device.
const char *cuda_version(void);
const char *cublas_version(void);

#ifdef __cplusplus
}
#endif

#endif
