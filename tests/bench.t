#!/usr/bin/env python3
"""`make bench` and `make sweep` with stand-ins for the steps: the harness over a made-up device. What has
been measured stays measured, whatever ended the run, until program, device or clocks are others."""

import csv
import glob
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

import steps
import tap
from harness import INTERRUPTED, MUTANTS, SKIPPED, USAGE, environment

BENCH = os.path.join(steps.ROOT, "tests", "bench.py")
TIMES = {"FAKE_STEP_MS": 2, "FAKE_CUBLAS_MS": 1}
# It says what it is called with; what is of the power comes from a file.
STAND_IN = """#!/bin/sh
# {comment}
[ "$1" = --list ] || echo "$(basename "$0") $*" >>log
case "$*" in
*--power*) for path; do :; done; cp power.csv "$path" ;;
*) {command} ;;
esac
"""
EMULATED = "device   NVIDIA H200, made up (the GPU is emulated: all checks, no rates), CUDA 13.0"


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def write_step(number, mutant="correct", comment="", command=None):
    write(f"step{number}", STAND_IN.format(comment=comment, command=command or f'exec {MUTANTS} {mutant} "$@" --repeats 6'))


def run(kind, sizes, *numbers, clocks="unlocked", **settings):
    """The result, and what the stand-ins were called with."""
    write("log", "")
    command = [sys.executable, BENCH, "out", kind, sizes, clocks, *numbers]
    result = tap.run(command, folder, environment(**{**TIMES, **settings}))
    calls = [line.split(" --csv")[0] for line in steps.text(os.path.join(folder, "log")).splitlines()]
    return result, calls


def records(name):
    with open(os.path.join(folder, "out", name + ".csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run_files(pattern):
    return sorted(glob.glob(os.path.join(folder, "out", "runs", pattern)))


def edit(path, change):
    text = steps.text(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(change(text))


def one_line(result, code, words):
    return result.returncode == code and result.stderr.count("\n") == 1 and result.stderr.startswith("bench: ") and words in result.stderr


def make_power_record():
    """What --power would leave on a GPU that tells its power."""
    tap.run([MUTANTS, "correct", "-s", "64", "--csv", "power.csv"], folder, environment(**TIMES))
    with open(os.path.join(folder, "power.csv"), encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    row.update(m=4096, n=4096, k=4096, power_w=500, energy_j=2.5)
    with open(os.path.join(folder, "power.csv"), "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, row)
        out.writeheader()
        out.writerow(row)


def check_bench():
    result, calls = run("bench", "64 96", "01", "02")
    wanted = ["step01 -s 64", "step02 -s 64", "step01 -s 96", "step02 -s 96",
              "step01 -s 4096 --power", "step02 -s 4096 --power"]  # fmt: skip
    tap.ok(result.returncode == 0 and calls == wanted, "each step at each size, then its power", f"{result.stderr}\n{calls}")
    rows = records("bench")
    tap.ok([row["m"] for row in rows] == ["64", "96", "4096"] * 2 and {row["verify"] for row in rows} == {"exact"},
           "their records are in one file", rows)  # fmt: skip
    wanted = {"device": "Fake GPU", "cuda": "13.0", "clocks": "unlocked"}
    tap.ok(all(row.items() >= wanted.items() and len(row["program"]) == 12 and row["driver"] for row in rows),
           "with device, driver, toolkit, program and clocks", rows[0])  # fmt: skip
    tap.ok(result.stdout.count("TFLOP/s") == 1 and "500 W" in result.stdout and "2.500 J" in result.stdout
           and max(map(len, result.stdout.splitlines())) <= 100, "and in a table", result.stdout)  # fmt: skip

    result, calls = run("bench", "64 96", "01", "02")
    tap.ok(result.returncode == 0 and not calls and len(records("bench")) == 6, "nothing is measured twice", calls)
    _, calls = run("bench", "64 96 128", "01", "02")
    tap.ok(calls == ["step01 -s 128", "step02 -s 128"], "a new size is measured", calls)
    write_step("02", comment="changed")
    _, calls = run("bench", "64 96", "01", "02")
    tap.ok(len(calls) == 3 and all(call.startswith("step02") for call in calls), "and so is a program that has changed", calls)
    for path in run_files("bench-01-*"):
        edit(path, lambda text: text.replace("Fake GPU", "Another GPU"))
    _, calls = run("bench", "64 96", "01", "02")
    tap.ok(len(calls) == 3 and all(call.startswith("step01") for call in calls), "and so is what another GPU has run", calls)
    _, calls = run("bench", "64", "01", "02", clocks="locked")
    tap.ok(len(calls) == 4 and {row["clocks"] for row in records("locked/bench")} == {"locked"}
           and {row["clocks"] for row in records("bench")} == {"unlocked"}, "and other clocks, in a folder of their own", calls)  # fmt: skip


def set_clock(path, mhz):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [{**row, "sm_clock_mhz": mhz} for row in csv.DictReader(file)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)


def check_locked():
    first, *others = run_files("bench-*-locked-*")
    for path in others:
        set_clock(path, 1400)
    for mhz, complains in ((1395, False), (1300, True)):
        set_clock(first, mhz)
        result, _ = run("bench", "64", "01", "02", clocks="locked")
        tap.ok(result.returncode == 0 and ("CLOCKS=locked, but" in result.stderr) == complains,
               f"locked clocks of {mhz} and 1400 MHz: {'not believed' if complains else 'near enough'}", result.stderr)  # fmt: skip


def check_sweep():
    result, calls = run("sweep", "64:192:32", "01", "02")
    tap.ok(result.returncode == 0 and calls == ["step01 --sweep 64:192:32", "step02 --sweep 64:192:32"],
           "a sweep is one run a step", f"{result.stderr}\n{calls}")  # fmt: skip
    tap.ok(len(records("sweep")) == 10 and all(row["mean_ms"] for row in records("sweep")), "with the means of its protocol")
    [path] = run_files("sweep-01-*")
    edit(path, lambda text: text[:-10])
    _, calls = run("sweep", "64:192:32", "01", "02")
    tap.ok(calls == ["step01 --sweep 192:192:32"], "half a line at the end of a file is dropped, and measured again", calls)
    edit(path, lambda text: "".join(line for line in text.splitlines(True) if ",96,96,96," not in line and ",128,128,128," not in line))
    _, calls = run("sweep", "64:192:32", "01", "02")
    tap.ok(calls == ["step01 --sweep 96:128:32"] and [row["m"] for row in records("sweep")] == ["64", "96", "128", "160", "192"] * 2,
           "what is missing in the middle is one run", calls)  # fmt: skip
    edit(path, lambda text: text[:20])
    _, calls = run("sweep", "64:192:32", "01", "02")
    tap.ok(calls == ["step01 --sweep 64:64:32", "step01 --sweep 160:160:32"], "half a header is nothing", calls)


def check_terminated():
    """What a limit on the time does, timeout's for example, in the middle of a step."""
    write_step("07")
    command = [sys.executable, BENCH, "out", "sweep", "64:6400:32", "unlocked", "07"]
    with subprocess.Popen(command, cwd=folder, env=environment(**TIMES), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as bench:
        while bench.poll() is None and not any(steps.text(path).count("\n") > 2 for path in run_files("sweep-07-*")):
            time.sleep(0.05)
        bench.terminate()
        complaint = bench.communicate()[1]
    tap.ok(bench.returncode == INTERRUPTED and complaint.endswith("bench: interrupted: make sweep goes on from here\n")
           and len(records("sweep")) >= 2, "SIGTERM keeps what was measured, too", complaint)  # fmt: skip


def check_ends():
    write_step("03")
    result, calls = run("sweep", "64:192:32", "03", FAKE_SIGNAL=f"150:{int(signal.SIGINT)}")
    there = len(records("sweep"))
    tap.ok(result.returncode == INTERRUPTED and result.stderr.endswith("\nbench: interrupted: make sweep goes on from here\n")
           and 0 < there < 5, "Ctrl-C: what was measured is kept", f"{result.stderr}\n{there} records")  # fmt: skip
    result, calls = run("sweep", "64:192:32", "03")
    tap.ok(result.returncode == 0 and calls == [f"step03 --sweep {64 + 32 * there}:192:32"] and len(records("sweep")) == 5,
           "and the next run goes on from there", calls)  # fmt: skip
    check_terminated()
    write_step("04", mutant="dropped_last_k")
    result, calls = run("bench", "64", "04", "03")
    tap.ok(result.returncode == 1 and "./step04 -s 64" in result.stderr and "step03 -s 64" in calls and "1 runs failed" in result.stderr
           and not [row for row in records("bench") if row["verify"] != "exact"], "a wrong step fails and the others go on", result.stderr)  # fmt: skip
    _, calls = run("bench", "64", "04", "03")
    tap.ok(calls[0] == "step04 -s 64" and len(calls) == 1, "what failed is tried again", calls)
    write_step("05", command=f'[ "$1" != --list ] && exit {SKIPPED}; exec {MUTANTS} correct "$@" --repeats 6')
    result, _ = run("bench", "64", "05", "03")
    tap.ok(result.returncode == 0 and not result.stderr, "what the device cannot run is left out", result.stderr)
    edit(os.path.join(folder, "power.csv"), lambda text: text.replace("500", ""))
    write_step("06")
    result, _ = run("bench", "64", "06")
    tap.ok(result.returncode == 0 and " W " not in result.stdout, "so is the power where the device does not tell it", result.stderr)


def check_messages():
    for kind, sizes, clocks, words in (("bench", "64 x", "unlocked", "SIZES wants"), ("bench", "", "unlocked", "SIZES wants"),
                                       ("sweep", "64:32:8", "unlocked", "SWEEP wants"), ("sweep", "64", "unlocked", "SWEEP wants"),
                                       ("bench", "64", "fast", "locked or unlocked, not 'fast'")):  # fmt: skip
        result, calls = run(kind, sizes, "01", clocks=clocks)
        tap.ok(one_line(result, USAGE, words) and not calls, f"{kind} {sizes or 'without sizes'} {clocks}: refused in a line", result.stderr)
    result, _ = run("bench", "64", "77")
    tap.ok(one_line(result, 1, "./step77"), "so is a step that is not there", result.stderr)
    write_step("08", command=f"echo '{EMULATED}'")
    result, _ = run("bench", "64", "08")
    tap.ok(one_line(result, SKIPPED, "needs a GPU"), "without a GPU it says that it needs one", result.stderr)


def check_make():
    """As a person calls it, where there is no GPU."""
    if "emulated" not in tap.run(["./step01", "--list"]).stdout:
        tap.skip("make bench and make sweep without a GPU", "there is one")
        return
    for target in ("bench", "sweep"):
        result = tap.make("-s", target)
        tap.ok(result.returncode and "bench: needs a GPU" in result.stderr and result.stderr.count("bench:") == 1,
               f"make {target} without a GPU says that it needs one", result.stderr)  # fmt: skip


if not os.path.exists(MUTANTS):
    tap.skip_all("build/tests/mutants is not built (make test builds it)")
with tempfile.TemporaryDirectory() as folder:
    make_power_record()
    write_step("01")
    write_step("02")
    check_bench()
    check_locked()
    check_sweep()
    check_ends()
    check_messages()
check_make()
tap.finish()
