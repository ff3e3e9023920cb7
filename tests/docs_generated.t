#!/usr/bin/env python3
"""What is generated from results and sources is what its source says now."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import steps
import tap


def run(*command):
    return subprocess.run(command, cwd=steps.ROOT, stdout=subprocess.PIPE, text=True)


def gnuplot_of(svg):
    """The version that drew it: another one draws the same chart in other words."""
    match = re.search(r"<!-- (gnuplot [\d.]+ patchlevel \d+) -->", svg)
    return match[1] if match else None


result = run(sys.executable, "docs/generate.py", "--check")
tap.ok(result.returncode == 0, "tables and listings in the documents", result.stdout + "make docs")

result = run(sys.executable, "docs/figures.py", "--check")
tap.ok(result.returncode == 0, "figures of the chapters", result.stdout + "make docs")

result = run(sys.executable, "docs/figures_topics.py", "--check")
tap.ok(result.returncode == 0, "figures of the topic chapters", result.stdout + "make docs")

result = run(sys.executable, "docs/listings.py", "--check")
if result.returncode == 77:
    tap.skip("PTX and machine code that the text reads", result.stdout.replace("\n", " "))
else:
    tap.ok(result.returncode == 0, "PTX and machine code that the text reads", result.stdout + "make docs")

CHARTS = os.path.join(steps.ROOT, "docs", "charts")
committed = sorted(os.listdir(CHARTS))
gnuplots = {gnuplot_of(steps.text(os.path.join(CHARTS, name))) for name in committed}
if not shutil.which("gnuplot"):
    tap.skip("the charts", "gnuplot is missing (package: gnuplot-nox)")
elif gnuplots != {run("gnuplot", "--version").stdout.strip()}:
    tap.skip("the charts", f"drawn by {', '.join(map(str, gnuplots))}")
else:
    with tempfile.TemporaryDirectory() as folder:
        result = run(sys.executable, "docs/plot.py", "docs/results/nvidia-h200", folder)
        tap.ok(result.returncode == 0 and sorted(os.listdir(folder)) == committed, "the charts that there are", "make docs")
        for name in committed:
            drawn, there = (steps.text(os.path.join(place, name)) for place in (folder, CHARTS))
            tap.ok(drawn == there, f"docs/charts/{name}", "make docs")
tap.finish()
