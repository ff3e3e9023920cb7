#!/usr/bin/env python3
"""Timing on a virtual clock, where every time is known: what is timed, how often, and what of it."""

import csv
import math
import os
import statistics
import tempfile

from harness import equal, run
from tap import finish, ok

SIZE = ["-m", "24", "-n", "20", "-k", "16"]
L2_BYTES = 256 * 1024
FEWEST_SAMPLES = 6  # below that no two order statistics are a 95 % interval of the median
INTERVAL = ["spread_percent", "cublas_spread_percent", "ratio_low", "ratio_high"]


class Trace:
    """What one run did, in order, and the records that it wrote."""

    def __init__(self, folder, mutant, *options, **settings):
        trace, table = os.path.join(folder, "trace"), os.path.join(folder, "csv")
        self.result = run(mutant, *options, "--csv", table, FAKE_TRACE=trace, **settings)
        with open(trace, encoding="utf-8") as file:
            self.lines = [line.split() for line in file]
        with open(table, encoding="utf-8", newline="") as file:
            self.records = list(csv.DictReader(file))
        self.events = [line for line in self.lines if line[0] in ("launch", "memset", "copy", "elapsed")
                       or line == ["call", "poison_shared_memory"]]
        # A run is a launch whose time is read: (step or cuBLAS, ms, shape, the two events before).
        self.runs = [(*self.events[i - 1][1:], self.events[i - 3:i - 1])
                     for i, event in enumerate(self.events) if event[0] == "elapsed"]

    def field(self, name, row=0):
        return float(self.records[row][name])

    def times(self, who, row=0):
        """The times of the step, or of cuBLAS, at a record's size."""
        shape = "x".join(self.records[row][dimension] for dimension in "mnk")
        return [float(run[1]) for run in self.runs if run[0] == who and run[2] == shape]


def close(got, wanted, tolerance=1e-4):
    return math.isclose(got, wanted, rel_tol=tolerance)


def same(got, wanted, name, tolerance=1e-4):
    ok(close(got, wanted, tolerance), name, f"got    {got}\nwanted {wanted}")


def check_figures(folder):
    """Every figure of the record, from the times that the clock gave."""
    for options, jitter in [([], 0.05), (["--warm"], 0.05), (["--repeats", "7"], 0.2),
                            (["--repeats", "8"], 0.2), (["--repeats", "1"], 0.2),
                            (["--repeats", "5"], 0.2), (["--repeats", "6"], 0.2),
                            (["--beta", "1", "--repeats", "20"], 0.1)]:
        name = f"{' '.join(options) or 'default'}: "
        trace = Trace(folder, "correct", *SIZE, *options, FAKE_STEP_MS=0.02, FAKE_CUBLAS_MS=0.01,
                      FAKE_JITTER=jitter)
        if not ok(trace.result.code == 0 and trace.records, name + "runs", trace.result):
            continue
        step, cublas = trace.times("step"), trace.times("cublas")
        ratios = [theirs / ours for ours, theirs in zip(step, cublas)]
        equal(len(step), len(cublas), name + "as many runs of each")
        same(trace.field("median_ms"), statistics.median(step), name + "median of the step")
        same(trace.field("cublas_median_ms"), statistics.median(cublas), name + "median of cuBLAS")
        same(trace.field("ratio"), statistics.median(ratios), name + "median of the ratios")
        if len(step) < FEWEST_SAMPLES:
            equal([trace.records[0][field] for field in INTERVAL], ["", "", "", ""],
                  name + "too few runs for an interval")
        else:
            ok(trace.field("ratio_low") <= trace.field("ratio") <= trace.field("ratio_high"),
               name + "the ratio lies in its interval", trace.records)
        same(trace.field("step_tflops"), 2 * 24 * 20 * 16 / statistics.median(step) / 1e9,
             name + "TFLOP/s")
        same(trace.field("cublas_tflops"), 2 * 24 * 20 * 16 / statistics.median(cublas) / 1e9,
             name + "TFLOP/s of cuBLAS")


def check_order(folder):
    """Step and cuBLAS alternate, who goes first alternates too; the cache is cold, or warm."""
    trace = Trace(folder, "correct", *SIZE, "--repeats", "6")
    names = [run[0] for run in trace.runs]
    pairs = list(zip(names[::2], names[1::2]))
    ok(len(pairs) == 6 and all(sorted(pair) == ["cublas", "step"] for pair in pairs),
       "step and cuBLAS alternate", names)
    ok(all(a != b for a, b in zip(pairs, pairs[1:-1])), "so does the order in the pair", names)
    ok(pairs[-1] == ("step", "cublas"), "in the last, the step goes first: it finds no result of cuBLAS", names)
    ok(all(before[1][0] == "memset" and int(before[1][1]) >= 2 * L2_BYTES
           for *_, before in trace.runs), "the L2 is flushed before every timed run",
       trace.runs)
    ok(all(before[0][0] == "copy" for *_, before in trace.runs[-2:]),
       "the last pair of runs starts from a C that holds no result", trace.runs[-2:])
    trace = Trace(folder, "correct", *SIZE, "--repeats", "6", "--warm")
    ok(len(trace.runs) == 12 and all(["launch", name] in (before[0][:2], before[1][:2])
                                        for name, *_, before in trace.runs),
       "--warm: the same kernel runs before every timed run", trace.runs)
    for options in (["--beta", "0.5"], ["--beta", "0.5", "--warm"]):
        trace = Trace(folder, "correct", *SIZE, "--repeats", "6", *options)
        ok(len(trace.runs) == 12 and all("copy" in (before[0][0], before[1][0])
                                         for *_, before in trace.runs),
           f"{' '.join(options)}: C is restored before every timed run", trace.runs)
    first = trace.events.index(next(e for e in trace.events if e[0] == "elapsed"))
    warm_ups = [float(event[2]) for event in trace.events[:first] if event[0] == "launch"]
    ok(sum(warm_ups) >= 100, "both warm up for long enough", f"{sum(warm_ups)} ms")


def check_verification(folder):
    """Shared memory is poisoned before each verified launch; without verification nothing is."""
    trace = Trace(folder, "correct", *SIZE, "--verify-only")
    launches = [i for i, event in enumerate(trace.events) if event[:2] == ["launch", "step"]]
    ok(len(launches) >= 3 and all(trace.events[i - 1] == ["call", "poison_shared_memory"]
                                  for i in launches), "shared memory is poisoned first",
       trace.events)
    ok(not trace.runs, "--verify-only times nothing", trace.runs)
    trace = Trace(folder, "correct", *SIZE, "--no-verify")
    ok(["call", "poison_shared_memory"] not in trace.events, "--no-verify verifies nothing",
       trace.events)
    for value in ("0", "1", "x"):
        trace = Trace(folder, "correct", *SIZE, "--verify-only", NVIDIA_TF32_OVERRIDE=value)
        ok(["tf32", "override", "0"] in trace.lines, f"TF32 is off with NVIDIA_TF32_OVERRIDE={value}",
           trace.events)
        trace = Trace(folder, "correct", *SIZE, "--verify-only", CUBLAS_EMULATE_SINGLE_PRECISION=value)
        ok(["emulate", "single", "precision", "0"] in trace.lines,
           f"float32 is not emulated with CUBLAS_EMULATE_SINGLE_PRECISION={value}", trace.events)


def check_stopping(folder):
    """Until both spreads are under 0.25 % and 15 pairs and half a second are done, or 1000 pairs, or
    two seconds."""
    for ms, jitter, least, most in [(20, 0, 15, 15), (5, 0, 50, 55), (5, 0.005, 50, 150),
                                    (0.1, 0.2, 1000, 1000)]:
        trace = Trace(folder, "correct", "-s", "8", FAKE_STEP_MS=ms, FAKE_CUBLAS_MS=ms,
                      FAKE_JITTER=jitter)
        pairs = trace.field("pairs")
        ok(least <= pairs <= most, f"{pairs:.0f} pairs of {ms} ms at a jitter of {jitter}", trace.records)
        if pairs < 1000:
            ok(trace.field("spread_percent") < 0.25, f"a spread under 0.25 % at {jitter}",
               trace.records)
    for ms, least, most in [(10, 95, 105), (300, 6, 7), (3000, 6, 6)]:
        trace = Trace(folder, "correct", "-s", "8", FAKE_STEP_MS=ms, FAKE_CUBLAS_MS=ms,
                      FAKE_JITTER=0.5)
        ok(least <= trace.field("pairs") <= most, f"two seconds are enough at {ms} ms",
           trace.records)


def check_interval(folder):
    """The spread is half the 95 % interval of the median, by order statistics."""
    trace = Trace(folder, "correct", *SIZE, "--repeats", "101", FAKE_STEP_MS=1, FAKE_JITTER=0.3)
    times = sorted(trace.times("step"))
    # The true interval for 101: between the 41st and the 61st; one rank off is a matter of taste.
    widths = [100 * (times[50 + r] - times[50 - r]) / 2 / times[50] for r in (9, 11)]
    ok(widths[0] <= trace.field("spread_percent") <= widths[1], "the spread, by order statistics",
       f"{trace.field('spread_percent')} of {widths}")


def runs_at(size):
    return max(4, math.floor(1000 * math.exp((1024 - size) / 3100)))


def check_sweep(folder):
    """The seeds' protocol: so many runs by size, the mean of the later half of them."""
    trace = Trace(folder, "correct", "--sweep", "8:40:16", FAKE_STEP_MS=1, FAKE_GROWTH_MS=0.001,
                  FAKE_JITTER=0.1)
    equal([record["m"] for record in trace.records], ["8", "24", "40"], "sizes of a sweep")
    for row, size in enumerate((8, 24, 40)):
        times = trace.times("step", row)
        equal(len(times), runs_at(size), f"runs at {size}")
        same(trace.field("mean_ms", row), statistics.fmean(times[len(times) // 2:]),
             f"mean of the later half at {size}")
        same(trace.field("step_tflops", row), 2 * size**3 / trace.field("mean_ms", row) / 1e9,
             f"TFLOP/s at {size} are the mean's")
    equal([runs_at(size) for size in (1024, 4096, 16384, 32768)], [1000, 371, 7, 4], "the formula")
    trace = Trace(folder, "correct", "--sweep", "8:9:1", "--repeats", "5")
    equal([record["pairs"] for record in trace.records], ["5", "5"], "--repeats in a sweep")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_figures(folder)
        check_order(folder)
        check_verification(folder)
        check_stopping(folder)
        check_interval(folder)
        check_sweep(folder)
    finish()


main()
