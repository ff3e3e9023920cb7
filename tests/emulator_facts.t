#!/usr/bin/env python3
"""docs/emulator-facts.tsv says what the emulator takes the hardware to do, and what of it has been
tested on a GPU: here the file and the emulator are held against each other, and the numbers against
what a GPU has said, where it has (docs/results/*/device_facts.csv and occupancy.csv)."""

import collections
import csv
import os
import re

import steps
import tap

RESULTS = os.path.join("docs", "results", "nvidia-h200")
RESULTS_GPU = "sm_90"
PROGRAM = "build/tests/emulator_facts"


def read_rows():
    path = os.path.join(steps.ROOT, "docs", "emulator-facts.tsv")
    return list(csv.DictReader(steps.text(path).splitlines(), delimiter="\t"))


def check_rows(rows):
    for row in rows:
        name = f"{row['name']}, {row['gpus']}"
        tap.ok(row["fact"] and row["source"], f"{name}: what it is, and who says so", row)
        test, date = row["device_test"], row["date"]
        dated = re.fullmatch(r"\d{4}-\d\d-\d\d", date) if test else date == ""
        tap.ok(dated and (not test or os.path.exists(os.path.join(steps.ROOT, test))),
               f"{name}: a test that is here, with its date, or neither", row)
        tap.ok(not test or row["gpus"] == RESULTS_GPU, f"{name}: tested where it says", row)


def check_agreement(rows):
    """Both list the same facts, for the same GPUs, with the same values, tested or assumed."""
    written = collections.Counter(
        (row["name"], gpu, row["value"], "measured" if row["device_test"] else "assumed")
        for row in rows
        for gpu in row["gpus"].split()
    )
    printed = collections.Counter(
        tuple(line.split("\t")) for line in tap.run([PROGRAM, "facts"]).stdout.splitlines()
    )
    tap.ok(len(printed) > 100, "the emulator prints its facts")
    tap.ok(not printed - written, "the file has all that the emulator takes for granted",
           "\n".join(map(str, printed - written)))
    tap.ok(not written - printed, "and no more", "\n".join(map(str, written - printed)))


def check_gpu(rows):
    path = os.path.join(RESULTS, "device_facts.csv")
    if not os.path.exists(os.path.join(steps.ROOT, path)):
        tap.skip("what a GPU says of the facts", f"{path} has not been made (make gpu PHASES=facts)")
        return
    said = {row["name"]: row["value"] for row in csv.DictReader(steps.text(path).splitlines())}
    values = {row["name"]: row["value"] for row in rows if RESULTS_GPU in row["gpus"].split()}
    for name, value in said.items():
        tap.ok(values.get(name) == value, f"{name}: as the GPU says", f"{values.get(name)}, {value}")


def check_occupancy():
    path = os.path.join(RESULTS, "occupancy.csv")
    there = os.path.exists(os.path.join(steps.ROOT, path))
    result = tap.run([PROGRAM, *([path] if there else [])])
    lines = result.stdout.splitlines()
    tap.ok(result.returncode == 0 and lines and not any(line.startswith("not") for line in lines),
           "blocks on an SM: as by the toolkit's cuda_occupancy.h, and as the GPU says", result.stdout)


table = read_rows()
check_rows(table)
check_agreement(table)
check_gpu(table)
check_occupancy()
tap.finish()
