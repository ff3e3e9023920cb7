#!/usr/bin/env python3
"""On the emulator: each step without one of its barriers, waits, predicates or clobbers is caught, or
its PTX is that of the step, or tests/mutations.tsv says why it is right all the same."""

import concurrent.futures
import os
import re
import shutil

import mutations
import steps
import tap

FOLDER = os.path.join(steps.ROOT, "build", "mutations")
AT_ONCE = os.cpu_count() or 2
PATIENCE = 60  # seconds: a mutant that does not come to an end is caught

# Those that catch most come first, long ones last. Between them they have every edge, every path of a
# step, both orders of warps, and blocks with several parts of tiles.
RUNS = [
    "-m 129 -n 257 -k 17",
    "-m 40 -n 72 -k 4 --lda 8 --ldb 76",
    "-m 64 -n 64 -k 64 --alpha 0",
    "-m 40 -n 72 -k 36 --ldb 75",
    "-m 128 -n 256 -k 8",
    "-m 40 -n 72 -k 36 --ldb 75 --offset 1,2,3 --schedule 7",
    "-m 40 -n 72 -k 36 --ldc 75",
    "-m 40 -n 70 -k 34 --ldb 72 --ldc 72",
    "-m 40 -n 72 -k 36 --offset 0,1,0",
    "-m 40 -n 72 -k 36 --offset 0,0,1",
    "-m 40 -n 72 -k 36 --offset 1,0,0",
    "-m 40 -n 71 -k 36 --ldb 72 --ldc 72",
    "-m 40 -n 72 -k 34 --lda 36",
    "-m 40 -n 70 -k 34 --lda 36 --ldb 72",
    "-m 40 -n 72 -k 36 --offset 1,1,1",
    "-m 64 -n 64 -k 0 --beta 1",
    "-m 130 -n 260 -k 20 --schedule 6",
    "-m 40 -n 72 -k 36 --lda 39",
    "-m 40 -n 72 -k 36 --lda 40 --ldb 76",
    "-m 200 -n 136 -k 72 --schedule 8",
    "-m 129 -n 257 -k 17 --beta 0.5 --schedule 5",
    "-m 40 -n 72 -k 164",
    "-m 34000 -n 20 -k 33",
    "-m 129 -n 257 -k 300 --schedule 9",
]


def path_of(name):
    """Where a mutant is, or a step, 07-unchanged."""
    kind = name[3:].rsplit("-", 1)[0]
    host = kind in mutations.HOST_KINDS or not steps.has_kernel(steps.sources()[name[:2]])
    return os.path.join(FOLDER, "host" if host else "kernel", name)


def ptx(name):
    """The PTX of a kernel, without what names files and lines."""
    with open(path_of(name) + ".fatbin", "rb") as file:
        text = re.search(rb"\.version .*?\x00", file.read(), re.DOTALL).group().decode()
    text = re.split(r"^\s*\.file\s", text, 1, re.MULTILINE)[0]
    text = re.sub(r"//.*|^\s*\.loc.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"_ZZ?N\d+_INTERNAL_[0-9a-f]+_\d+_\w+?_cu_", "", text)
    return re.sub(r"\s*\n\s*", "\n", text)


def kernels(name):
    return re.findall(r"\.entry (\w+)", ptx(name))


def write_sources():
    """Writes the steps and their mutants; returns {mutant: line}."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for kind in ("host", "kernel"):
        os.makedirs(os.path.join(FOLDER, kind))
    lines = {}
    for step, path in steps.sources().items():
        sources = {f"{step}-unchanged": (0, steps.text(path))}
        found = mutations.mutants(step, path)
        lines.update({name: line for name, (line, _) in found.items()})
        for name, (_, text) in {**sources, **found}.items():
            with open(path_of(name) + ".cu", "w", encoding="utf-8") as file:
                file.write(text)
    return lines


def check_counts(step, names):
    fewest = mutations.FEWEST_OF.get(step, mutations.FEWEST_WITH_TILES)
    counts = {kind: sum(f"{step}-{kind}-" in name for name in names) for kind in fewest}
    tap.ok(all(counts[kind] >= fewest[kind] for kind in fewest),
           f"step {step} has its mutants", f"{counts}, at least {fewest}")


def catch(name):
    """How a mutant is caught, or ""."""
    for options in RUNS:
        command = ["timeout", str(PATIENCE), path_of(name), *options.split()]
        result = tap.run(command)
        if result.returncode not in (0, 77):
            return f"{options}: exit {result.returncode}: {result.stderr.strip()}"
    return ""


def judge(name):
    """What became of a mutant: "caught: ...", "same PTX" or "survived"."""
    if "/kernel/" in path_of(name):
        step = name[:2] + "-unchanged"
        if kernels(name) != kernels(step):  # the step's host code would find none
            raise ValueError(f"{name} has kernels {kernels(name)}")
        if ptx(name) == ptx(step):
            return "same PTX"
    caught = catch(name)
    return f"caught: {caught}" if caught else "survived"


def reasons():
    path = os.path.join(steps.ROOT, "tests", "mutations.tsv")
    rows = [line.split("\t") for line in steps.text(path).splitlines() if line[:1] not in ("#", "")]
    return dict(rows)


def main():
    lines = write_sources()
    built = tap.make(f"-j{AT_ONCE}", "-k", "mutations")
    if built.returncode != 0:
        tap.ok(False, "the mutants build", built.stderr[-3000:])
        tap.finish()
    for step, path in steps.sources().items():
        if steps.has_kernel(path):
            check_counts(step, lines)
        caught = catch(f"{step}-unchanged")
        tap.ok(caught == "", f"step {step} itself passes", caught)
    recorded = reasons()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for (name, line), verdict in zip(lines.items(), pool.map(judge, lines)):
            known = recorded.pop(name, None)
            tap.ok((verdict == "survived") == (known is not None),
                   f"{name} (line {line}): {known if known else verdict[:150]}", verdict)
    tap.ok(not recorded, "every recorded reason belongs to a mutant", "\n".join(recorded))
    tap.finish()


main()
