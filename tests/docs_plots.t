#!/usr/bin/env python3
"""The charts: all of them from a few records, with the figures that those have, readable in light and in
dark; and what make plot says where it cannot draw."""

import csv
import os
import shutil
import sys
import tempfile
import xml.etree.ElementTree as xml

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "docs"))
import plot  # noqa: E402

RECORDS = os.path.join(steps.ROOT, "tests", "plot_records")
NAMES = {"ladder", "rate", "ratio", "power", "roofline", "sweep"}
SVG = "{http://www.w3.org/2000/svg}"


def contrast(one, other):
    """WCAG 2: 1 to 21."""
    def luminance(colour):
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def check_colours():
    for name, pair in plot.COLOURS.items():
        if name not in ("paper", "rule", "on bar", "bar"):
            found = [contrast(colour, paper) for colour, paper in zip(pair, plot.COLOURS["paper"])]
            tap.ok(min(found) >= 3, f"{name} shows in light and in dark", found)
    found = [contrast(*pair) for pair in zip(plot.COLOURS["on bar"], plot.COLOURS["bar"])]
    tap.ok(min(found) >= 4.5, "text on bars is read in light and in dark", found)


def check_chart(name, path):
    text = steps.text(path)
    tree = xml.fromstring(text)
    title, words = tree.find(SVG + "title").text, tree.find(SVG + "desc").text
    tap.ok(tree.get("role") == "img" and "NVIDIA H200" in title and len(words) > 30, f"{name}: a title, and its content in words", f"{title}\n{words}")
    known = {pair[0] for pair in plot.COLOURS.values()}
    used = {value for element in tree.iter() for what, value in element.items() if what in ("fill", "stroke", "color")}
    used -= {"none", "currentColor"}
    tap.ok(used <= known, f"{name}: every colour has its twin for dark", used - known)
    style = tree.find(SVG + "style").text
    tap.ok(all(f'[fill="{pair[0]}"]{{fill:{pair[1]}}}' in style for pair in plot.COLOURS.values()), f"{name}: and changes into it")
    return words, " ".join(part for element in tree.iter(SVG + "text") for part in element.itertext())


def check_all(folder):
    result = tap.run([sys.executable, "docs/plot.py", RECORDS, folder])
    tap.ok(result.returncode == 0 and {name + ".svg" for name in NAMES} == set(os.listdir(folder)), "every chart is drawn", result.stderr)
    shown = {name: check_chart(name, os.path.join(folder, name + ".svg")) for name in sorted(NAMES)}
    # By hand: step 02 has 30, 32 and 31 TFLOP/s at 4096; cuBLAS 50, 50, 50 beside it and 49 beside 01.
    words, text = shown["ladder"]
    tap.ok("step 02 31.0" in words and "cuBLAS 50.0" in words and "31.0" in text, "ladder: medians over processes", f"{words}\n{text}")
    tap.ok("At 1024: 01 5.0, 02 10.0. At 4096: 01 5.0, 02 31.0" in shown["rate"][0] and "1000" not in shown["rate"][0],
           "rate: every step at every size, less ragged ones", shown["rate"][0])  # fmt: skip
    tap.ok("At 4096: 01 0.10, 02 0.62" in shown["ratio"][0], "ratio: medians", shown["ratio"][0])
    tap.ok("Step 02: 500 W, 60.0 GFLOP/s a watt; cuBLAS 600 W, 80.0" in shown["power"][0], "power: the record of the power phase", shown["power"][0])
    tap.ok("Step 01: 0.25 FLOP a byte, 5.0" in shown["roofline"][0] and "Step 02: 32.00 FLOP a byte, 31.0" in shown["roofline"][0],
           "roofline: a tile of 128x128 is 32 FLOP a byte, no tile 0.25", shown["roofline"][0])  # fmt: skip
    tap.ok("step 07 0.894" in shown["sweep"][0], "sweep: geometric mean of 0.8 and 1.0", shown["sweep"][0])


def check_data():
    """What gnuplot gets is what the words say."""
    results = plot.Results(RECORDS)
    for chart, data in ((plot.rate, "$step02 << EOD\n1024 10.0\n4096 31.0\nEOD"), (plot.rate, "$cublas << EOD\n1024 34.0\n4096 50.0\nEOD"),
                        (plot.ratio, "$step02 << EOD\n1024 0.3\n4096 0.62\nEOD"), (plot.ladder, "$rates << EOD\n0 5.0000\n1 31.0000\nEOD"),
                        (plot.power, "$power << EOD\n0 550 600 9 80\n1 500 600 60 80\nEOD"),
                        (plot.roofline, "$points << EOD\n0.2500 5.0000\n32.0000 31.0000\nEOD"),
                        (plot.sweep, "$step10 << EOD\n1024 36.0\n1152 42.0\nEOD"), (plot.sweep, "$step10 << EOD\n1024 1.0\n1152 1.05\nEOD")):  # fmt: skip
        script = chart(results)[2]
        tap.ok(data in script, f"{chart.__name__}: {data.split()[0]}", f"{data}\nnot in\n{script}")


def check_parts(folder):
    """What there are no records for is left out; nothing at all is an error."""
    part = os.path.join(folder, "part")
    os.mkdir(part)
    with open(os.path.join(RECORDS, "bench.csv"), encoding="utf-8", newline="") as file:
        rows = [{**row, "device": "Unknown GPU"} for row in csv.DictReader(file) if not row["power_w"]]
    with open(os.path.join(part, "bench.csv"), "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)
    result = tap.make("-s", "plot", f"FROM={part}", f"PLOTS={folder}/some")
    tap.ok(result.returncode == 0 and set(os.listdir(f"{folder}/some")) == {"ladder.svg", "rate.svg", "ratio.svg"}
           and result.stderr.count("\n") == 1 and "no row for Unknown GPU" in result.stderr,
           "no power, no sweep, no known memory: three charts, and why", result.stderr)  # fmt: skip
    shutil.copy(os.path.join(RECORDS, "sweep.csv"), f"{folder}/some")
    result = tap.make("-s", "plot", f"FROM={folder}/some", f"PLOTS={folder}/swept")
    tap.ok(result.returncode == 0 and os.listdir(f"{folder}/swept") == ["sweep.svg"], "a sweep alone: its chart", result.stderr)
    result = tap.make("-s", "plot", f"FROM={folder}/none", f"PLOTS={folder}/none")
    tap.ok(result.returncode and "plot: there is no ladder.csv, bench.csv or sweep.csv" in result.stderr and not os.path.exists(f"{folder}/none"),
           "without records: one line", result.stderr)  # fmt: skip


check_colours()
check_data()
if not shutil.which("gnuplot"):
    tap.skip("the charts", "gnuplot is missing (package: gnuplot-nox)")
else:
    with tempfile.TemporaryDirectory() as folder:
        check_all(folder)
        check_parts(folder)
tap.finish()
