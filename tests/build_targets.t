#!/usr/bin/env python3
"""What make builds, when it builds it, and what it says when it cannot. Works in a copy."""

import glob
import os
import pty
import re
import shutil
import tempfile

import steps
import tap

NO_DEVICE = 3
MAKE = shutil.which("make")
TARGETS = "help step07 all libsgemm examples test diff07 diffs ptx07 sass07 banks07 profile07 sanitize07 lab07 check07 hint07 solution07 handout classroom grade autograder tune bench sweep plot matrix lint clean".split()


def make(*arguments):
    """Nothing of the emulator runs long here, and it is built several times: without optimization."""
    return tap.make(*arguments, "EMULATOR_FLAGS=-O0", folder=copy)


def built(result):
    """The files that a run of make built, as its short lines name them."""
    return re.findall(r"^(?:CC|NVCC|LINK) +(\S+)$", result.stderr, re.M)


def quiet(result):
    return result.returncode == 0 and not built(result)


def check_help():
    for arguments in ([], ["help"]):
        listing = make(*arguments).stdout
        missing = [t for t in TARGETS if not re.search(rf"^ +make {t} +\S", listing, re.M)]
        tap.ok(not missing, f"`{' '.join(['make', *arguments])}` lists every target", missing)


def check_build():
    result = make("step01", "ARCH=80", "--dry-run")
    tap.ok(result.returncode == 0 and not os.path.exists(os.path.join(copy, "build")), "make -n writes nothing")
    result = make("-j2", "clean", "step01", "ARCH=80")
    tap.ok(result.returncode == 0, "step01 builds with -j2, in a folder with a space", result.stderr)
    tap.ok(quiet(make("step01", "ARCH=80")), "a second make builds nothing")
    tap.ok(quiet(make("step01", "ARCH=sm_80")), "ARCH=sm_80 is ARCH=80")
    tap.ok(quiet(make("step01", "ARCH=80", "DEBUG=0", "V=0")), "DEBUG=0 and V=0 are off")
    result = make("-j2", "clean", "step01", "ARCH=80")
    tap.ok(result.returncode == 0 and "step01" in built(result), "make clean step01", result.stderr)

    os.utime(os.path.join(copy, "common", "step.h"))
    files = built(make("step01", "ARCH=80"))
    tap.ok(
        {"build/steps/01_naive.o", "build/common/main-step01.o", "step01"} <= set(files),
        "touching common/step.h rebuilds what uses it",
        files,
    )
    tap.ok("build/common/statistics.o" not in files, "and nothing else", files)
    tap.ok(quiet(make("step01", "ARCH=80")), "once")

    os.remove(os.path.join(copy, "build", "common", "statistics.o"))
    result = make("step01", "ARCH=80", "V=1")
    tap.ok(
        result.returncode == 0 and re.search(r"^\S+ -std=c11 .* common/statistics\.c", result.stdout, re.M),
        "V=1 shows the commands",
        result.stdout + result.stderr,
    )

    files = built(make("step01", "ARCH=75,90a"))
    tap.ok(
        set(files)
        == {"build/steps/01_naive.o", "build/common/poison.o", "build/step01-emulated", "step01"},
        "another ARCH rebuilds what nvcc compiles, and no more",
        files,
    )
    with open(os.path.join(copy, "build", "steps", "01_naive.o"), "rb") as file:
        targets = set(re.findall(rb"^\.target (\w+)", file.read(), re.M))
    tap.ok(targets == {b"sm_75", b"sm_90a"}, "ARCH=75,90a gives PTX for both", targets)

    files = built(make("step01", "ARCH=75,90a", "CFLAGS=-DSOMETHING"))
    tap.ok(
        "build/common/main-step01.o" in files and "build/steps/01_naive.o" not in files,
        "other CFLAGS rebuild what the C compiler compiles, and no more",
        files,
    )
    result = make("step01", "ARCH=80", "--dry-run", "V=1", "DEBUG=1")
    tap.ok(
        re.search(r"nvcc -G -DDEBUG_BUILD ", result.stdout) and "-lineinfo" not in result.stdout,
        "DEBUG=1 builds for a debugger",
    )
    result = make("step01", "ARCH=80", "--always-make", "--dry-run", "V=1")
    tap.ok(re.search(r"nvcc -O3 -lineinfo ", result.stdout), "-lineinfo otherwise", result.stdout)


def check_clang():
    if not shutil.which("clang"):
        tap.skip("step01 builds with CC=clang", "no clang here")
        return
    result = make("-j2", "step01", "ARCH=80", "CC=clang")
    tap.ok(result.returncode == 0 and built(result), "step01 builds with CC=clang", result.stderr)


def check_start():
    """The program needs neither a GPU nor LD_LIBRARY_PATH to start."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    result = tap.run(["./step01", "--version"], folder=copy, environment=environment)
    tap.ok(result.returncode == 0, "the program starts", result.stderr)
    result = tap.run(["./step01", "-s", "16", "--verify-only"], folder=copy)
    tap.ok(
        result.returncode == 0 or result.returncode == NO_DEVICE and result.stderr.count("\n") == 1,
        "and says in one line where there is no CUDA device",
        f"exit {result.returncode}\n{result.stderr}",
    )


def check_detection():
    """Without ARCH the GPUs decide. Here a stand-in for nvidia-smi lists them."""
    if built_for("80") != built_for():
        tap.skip("the architectures of the GPUs", "there is a GPU, and nvcc finds it by itself")
        return
    with tempfile.TemporaryDirectory() as folder:
        smi = os.path.join(folder, "nvidia-smi")
        for capabilities, wanted in (("8.6 7.5 8.6", ["75", "86"]), ("99.9", [newest()]), ("", ["80"])):
            with open(smi, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nprintf '%s\\n' {capabilities}\n")
            os.chmod(smi, 0o755)
            found = built_for(path=folder + ":" + os.environ["PATH"])
            tap.ok(found == wanted, f"GPUs of {capabilities or 'no'} capability: {wanted}", found)


def built_for(*architecture, path=os.environ["PATH"]):
    """The architectures that step 01 would be compiled for."""
    arguments = [f"ARCH={name}" for name in architecture]
    command = [MAKE, "--always-make", "--dry-run", "V=1", "step01", *arguments]
    environment = {k: v for k, v in os.environ.items() if k != "ARCH" and not k.startswith("MAKE")}
    result = tap.run(command, folder=copy, environment={**environment, "PATH": path})
    line = next(text for text in result.stdout.splitlines() if " steps/01_" in text)
    return re.findall(r"arch=compute_(\w+),", line)


def newest():
    listing = make("step01", "ARCH=none").stderr
    return re.findall(r"\d+", listing.split("builds for")[1])[-1]


def check_minimum():
    """A step that the GPU cannot run is built for the lowest one that can."""
    result = make("step09", "ARCH=75", "--always-make", "--dry-run", "V=1")
    line = next((text for text in result.stdout.splitlines() if " steps/09_" in text), "")
    tap.ok("[sm_80,compute_80]" in line and "75" not in line, "step 09 is built for sm_80 at least", line)


def check_messages():
    for arch in ("5", "80x", "native", "sm_", "80,7", "80a", "75f", ","):
        result = make("step01", f"ARCH={arch}")
        tap.ok(
            result.returncode != 0 and result.stderr.count("\n") == 1 and f"ARCH={arch}:" in result.stderr,
            f"ARCH={arch} is refused in one line",
            result.stderr,
        )
    result = make("step01", "NVCC=/nowhere/nvcc")
    tap.ok(
        result.returncode != 0 and result.stderr.count("\n") == 1 and "/nowhere/nvcc" in result.stderr,
        "so is an NVCC that does not exist",
        result.stderr,
    )
    for target, number in (("step7", "7"), ("step90", "90"), ("diff7", "7"), ("ptx99", "99")):
        result = make(target)
        tap.ok(
            result.returncode != 0 and result.stderr.count("\n") == 1
            and f"there is no step {number}: 00 01 " in result.stderr,
            f"so is {target}, where steps have two digits",
            result.stderr,
        )  # fmt: skip
    result = make("profile00")
    tap.ok(
        result.returncode != 0 and result.stderr.count("\n") == 1 and "no matrices" in result.stderr,
        "so is profile00, which compares with cuBLAS",
        result.stderr,
    )
    quoted = os.path.join(copy, 'a "quoted" folder')
    os.mkdir(quoted)
    shutil.copy(os.path.join(copy, "Makefile"), quoted)
    result = tap.make("step01", folder=quoted)
    tap.ok(
        result.returncode != 0 and result.stderr.count("\n") == 1 and "double quote" in result.stderr,
        "so is a double quote in the path",
        result.stderr,
    )
    with tempfile.TemporaryDirectory() as empty:
        result = tap.run([MAKE, "test"], folder=copy, environment={"PATH": empty})
        tap.ok(
            result.returncode != 0 and result.stderr.count("\n") == 1 and "needs prove" in result.stderr,
            "make test without its tools",
            result.stderr,
        )
    with tempfile.TemporaryDirectory() as empty:
        result = tap.run(
            [MAKE, "step01", "CUDA_PLACES="],
            folder=copy,
            environment={"PATH": empty, "CUDA_HOME": empty},
        )
    tap.ok(
        result.returncode != 0 and result.stderr.count("***") == 1 and "1." in result.stderr
        and "2." in result.stderr and "3." in result.stderr,
        "without nvcc: one message, with three ways to install it",
        result.stderr,
    )  # fmt: skip


def check_diff():
    result = make("diff09")
    tap.ok(
        result.returncode == 0
        and re.search(r"^--- steps/07_.*^\+\+\+ steps/09_", result.stdout, re.M | re.S),
        "diff09 shows what step 09 changes in step 07",
        result.stderr,
    )
    result = make("diff09", "BASE=02")
    tap.ok(result.stdout.startswith("--- steps/02_"), "BASE=02 compares with step 02")
    tap.ok("\x1b" not in result.stdout, "without colour in a file")
    tap.ok(
        re.fullmatch(r"--- steps/\S+\n\+\+\+ steps/\S+", "\n".join(result.stdout.splitlines()[:2])),
        "and without dates",
        result.stdout[:200],
    )
    result = make("diff01")
    tap.ok(result.returncode != 0 and "first" in result.stderr, "diff01 has nothing to show")

    shown = []
    def read(descriptor):
        shown.append(os.read(descriptor, 4096))
        return shown[-1]
    terminal_output = os.dup(1)
    with open(os.devnull, "w", encoding="utf-8") as null:
        os.dup2(null.fileno(), 1)
        pty.spawn([MAKE, "--directory", copy, "diff02"], read)
    os.dup2(terminal_output, 1)
    tap.ok(b"\x1b[" in b"".join(shown), "diff02 is coloured on a terminal")


with tempfile.TemporaryDirectory(prefix="sgemm copy ") as copy:
    for name in ("Makefile", "common", "docs", "steps", "tests"):
        source = os.path.join(steps.ROOT, name)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, os.path.join(copy, name))
    check_help()
    check_build()
    check_start()
    check_clang()
    check_detection()
    check_minimum()
    check_messages()
    check_diff()
    make("clean")
    tap.ok(
        not os.path.exists(os.path.join(copy, "build")) and not glob.glob(os.path.join(copy, "step[0-9]*")),
        "make clean leaves nothing behind",
    )
tap.finish()
