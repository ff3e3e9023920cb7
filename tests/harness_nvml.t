#!/usr/bin/env python3
"""Clock, throttle reasons, power and energy, from a stand-in for NVML whose figures are known."""

import json
import math
import os
import shutil
import signal
import subprocess
import tempfile

import steps
from harness import INTERRUPTED, equal, run
from tap import finish, ok, skip_all

# A GPU of 250 W by its energy counter and of 300 W by its power, on the program's own clock.
LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NOT_SUPPORTED = 3, SM = 1 };

int nvmlInit_v2(void)
{
    if (getenv("NVML_FATAL"))
        abort();
    return getenv("NVML_BROKEN") ? NOT_SUPPORTED : 0;
}
int nvmlShutdown(void) { return 0; }

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "123.45");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    *device = (void *)id;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    *mhz = 1500;
    return type == SM ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
    *mhz = 1755;
    return type == SM ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetApplicationsClock(void *device, int type, unsigned *mhz)
{
    *mhz = 1620;
    return type == SM && !getenv("NVML_NO_APPLICATION_CLOCK") ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = strtoull(getenv("NVML_REASONS"), NULL, 0);
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 300000;
    return getenv("NVML_NO_POWER") ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (unsigned long long)(250e3 * (now.tv_sec + now.tv_nsec / 1e9));
    return getenv("NVML_NO_ENERGY") ? NOT_SUPPORTED : 0;
}
"""
SIZE = ["-m", "200", "-n", "100", "-k", "50", "--repeats", "10"]
OPERATIONS = 2 * 200 * 100 * 50
TIMES = {"FAKE_STEP_MS": 20, "FAKE_CUBLAS_MS": 10}
POWER = ["power_w", "cublas_power_w", "energy_j", "cublas_energy_j", "gflops_per_w",
         "cublas_gflops_per_w"]


def measure(*options, **settings):
    """A run, and the object of its JSON."""
    path = os.path.join(folder, "json")
    settings = {"NVML_REASONS": "0", **TIMES, **settings}
    result = run("correct", *SIZE, *options, "--json", path, LD_LIBRARY_PATH=folder, **settings)
    with open(path, encoding="utf-8") as file:
        return result, json.load(file)


def check_clocks():
    result, document = measure()
    record = document["records"][0]
    equal(record["sm_clock_mhz"], 1500, "the clock")
    equal(result.out.splitlines()[-1].split()[-1], "1500", "the clock in the table")
    equal(record["driver"], "123.45", "the driver's version")
    equal(record["max_sm_clock_mhz"], 1755, "the highest clock")
    equal(record["application_clock_mhz"], 1620, "the application clock")
    ok(math.isclose(record["ceiling_tflops"], 2 * 128 * 132 * 1755e6 / 1e12), "and the ceiling by it",
       record["ceiling_tflops"])
    equal([record[field] for field in POWER], [None] * 6, "no power without --power")
    _, document = measure(NVML_NO_APPLICATION_CLOCK=1)
    equal(document["records"][0]["application_clock_mhz"], None, "where there is none, as from CUDA 14 on")
    _, document = measure(NVML_BROKEN=1)
    equal(document["records"][0]["sm_clock_mhz"], None, "an NVML that does not start")


def check_reasons():
    for bits, names in [("0x0", ""), ("0x1", ""), ("0x5", "software power cap"),
                        ("0x60", "software thermal slowdown + hardware thermal slowdown")]:
        result, document = measure(NVML_REASONS=bits)
        equal(document["records"][0]["throttle"], names, f"throttle reasons of {bits}")
        ok(("held back" in result.out) == (names != "") and names in result.out,
           f"note on {bits}", result)


def check_power():
    for setting, watts in [({}, 250), ({"NVML_NO_ENERGY": 1}, 300), ({"NVML_NO_POWER": 1}, 250)]:
        result, document = measure("--power", **setting)
        record = document["records"][0]
        joules = [watts * 0.02, watts * 0.01]  # of one product
        wanted = [watts, watts, *joules, *(OPERATIONS / each / 1e9 for each in joules)]
        got = [record[field] for field in POWER]
        ok(all(value is not None and math.isclose(value, want, rel_tol=0.01)
               for value, want in zip(got, wanted)), f"power and energy, {setting}",
           f"got    {got}\nwanted {wanted}")
        ok(f"{watts}.0 W" in result.out and "no power" not in result.out, "and in the table", result)
    result, document = measure("--power", NVML_NO_POWER=1, NVML_NO_ENERGY=1)
    equal([document["records"][0][field] for field in POWER], [None] * 6, "a GPU that tells neither")
    ok(result.code == 0 and "no power" in result.out, "and a note on it", result)


def check_interrupt():
    """While power is measured: the rate stands, power is not known."""
    for launch in (30, 100, 180):
        result, document = measure("--power", FAKE_SIGNAL=f"{launch}:{int(signal.SIGINT)}")
        record = document["records"][0]
        ok(result.code == INTERRUPTED and document["complete"] is False
           and record["step_tflops"] is not None and "no power" not in result.out
           and " W" not in result.out and all(record[field] is None for field in POWER),
           f"Ctrl-C at launch {launch}, in the power phase", f"{result!r}\n{document}")


def check_emulated():
    """A twin runs on no GPU of this machine: NVML stays out of it."""
    environment = {**os.environ, "LD_LIBRARY_PATH": folder, "NVML_FATAL": "1"}
    result = subprocess.run([os.path.join(steps.ROOT, "build", "step01-emulated"), "-s", "16"], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    equal(result.returncode, 0, "an emulated run does not start NVML: " + result.stdout)


compiler = os.environ.get("CC", "cc").split()
if not shutil.which(compiler[0]):
    skip_all(f"no C compiler called {compiler[0]}")
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([*compiler, "-shared", "-fPIC", "-x", "c", "-", "-o",
                    os.path.join(folder, "libnvidia-ml.so.1")], input=LIBRARY, text=True, check=True)
    check_clocks()
    check_reasons()
    check_power()
    check_interrupt()
    check_emulated()
finish()
