"""What was measured on the reference GPU, read from docs/results.

ladder.csv has the harness's records of the steps, variants.csv those of experiments with them, in the
same columns and one more. counters.csv and variant_counters.csv have what the hardware counted at
m = n = k = 4096, step_counters.csv what it counted of shared memory at small sizes, loops.csv and
banks.csv the instructions of each main loop and what they ask of the register banks (from the machine
code, not from a run). bench.csv and sweep.csv, of make bench and make sweep, are for docs/plot.py, tune.csv
and sweep.csv for chapter 18. three_tf32.csv has the records of step 15, which does not compute in float32,
accuracy.csv its errors. docs/results/README.md has all of them.
"""

import csv
import functools
import os
import statistics
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))

sys.path.insert(0, os.path.join(os.path.dirname(DOCS), "tests"))
import steps  # noqa: E402

FOLDER = os.path.join(DOCS, "results", "nvidia-h200")


class NotMeasured(LookupError):
    """There is no such measurement in docs/results."""


@functools.lru_cache(None)
def table(name, folder=FOLDER):
    """The rows of NAME.csv in docs/results/nvidia-h200, or in another folder; none where it is not there."""
    path = os.path.join(folder, name + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def in_float32(rows):
    """The records of steps that compute in float32: others are not of the ladder."""
    return [row for row in rows if row.get("arithmetic", "float32") == "float32"]


def records():
    return in_float32(table("ladder"))


def measured(rows):
    """The steps that there are results of at 4096, as most tables have."""
    known = {int(row["step"]) for row in rows if row["m"] == row["n"] == row["k"] == "4096"}
    return [step for step in steps.sources() if int(step) in known]


def runs_of(rows, step, m, n, k, ld=None):
    """The records of a problem with rows side by side, or all leading dimensions ld, one a process, less that
    of the power phase, which heats the GPU."""
    wanted = {"step": int(step), "m": m, "n": n, "k": k, "lda": ld or k, "ldb": ld or n, "ldc": ld or n}
    found = [
        row
        for row in rows
        if all(row[name] == str(value) for name, value in wanted.items()) and not row["power_w"]
    ]
    if not found:
        raise NotMeasured(f"no record with {wanted} in {FOLDER}")
    return found


def runs(name, size):
    """The records of a step, "07", or an experiment, "07-wide", at m = n = k = size; "k128" is
    4096x4096x128."""
    m, k = (4096, 128) if size == "k128" else (int(size), int(size))
    rows = records()
    if not name.isdigit():
        rows = [row for row in table("variants") if row["variant"] == name]
    return runs_of(rows, name[:2], m, m, k)


def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)


def rate(name, size):
    return median(runs(name, size), "step_tflops")


def counts(name):
    """{metric: value} of a step or an experiment at m = n = k = 4096."""
    rows = table("counters" if name.isdigit() else "variant_counters")
    found = {row["metric"]: float(row["value"]) for row in rows if row["step"] == name}
    if not found:
        raise NotMeasured(f"no counters of {name} in {FOLDER}")
    return found


def small_counts(step, m, n, k):
    """The same of step_counters.csv, at another size."""
    wanted = (step, str(m), str(n), str(k))
    rows = table("step_counters")
    return {
        row["metric"]: float(row["value"])
        for row in rows
        if (row["step"], row["m"], row["n"], row["k"]) == wanted
    }


def loop(name, kernel=None):
    """{instruction: count} in the main loop of a step's first kernel, or of the one named."""
    rows = [row for row in table("loops") if row["step"] == name]
    kernel = kernel or (rows[0]["kernel"] if rows else None)
    found = {row["instruction"]: int(row["count"]) for row in rows if row["kernel"] == kernel}
    if not found:
        raise NotMeasured(f"no main loop of {name} in {FOLDER}")
    return found


def banks(name):
    """The row of banks.csv of the first kernel of a step or an experiment."""
    for row in table("banks"):
        if row["step"] == name:
            return row
    raise NotMeasured(f"no register banks of {name} in {FOLDER}")
