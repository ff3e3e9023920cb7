#!/usr/bin/env python3
"""On a GPU: every step is right for every shape of shapes.tsv, from aligned and from unaligned
pointers, and for every kind of alpha and beta."""

import concurrent.futures
import os
import subprocess

import shapes
import steps
import tap

SKIPPED = 77
AT_ONCE = min(8, os.cpu_count())  # most of a run is the start of CUDA and cuBLAS, on the CPU


def run(program, options):
    return subprocess.run(
        [program, *options, "--verify-only"],
        cwd=steps.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def failures(program, command_lines):
    """What was printed where a run failed."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda options: run(program, options), command_lines)
        return [
            f"{program} {' '.join(options)} --verify-only: exit {result.returncode}\n{result.stdout}"
            for options, result in zip(command_lines, results)
            if result.returncode != 0
        ]


programs = {step: f"./step{step}" for step in steps.sources()}
first = run(programs["01"], ["-s", "1"])
if "emulated" in first.stdout:
    tap.skip_all("the steps on a GPU: no CUDA device (emulator_steps.t runs them on the emulator)")

SHAPES = list(shapes.shapes())
SCALARS = list(shapes.scalars())
for step, program in programs.items():
    first = run(program, ["-s", "1"])
    if first.returncode == SKIPPED:
        tap.skip(f"step {step}", first.stdout.strip())
        continue
    for what, command_lines in (
        ("every shape, aligned", SHAPES),
        ("every shape, each matrix off by one element", [s + ["--offset", "1,1,1"] for s in SHAPES]),
        ("every alpha and beta", SCALARS),
    ):
        failed = failures(program, command_lines)
        tap.ok(not failed, f"step {step}: {what} ({len(command_lines)})", "\n".join(failed[:3]))
tap.finish()
