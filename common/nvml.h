// Clocks, throttling and power of one GPU, from NVML: the library that comes with NVIDIA's driver.
// It is loaded at run time. Where it is absent, or the GPU does not tell, a number is NaN.
#ifndef NVML_H
#define NVML_H

#include <stdbool.h>
#include <stddef.h>

// Loads the library and finds the GPU with this PCI bus id. False where there is nothing to ask.
bool nvml_open(const char *pci_bus_id);
void nvml_close(void);

// The driver's version, as "580.159"; "" where it is not known.
const char *nvml_driver_version(void);

double nvml_sm_clock_mhz(void);          // now
double nvml_max_sm_clock_mhz(void);      // the highest that this GPU ever runs at
double nvml_application_clock_mhz(void); // the SM clock that someone has set, or its default
double nvml_power_watts(void);           // now
double nvml_energy_joules(void);         // since the driver was loaded

// Why the clocks are below their highest now, one bit a reason; idling is not counted. 0: nothing.
unsigned long long nvml_throttle_reasons(void);

// The names of these reasons, joined by " + ", in a text of `size` bytes; "" for none.
void name_throttle_reasons(unsigned long long reasons, char *text, size_t size);

#endif
