#!/usr/bin/env python3
"""Programs of one's own on the emulator: the runtime and cuBLAS that it offers, right and wrong calls
of them, mistakes between host and device, and the documentation's list of what there is."""

import difflib
import glob
import os
import re
import resource
import signal
import subprocess

import steps
import tap

PROGRAMS = os.path.join(steps.ROOT, "build", "tests", "emulator", "programs")
GPU_TENSOR = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200", "tensor_cores.csv")
GPU_WGMMA = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200", "wgmma.csv")
GPU_RESULT = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200", "runtime_errors.txt")

# What the teaching programs print.
TEACHING = {
    "vector_add": "float: 0 wrong\nint: 0 wrong\ndouble: 0 wrong\n",
    "reduction": "no error, 8 blocks: 299995, expected 299995\n",
    "transpose": "no error, pitches of 512 and 512 bytes: 0 wrong\n",
    "histogram": "no error, 0 wrong\n",
    "matmul": "as cuBLAS, nan ms, nan GFLOP/s\n",
    "streams": "no error, 2 callbacks, 0 wrong\n",
    "api": "0 wrong\n",
    "blas": "0 wrong\n",
}

RIGHT = None  # must pass

# What the emulator says to mistakes.cu.
MISTAKES = {
    "heap_to_kernel": r"out of bounds: reads 4 bytes at 0x[0-9a-f]+, a pointer to memory of the host "
    r"\(kernels reach that of cudaMalloc, .*; at \S*mistakes.cu:\d+",
    "stack_to_kernel": r"out of bounds: .* a pointer to memory of the host",
    "null_to_kernel": r"out of bounds: reads 4 bytes at 0x0, a null pointer; ",
    "device_on_host": r"the program follows a pointer to device memory, .*: 0x10000000000\w\w, \d+ bytes "
    r"into the allocation of 128 bytes",
    "freed_device_on_host": r"use after free: the program touches 0x\w+ in the allocation of 128 bytes",
    "no_wait": r"race: the program touches memory that increment writes to, and has not waited",
    "wait_for_no_event": r"race: the program touches memory that increment writes to, and has not waited",
    "no_wait_to_write": r"race: the program writes to memory that add reads, and has not waited",
    "no_wait_for_copy": r"race: the program touches memory that a copy writes to, and has not waited",
    "freed_managed": r"use after free: the program touches 0x\w+ in the allocation of 128 bytes",
    "past_managed": r"out of bounds: reads 4 bytes at 0x\w+, 0 bytes past the end of the allocation "
    r"of 4096 bytes at \w+; .*block \(4,0,0\)",
    "host_past_managed": r"out of bounds: the program touches 0x\w+, 0 bytes past the end",
    "leak_managed": r"leak: 1 allocation of 128 bytes never freed: 128 bytes at 0x\w+ of the program's 1st "
    r"cudaMallocManaged\n",
    "leak_second": r"leak: 2 allocations of 192 bytes never freed, the first: 64 bytes at 0x\w+ of the program's "
    r"2nd cudaMalloc\n",
    "kernel_malloc": r"unknown instruction: kernels cannot allocate memory here .*: use cudaMalloc before the launch; ",
    "endless_round": r"deadlock: this loop does not end: nothing that it computes or reads changes any more; "
    r"at .*mistakes.cu:\d+",
    "short_matrix": r"out of bounds: cublasSgemm's A of 80 bytes is not within an allocation: "
    r"0x1000000000000, .* of 64 bytes",
    "unwritten_to_host": r"uninitialized: a copy to the host of 128 bytes that nobody has written, .*: 0x\w+, "
    r"0 bytes into the allocation of 128 bytes",
    "unwritten_matrix": r"uninitialized: cublasSgemm reads A, of which nobody has written all",
}

# What it says to errors that nobody has asked for, before the end of the line.
UNASKED = {
    "too_many_threads": r'the launch of increment gave "invalid argument" '
    r"\(2048 threads a block, at most 1024\)",
    "no_blocks": r'the launch of increment gave "invalid argument" \(a grid of 0 x 1 x 1 blocks\)',
    "too_much_shared": r'the launch of increment gave "invalid argument" \(100000 bytes of dynamic shared memory, '
    r"at most 49152 unless cudaFuncSetAttribute allows more\)",
    "over_bounds": r'the launch of bounded gave "invalid argument" '
    r"\(256 threads a block, at most 128 by its __launch_bounds__\)",
    "wrong_direction": r'cudaMemcpy gave "invalid argument" \(cudaMemcpyHostToDevice, and the destination 0x\w+ '
    r"is no pointer to device memory\)",
    "host_as_device": r'cudaMemcpy gave "invalid argument" \(cudaMemcpyDeviceToDevice, and the destination 0x\w+ '
    r"is no pointer to device memory\)",
    "too_many_bytes": r'cudaMemcpy gave "invalid argument" \(128 bytes, and the destination is an '
    r"allocation of 32\)",
    "freed_twice": r'cudaFree gave "invalid argument" \(0x\w+ has been freed before\)',
    "fill_past_end": r'cudaMemset gave "invalid argument" \(128 bytes from byte 64 on, and the destination is an '
    r"allocation of 128\)",
    "first_of_two": r'cudaFree gave "invalid argument"',
    "host_as_kernel": r'cudaLaunchKernel gave "invalid resource handle" \(0x\w+ is no kernel\)',
    "null_as_kernel": r'cudaLaunchKernel gave "invalid device function" \(the kernel is a null pointer\)',
    "too_many_to_meet": r'the launch of increment gave "too many blocks in cooperative launch" '
    r"\(65536 x 1 x 1 blocks, more than the device holds at a time\)",
    "destroyed_stream": r'the launch of increment gave "invalid resource handle" \(there is no such stream\)',
    "destroyed_event": r'cudaEventSynchronize gave "invalid resource handle"',
}

# Templates of cuda_runtime.h.
MADE_BY_HEADERS = {"cudaOccupancyMaxPotentialBlockSize"}

# The names that documentation has for what cuBLAS calls otherwise.
VERSIONED = re.compile(r"(_v\d)?(_64)?$")


def run(program, *arguments, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EMULATOR_")}
    environment.update({f"EMULATOR_{name}": value for name, value in settings.items()})
    return tap.run([os.path.join(PROGRAMS, program), *arguments], environment=environment)


def said(result):
    return f"exit {result.returncode}\n{result.stdout}{result.stderr}"


def check_teaching():
    for program, output in TEACHING.items():
        results = [run(program, SCHEDULE=s, SHARED_BASE=b) for s, b in (("0", "0"), ("7", "1024"))]
        bad = [r for r in results if r.returncode != 0 or r.stdout != output]
        tap.ok(not bad, f"{program} runs", "\n".join(map(said, bad)))
    result = run("matmul")
    tap.ok(
        result.stderr.count("\n") == 1 and "only a GPU can be timed" in result.stderr,
        "a time that is no number is explained once",
        result.stderr,
    )
    result = run("reduction", GPU="sm_120")
    tap.ok(
        result.returncode == 0 and ", 6 blocks: 299995" in result.stdout,
        "a newer GPU can be modelled",
        said(result),
    )
    result = run("vector_add", GPU="sm_80")
    tap.ok(
        result.returncode == 1 and result.stdout.startswith("float: 10000 wrong\n"),
        "on an older one the kernels do not run",
        said(result),
    )


def check_mistakes():
    for mistake, message in MISTAKES.items():
        result = run("mistakes", mistake)
        tap.ok(
            result.returncode == 4
            and re.search("^mistakes: emulator: " + message, result.stderr)
            and result.stderr.count("\n") == 1,
            f"{mistake} is told",
            f"wanted: {message}\n" + said(result),
        )
    result = run("mistakes", "right")
    tap.ok(
        result.returncode == 0 and result.stdout == "2 2\n3\n" and result.stderr == "",
        "what is right is not",
        said(result),
    )
    result = run("mistakes", "null_on_host")
    tap.ok(result.returncode == -11 and result.stderr == "", "nor what crashes by itself", said(result))
    result = run("mistakes", "trap", LEAKS="off")
    tap.ok(
        result.returncode == 0
        and result.stdout == "cudaSuccess, cudaErrorLaunchFailure\n"
        and re.search(r"^mistakes: emulator: trap: .*mistakes.cu:\d+", result.stderr),
        "a trap is told, and the program goes on with an error",
        said(result),
    )
    for mistake, code in (("null_to_kernel", 0), ("no_wait", 0), ("short_matrix", 0)):
        result = run("mistakes", mistake, CHECKS="off")
        tap.ok(
            result.returncode == code and result.stderr == "",
            f"with the checks off, {mistake} is as on a GPU",
            said(result),
        )


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_allocations():
    before = processor_time()
    result = run("allocations", "many", WORKERS="1")
    seconds = processor_time() - before
    tap.ok(
        result.returncode == 0 and result.stdout == "cudaSuccess\n" and seconds < 4,
        "many allocations cost no more each than few",
        f"{seconds:.1f} s\n" + said(result),
    )
    before = processor_time()
    result = run("allocations", "large")
    seconds = processor_time() - before
    said_before = "cudaSuccess\ncudaErrorMemoryAllocation\n1\n2\n"
    tap.ok(
        result.returncode == 4
        and result.stdout == said_before
        and "uninitialized: reads global memory" in result.stderr
        and seconds < 4,
        "of a large one only what is touched costs anything, and it is checked as any other",
        f"{seconds:.1f} s\n" + said(result),
    )
    result = run("allocations", "large", CHECKS="off")
    tap.ok(
        result.returncode == 0 and result.stdout in (said_before + "nan\n", said_before + "-nan\n"),
        "what nobody has written is a NaN",
        said(result),
    )
    limit = "ulimit -v 10485760; exec build/tests/emulator/programs/allocations large"
    result = tap.run(["sh", "-c", limit])
    tap.ok(
        result.returncode == 3
        and re.fullmatch(r"allocations: emulator: out of host memory: \d+ bytes wanted\n", result.stderr),
        "the host has not enough memory: one line, exit 3",
        said(result),
    )


def check_unasked():
    ending = r", and nobody asked for it: check what calls return, and cudaGetLastError\(\) after a launch\n"
    for mistake, message in UNASKED.items():
        result = run("mistakes", mistake)
        tap.ok(
            result.returncode == 0 and re.fullmatch(f"mistakes: emulator: {message}.*{ending}", result.stderr),
            f"{mistake} is told at the end",
            f"wanted: {message}\n" + said(result),
        )
    result = run("mistakes", "failed_before_fault")
    first = r'mistakes: emulator: cudaMalloc gave "out of memory" \(\d+ bytes, and \d+ are left\)'
    tap.ok(
        result.returncode == 4
        and re.fullmatch(first + ending + "mistakes: emulator: out of bounds: .*\n", result.stderr),
        "an error that nobody looks at is told before the fault that it leads to",
        said(result),
    )
    for mistake, output in (("asked_for", "cudaErrorInvalidValue\n"), ("partly_written_to_host", "")):
        result = run("mistakes", mistake)
        tap.ok(
            result.returncode == 0 and result.stdout == output and result.stderr == "",
            f"nothing is said to {mistake}",
            said(result),
        )
    result = run("mistakes", "no_blocks", CHECKS="off")
    tap.ok(result.returncode == 0 and result.stderr == "", "nor with the checks off", said(result))


def check_watch():
    """A kernel that runs long says where it is, and so does Ctrl-C."""
    program = subprocess.Popen([os.path.join(PROGRAMS, "mistakes"), "endless"], stderr=subprocess.PIPE, text=True)
    seen = program.stderr.readline()
    place = r" in count_to_seven after \d+ s: 0 of 1 blocks done; block \(0,0,0\) is at \S*mistakes.cu:\d+\n"
    tap.ok(
        re.fullmatch("mistakes: emulator: still" + place, seen),
        "after 10 s a kernel tells where it is",
        seen,
    )
    program.send_signal(signal.SIGINT)
    rest = program.stderr.read()
    tap.ok(
        program.wait() == -signal.SIGINT and re.fullmatch("mistakes: emulator: interrupted" + place, rest),
        "Ctrl-C tells where, and ends it",
        f"exit {program.returncode}\n{rest}",
    )
    result = run("mistakes", "grid_sync", LEAKS="off")
    tap.ok(
        result.stdout == "cudaErrorLaunchFailure\n"
        and re.match(
            r"mistakes: emulator: trap: the kernel stopped itself \(grid.sync\(\) needs a launch by "
            r"cudaLaunchCooperativeKernel\); ",
            result.stderr,
        ),
        "grid.sync() in a launch that is not cooperative",
        said(result),
    )


def check_errors():
    """errors.cu prints here what it printed on a GPU, every line."""
    found = run("errors", CHECKS="off").stdout.splitlines()
    wanted = steps.text(GPU_RESULT).splitlines()
    different = difflib.unified_diff(wanted, found, "the GPU", "the emulator", n=1, lineterm="")
    tap.ok(found == wanted, f"{len(wanted)} lines of errors.cu are as on an H200", "\n".join(different))


def check_tensor_cores():
    """tensor_cores.cu prints here what it printed on a GPU, every bit."""
    found = run("tensor_cores").stdout.splitlines()
    wanted = steps.text(GPU_TENSOR).splitlines()
    wrong = [number for number, pair in enumerate(zip(found, wanted), 1) if pair[0] != pair[1]]
    sums = 128 * sum(line.startswith("mma") for line in wanted)
    tap.ok(len(found) == len(wanted) and sums > 10000 and not wrong,
           f"{sums} sums of tensor cores are as on an H200", f"lines {wrong}")


def check_wgmma():
    """wgmma.cu prints here what it printed on a GPU; and without that, sums as mma has them."""
    found = run("wgmma").stdout.splitlines()
    different = [line.split(",")[:3] for line in found if line.split(",")[2] != "0"]
    tap.ok(len(found) == 44 and not different, "wgmma adds as mma does", different)
    if not os.path.exists(GPU_WGMMA):
        tap.skip("sums of wgmma as on an H200", "docs/results/nvidia-h200/wgmma.csv has not been made")
        return
    wanted = steps.text(GPU_WGMMA).splitlines()
    wrong = [number for number, pair in enumerate(zip(found, wanted), 1) if pair[0] != pair[1]]
    tap.ok(len(found) == len(wanted) and not wrong, f"{512 * len(found)} sums of wgmma are as on an H200",
           f"lines {wrong}")


def check_texts():
    """The texts of errors and states are those of NVIDIA's libraries, which say them without a GPU."""
    folder = os.path.join(steps.ROOT, "build", "tests", "emulator", "texts")
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "texts.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write(
            "#include <cstdio>\n#include <cublas_v2.h>\nint main() {\n"
            "for (int i = 0; i < 1000; i++)\n"
            'printf("%d %s|%s\\n", i, cudaGetErrorName((cudaError_t)i), cudaGetErrorString((cudaError_t)i));\n'
            "for (int i = 0; i < 20; i++)\n"
            'printf("%d %s|%s\\n", i, cublasGetStatusName((cublasStatus_t)i), cublasGetStatusString((cublasStatus_t)i));\n}\n'
        )
    nvcc = os.environ.get("NVCC", "nvcc")
    ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
    built = [
        tap.run([os.path.join(steps.ROOT, "common", "emulator", "emucc"), source, "-o", ours]),
        tap.run([nvcc, source, "-o", theirs, "-lcublas"]),
    ]
    if any(result.returncode != 0 for result in built):
        tap.ok(False, "the texts of errors", "\n".join(map(said, built)))
        return
    lines = zip(tap.run([ours]).stdout.splitlines(), tap.run([theirs]).stdout.splitlines())
    different = [f"{a}\n{b}" for a, b in lines if a != b and "unrecognized" not in a]
    tap.ok(not different, "the texts of errors are NVIDIA's", "\n".join(different))


def offered():
    """The functions of CUDA in the emulator, as a program writes them."""
    archives = glob.glob(os.path.join(steps.ROOT, "build", "emucc", "*", "emulator.a"))
    symbols = subprocess.run(
        ["nm", "-g", "--defined-only", max(archives, key=os.path.getmtime)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r" T (cuda[A-Z]\w*|cublas[A-Z]\w*)$", symbols, re.M)
    return {VERSIONED.sub("", name) for name in names}


def check_documentation():
    text = steps.text(os.path.join(steps.ROOT, "docs", "emulator.md"))
    table = text[text.index("<!-- offered -->") : text.index("<!-- end offered -->")]
    documented = set(re.findall(r"\b(cuda[A-Z]\w*|cublas[A-Z]\w*)\b", table))
    documented -= MADE_BY_HEADERS
    tap.ok(not documented - offered(), "what docs/emulator.md lists is there", documented - offered())
    tap.ok(not offered() - documented, "and it lists all", offered() - documented)


check_teaching()
check_mistakes()
check_allocations()
check_unasked()
check_watch()
check_errors()
check_tensor_cores()
check_wgmma()
check_texts()
check_documentation()
tap.finish()
