#!/usr/bin/env python3
"""What goes wrong around a measurement: CUDA calls, devices, memory, output, Ctrl-C."""

import collections
import csv
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import CUDA, INTERRUPTED, MUTANTS, SKIPPED, environment, equal, one_line, run
from tap import finish, ok

SMALL = ["-m", "9", "-n", "10", "-k", "11", "--repeats", "3"]
CUDA_ERROR, CUDA_ERROR_NAME = 700, "cudaErrorIllegalAddress"
CUBLAS_ERROR, CUBLAS_ERROR_NAME = 13, "CUBLAS_STATUS_EXECUTION_FAILED"
RATES = ["median_ms", "step_tflops", "cublas_tflops", "ratio", "ratio_low", "spread_percent"]
SLOW = {"FAKE_STEP_MS": 100, "FAKE_CUBLAS_MS": 100}  # few launches warm up


def calls_of_a_run(folder, mutant, options):
    """How often each function is called, and what was left behind, by a run that succeeds."""
    path = os.path.join(folder, "trace")
    result = run(mutant, *options, FAKE_TRACE=path, **SLOW)
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    leaks = [line for line in lines if line[0] == "leak"]
    ok(result.code == 0 and not leaks, f"{mutant} {' '.join(options)}: all is given back",
       f"{leaks}\n{result!r}")
    return collections.Counter(line[1] for line in lines if line[0] == "call")


def check_every_call(folder):
    """Each function fails at its first, second and last call: one line that says which, exit 3."""
    for mutant, options in [("correct_workspace", SMALL), ("correct", SMALL + ["--beta", "1"]),
                            ("correct", SMALL + ["--warm"]), ("correct", SMALL + ["--power"]),
                            ("correct", ["--list"])]:
        calls = calls_of_a_run(folder, mutant, options)
        for function, count in calls.items():
            for number in sorted({1, min(2, count), count}):
                check_call(mutant, options, function, number)


def check_call(mutant, options, function, number):
    cublas = function.startswith("cublas")
    code, error = ((CUBLAS_ERROR, CUBLAS_ERROR_NAME) if cublas else (CUDA_ERROR, CUDA_ERROR_NAME))
    result = run(mutant, *options, FAKE_FAIL=f"{function}:{number}:{code}", **SLOW)
    # What a step calls is reported as the step's; no device, for whatever reason, is told as such.
    places = [function, "step->prepare", "step->release"] if "workspace" in mutant else [function]
    ok(result.code == CUDA and one_line(result.err) and error in result.err
       and (any(f"{place} failed at common/" in result.err for place in places)
            or (function == "cudaGetDeviceCount" and "no CUDA device" in result.err))
       or ("--list" in options and function == "cudaGetDeviceCount" and result.code == 0),
       f"{mutant} {' '.join(options[-2:])}: {function} fails at call {number}", result)


def check_files_after_error(folder):
    """An error in the middle of a sweep leaves valid files, with the sizes before it."""
    paths = [os.path.join(folder, "out.csv"), os.path.join(folder, "out.json")]
    result = run("correct", "--sweep", "1:9:1", "--repeats", "3", "--csv", paths[0], "--json",
                 paths[1], FAKE_FAIL=f"cudaEventElapsedTime:17:{CUDA_ERROR}")
    with open(paths[0], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(paths[1], encoding="utf-8") as file:
        document = json.load(file)
    ok(result.code == CUDA and len(rows) == len(document["records"]) == 2
       and document["complete"] is False, "an error in a sweep leaves valid files",
       f"{rows}\n{document}\n{result!r}")


def check_devices():
    result = run("correct", *SMALL, FAKE_DEVICES=0)
    ok(result.code == CUDA and result.out == "" and one_line(result.err)
       and "cudaErrorNoDevice" in result.err, "no device", result)
    result = run("correct_workspace", *SMALL, FAKE_CAPABILITY=75)
    ok(result.code == SKIPPED and one_line(result.err) and "8.0" in result.err
       and "7.5" in result.err, "a device of 7.5 skips a step that needs 8.0", result)
    equal(run("correct_workspace", *SMALL, FAKE_CAPABILITY=80).code, 0, "a device of 8.0 runs it")
    result = run("correct", "--device", "3", *SMALL, FAKE_DEVICES=4)
    ok(result.code == 0, "the fourth device of four", result)
    result = run("correct", "-m", "45", "-n", "70", "-k", "3", FAKE_GRID_X=5)
    ok(result.code == CUDA and one_line(result.err) and "axGridDimX" in result.err
       and " 5" in result.err and "6" in result.err, "more tiles than grid.x holds", result)
    equal(run("correct", "-m", "45", "-n", "70", "-k", "3", FAKE_GRID_X=6).code, 0,
          "as many tiles as grid.x holds")


def check_memory(folder):
    result = run("correct", "-s", "100000")
    ok(result.code == CUDA and one_line(result.err) and "4294967296" in result.err
       and "GiB" in result.err, "more than the device has is refused with the bytes free", result)
    result = run("correct", "-s", "64", "--lda", "1000000000")
    ok(result.code == CUDA and one_line(result.err), "a leading dimension that does not fit", result)
    result = run("correct", "-s", "64", "--offset", "0,0,4000000000")
    ok(result.code == CUDA and one_line(result.err), "an offset that does not fit", result)
    for options in (["-s", "9223372036854775807"], ["-s", "3037000500"], ["-m", "1", "-n", "1",
                    "-k", "9223372036854775807"], ["-s", "4294967296"],
                    ["-s", "8", "--ldc", "9223372036854775807"],
                    ["-s", "8", "--offset", "9223372036854775807,0,0"],
                    ["-s", "0", "-k", "9223372036854775807"]):
        result = run("correct", *options)
        ok(result.code in (2, 3) and one_line(result.err), f"no overflow: {' '.join(options)}",
           result)
    result = run("correct", "-s", "64", FAKE_MEMORY=60000)
    ok(result.code == CUDA and one_line(result.err) and "60000" in result.err
       and "axGridDimX" not in result.err, "a small device", result)
    calls = calls_of_a_run(folder, "correct", ["--sweep", "8:64:8", "--repeats", "1"])
    equal(calls["cudaMalloc"], 6, "a sweep allocates once")
    result = run("correct", "--sweep", "8:80008:40000")
    ok(result.code == CUDA and one_line(result.err) and result.out.count("exact") == 0,
       "a sweep whose largest size does not fit is refused at its start", result)


def check_ceiling():
    for capability, ceiling in [(80, 33.45), (90, 66.9)]:  # 64 and 128 lanes on 132 SMs, 1980 MHz
        for share, code in [(0.99, 0), (1.01, CUDA)]:
            ms = 2 * 128**3 / (share * ceiling) / 1e9
            result = run("correct", "-s", "128", "--repeats", "6", FAKE_STEP_MS=ms,
                         FAKE_CUBLAS_MS=100, FAKE_CAPABILITY=capability)
            ok(result.code == code and ("ceiling" in result.err) == (code == CUDA),
               f"{share} of the ceiling at capability {capability}", result)
    for options in ([], ["--warm"], ["--no-verify"]):
        result = run("correct", "-s", "128", *options, FAKE_STEP_MS="1e-7")
        ok(result.code == CUDA and "TFLOP/s" in result.err and "ceiling" in result.err,
           f"a rate above the ceiling is refused {' '.join(options)}", result)
    ms = 2 * 128**3 / (2 * 66.9) / 1e9
    result = run("correct_three_tf32", "-s", "128", "--repeats", "6", FAKE_STEP_MS=ms, FAKE_CUBLAS_MS=100)
    ok(result.code == 0 and "3xTF32, not in float32" in result.out,
       "a step that does not compute in float32 may be above its ceiling, and says so", result)
    result = run("correct_three_tf32", "-s", "128", FAKE_CUBLAS_MS="1e-7")
    ok(result.code == CUDA and "cuBLAS" in result.err and "ceiling" in result.err,
       "cuBLAS beside it may not", result)
    result = run("correct", "-s", "128", FAKE_CUBLAS_MS="1e-7")
    ok(result.code == CUDA and "cuBLAS" in result.err and "ceiling" in result.err,
       "cuBLAS above the ceiling is refused", result)
    result = run("correct", "-s", "16", FAKE_STEP_MS="0")
    ok(result.code == CUDA and "inf" not in result.out and "nan" not in result.out,
       "a time of zero is refused", result)


def check_output(folder):
    with open("/dev/full", "w", encoding="utf-8") as full:
        for options in (SMALL, ["--help"], ["--version"], ["--list"]):
            result = run("correct", *options, stdout=full)
            ok(result.code == CUDA and one_line(result.err),
               f"a full disk: stdout of {options[0]}", result)
    for options in (SMALL, ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        result = run("correct", *options, stdout=writer)
        os.close(writer)
        ok(result.code == CUDA and one_line(result.err), f"a closed pipe: stdout of {options[0]}",
           result)
    for option in ("--csv", "--json"):
        result = run("correct", *SMALL, option, "/dev/full")
        ok(result.code == CUDA and one_line(result.err) and "/dev/full" in result.err,
           f"a full disk: {option}", result)
        path = os.path.join(folder, "closed")
        os.mkdir(path)
        result = run("correct", *SMALL, option, path)
        os.rmdir(path)
        ok(result.code == 2 and one_line(result.err) and result.out == "", f"{option} a folder",
           result)


def check_closed_streams(folder):
    """A standard stream that is closed is not one of the files."""
    path = os.path.join(folder, "closed.json")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {closed}', MUTANTS, "correct", *SMALL,
                               "--json", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, env=environment())
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        wanted = CUDA if " >" in " " + closed else 0
        ok(done.returncode == wanted and document["complete"] is (wanted == 0)
           and (not done.stderr or one_line(done.stderr) and "standard output" in done.stderr),
           f"closed: {closed}", done)
    done = subprocess.run(["sh", "-c", '"$0" correct --help >&-', MUTANTS], stderr=subprocess.PIPE,
                          text=True, check=False, env=environment())
    ok(done.returncode == CUDA and one_line(done.stderr), "--help on a closed stdout", done)


def interrupted_run(folder, launch, number, *options, **settings):
    """A run that gets a signal at a launch of the step, and its JSON."""
    path = os.path.join(folder, "signal.json")
    result = run("correct", *options, "--json", path, FAKE_SIGNAL=f"{launch}:{int(number)}", **SLOW,
                 **settings)
    with open(path, encoding="utf-8") as file:
        return result, json.load(file)


def check_signals(folder):
    """In the middle of timing: a rate only of enough runs, and never "complete"."""
    options = ["-s", "8", "--repeats", "100"]
    for number in (signal.SIGINT, signal.SIGTERM):
        name = signal.Signals(number).name
        for launch, rated in [(4, False), (8, False), (50, True)]:
            result, document = interrupted_run(folder, launch, number, *options)
            record = document["records"][0]
            ok(result.code == INTERRUPTED and document["complete"] is False
               and "0 of 1" in result.err and record["verify"] == "exact"
               and all((record[field] is not None) == rated for field in RATES),
               f"{name} at launch {launch}: {'a' if rated else 'no'} rate",
               f"{result!r}\n{document}")
    result, document = interrupted_run(folder, 2, signal.SIGTERM, *options)
    ok(result.code == INTERRUPTED and document["records"] == [] and document["complete"] is False,
       "SIGTERM in verification", f"{result!r}\n{document}")
    result, document = interrupted_run(folder, 30, signal.SIGKILL, "--sweep", "1:9:1", "--repeats",
                                       "6")
    ok(result.code == -signal.SIGKILL and document["records"] and document["complete"] is False,
       "SIGKILL: valid JSON all the same", f"{result!r}\n{document}")


def start_sweep(folder, sleep_ms):
    """A sweep too long to wait for, each launch taking so long, and its files."""
    files = [os.path.join(folder, "sweep.csv"), os.path.join(folder, "sweep.json")]
    program = subprocess.Popen(
        [MUTANTS, "correct", "--sweep", "8:400:1", "--csv", files[0], "--json", files[1]],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(FAKE_SLEEP_MS=sleep_ms))
    return program, files


def wait_for_lines(path, count):
    """Until the file has so many lines: at most 20 seconds."""
    for _ in range(400):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if len(file.readlines()) >= count:
                    return
        time.sleep(0.05)


def check_interrupt(folder):
    program, (csv_path, json_path) = start_sweep(folder, 0.1)
    wait_for_lines(csv_path, 3)
    program.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, err = program.communicate(timeout=30)
    ok(time.monotonic() - started < 2, "Ctrl-C is obeyed soon", time.monotonic() - started)
    equal(program.returncode, INTERRUPTED, "Ctrl-C: exit 130")
    ok(out.count("exact") >= 2, "Ctrl-C: what was measured is printed", out + err)
    with open(csv_path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ok(rows and all(None not in row and None not in row.values() for row in rows),
       "Ctrl-C: valid CSV", rows)
    with open(json_path, encoding="utf-8") as file:
        records = json.load(file)["records"]
    equal(len(rows), len(records), "Ctrl-C: as many records in both files")
    equal(out.count("exact"), len(rows), "Ctrl-C: as many rows in the table")


def check_early_interrupt(folder):
    """Before the first size is done: nothing was measured, and the files say so."""
    program, (_, json_path) = start_sweep(folder, 300)
    time.sleep(0.5)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=30)
    with open(json_path, encoding="utf-8") as file:
        records = json.load(file)["records"]
    ok(program.returncode == INTERRUPTED and one_line(err) and not records and "note" not in out,
       "Ctrl-C during the first verification", f"{program.returncode} {records}\n{out}{err}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_every_call(folder)
        check_files_after_error(folder)
        check_devices()
        check_memory(folder)
        check_ceiling()
        check_output(folder)
        check_closed_streams(folder)
        check_signals(folder)
        check_interrupt(folder)
        check_early_interrupt(folder)
    finish()


main()
