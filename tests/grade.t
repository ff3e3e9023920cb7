#!/usr/bin/env python3
"""Grading: forty submissions, right, wrong, endless and dishonest, give the table that they have to give;
a run goes on where another was interrupted; results are in the formats that Gradescope and GitHub Classroom
read.
"""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "common", "labs"))
import labs  # noqa: E402
import submissions  # noqa: E402

LAB = "01"
SECRET = "0123456789abcdef-a-secret-of-this-test"
STEP = labs.solution(LAB)
SECONDS = 5

LOOP = """    for (int64_t p = 0; p < problem.k; p++)
        sum += problem.A[row * problem.lda + p] * problem.B[p * problem.ldb + col];
"""
LAUNCH = "    step_sgemm<<<(unsigned)tiles, THREADS, 0, stream>>>(p);\n"
INCLUDE = '#include "step.h"\n'
PREPARE, RELEASE = "    .prepare = NULL,\n", "    .release = NULL,\n"


def changed(*pairs):
    """The step with each first text in place of the second, which has to be there."""
    text = STEP
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def first_in(function, statement, text=STEP):
    """With a statement at the beginning of a host function."""
    head = f"static cudaError_t {function}(const struct sgemm *problem, cudaStream_t stream)\n{{\n"
    assert text.count(head) == 1
    return text.replace(head, head + statement)


def host_only(body):
    """A launch that starts no kernel for the product."""
    return changed((LAUNCH, body))


# What is handed in, and what it has to get: points of 90, and a word of the remark.
RIGHT = {
    "course": (STEP, 90, ""),
    "backwards": (changed((LOOP, LOOP.replace("p = 0; p < problem.k; p++", "p = problem.k - 1; p >= 0; p--"))), 90, ""),
    "two-sums": (
        changed((LOOP, """    float odd = 0;
    for (int64_t p = 0; p < problem.k; p++)
        *(p % 2 ? &odd : &sum) += problem.A[row * problem.lda + p] * problem.B[p * problem.ldb + col];
    sum += odd;
""")),
        90,
        "",
    ),
    "own-workspace": (
        changed(
            ("static cudaError_t launch", """static cudaError_t prepare(struct sgemm *p)
{
    return cudaMalloc(&p->workspace, 4096);
}

static cudaError_t release(struct sgemm *p)
{
    return cudaFree(p->workspace);
}

static cudaError_t launch"""),
            (PREPARE, "    .prepare = prepare,\n"),
            (RELEASE, "    .release = release,\n"),
        ),
        90,
        "",
    ),
    "prints-too": (
        first_in("launch", '    printf("90 of 90 points\\n");\n', changed((INCLUDE, INCLUDE + "#include <stdio.h>\n"))),
        90,
        "",
    ),
    "korean": (changed((LOOP, "    // 행과 열\n" + LOOP)).encode("euc-kr"), 90, ""),
}  # fmt: skip

# Right, but not as the counters want it.
COLUMNS_FIRST = changed(
    ("TILE_M + threadIdx.x / TILE_N;", "TILE_M + threadIdx.x % TILE_M;"),
    ("TILE_N + threadIdx.x % TILE_N;", "TILE_N + threadIdx.x / TILE_M;"),
)
SLOW = {"columns-first": (COLUMNS_FIRST, 70, "sectors")}

WRONG = {
    "unsolved": (labs.unsolved(LAB), 0, "WRONG"),
    "ldb-is-n": (changed(("p * problem.ldb", "p * problem.n")), 0, ""),
    "last-term": (changed(("p < problem.k; p++", "p < problem.k - 1; p++")), 0, "WRONG"),
    "reads-c": (changed(("beta == 0 ? alpha * sum : ", "")), 0, ""),
    "no-beta": (changed(("beta == 0 ? alpha * sum : alpha * sum + beta * *c", "alpha * sum")), 0, "WRONG"),
    "all-nan": (changed((LOOP, "    sum = nanf(\"\");\n")), 0, "WRONG"),
    "not-stored": (changed(("    store(&", "    if (row > 0)\n        store(&")), 0, "WRONG"),
    "writes-padding": (
        changed(("|| col >= problem.n)", "|| col >= problem.ldc)"),
                ("problem.B[p * problem.ldb + col]", "problem.B[p * problem.ldb + (col < problem.n ? col : 0)]")),
        0, "",
    ),
    "known-shapes": (
        host_only("    if ((p.m == 64 && p.n == 64) || (p.m == 128 && p.n == 128))\n    " + LAUNCH), 0, "WRONG",
    ),
}  # fmt: skip

NOT_CLEAN = {
    "racing": (
        changed(("    float sum = 0;\n", """    __shared__ volatile int shared[1];
    shared[0] = threadIdx.x;
    float sum = 0 * shared[0];
""")),
        50, "race",
    ),
    "out-of-bounds": (
        changed((LOOP, LOOP + "    if (problem.A[problem.m * problem.lda + 100000] == 1)\n        sum += 0;\n")),
        0, "out of bounds",
    ),
    "leaking": (first_in("launch", "    void *lost;\n    cudaMalloc(&lost, 64);\n"), 50, "leak"),
}  # fmt: skip

BROKEN = {
    "no-semicolon": (changed(("float sum = 0;", "float sum = 0")), 0, "error"),
    "no-cuda": ("int main(void) { return 0; }\n", 0, "main"),
    "bytes": (bytes(range(256)) * 4, 0, "error"),
    "includes-zero": (changed((INCLUDE, INCLUDE + '#include "/dev/zero"\n')), 0, ""),
    "host-crash": (first_in("launch", "    *(volatile float *)problem->C = 0;\n"), 0, "crashed"),
    "host-hang": (first_in("launch", "    for (volatile int i = 0; i < 1; i = i)\n        ;\n"), 0, "every loop"),
    "kernel-hang": (changed((LOOP, "    for (volatile int i = 0; i < 1; i = i)\n        ;\n")), 0, "in time"),
    "kernel-waits": (changed(("p < problem.k; p++", "problem.k > 0; p += 0")), 0, "deadlock"),
    "kernel-prints": (
        changed((INCLUDE, INCLUDE + "#include <stdio.h>\n"),
                (LOOP, '    for (volatile int i = 0; i < 1; i = i)\n        printf("90 of 90 points %d\\n", i);\n')),
        0, "",
    ),
}  # fmt: skip

SYSTEM_CALL = """static long call(long number, long a, long b, long c)
{
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

"""
HOST_PRODUCT = """    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            float sum = 0;
            for (int64_t x = 0; x < p.k; x++)
                sum += p.A[i * p.lda + x] * p.B[x * p.ldb + j];
            p.C[i * p.ldc + j] = p.alpha * sum + p.beta * (p.beta == 0 ? 0 : p.C[i * p.ldc + j]);
        }
    (void)stream;
"""


def assembly(number, *arguments):
    """A system call that asks no library: 57 forks, 60 ends, 2 opens."""
    call = f"    call({number}, {', '.join([*arguments, '0', '0', '0'][:3])});\n"
    return first_in("launch", call, changed((INCLUDE, INCLUDE + SYSTEM_CALL)))


def calling(header, statement):
    return first_in("launch", statement, changed((INCLUDE, INCLUDE + f"#include <{header}>\n")))


DISHONEST = {
    "forged-output": (
        calling("stdio.h", '    puts("ok correct 50 of 50");\n    return cudaSuccess;\n'), 0, "WRONG",
    ),
    "exits-early": (calling("stdlib.h", "    exit(0);\n"), 0, "wants exit"),
    "exits-by-assembly": (assembly(60), 0, "ended"),
    "calls-cublas": (
        calling("cublas_v2.h", """    cublasHandle_t handle;
    if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
        return cudaSuccess;
"""), 0, "wants cublas",
    ),
    "copies-back": (
        first_in("launch", "    float x;\n    cudaMemcpy(&x, problem->A, 4, cudaMemcpyDeviceToHost);\n"),
        0, "wants cudaMemcpy",
    ),
    "computes-on-host": (host_only(HOST_PRODUCT), 0, "crashed"),
    "answers-from-cache": (
        changed((LAUNCH, "    static bool done;\n    if (!done)\n    " + LAUNCH + "    done = true;\n")), 0, "WRONG",
    ),
    "forks": (calling("unistd.h", "    while (fork() >= 0)\n        ;\n"), 0, "wants fork"),
    "forks-by-assembly": (assembly(57), 0, "did what it may not"),
    "writes-files": (
        calling("stdio.h", '    fclose(fopen("forged.json", "w"));\n'), 0, "wants f",
    ),
    "early-constructor": (
        changed((INCLUDE, INCLUDE + SYSTEM_CALL + "__attribute__((constructor(101))) static void early(void)\n"
                 '{\n    call(2, (long)"/tmp/forged", 65, 511);\n}\n\n')), 0, "did what it may not",
    ),
    "own-prctl": (
        changed((INCLUDE, INCLUDE + 'extern "C" int prctl(int option, ...)\n{\n    return option * 0;\n}\n\n')), 0, "defines prctl",
    ),
    "reads-secret": (calling("stdlib.h", '    if (getenv("SECRET"))\n        return cudaSuccess;\n'), 0, "wants getenv"),
    "includes-secret": ("SECRET_PATH", 0, "includes a file"),
    "embeds-secret": ("SECRET_BYTES", 0, "holds the secret"),
}  # fmt: skip

EVERY = {**RIGHT, **SLOW, **WRONG, **NOT_CLEAN, **BROKEN, **DISHONEST}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def with_secret(content):
    path = os.path.join(scratch, "secret")
    if content == "SECRET_PATH":
        return changed((INCLUDE, INCLUDE + f'#ifdef __CUDA_ARCH__\n#include "{path}"\n#endif\n'))
    if content == "SECRET_BYTES":
        return changed((INCLUDE, INCLUDE + f'asm(".section .rodata\\n.incbin \\"{path}\\"\\n.text");\n'))
    return content


def hand_in():
    write(os.path.join(scratch, "secret"), SECRET + "\n")
    for number, (name, (content, _, _)) in enumerate(EVERY.items()):
        path = f"{name}/step01.cu" if number % 2 else f"{name}.cu"
        write(os.path.join(class_folder, path), with_secret(content))


def grade(folder, *more, out="out", lab=LAB, environment=None):
    return tap.make("-s", "grade", f"SUBMISSIONS={folder}", f"LAB={lab}", f"OUT={os.path.join(scratch, out)}",
                    f"SECONDS={SECONDS}", *more)  # fmt: skip


def results(out="out"):
    folder = os.path.join(scratch, out, "results")
    read = [json.loads(steps.text(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]
    return {result["student"]: result for result in read}


def check_class():
    begun = time.time()
    result = grade(class_folder, f"SECRET={scratch}/secret")
    tap.ok(result.returncode == 0 and not result.stderr.strip(), f"{len(EVERY)} submissions in {time.time() - begun:.0f} s",
           result.stdout + result.stderr)  # fmt: skip
    table = results()
    for name, (_, points, word) in EVERY.items():
        got = table.get(name, {"points": None, "remark": ""})
        tap.ok(got["points"] == points and word in got["remark"], f"{name}: {points} of 90 {word}", json.dumps(got, indent=1))
    rows = list(csv.DictReader(io.StringIO(steps.text(os.path.join(scratch, "out", "summary.csv")))))
    tap.ok({row["student"]: int(row["points"]) for row in rows} == {name: points for name, (_, points, _) in EVERY.items()},
           "summary.csv says the same", rows)  # fmt: skip
    leaked = [name for name, one in table.items() if SECRET[:8] in json.dumps(one)]
    tap.ok(not leaked and SECRET[:8] not in result.stdout, "nobody is told the secret", leaked)
    tap.ok(not os.path.exists("/tmp/forged"), "nothing has been written")


scratch = tempfile.mkdtemp(prefix="grade-test-")
class_folder = os.path.join(scratch, "class")
try:
    hand_in()
    check_class()
finally:
    if not os.environ.get("KEEP"): shutil.rmtree(scratch)
tap.finish()
