#!/usr/bin/env python3
"""On the emulator, with all its checks: every step is right for every shape of shapes.tsv and every
alpha and beta, from aligned and from unaligned pointers, wherever shared memory starts and in
whatever order warps and blocks run."""

import concurrent.futures
import os
import subprocess

import shapes
import steps
import tap

AT_ONCE = os.cpu_count() or 2
HUGE = "2200000"  # so many rows take most of a minute: once each is enough
BASES = ("0", "1024")
SCHEDULES = ("0", "77")
OFFSETS = ("0,0,0", "1,1,1")


def run(step, options):
    program = os.path.join("build", f"step{step}-emulated")
    return subprocess.run(
        [program, *options],
        cwd=steps.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check(pool, step, name, command_lines):
    results = list(pool.map(lambda options: run(step, options), command_lines))
    failed = [
        f"step {step} {' '.join(options)}: exit {result.returncode}\n{result.stdout}"
        for options, result in zip(command_lines, results)
        if result.returncode != 0 or "exact" not in result.stdout
    ]
    tap.ok(not failed, f"step {step}: {name} ({len(command_lines)})", "\n".join(failed[:3]))


def main():
    small = [shape for shape in shapes.shapes() if HUGE not in shape]
    huge = [shape for shape in shapes.shapes() if HUGE in shape]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for step in steps.sources():
            for base in BASES:
                for schedule in SCHEDULES:
                    where = ["--shared-base", base, "--schedule", schedule]
                    lines = [
                        shape + ["--offset", offset] + where for shape in small for offset in OFFSETS
                    ]
                    check(pool, step, f"every shape, shared base {base}, schedule {schedule}", lines)
            check(pool, step, "every alpha and beta", list(shapes.scalars()))
        for step in steps.sources():
            check(pool, step, "more rows than grid.y can number", huge)
    tap.finish()


main()
