#!/usr/bin/env python3
"""emucc: builds programs of several files and languages, anywhere, and says in a line what it cannot
build. Works in a folder of its own, with a space, a comma and brackets in its name."""

import glob
import os
import re
import shutil
import stat
import tempfile

import steps
import tap

EMUCC = os.path.join(steps.ROOT, "common", "emulator", "emucc")
NOBODY = 65534
MODELLED = "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_120"

MAIN = """
#include <cstdio>
#include <vector>
#include "scale.h"
extern "C" int half(int);
int main() {
    std::vector<float> data(COUNT, 3.0f);
    scale(data.data(), COUNT);
    std::printf("%g %d\\n", data[COUNT - 1], half(84));
}
"""

SCALE_H = """
#pragma once
void scale(float *data, int n);
"""

SCALE = """
#include "scale.h"
static __global__ void kernel(float *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= FACTOR;
}
void scale(float *data, int n)
{
    float *device;
    cudaMalloc(&device, n * sizeof *data);
    cudaMemcpy(device, data, n * sizeof *data, cudaMemcpyHostToDevice);
    kernel<<<(n + 255) / 256, 256>>>(device, n);
    cudaMemcpy(data, device, n * sizeof *data, cudaMemcpyDeviceToHost);
    cudaFree(device);
}
"""

HALF = """
#include <cuda_runtime_api.h>
#if __STDC_VERSION__ != 201112L
#error not C11
#endif
int half(int n)
{
    int count = 0;
    for (int i = 0; cudaGetDeviceCount(&count) == cudaSuccess && i < 1; i++)
        n /= 2 * count;
    return n;
}
"""

GRAPH = """
#include <cuda_runtime.h>
#include <cuda.h>
int main(void)
{
    cudaGraph_t graph;
    cuInit(0);
    return cudaGraphCreate(&graph, 0) == cudaSuccess;
}
"""

STARTED = """
static __global__ void kernel(void) {}
int main()
{
    kernel<<<1, 1>>>();
    return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess ? 0 : 7;
}
"""


def write(folder, **files):
    for name, text in files.items():
        with open(os.path.join(folder, name.replace("__", ".")), "w", encoding="utf-8") as file:
            file.write(text)


def environment(**changes):
    merged = {k: v for k, v in os.environ.items() if not k.startswith("EMULATOR_")}
    merged.update(changes)
    return {name: value for name, value in merged.items() if value is not None}


def emucc(*arguments, folder, **changes):
    result = tap.run([EMUCC, *arguments], folder, environment(**changes))
    result.stderr = re.sub(r"^emucc: building the emulator in .*, once, .*\n\.*\n", "", result.stderr)
    return result


def said(result):
    return f"exit {result.returncode}\n{result.stdout}{result.stderr}"


def check_output(program, output, name, folder, **changes):
    result = tap.run([program], folder, environment(**changes))
    tap.ok(result.returncode == 0 and result.stdout == output, name, said(result))


def check_building(folder):
    inner = os.path.join(folder, "an include folder")
    os.mkdir(inner)
    write(folder, main__cpp=MAIN, scale__cu=SCALE, half__c=HALF)
    write(inner, scale__h=SCALE_H)
    options = ["-I", "an include folder", "-DCOUNT=1000", "-D", "FACTOR=2", "-std=c++17", "-std=c11"]
    result = emucc(*options, "main.cpp", "scale.cu", "half.c", "-o", "my program", folder=folder)
    tap.ok(result.returncode == 0 and result.stderr == "", "C++, CUDA and C in one program", said(result))
    check_output("./my program", "6 42\n", "it runs", folder)

    result = emucc(*options, "-c", "main.cpp", "scale.cu", "half.c", "-O2", folder=folder)
    tap.ok(result.returncode == 0, "-c makes an object of each file", said(result))
    shutil.copytree(folder, os.path.join(folder, "elsewhere", "deep"))
    result = emucc("elsewhere/deep/main.o", "scale.o", "half.o", folder=folder)
    tap.ok(result.returncode == 0, "objects are linked, into a.out", said(result))
    check_output("./a.out", "6 42\n", "that runs, too", folder)
    result = emucc(*options, "-arch=sm_86", "-c", "scale.cu", "-o", "other.o", folder=folder)
    with open(os.path.join(folder, "other.o"), "rb") as file:
        targets = set(re.findall(rb"^\.target (\w+)", file.read(), re.M))
    tap.ok(targets == {b"sm_86"}, "-arch=sm_86 compiles for that, -c -o names the object", targets)

    makefile = "prog: scale.cu\n\t+'%s' -DFACTOR=2 -I 'an include folder' main.o $< half.o -o $@\n"
    write(folder, Makefile=makefile % EMUCC)
    result = tap.run(["make", "-s", "-j2", "prog"], folder, environment())
    tap.ok(result.returncode == 0, "emucc in a makefile of one's own", said(result))


def check_messages(folder):
    write(folder, graph__cu=GRAPH, broken__cu="int main( {}\n", note__txt="", **{"a,b__cu": "int main() {}\n"})
    write(folder, noise__o="no object, but a line of text\n", byte__o="x")
    cases = [
        ("no files", [], 2, r"which files\? \(emucc --help\)"),
        ("a file that is not there", ["none.cu"], 1, r"none.cu: there is no such file"),
        ("a file of another kind", ["note.txt"], 2, r"note.txt: \.cu, \.c, \.cpp, \.o, \.a or \.so is wanted"),
        ("a comma in a file's name", ["a,b.cu"], 1, r"a,b.cu: nvcc cannot bear a comma"),
        ("an option without its value", ["graph.cu", "-o"], 2, r"-o: a value is missing"),
        ("an architecture that is none", ["-arch=fast", "graph.cu"], 2, r"-arch=fast: a GPU is wanted, such as sm_86"),
        ("nothing to compile", ["-c", "main.o"], 2, r"-c: there is nothing to compile"),
        ("one object of two files", ["-c", "graph.cu", "main.cpp", "-o", "x.o"], 2, r"-c -o x.o: one object of 2 files"),
        ("separate compilation", ["-rdc=true", "graph.cu"], 2, r"-rdc=true: device code of one file cannot call"),
        ("a stream for each thread", ["-default-stream", "per-thread", "graph.cu"], 2, r"-default-stream: the emulator has one"),
        ("what nvcc does", ["-ptx", "graph.cu"], 2, r"-ptx: emucc builds programs and objects, nvcc the rest"),
        ("an object that is none", ["noise.o"], 1, r"noise.o: is no object file, or a damaged one"),
        ("an object of one byte", ["graph.cu", "byte.o"], 1, r"byte.o: is no object file, or a damaged one"),
        ("a library of NVIDIA's", ["graph.cu", "-lcurand"], 1, r"-lcurand: of NVIDIA's libraries the emulator has"),
    ]
    for name, arguments, code, message in cases:
        result = emucc(*arguments, folder=folder)
        tap.ok(
            result.returncode == code
            and re.match("emucc: " + message, result.stderr)
            and result.stderr.count("\n") == 1,
            f"{name}: one line, exit {code}",
            said(result),
        )
    result = emucc("graph.cu", "-o", "graph", folder=folder)
    lines = result.stderr.splitlines()
    offer = "which the emulator does not offer (docs/emulator.md lists what it does)"
    tap.ok(
        result.returncode == 1
        and sorted(lines) == [f"emucc: graph.cu uses {name}, {offer}" for name in ("cuInit", "cudaGraphCreate")],
        "a function that is not offered: a line with its name",
        said(result),
    )
    result = emucc("broken.cu", folder=folder)
    tap.ok(
        result.returncode == 1 and "broken.cu(1): error:" in result.stderr,
        "what nvcc says of an error stays",
        said(result),
    )
    result = emucc("graph.cu", folder=folder, PATH="/usr/bin:/bin", CUDA_HOME=None, CUDA_PLACES="", NVCC=None)
    tap.ok(
        result.returncode == 1
        and re.match(r"emucc: nvcc, the CUDA compiler, is not in CUDA_HOME, PATH, .*\n$", result.stderr),
        "no nvcc: one line",
        said(result),
    )
    result = tap.run(["/bin/bash", EMUCC, "graph.cu"], folder, environment(PATH="/nonexistent"))
    tap.ok(
        result.returncode == 1
        and result.stderr == "emucc: awk is not in PATH: awk, sed and coreutils are needed\n",
        "no tools at all: one line",
        said(result),
    )
    result = emucc("graph.cu", folder=folder, NVCC="/nonexistent/nvcc")
    tap.ok(
        result.returncode == 1 and result.stderr == "emucc: /nonexistent/nvcc does not run\n",
        "an nvcc that is none: one line",
        said(result),
    )


def check_settings(folder):
    source = steps.text(os.path.join(steps.ROOT, "common", "emulator", "environment.c"))
    names = set(re.findall(r'\{"([A-Z_]+)", set_\w+\}', source))
    text = emucc("--help", folder=folder).stdout
    guide = steps.text(os.path.join(steps.ROOT, "docs", "emulator.md"))
    for place, words in (("emucc --help", text), ("docs/emulator.md", guide)):
        told = set(re.findall(r"EMULATOR_([A-Z_]+)=", words))
        tap.ok(told == names, f"{place} lists the settings", told ^ names)
    for name, value, message in (
        ("SCHEDULE", "x", "a number, 0 or greater"),
        ("SHARED_BASE", "100", "bytes, a multiple of 128 up to 1048576"),
        ("CHECKS", "maybe", "on or off"),
        ("GPU", "86", "a modelled GPU: " + MODELLED),
        ("GPU", "sm_10", "a modelled GPU: " + MODELLED),
        ("GPU", "sm_999", "a modelled GPU: " + MODELLED),
        ("WORKERS", "0", "threads, 1 to 64"),
        ("CHECK", "off", "there is no such setting (emucc --help lists them)"),
        ("FIGURE", "x.svg", "of which line? EMULATOR_LINE=N says so"),
        ("FIGURE", "my program", "the name of a file that ends in .svg"),
        ("JSON", "none/r.json", "No such file or directory"),
    ):
        result = tap.run(["./my program"], folder, environment(**{f"EMULATOR_{name}": value}))
        tap.ok(
            result.returncode == 2
            and result.stderr == f"my program: emulator: EMULATOR_{name}={value}: {message}\n",
            f"EMULATOR_{name}={value}: one line, exit 2",
            said(result),
        )
    result = tap.run(["./my program"], folder, environment(EMULATOR_REPORT="on"))
    tap.ok(
        result.returncode == 0 and result.stdout == "6 42\n" and "global load" in result.stderr,
        "EMULATOR_REPORT=on reports on stderr",
        said(result),
    )
    files = {"EMULATOR_JSON": "r.json", "EMULATOR_FIGURE": "r.svg", "EMULATOR_LINE": "7"}
    result = tap.run(["./my program"], folder, environment(**files))
    written = [os.path.join(folder, name) for name in ("r.json", "r.svg")]
    tap.ok(
        result.returncode == 0 and result.stderr == "" and all(map(os.path.exists, written)),
        "EMULATOR_JSON and EMULATOR_FIGURE write files",
        said(result),
    )
    drawing = steps.text(written[1])
    files["EMULATOR_LINE"] = "6"
    result = tap.run(["./my program"], folder, environment(**files))
    tap.ok(
        result.returncode == 2
        and result.stderr.startswith("my program: emulator: EMULATOR_FIGURE=r.svg: no load or store of line 6 ")
        and steps.text(written[1]) == drawing,
        "where nothing can be drawn, a file that was there stays",
        said(result),
    )


def check_architectures(folder):
    """PTX runs on later GPUs, too; that with features of one architecture does not."""
    write(folder, started__cu=STARTED)
    for architecture, runs in (("sm_90", {"sm_90": 0, "sm_100": 0}), ("sm_90a", {"sm_90": 0, "sm_100": 7})):
        built = emucc(f"-arch={architecture}", "started.cu", "-o", "started", folder=folder)
        for model, wanted in runs.items():
            result = tap.run(["./started"], folder, environment(EMULATOR_GPU=model))
            tap.ok(built.returncode == 0 and result.returncode == wanted, f"code for {architecture} on an {model}: exit {wanted}",
                   said(built) + said(result))  # fmt: skip


MARK = b"made"


def content(path):
    with open(path, "rb") as file:
        return file.read()


def bring_objects(course):
    """Two of make's objects, marked; the second is older than its source."""
    build = os.path.join("build", "common", "emulator")
    os.makedirs(os.path.join(course, build))
    shutil.copy2(os.path.join(steps.ROOT, "build", "host-flags"), os.path.join(course, "build"))
    for name in ("arena", "source"):
        for ending in (".d", ".o"):
            shutil.copy2(os.path.join(steps.ROOT, build, name + ending), os.path.join(course, build))
        with open(os.path.join(course, build, name + ".o"), "ab") as file:
            file.write(MARK)
    os.utime(os.path.join(course, "common", "emulator", "source.c"))
    os.utime(os.path.join(course, build, "source.o"), (1, 1))


def check_read_only(folder):
    """A course that cannot be written: what is built goes to the user's cache. (Root may write
    anywhere, so another user does it.)"""
    course = os.path.join(folder, "course")
    shutil.copytree(
        steps.ROOT, course, ignore=shutil.ignore_patterns("build", ".git", "docs", "tests", "step[0-9]*")
    )
    bring_objects(course)
    work = os.path.join(folder, "work")
    os.mkdir(work)
    write(work, main__cpp=MAIN, scale__cu=SCALE, half__c=HALF, scale__h=SCALE_H)
    root = os.geteuid() == 0
    if root:
        os.chmod(folder, 0o755)
    for path, folders, files in os.walk(course):
        for name in folders + files:
            full = os.path.join(path, name)
            os.chmod(full, os.stat(full).st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    os.chmod(course, 0o555)
    command = [os.path.join(course, "common", "emulator", "emucc"), "-DCOUNT=9", "-DFACTOR=2"]
    command += ["-std=c11", "main.cpp", "scale.cu", "half.c", "-o", "prog"]
    if root:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    # The objects are brought along, but for two and the archive: to build all would take longer.
    cache = os.path.join(work, ".cache", "emucc")
    where = environment(HOME=work, XDG_CACHE_HOME=None, TMPDIR=work)
    key = tap.run(["sh", "-c", 'printf %s "$0" | cksum', course]).stdout.strip().replace(" ", "-")
    shutil.copytree(
        os.path.join(steps.ROOT, "build", "emucc"),
        os.path.join(cache, key),
        ignore=shutil.ignore_patterns("course", "lock", "arena.o", "source.o", "emulator.a"),
    )
    if root:
        tap.run(["chown", "-R", f"{NOBODY}:{NOBODY}", work])
    result = tap.run(command, work, where)
    taken, built = (glob.glob(os.path.join(cache, key, "*", name))[0] for name in ("arena.o", "source.o"))
    tap.ok(
        result.returncode == 0 and result.stderr == "",
        "a course that cannot be written",
        said(result),
    )
    tap.ok(content(taken).endswith(MARK), "an object that make has built is not built again")
    tap.ok(not content(built).endswith(MARK), "but one that is older than its source is")
    check_output("./prog", "6 42\n", "its program runs", work)
    result = tap.run(command, work, where)
    tap.ok(result.returncode == 0 and result.stderr == "", "the second time nothing is told", said(result))
    result = tap.run(command, work, dict(where, HOME="/nonexistent"))
    tap.ok(
        result.returncode == 1 and re.match(r"emucc: neither .* can be written: set XDG_CACHE_HOME", result.stderr),
        "no cache either: one line",
        said(result),
    )
    for path, folders, _ in os.walk(course):
        os.chmod(path, 0o755)


with tempfile.TemporaryDirectory() as place:
    os.chmod(place, 0o755)
    work_folder = os.path.join(place, "a folder (of, one's)")
    os.mkdir(work_folder)
    check_building(work_folder)
    check_messages(work_folder)
    check_settings(work_folder)
    check_architectures(work_folder)
    check_read_only(place)
tap.finish()
