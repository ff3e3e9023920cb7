#!/usr/bin/env python3
"""Every step compiles for every architecture it can run on: no spills, no more registers than
leave room for the blocks that the step means to run side by side."""

import os
import re
import subprocess

import matrix
import ptx
import steps
import tap

REGISTERS = 65536  # of a multiprocessor, on every architecture from sm_75 on
BLOCKS = {"01": 1, "09": 1, "11": 1, "13": 1, "14": 1, "17": 4, "19": 1}  # side by side on a multiprocessor; two where nothing is said


def log_of(source):
    return os.path.join(steps.ROOT, "build", "matrix", os.path.basename(source)[:-3] + ".log")


def known_architectures():
    nvcc = steps.text(os.path.join(steps.ROOT, "build", "nvcc-flags")).split()[0]
    output = subprocess.run([nvcc, "--list-gpu-code"], stdout=subprocess.PIPE, text=True).stdout
    return output.split()


tap.make("matrix")
architectures = known_architectures()
for step, source in steps.sources().items():
    if not steps.has_kernel(source):
        continue
    kernels = matrix.read_log(log_of(source))
    alone = ".no_later = true," in steps.text(source)
    minimum = int(re.search(r"\.minimum_capability = (\d+),", steps.text(source))[1])
    wanted = {f"sm_{minimum}a"} if alone else {a for a in architectures if matrix.order(a) >= minimum}
    tap.ok({a for _, a in kernels} == wanted, f"step {step} compiles for {len(wanted)} architectures", kernels)

    spills = [f"{name} {a}: {spilled}" for (name, a), (_, spilled) in kernels.items() if spilled]
    tap.ok(kernels and not spills, f"step {step} spills nothing", "\n".join(spills))

    warnings = [line for line in steps.text(log_of(source)).splitlines() if "warning" in line.lower()]
    warnings = [line for line in warnings if "offline compilation for architectures" not in line]
    tap.ok(not warnings, f"step {step} compiles without a warning", "\n".join(warnings))

    for kernel in ptx.kernels_of(step):
        blocks, threads = kernel.blocks(), kernel.threads()
        tap.ok(
            blocks >= BLOCKS.get(step, 2),
            f"step {step}, {kernel.name}: asks for {blocks} blocks of {threads} threads",
        )
        limit = min(255, REGISTERS // (blocks * threads) // 8 * 8)
        over = [
            f"{a}: {registers}"
            for (name, a), (registers, _) in kernels.items()
            if name == kernel.name and registers > limit
        ]
        tap.ok(not over, f"step {step}, {kernel.name}: at most {limit} registers", "\n".join(over))
tap.finish()
