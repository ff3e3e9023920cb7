#!/usr/bin/env python3
"""The table, CSV and JSON: laid out as promised, and of one mind about every number."""

import csv
import json
import os
import pty
import re
import subprocess
import tempfile

from harness import MUTANTS, environment, equal, run
from tap import finish, ok

TIMED = {"FAKE_STEP_MS": 2, "FAKE_CUBLAS_MS": 1, "FAKE_JITTER": 0.1}
# Fields that a record must have, as charts and tables elsewhere rely on them.
FIELDS = """date step name device driver cuda cublas registers shared_bytes spilled_bytes
    occupancy_percent m n k lda ldb ldc alpha beta seed verify l2_flushed pairs median_ms
    cublas_median_ms spread_percent step_tflops cublas_tflops ratio ratio_low ratio_high
    sm_clock_mhz application_clock_mhz throttle power_w energy_j""".split()


def files(folder, *options, **settings):
    """The run, the rows of its CSV and the object of its JSON."""
    paths = [os.path.join(folder, "out.csv"), os.path.join(folder, "out.json")]
    result = run("correct", *options, "--csv", paths[0], "--json", paths[1], **settings)
    with open(paths[0], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    with open(paths[1], encoding="utf-8") as file:
        return result, rows, json.load(file)


def table(text):
    """The head of the table and its rows, up to the first line that is neither."""
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:3] == ["m", "n", "k"])
    rows = [line for line in lines[head + 1:] if re.match(r"^ *\d+ +\d+ +\d+  ", line)]
    return lines[head], rows


def check_layout():
    for options in (["-s", "24"], ["-m", "2200000", "-n", "1", "-k", "1", "--verify-only"],
                    ["-m", "1", "-n", "1", "-k", "1000000", "--repeats", "1"],
                    ["--sweep", "8:24:8", "--repeats", "4"], ["-s", "24", "--no-verify"],
                    ["-s", "24", "--power"], ["-s", "0"], ["-s", "8", "--alpha", "0.3"]):
        result = run("correct", *options, **TIMED)
        name = " ".join(options)
        ok(result.code == 0 and not result.err, f"{name}: runs", result)
        ok(all(len(line) <= 100 for line in result.out.splitlines()), f"{name}: 100 columns",
           result.out)
        ok("\033" not in result.out and "\r" not in result.out, f"{name}: no colour in a pipe",
           repr(result.out))
        ok(not any(line.endswith(" ") for line in result.out.splitlines()),
           f"{name}: no space at the end of a line", repr(result.out))
        head, rows = table(result.out)
        ends = [match.end() for match in re.finditer(r"\S+( ms| MHz)?", head)]
        # Every column but the verdict is right-aligned with its head.
        aligned = all(row[end - 1] != " " and (len(row) == end or row[end] == " ")
                      for row in rows for end in ends[:3] + ends[4:])
        ok(rows and aligned, f"{name}: aligned", result.out)


def on_a_terminal(*options, **settings):
    """What a run shows on a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen([MUTANTS, *options], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, env=environment(**settings))
    os.close(theirs)
    text = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # EIO: the other end is closed
            break
        if not block:
            break
        text += block
    os.close(ours)
    program.wait()
    return text.decode("utf-8")


def check_colour():
    options = ["correct", "-s", "8", "--repeats", "1"]
    ok("\033[32mexact" in on_a_terminal(*options), "green on a terminal", on_a_terminal(*options))
    text = on_a_terminal("nan_everywhere", "-s", "8")
    ok("\033[31mWRONG" in text, "red where wrong", repr(text))
    text = on_a_terminal(*options, NO_COLOR="1")
    ok("m" not in re.findall(r"\033\[[0-9;]*([A-Za-z])", text), "NO_COLOR is honoured", repr(text))
    text = on_a_terminal("correct", "--sweep", "8:16:8", "--repeats", "1")
    ok("\r" in text.replace("\r\n", "") and "16" in text, "progress on a terminal", repr(text))


def check_same_values(folder):
    for options in (["-s", "24"], ["--sweep", "8:24:8", "--repeats", "4"], ["-s", "8", "--power"],
                    ["-s", "8", "--verify-only"], ["-s", "0"], ["-s", "8", "--no-verify"],
                    ["-s", "8", "--warm", "--alpha", "0.3", "--beta", "-1e-7"]):
        name = " ".join(options)
        result, rows, document = files(folder, *options, **TIMED)
        records = document["records"]
        ok(result.code == 0 and len(rows) == len(records) > 0, f"{name}: records", result)
        for row, record in zip(rows, records):
            equal(list(row), list(record), f"{name}: the same fields")
            texts = {field: as_text(value) for field, value in record.items()}
            equal(row, texts, f"{name}: the same values in CSV and JSON")
        missing = [field for field in FIELDS if field not in records[0]]
        equal(missing, [], f"{name}: all fields are there")
        check_table(name, result.out, records)


def as_text(value):
    """A value of JSON as CSV has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def check_table(name, text, records):
    """The table shows the rounded figures of the records."""
    head, rows = table(text)
    equal(len(rows), len(records), f"{name}: as many rows")
    columns = ["step_tflops", "cublas_tflops", "ratio",
               "mean_ms" if "mean ms" in head else "median_ms", "spread_percent", "sm_clock_mhz"]
    for row, record in zip(rows, records):
        shown = row.replace("not verified", "not-verified").split()
        wanted = [str(record["m"]), str(record["n"]), str(record["k"]),
                  record["verify"].replace(" ", "-")]
        equal(shown[:4], wanted, f"{name}: size and verdict in the table")
        for number, field in zip(shown[4:10], columns):
            value = record[field]
            decimals = len(number.partition(".")[2])
            ok(number == ("-" if value is None else f"{value:.{decimals}f}"),
               f"{name}: {field} in the table", f"{number} of {value}")


def check_document(folder):
    _, rows, document = files(folder, "-s", "8", **TIMED)
    for field in ("step", "device", "kernels", "records"):
        ok(field in document, f"JSON has {field}", document)
    record = document["records"][0]
    ok(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"]), "the date is UTC, ISO 8601",
       record["date"])
    equal(record["registers"], 126, "registers of the kernel")
    equal(record["shared_bytes"], 24576, "shared memory of the kernel")
    equal(record["l2_flushed"], True, "the L2 was flushed")
    equal(record["sm_clock_mhz"], None, "no NVML: no clock")
    equal(len(rows), 1, "one record a size")
    _, _, document = files(folder, "-s", "8", "--warm")
    equal(document["records"][0]["l2_flushed"], False, "--warm: it was not")


def check_wrong(folder):
    """A wrong result leaves a record without a rate."""
    paths = [os.path.join(folder, "wrong.csv"), os.path.join(folder, "wrong.json")]
    for mutant in ("nan_everywhere", "wrong_when_timed"):
        run(mutant, "-s", "8", "--csv", paths[0], "--json", paths[1])
        with open(paths[1], encoding="utf-8") as file:
            record = json.load(file)["records"][0]
        equal([record[field] for field in ("verify", "step_tflops", "ratio", "median_ms")],
              ["WRONG", None, None, None], f"{mutant}: no rate in JSON")
        with open(paths[0], encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file))
        equal([row[field] for field in ("verify", "step_tflops", "ratio", "median_ms")],
              ["WRONG", "", "", ""], f"{mutant}: no rate in CSV")


def german_locale(folder):
    """The environment for a locale with decimal commas: one of the system's, or one made here."""
    installed = subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, text=True, check=False)
    if "de_DE.utf8" in installed.stdout:
        return {"LC_ALL": "de_DE.UTF-8"}
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return {"LC_ALL": "de_DE.UTF-8", "LOCPATH": folder}


def check_locale(folder):
    options = ["-s", "8", "--alpha", "0.5", "--beta", "1.5"]
    plain, plain_rows, _ = files(folder, *options, LC_ALL="C", **TIMED)
    german, german_rows, _ = files(folder, *options, **german_locale(folder), **TIMED)
    equal(german.out, plain.out, "the same table in German")
    for rows in (plain_rows, german_rows):
        rows[0].pop("date")
    equal(german_rows, plain_rows, "the same CSV in German")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_layout()
        check_colour()
        check_same_values(folder)
        check_document(folder)
        check_wrong(folder)
        check_locale(folder)
    finish()


main()
