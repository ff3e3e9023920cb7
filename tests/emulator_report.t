#!/usr/bin/env python3
"""The emulator's report: the table after the run, --lines, --json and --figure."""

import json
import os
import re
import tempfile
import xml.dom.minidom

import steps
import tap

WIDTH = 100


def run(folder, step, *options):
    """A product of 256, and the counters of its record."""
    path = os.path.join(folder, "counters.json")
    result = tap.run([f"build/step{step}-emulated", "-s", "256", "--json", path, *options])
    with open(path, encoding="utf-8") as file:
        return result, json.load(file)["records"][0]["counters"]


def access_at(kernel, kind):
    return next(a for a in kernel["line_accesses"] if a["kind"] == kind)


def check_table(folder):
    result, counters = run(folder, "07", "--lines")
    kernel, lines = counters[0], result.stdout.splitlines()
    tap.ok(all(len(line) <= WIDTH for line in lines), f"the report fits {WIDTH} columns", result.stdout)
    at = next((i for i, line in enumerate(lines) if "exact" in line), len(lines))
    tap.ok(any(line.startswith("step_sgemm: 4 blocks") for line in lines[at:]),
           "it comes after the table", result.stdout)
    for access in kernel["accesses"]:
        row = next((line for line in lines if line.startswith(f"  {access['kind']} ")), "")
        parts = access["sectors"] or access["wavefronts"]
        marked = {"same": " ", "may be fewer": "~"}[access["on_gpu"]]
        tap.ok(f"{access['requests']}{marked}" in row and str(parts) in row
               and f"{parts / access['requests']:.2f}" in row,
               f"{access['kind']}: as in the JSON", row)
    tap.ok("registers" == kernel["limited_by"] and "limited by registers" in result.stdout,
           "what limits the occupancy", kernel["limited_by"])
    tap.ok(any(line.startswith("  ~ ") for line in lines), "the mark is explained", result.stdout)
    source = steps.text(steps.sources()["07"]).splitlines()
    for access in kernel["line_accesses"]:
        text = " ".join(source[access["line"] - 1].split())[:20]
        row = next((line for line in lines if line.startswith(f"{access['line']:6} ")), "")
        tap.ok(text in row, f"line {access['line']} with its text", row)


def check_nothing(folder):
    result, counters = run(folder, "07", "-m", "0")
    tap.ok(result.returncode == 0 and counters == [] and "no kernel has been started" in result.stdout,
           "no kernel: said, and an empty list", result.stdout)


def check_json(folder):
    for step in steps.sources():
        _, counters = run(folder, step)
        for kernel in counters:
            name = f"step {step}, {kernel['kernel']}"
            for total in kernel["accesses"]:
                parts = [a for a in kernel["line_accesses"] if a["kind"] == total["kind"]]
                fields = [f for f in ("requests", "sectors", "wavefronts", "conflicts", "bytes")
                          if total[f] is not None]
                tap.ok(all(sum(a[f] for a in parts) == total[f] for f in fields),
                       f"{name}: {total['kind']}s of the lines make up the kernel's", parts)
            executed = sum(line["warp_instructions"] for line in kernel["lines"])
            classes = sum(value for key, value in kernel.items()
                          if key.endswith("_instructions") and key != "warp_instructions")
            tap.ok(executed == classes == kernel["warp_instructions"],
                   f"{name}: the lines, and the classes, make up all instructions",
                   (executed, classes, kernel["warp_instructions"]))
    _, counters = run(folder, "07")
    for options in (["--schedule", "77"], ["--shared-base", "0"], []):
        tap.ok(run(folder, "07", *options)[1] == counters,
               f"the same counts with {' '.join(options) or 'nothing else, again'}")


def check_figure(folder):
    path = os.path.join(folder, "figure.svg")
    kernel = run(folder, "07")[1][0]
    for kind, parts in (("shared load", "wavefronts"), ("shared store", "wavefronts"),
                        ("global load", "sectors")):
        access = access_at(kernel, kind)
        result, _ = run(folder, "07", "--figure", path, "--line", str(access["line"]))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        image = xml.dom.minidom.parseString(text).documentElement
        title = image.getElementsByTagName("title")[0].firstChild.data
        each = access[parts] // access["requests"]
        tap.ok(result.returncode == 0 and f"{each} {parts}"[:-1] in title and kind in title,
               f"a {kind} is drawn: {title}", access)
        description = image.getElementsByTagName("desc")[0].firstChild.data
        tap.ok(f"steps/07_inline_ptx.cu:{access['line']}" in description, "and described", description)
        tap.ok("prefers-color-scheme" in text, "in light and in dark")
        lanes = [t for t in image.getElementsByTagName("text") if t.getAttribute("class") == "end tiny"]
        tap.ok(len(lanes) == 32, "with a row for each lane", len(lanes))


    source = steps.text(steps.sources()["07"]).splitlines()
    for call in ("load4(&frag_b[j]", "fill(first"):
        line = next(number for number, text in enumerate(source, 1) if call in text)
        result, _ = run(folder, "07", "--figure", path, "--line", str(line))
        tap.ok(result.returncode == 0 and f"called in line {line}" in steps.text(path),
               f"of a line that calls a function: {call}", result.stderr)


def check_mistakes(folder):
    path = os.path.join(folder, "none.svg")
    before = os.listdir(folder)
    result, counters = run(folder, "07", "--figure", path, "--line", "1")
    lines = [str(a["line"]) for a in counters[0]["line_accesses"]]
    named = re.findall(r"\d+", result.stderr.split(":")[-1])
    tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1 and named == sorted(set(lines), key=int),
           "a line without an access: one line that names those that have one", result.stderr)
    tap.ok(os.listdir(folder) == before, "and no file", os.listdir(folder))
    kept = os.path.join(folder, "kept.svg")
    with open(kept, "w", encoding="utf-8") as file:
        file.write("of another line")
    run(folder, "07", "--figure", kept, "--line", "1")
    tap.ok(steps.text(kept) == "of another line", "a file that was there stays", steps.text(kept))
    result, _ = run(folder, "07", "--figure", "/nowhere/figure.svg", "--line", lines[0])
    tap.ok(result.returncode == 2 and result.stdout == "" and result.stderr.count("\n") == 1
           and "/nowhere/figure.svg" in result.stderr,
           "a file that cannot be written: said before the run", result.stdout + result.stderr)


with tempfile.TemporaryDirectory() as place:
    check_table(place)
    check_nothing(place)
    check_json(place)
    check_figure(place)
    check_mistakes(place)
tap.finish()
