#!/usr/bin/env python3
"""What is generated from results and sources is what its source says now."""

import os
import re
import shutil
import subprocess
import sys

import steps
import tap


def run(*command):
    return subprocess.run(command, cwd=steps.ROOT, stdout=subprocess.PIPE, text=True)


def gnuplot_of(svg):
    """The version that drew it: another one draws the same chart in other words."""
    match = re.search(r"GNUPLOT ([\d.]+ patchlevel \d+)", svg)
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

committed = steps.text(os.path.join(steps.ROOT, "docs", "ladder.svg"))
if not shutil.which("gnuplot"):
    tap.skip("the chart of the ladder", "gnuplot is missing (package: gnuplot-nox)")
else:
    drawn = run("gnuplot", "docs/ladder.gp").stdout
    if gnuplot_of(drawn) != gnuplot_of(committed):
        tap.skip("the chart of the ladder", f"drawn by gnuplot {gnuplot_of(committed)}")
    else:
        tap.ok(drawn == committed, "the chart of the ladder", "make docs")
tap.finish()
