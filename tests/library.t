#!/usr/bin/env python3
"""build/libsgemm.a: what it exports, its examples, its calls and its threads on the emulator, and that
sgemm() comes to every candidate and is right with each."""

import csv
import glob
import os
import re
import shutil
import tempfile

import steps
import tap

HEADER = steps.text(os.path.join(steps.ROOT, "common", "sgemm.h"))
SOURCE = steps.text(steps.sources()["18"])
CUDA = os.path.dirname(os.path.dirname(os.path.realpath(
    steps.text(os.path.join(steps.ROOT, "build", "nvcc-flags")).split()[0])))  # fmt: skip
# A symbol in .data or .bss, but not in .data.rel.ro, which is constant.
VARIABLE = re.compile(r"^\S+ .* O \.(?:data(?!\.rel\.ro)|bss)\S*\s+\S+ (\S+)$", re.M)


def check_names():
    if not shutil.which("objdump"):
        tap.skip("the names in the library", "nm and objdump are missing (package: binutils)")
        return
    listing = tap.run(["nm", "-g", "--defined-only", "build/libsgemm.a"]).stdout
    declared = set(re.findall(r"^[\w ]+[ *](sgemm\w*)\(", HEADER, re.M))
    exported = set(re.findall(r"^\S+ \w (\S+)$", listing, re.M))
    tap.ok(len(declared) == 7 and exported == declared, "the library exports what sgemm.h declares, and no more",
           f"{sorted(exported)}\n{sorted(declared)}")  # fmt: skip
    objects = glob.glob(os.path.join(steps.ROOT, "build", "common", "library", "*.o"))
    found = VARIABLE.findall(tap.run(["objdump", "-t", *objects]).stdout)
    tap.ok(len(objects) >= 2 and not found, "and holds no variable of its own that could change", found)


def check_header(folder):
    """It stands alone, in C and in C++."""
    include = ["-Icommon", "-isystem", os.path.join(CUDA, "include")]
    for compiler, language in (("cc", "c11"), ("clang", "c11"), ("c++", "c++11"), ("c++", "c++20")):
        source = os.path.join(folder, "header.cpp" if "+" in language else "header.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <sgemm.h>\nint main(void) { return sgemm_destroy(0); }\n")
        name = f"sgemm.h compiles alone with {compiler} -std={language}"
        if not shutil.which(compiler):
            tap.skip(name, f"{compiler} is missing")
            continue
        command = [compiler, f"-std={language}", "-pedantic", "-Wall", "-Wextra", "-Werror", *include]
        result = tap.run([*command, "-c", source, "-o", os.path.join(folder, "header.o")])
        tap.ok(result.returncode == 0, name, result.stderr)


def check_examples(folder):
    for source in sorted(glob.glob(os.path.join(steps.ROOT, "docs", "examples", "*.c"))):
        name = os.path.basename(source)[:-2]
        result = tap.run([f"build/docs/examples/{name}-emulated"])
        tap.ok(result.returncode == 0 and re.fullmatch(rf"{name}: \d+x\d+ elements, 0 wrong\n", result.stdout),
               f"the example {name} on the emulator", result.stdout + result.stderr)  # fmt: skip
    # As its comment says.
    text = steps.text(os.path.join(steps.ROOT, "docs", "examples", "row_major.c"))
    command = re.search(r"&& (cc -Icommon.*?)\n(?!// )", re.sub(r"\n// +(?=build)", " ", text), re.S)[1]
    output = os.path.join(folder, "row_major")
    result = tap.run(["sh", "-c", f"{command} -o '{output}'"], environment={**os.environ, "CUDA_HOME": CUDA})
    tap.ok(result.returncode == 0 and os.path.exists(output), f"builds by hand: {command}", result.stderr)


def emulated_device():
    """Its compute capability times ten and its SMs."""
    path = os.path.join(scratch, "device.csv")
    tap.run(["build/step18-emulated", "-s", "1", "--csv", path])
    with open(path, encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    return row["compute_capability_x10"], row["sms"]


def check_programs(folder):
    textures = write_table(folder, table(("08", "512 512 4")))  # they need a workspace each
    same_gpu = {**os.environ, "EMULATOR_GPU": f"sm_{DEVICE[0]}"}
    for command in ("library_calls-emulated", f"library_calls-emulated {textures}", "library_threads-emulated",
                    "library_threads-emulated 16 3 40"):  # fmt: skip
        program, *arguments = command.split()
        result = tap.run([f"build/tests/{program}", *arguments], environment=same_gpu)
        failed = [line for line in result.stdout.splitlines() if not line.startswith("ok")]
        tap.ok(result.returncode == 0 and "\nok 12 " in result.stdout and not result.stderr,
               f"{command.replace(folder + '/', '')}: {result.stdout.count('ok ')} tests", "\n".join(failed) + result.stderr)  # fmt: skip


def candidates():
    """[("07", "4 4 4"), ("08", "512 512 4"), ...]"""
    return [(step, " ".join(bytes_)) for step, *bytes_ in re.findall(r"^    \{&step(\d\d), \{(\d+), (\d+), (\d+)\}", SOURCE, re.M)]


def table(fast):
    """A table in which the candidate `fast` is by far the fastest."""
    lines = [f"{' '.join(each)} {speed} {speed} 1 1"
             for each in candidates() for speed in [1000 if each == fast else 1]]  # fmt: skip
    return "\n".join(["# made up", " ".join(["device", *DEVICE]), *lines, ""])


def write_table(folder, text):
    path = os.path.join(folder, "table.tsv")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run_dispatch(folder, text, *options):
    path = write_table(folder, text)
    command = [os.path.join("build", "step18-emulated"), *options]
    return tap.run(command, environment={**os.environ, "SGEMM_TABLE": path})


SHAPES = ("-m 132 -n 264 -k 20", "-m 40 -n 72 -k 36 --alpha -1.5 --beta 0.5", "-m 64 -n 64 -k 0 --lda 4")


def check_candidates(folder):
    tap.ok(len(candidates()) >= 3, f"candidates: {candidates()}")
    for step, alignment in candidates():
        for shape in SHAPES:
            result = run_dispatch(folder, table((step, alignment)), *shape.split())
            tap.ok(result.returncode == 0 and re.search(rf" exact .*  step {step}$", result.stdout, re.M),
                   f"{shape}: step {step} for {alignment}, where the table says so", result.stdout + result.stderr)  # fmt: skip
    result = run_dispatch(folder, table(("08", "512 512 4")), "-m", "40", "-n", "71", "-k", "36")
    tap.ok(result.returncode == 0 and "  step 08\n" not in result.stdout, "unaligned: not step 08, whatever the table says",
           result.stdout + result.stderr)  # fmt: skip
    path = os.path.join(folder, "record.csv")
    run_dispatch(folder, table(("09", "4 16 4")), "-s", "64", "--csv", path)
    with open(path, encoding="utf-8", newline="") as file:
        record = next(csv.DictReader(file))
    tap.ok((record["runs"], record["registers"], record["spilled_bytes"]) == ("step 09", "", ""),
           "a record says what ran, and nothing of kernels that step 18 has not", record)  # fmt: skip
    result = run_dispatch(folder, "device 90 1\n", "-s", "64")
    tap.ok(result.returncode == 2 and re.fullmatch(r"step18: .*table\.tsv:1: measured on .*\n", result.stderr),
           "another device's table is refused in one line", result.stderr)  # fmt: skip


with tempfile.TemporaryDirectory() as scratch:
    DEVICE = emulated_device()
    check_names()
    check_header(scratch)
    check_examples(scratch)
    check_programs(scratch)
    check_candidates(scratch)
tap.finish()
