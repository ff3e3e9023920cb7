#include "device.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "check.h"
#include "emulation.h"
#include "nvml.h"

static int attribute(enum cudaDeviceAttr which, int id)
{
    int value;

    CHECK_CUDA(cudaDeviceGetAttribute(&value, which, id));
    return value;
}

int fp32_lanes_per_sm(int capability)
{
    // CUDA C++ Programming Guide, "Compute Capabilities": throughput of 32-bit floating-point
    // multiply-add, results per clock cycle per SM.
    switch (capability) {
    case 60:
    case 70:
    case 72:
    case 75:
    case 80:
        return 64;
    default:
        return 128;
    }
}

static void read_driver_version(char *text, size_t size)
{
    int version;

    if (nvml_driver_version()[0] != '\0') {
        snprintf(text, size, "%s", nvml_driver_version());
        return;
    }
    CHECK_CUDA(cudaDriverGetVersion(&version));
    snprintf(text, size, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
}

int count_devices(void)
{
    int count;

    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

static void check_that_there_is(int64_t id)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);

    if (error == cudaErrorInsufficientDriver) // what the runtime says where there is none, too
        fail(EXIT_CUDA,
             "no CUDA device: %s: no NVIDIA driver is installed, or it is older than CUDA %s",
             cudaGetErrorName(error), cuda_version());
    if (error != cudaSuccess)
        fail(EXIT_CUDA, "no CUDA device: %s: %s (see what nvidia-smi says)",
             cudaGetErrorName(error), cudaGetErrorString(error));
    if (count == 0)
        fail(EXIT_CUDA, "no CUDA device: the driver has found none");
    if (id >= count)
        fail(EXIT_USAGE, "--device %" PRId64 ": there are devices 0 to %d", id, count - 1);
}

const char *describe_needed(const struct step *step, char *text, size_t size)
{
    snprintf(text, size, "compute capability %d.%d%s", step->minimum_capability / 10,
             step->minimum_capability % 10, step->no_later ? " and no other" : "");
    return text;
}

void check_capability(const struct device *device, const struct step *step)
{
    char needed[STEP_TEXT];

    if (!step_runs_on(step, device->capability))
        fail(EXIT_SKIPPED, "%s needs %s, and %s has %d.%d", step->title,
             describe_needed(step, needed, sizeof needed), device->name, device->capability / 10,
             device->capability % 10);
}

struct device open_device(int64_t id)
{
    struct device device;
    struct cudaDeviceProp properties;
    char pci_bus_id[32];
    const int number = (int)id;

    check_that_there_is(id);
    CHECK_CUDA(cudaSetDevice(number));
    CHECK_CUDA(cudaGetDeviceProperties(&properties, number));
    snprintf(device.name, sizeof device.name, "%s", properties.name);
    device.capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, number) +
                        attribute(cudaDevAttrComputeCapabilityMinor, number);
    CHECK_CUDA(cudaDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, number));
    if (!emulated()) // a twin has no GPU for NVML to know
        nvml_open(pci_bus_id);
    read_driver_version(device.driver, sizeof device.driver);
    device.sms = attribute(cudaDevAttrMultiProcessorCount, number);
    device.max_threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, number);
    device.max_grid_x = attribute(cudaDevAttrMaxGridDimX, number);
    device.l2_bytes = attribute(cudaDevAttrL2CacheSize, number);
    device.max_clock_mhz = nvml_max_sm_clock_mhz();
    if (isnan(device.max_clock_mhz))
        device.max_clock_mhz = attribute(cudaDevAttrClockRate, number) / 1e3; // from kHz
    device.application_clock_mhz = nvml_application_clock_mhz();
    device.ceiling_tflops =
        2.0 * fp32_lanes_per_sm(device.capability) * device.sms * device.max_clock_mhz / 1e6;
    return device;
}

int query_kernels(const struct step *step, const struct device *device, struct kernel_facts *facts)
{
    int i;

    for (i = 0; i < STEP_KERNELS && step->kernels[i].function != NULL; i++) {
        const void *kernel = step->kernels[i].function;
        const int others = step->kernels[i].threads;
        const int threads = others > 0 ? others : step->threads;
        const int dynamic_shared = others > 0 ? 0 : step->dynamic_shared;
        struct cudaFuncAttributes attributes;
        const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);

        if (error == cudaErrorNoKernelImageForDevice)
            fail(EXIT_CUDA, "this program holds no code for %s: build it with make ARCH=%d",
                 device->name, device->capability);
        check_cuda(error, "cudaFuncGetAttributes", __FILE__, __LINE__);
        facts[i].path = step->kernels[i].path;
        facts[i].registers = attributes.numRegs;
        facts[i].shared_bytes = (int64_t)attributes.sharedSizeBytes + dynamic_shared;
        facts[i].spilled_bytes = (int64_t)attributes.localSizeBytes;
        CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        dynamic_shared));
        CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts[i].blocks_per_sm, kernel,
                                                                 threads, (size_t)dynamic_shared));
        facts[i].occupancy_percent =
            100.0 * facts[i].blocks_per_sm * threads / device->max_threads_per_sm;
    }
    return i;
}

const char *cuda_version(void)
{
    static char text[16];

    snprintf(text, sizeof text, "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return text;
}

const char *cublas_version(void)
{
    static char text[24];
    int major, minor;

    CHECK_CUBLAS(cublasGetProperty(MAJOR_VERSION, &major));
    CHECK_CUBLAS(cublasGetProperty(MINOR_VERSION, &minor));
    snprintf(text, sizeof text, "%d.%d", major, minor);
    return text;
}
