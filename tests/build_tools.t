#!/usr/bin/env python3
"""`make profileNN`, `make sanitizeNN` and `make sassNN` on any machine: with stand-ins for NVIDIA's
tools, and what they say where a tool is missing; and how every tool in Python ends whose output nobody
reads to its end."""

import glob
import os
import stat
import subprocess
import tempfile

import steps
import tap

PERMISSION = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access the counters"
COUNTS = r'''==PROF== Connected to process 42
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","42","step01","here","step_sgemm(sgemm)","1","7","(256, 1, 1)","(4, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","ns","3,026,600"
"0","42","step01","here","step_sgemm(sgemm)","1","7","(256, 1, 1)","(4, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","request","1,000"
"0","42","step01","here","step_sgemm(sgemm)","1","7","(256, 1, 1)","(4, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","4,000"
"0","42","step01","here","step_sgemm(sgemm)","1","7","(256, 1, 1)","(4, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","n/a"
'''  # fmt: skip


def tool(name, script):
    """A stand-in: a shell script of that name in the folder."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def printing(text):
    return f"cat <<'END'\n{text}\nEND\n"


def run(script, *arguments, **environment):
    command = ["python3"] if script.endswith(".py") else []
    path = os.path.join(steps.ROOT, "tests", script)
    clean = {"PATH": f"{folder}:/usr/bin:/bin"}
    return tap.run([*command, path, *arguments], environment={**clean, **environment})


def check_counters(program):
    result = run("counters.py", program, "4096", folder, NCU=tool("ncu", printing(COUNTS)))
    table = [" ".join(line.split()) for line in result.stdout.splitlines()]
    tap.ok(
        {"step_sgemm", "time 3.03 ms", "global loads 1,000 requests", "4 sectors/request"} <= set(table)
        and "DRAM read" not in result.stdout,
        "profile prints what ncu counted, and leaves out what it could not",
        result.stdout + result.stderr,
    )
    widest = max(map(len, result.stdout.splitlines()), default=0)
    tap.ok(0 < widest <= 100, "in no more than 100 columns")

    result = run("counters.py", program, "4096", folder, NCU=tool("ncu", printing(PERMISSION) + "exit 1\n"))
    tap.ok(
        result.returncode == 77 and result.stderr.count("\n") == 1 and "ERR_NVGPUCTRPERM" in result.stderr,
        "profile says in one line that the counters are closed",
        result.stderr,
    )
    result = run("counters.py", program, "4096", folder, NCU=tool("ncu", "echo no device; exit 3\n"))
    tap.ok(result.returncode == 3 and "no device" in result.stderr, "profile passes other errors on")

    os.remove(os.path.join(folder, "ncu"))
    if os.path.exists("/opt/nvidia/nsight-compute") or os.path.exists("/usr/bin/ncu"):
        tap.skip("profile without ncu", "ncu is here")
    else:
        result = run("counters.py", program, "4096", folder)
        tap.ok(result.returncode == 77 and "ncu is missing" in result.stderr, "profile without ncu")


def check_sanitize(program):
    result = run("sanitize.sh", program, "/nowhere")
    tap.ok(
        result.returncode == 77 and result.stderr.count("\n") == 1,
        "sanitize says in one line that compute-sanitizer is missing",
        result.stderr,
    )
    for failing in ("memcheck", "racecheck", "initcheck", "synccheck"):
        tool("compute-sanitizer", f'[ "$2" != {failing} ] || {{ echo a report; exit 1; }}\n')
        result = run("sanitize.sh", program, "/nowhere")
        tap.ok(
            result.returncode != 0 and f"{failing:10} REPORTS:\na report" in result.stdout,
            f"sanitize fails when {failing} reports",
            result.stdout,
        )
    tool("compute-sanitizer", "exit 0\n")
    result = run("sanitize.sh", program, "/nowhere")
    tap.ok(result.returncode == 0 and result.stdout.count("nothing to report") == 8, "or else passes")
    result = run("sanitize.sh", tool("broken", "echo broken >&2; exit 3\n"), "/nowhere")
    tap.ok(result.returncode == 3, "sanitize does not start where the program fails by itself")


def check_sass():
    result = run("sass.sh", "step.o", "/nowhere", PATH="/usr/bin:/bin")
    if result.returncode != 77:
        tap.skip("sass without a disassembler", "there is one in /usr/bin")
    else:
        tap.ok(
            result.stderr.count("\n") == 1 and "CUOBJDUMP=" in result.stderr,
            "sass says in one line how to get a disassembler",
            result.stderr,
        )


def check_closed_pipe():
    """As in `make tries | head`: without a word, and a judge does not say that all is well."""
    sheet = os.path.join(folder, "step01-predict.txt")
    with open(sheet, "w", encoding="utf-8") as file:
        file.write("")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTHON"))}
    for status, command in (
        (0, "make tries"),
        (0, "python3 docs/variants.py source 00-unchecked"),
        (0, "python3 tests/diffs.py"),
        (1, f"python3 common/labs/check.py 01-predict --folder {folder}"),
    ):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run(command.split(), cwd=steps.ROOT, env=clean, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        tap.ok(
            (result.returncode, result.stderr) == (status, ""),
            f"a closed pipe: {command.replace(folder, 'FOLDER')}",
            f"exit {result.returncode}\n{result.stderr}",
        )
    sources = [path for place in ("docs", "common/labs", "tests") for path in glob.glob(f"{steps.ROOT}/{place}/*.py")]
    programs = {path: steps.text(path).partition('\nif __name__ == "__main__":\n')[2] for path in sources}
    others = [path for path, end in programs.items() if end and "tool.run(" not in end and "labs.run(" not in end]
    tap.ok(len(others) == 0 and any(programs.values()), "every tool in Python ends in this way", others)


with tempfile.TemporaryDirectory() as folder:
    working = tool("program", "exit 0\n")
    check_counters(working)
    check_sanitize(working)
    check_sass()
    check_closed_pipe()
tap.finish()
