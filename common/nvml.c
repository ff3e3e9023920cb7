#include "nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// NVML's header is not part of every CUDA Toolkit; these are the few parts of its interface that
// are used here (NVML API reference, docs.nvidia.com/deploy/nvml-api).
typedef int nvml_return; // 0: success
typedef void *nvml_device;

enum {
    NVML_CLOCK_SM = 1,
    NVML_VERSION_SIZE = 80,
};

static struct {
    void *library;
    nvml_device device;
    char driver_version[NVML_VERSION_SIZE];
    nvml_return (*shutdown)(void);
    nvml_return (*clock)(nvml_device, int, unsigned *mhz);
    nvml_return (*max_clock)(nvml_device, int, unsigned *mhz);
    nvml_return (*application_clock)(nvml_device, int, unsigned *mhz);
    nvml_return (*throttle_reasons)(nvml_device, unsigned long long *reasons);
    nvml_return (*power)(nvml_device, unsigned *milliwatts);
    nvml_return (*energy)(nvml_device, unsigned long long *millijoules);
} nvml;

// Stores a function's address; NULL where this library does not have it.
static void find(const char *name, void *function)
{
    void *address = dlsym(nvml.library, name);

    memcpy(function, &address, sizeof address); // ISO C has no cast from an object's address
}

// The library's entry and its search for the GPU. False where either fails.
static bool find_gpu(const char *pci_bus_id)
{
    nvml_return (*init)(void);
    nvml_return (*handle)(const char *, nvml_device *);
    nvml_return (*driver_version)(char *, unsigned);

    find("nvmlInit_v2", &init);
    find("nvmlShutdown", &nvml.shutdown);
    find("nvmlDeviceGetHandleByPciBusId_v2", &handle);
    find("nvmlSystemGetDriverVersion", &driver_version);
    if (init == NULL || nvml.shutdown == NULL || handle == NULL || init() != 0)
        return false;
    if (driver_version == NULL || driver_version(nvml.driver_version, NVML_VERSION_SIZE) != 0)
        nvml.driver_version[0] = '\0';
    return handle(pci_bus_id, &nvml.device) == 0;
}

bool nvml_open(const char *pci_bus_id)
{
    nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (nvml.library == NULL || !find_gpu(pci_bus_id))
        return false;
    find("nvmlDeviceGetClockInfo", &nvml.clock);
    find("nvmlDeviceGetMaxClockInfo", &nvml.max_clock);
    find("nvmlDeviceGetApplicationsClock", &nvml.application_clock);
    find("nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.throttle_reasons);
    find("nvmlDeviceGetPowerUsage", &nvml.power);
    find("nvmlDeviceGetTotalEnergyConsumption", &nvml.energy);
    return true;
}

void nvml_close(void)
{
    if (nvml.shutdown != NULL)
        nvml.shutdown();
    if (nvml.library != NULL)
        dlclose(nvml.library);
    memset(&nvml, 0, sizeof nvml);
}

const char *nvml_driver_version(void)
{
    return nvml.driver_version;
}

// The SM clock that one of NVML's functions tells.
static double ask_clock(nvml_return (*function)(nvml_device, int, unsigned *))
{
    unsigned mhz;

    return function != NULL && function(nvml.device, NVML_CLOCK_SM, &mhz) == 0 ? (double)mhz : NAN;
}

double nvml_sm_clock_mhz(void)
{
    return ask_clock(nvml.clock);
}

double nvml_max_sm_clock_mhz(void)
{
    return ask_clock(nvml.max_clock);
}

double nvml_application_clock_mhz(void)
{
    return ask_clock(nvml.application_clock);
}

double nvml_power_watts(void)
{
    unsigned milliwatts;

    return nvml.power != NULL && nvml.power(nvml.device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

double nvml_energy_joules(void)
{
    unsigned long long millijoules;

    if (nvml.energy == NULL || nvml.energy(nvml.device, &millijoules) != 0)
        return NAN;
    return (double)millijoules / 1e3;
}

// Bits of nvmlClocksThrottleReasons; bit 0, an idle GPU, is no reason to doubt a measurement.
static const struct {
    unsigned long long bit;
    const char *name;
} reason_names[] = {
    {0x2, "applications clock setting"}, {0x4, "software power cap"},
    {0x8, "hardware slowdown"},          {0x10, "sync boost"},
    {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"},
    {0x80, "hardware power brake"},      {0x100, "display clock setting"},
};

enum {
    REASONS = sizeof reason_names / sizeof reason_names[0]
};

unsigned long long nvml_throttle_reasons(void)
{
    unsigned long long reasons;

    if (nvml.throttle_reasons == NULL || nvml.throttle_reasons(nvml.device, &reasons) != 0)
        return 0;
    return reasons & ~1ULL;
}

void name_throttle_reasons(unsigned long long reasons, char *text, size_t size)
{
    size_t length = 0;
    int i;

    text[0] = '\0';
    for (i = 0; i < REASONS; i++) {
        if ((reasons & reason_names[i].bit) != 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s",
                                       length > 0 ? " + " : "", reason_names[i].name);
    }
}
