#!/usr/bin/env python3
"""Step 00 on the emulator: every experiment, what it says and how it ends, and its command line."""

import json
import os
import re
import tempfile
import time

import steps
import tap

TWIN = "build/step00-emulated"
SECONDS, WIDTH = 3, 100
SOURCE = steps.text(steps.all_sources()["00"])
RESULTS = os.path.join("docs", "results", "nvidia-h200")
LIMIT = r"^(\S.*?) +\d+ +\d+  (cuda\w+)$"  # a row of the experiment: what it breaks, and the error
EXPERIMENTS = "add stride copy limits occupancy divergence shared roofline".split()


def run(*arguments):
    return tap.run([TWIN, *arguments])


def rows(name, *arguments):
    """The lines of an experiment's table."""
    return run(name, *arguments).stdout.splitlines()


def check_experiments():
    for name in EXPERIMENTS:
        started = time.monotonic()
        result = run(name)
        seconds = time.monotonic() - started
        tap.ok(result.returncode == 0, f"{name} is right", f"exit {result.returncode}\n{result.stderr}")
        tap.ok(result.stderr == "", f"{name}: nothing on stderr", result.stderr)
        tap.ok(seconds < SECONDS, f"{name} answers within {SECONDS} s", f"{seconds:.1f} s")
        lines = result.stdout.splitlines()
        wide = [line for line in lines if len(line) > WIDTH]
        tap.ok(not wide, f"{name}: lines of at most {WIDTH} columns", "\n".join(wide))
        tap.ok(not re.search(r"\bnan\b|\binf\b", result.stdout), f"{name}: no figure that is not one", result.stdout)
        tap.ok(lines[0].startswith("step 00  ") and re.search(r"\.$", lines[-1]), f"{name} says what it shows", lines[-1:])
        tap.ok(run(name).stdout == result.stdout, f"{name} says the same again")


def check_stride():
    found = {}
    for line in rows("stride"):
        if match := re.match(r" +(\d+) +(\d+) +([\d.]+) +([\d.]+) %", line):
            found[int(match[1])] = int(match[2]), float(match[3]), float(match[4])
    wanted = {s: (min(4 * s, 32), min(4 * s, 32), round(400 / min(4 * s, 32), 1)) for s in (*range(1, 9), 16, 32)}
    tap.ok(found == wanted, "stride: sectors as computed and as counted, and what is used of them", found)


def check_limits():
    said = re.findall(LIMIT, run("limits").stdout, re.M)
    on_gpu = re.findall(LIMIT, steps.text(os.path.join(RESULTS, "step00-limits.txt")), re.M)
    tap.ok(len(said) == 9 and said == on_gpu, "limits: each has the error that the H200 gave", said)


def check_occupancy():
    found = [line.split() for line in rows("occupancy") if line.endswith("%")]
    tap.ok(len(found) == 10 and all(row[-4] == row[-3] for row in found), "occupancy: by hand what CUDA says", found)
    tap.ok(any(row[-5] != row[-3] for row in found), "occupancy: and somewhere not the plain quotient", found)
    parts = {tuple(row[:2]): row[-2] for row in found}
    tap.ok(parts["add", "200"] == "98.4", "occupancy: of warps, not of threads: 9 blocks of 7", parts)


def check_divergence():
    found = re.findall(r"^(lane|warp) +(\d+) +(\d+) +([\d.]+) % +([\d.]+) %", run("divergence").stdout, re.M)
    idle = {(by, int(paths)): (float(computed), float(counted)) for by, paths, _, computed, counted in found}
    lanes = [idle["lane", paths] for paths in (1, 2, 4, 8, 16, 32)]
    tap.ok(
        all(0 <= computed - counted < 10 for computed, counted in lanes) and lanes[-1][1] > 90,
        "divergence: lanes idle as computed, but for the code that all paths share",
        idle,
    )
    tap.ok(all(idle["warp", paths] == (0, 0) for paths in (2, 8, 32)), "divergence: none where warps differ", idle)


def check_shared():
    said = re.findall(r" (\d+)  (cuda\w+) +(right|did not run)$", run("shared").stdout, re.M)
    refused = [int(number) for number, error, word in said if error == "cudaErrorInvalidValue" and word == "did not run"]
    most = max(int(number) for number, _, word in said if word == "right")
    tap.ok(len(said) == 6 and refused == [49156, most + 1024] and most > 49156, "shared: what is refused", said)
    tap.ok(("49156", "cudaSuccess", "right") in said, "shared: and runs once it has been asked for", said)


def tile_of(step):
    text = steps.text(steps.sources()[step])
    return tuple(int(re.search(rf"\b{name} = (\d+)", text)[1]) for name in ("TILE_M", "TILE_N"))


def check_roofline():
    """The tiles that it names are those of the steps."""
    for step in ("02", "03", "04", "05", "06", "07", "08", "09"):
        m, n = tile_of(step)
        line = next(x for x in rows("roofline") if re.match(rf"{step}:|02 to 08:" if step < "09" else "09:", x))
        tap.ok(
            f"{m}x{n} " in line and f" {m * n / 2 / (m + n):.3f} " in line, f"roofline: the tile of step {step}", line
        )


def check_command_line():
    listed = run().stdout
    tap.ok(re.findall(r"^  (\w+) +\S", listed, re.M) == EXPERIMENTS, "no argument: the list of experiments", listed)
    tap.ok(run("--list").stdout == listed, "--list shows it, too")
    text = run("--help").stdout
    tap.ok(all(f"\n  {name} " in text for name in EXPERIMENTS) and "Exit status" in text, "--help", text)
    tap.ok(re.fullmatch(r"step00 \(vector add\), CUDA [\d.]+\n", run("--version").stdout), "--version")
    for arguments in (
        ["nothing"], ["add", "stride"], ["--nothing"], ["add", "-n"], ["add", "-n", "0"], ["add", "-n", "-1"],
        ["add", "-n", "1k"], ["add", "-n", "4294967297"], ["limits", "-n", "5"], ["-n", "5"], ["stride", "-n", "1023"],
        ["add", "--device", "1"], ["add", "--device", "x"], ["add", "-s", "64"],
        ["add", "--json"], ["add", "--json", "/nowhere/x"], ["--json", "/dev/null"],
    ):  # fmt: skip
        result = run(*arguments)
        tap.ok(
            result.returncode == 2 and result.stderr.count("\n") == 1 and result.stderr.startswith("step00: "),
            f"refused in one line: {' '.join(arguments)}",
            f"exit {result.returncode}\n{result.stderr}",
        )
    for n in ("1", "1000", "65537"):
        result = run("add", "-n", n)
        tap.ok(result.returncode == 0 and f"\n{n} elements" in result.stdout, f"add -n {n}", result.stderr)
    tap.ok(run("stride", "-n", "1024").returncode == 0, "stride -n 1024")
    result = tap.run(["sh", "-c", f"ulimit -v 3000000; exec {TWIN} stride -n 2147483648"])
    tap.ok(
        result.returncode == 3 and re.fullmatch(
            r"step00: cudaMalloc failed at steps/00_vector_add.cu:\d+: cudaErrorMemoryAllocation: .*\n", result.stderr
        ),
        "a CUDA error is told with call, file, line, name and meaning",
        result.stderr,
    )
    tap.ok("emulated" in tap.run(["./step00", "shared", "--emulate"]).stdout, "./step00 --emulate starts the twin")


def check_json():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.json")
        result = run("add", "-n", "65536", "--json", path)
        record = json.loads(steps.text(path))["records"][0]
    loads = next(x for x in record["counters"][0]["accesses"] if x["kind"] == "global load")
    tap.ok(result.returncode == 0 and record["elements"] == 65536, "--json: what has been run", record)
    tap.ok(loads["requests"] == 4 * 2 * 65536 / 32 and loads["sectors"] == 4 * loads["requests"], "and counts", loads)
    result = run("add", "--json", "/dev/full")
    tap.ok(result.returncode == 3 and result.stderr.count("\n") == 1, "--json: a full disk", result.stderr)


def check_output():
    result = tap.run(["sh", "-c", f"exec {TWIN} limits >/dev/full"])
    tap.ok(result.returncode == 3 and result.stderr.count("\n") == 1, "output that cannot be written", result.stderr)


def check_mistakes():
    """The exit codes of what goes wrong: these variants are each wrong in one way."""
    for name, options, status, words in (
        ("00-unchecked", ["add", "-n", "1000"], 1, "1000 of 1000 elements are wrong"),
        ("00-host-pointer", ["add"], 4, "kernels reach that of cudaMalloc"),
        ("00-one-too-many", ["add", "-n", "1000"], 4, "out of bounds"),
        ("00-no-barrier", ["shared"], 4, "race|uninitialized"),
    ):
        result = tap.run([f"build/variants/{name}-emulated", *options])
        tap.ok(
            result.returncode == status and re.search(words, result.stderr),
            f"{name}: exit {status}",
            f"exit {result.returncode}\n{result.stderr}",
        )


def check_source():
    named = re.findall(r'^    \{"(\w+)", "', SOURCE.split("experiments[] = ")[1], re.M)
    tap.ok(named == EXPERIMENTS, "the experiments of this test are those of the program", named)


os.chdir(steps.ROOT)
check_source()
check_experiments()
check_stride()
check_limits()
check_occupancy()
check_divergence()
check_shared()
check_roofline()
check_command_line()
check_json()
check_output()
check_mistakes()
tap.finish()
