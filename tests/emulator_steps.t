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
LONG = 2**21  # multiplications, or rows, from which on a run takes seconds
OFFSETS = (["--offset", "0,0,0"], ["--offset", "1,1,1"])
WAYS = (["--shared-base", "0", "--schedule", "77"], ["--shared-base", "1024", "--schedule", "0"])


MANY_ROWS = 2**20  # more tiles than grid.y can number are these in step 01 alone: its tiles are the lowest


def size(shape):
    return [int(shape[shape.index(option) + 1]) for option in ("-m", "-n", "-k")]


def is_long(shape):
    m, n, k = size(shape)
    return m * n * k >= LONG


def groups(step):
    """{name: command lines}. Each short shape has both offsets and both ways, in turns; a long one runs once."""
    every = [shape for shape in shapes.shapes() if step == "01" or size(shape)[0] < MANY_ROWS]
    short = [shape for shape in every if not is_long(shape)]
    return {
        "every short shape": [
            shape + offset + WAYS[(i + j) % 2] for i, shape in enumerate(short) for j, offset in enumerate(OFFSETS)
        ],
        "every long shape": [shape for shape in every if is_long(shape)],
        "every alpha and beta": list(shapes.scalars()),
    }


def run(step, options):
    program = os.path.join("build", f"step{step}-emulated")
    return subprocess.run(
        [program, *options],
        cwd=steps.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main():
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        started = [
            (step, name, lines, [pool.submit(run, step, line) for line in lines])
            for step in steps.sources()
            for name, lines in groups(step).items()
        ]
        for step, name, lines, runs in started:
            results = [each.result() for each in runs]
            failed = [
                f"step {step} {' '.join(line)}: exit {result.returncode}\n{result.stdout}"
                for line, result in zip(lines, results)
                if result.returncode != 0 or "exact" not in result.stdout
            ]
            tap.ok(not failed, f"step {step}: {name} ({len(lines)})", "\n".join(failed[:3]))
    tap.finish()


main()
