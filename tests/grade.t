#!/usr/bin/env python3
"""Grading: forty submissions, right, wrong, endless and dishonest, give the table that they have to give;
a run goes on where another was interrupted; results are in the formats that Gradescope and GitHub Classroom
read.
"""

import base64
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
import zipfile

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "common", "labs"))
import check  # noqa: E402
import grade as grading  # noqa: E402
import labs  # noqa: E402
import submissions  # noqa: E402

LAB = "01"
SECRET = "0123456789abcdef-a-secret-of-this-test"
STEP = labs.solution(LAB)
SECONDS = 3
STANDARD = "LAB_STANDARD=-std=c++14"  # nvcc reads CUDA's headers in half the time

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


def topped(top):
    """The step with something before all of its own."""
    return changed((INCLUDE, INCLUDE + top))


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
        first_in("launch", '    printf("90 of 90 points\\n");\n', topped("#include <stdio.h>\n")),
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
    "many-kernels": (
        topped("".join(f"static __global__ void k{i}(void)\n{{\n}}\nstatic void *volatile k{i}_here = (void *)k{i};\n" for i in range(33))),
        0, "32 kernels",
    ),
    "bytes": (bytes(range(256)) * 4, 0, "error"),
    "includes-zero": (topped('#include "/dev/zero"\n'), 0, ""),
    "host-crash": (first_in("launch", "    *(volatile float *)problem->C = 0;\n"), 0, "crashed"),
    "host-hang": (first_in("launch", "    for (volatile int i = 0; i < 1; i = i)\n        ;\n"), 0, "every loop"),
    "kernel-hang": (
        changed((LOOP, "    for (int64_t p = 0; p < INT64_MAX; p++)\n        sum = sum / 2 + problem.alpha;\n")),
        0, "in time",
    ),
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
    return first_in("launch", call, topped(SYSTEM_CALL))


def calling(header, statement):
    return first_in("launch", statement, topped(f"#include <{header}>\n"))


def elsewhere(function, slot):
    """All is done where nothing is counted or timed; the launch starts no kernel."""
    return changed(
        ("static cudaError_t launch(", "static cudaError_t work("),
        ("const struct step step01", f"""static cudaError_t {function}(struct sgemm *problem)
{{
    return work(problem, NULL);
}}

static cudaError_t idle(const struct sgemm *problem, cudaStream_t stream)
{{
    return problem != NULL && stream == NULL ? cudaSuccess : cudaErrorInvalidValue;
}}

const struct step step01"""),
        (".launch = launch", ".launch = idle"),
        (slot, f"    .{function} = {function},\n"),
    )  # fmt: skip


DISHONEST = {
    "copies-result": (
        # At 64x64 the emulator puts what the harness allocates after C so many bytes behind it.
        changed((LOOP, ""), ("    store(&problem.C[row * problem.ldc + col], problem.alpha, sum, problem.beta);\n",
                             "    const float *c = &problem.C[row * problem.ldc + col];\n"
                             "    store((float *)c, 0, sum, 0);\n    *(float *)c = *(c + 266240);\n")),
        0, "WRONG at m=64 n=64 k=64 (exact",
    ),
    "works-in-prepare": (elsewhere("prepare", PREPARE), 0, "WRONG"),
    "works-in-release": (elsewhere("release", RELEASE), 0, "WRONG"),
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
    "garbles-messages": (
        first_in("launch", "    static char rubbish[8192];\n    memset(rubbish, 255, 8192);\n"
                 "    call(1, 3, (long)rubbish, 8192);\n", topped("#include <string.h>\n" + SYSTEM_CALL)),
        0, "no request",
    ),
    "eats-memory": (
        calling("stdlib.h", "    static void *volatile kept;\n    for (int i = 0; i < 4096; i++)\n"
                "        kept = malloc(1 << 20);\n    (void)kept;\n"), 0, "1 MiB of memory",
    ),
    "runs-before-all": (
        topped('asm(".type early, @gnu_indirect_function\\nearly: ret");\n'), 0, "defines early",
    ),
    "early-constructor": (
        topped(SYSTEM_CALL + "__attribute__((constructor(101))) static void early(void)\n"
               '{\n    call(2, (long)"/tmp/forged", 65, 511);\n}\n\n'), 0, "did what it may not",
    ),
    "own-prctl": (
        topped('extern "C" int prctl(int option, ...)\n{\n    return option * 0;\n}\n\n'), 0, "defines prctl",
    ),
    "unique-prctl": (
        topped('asm(".globl prctl\\n.type prctl, @gnu_unique_object\\nprctl: ret");\n'), 0, "defines prctl",
    ),
    "one-of-many": (
        topped('asm(".altmacro\\n.macro many\\n.set ' + "a" * 220 + '\\\\@, 0\\n.endm\\n.rept 6000\\nmany\\n.endr\\n"\n'
               '    ".globl prctl\\nprctl: ret");\n'), 0, "too many names",
    ),
    "many-words": (topped(f'#define WORDS "{"x" * 1000}"\n' + "#pragma message(WORDS)\n" * 1200), 0, "more to say"),
    "own-relocation": (
        topped('asm(".pushsection .rela.ifunc, \\"a\\"\\n.quad 0, 37, 0\\n.popsection");\n'), 0, "a section .rela.ifunc",
    ),
    "weak-object": (
        topped('asm(".weak system\\n.type system, @object\\n.quad system");\n'), 0, "wants system",
    ),
    "reads-secret": (
        calling("stdlib.h", '    if (getenv("SECRET"))\n        return cudaSuccess;\n'), 0, "wants getenv",
    ),
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
        return topped(f'#ifdef __CUDA_ARCH__\n#include "{path}"\n#endif\n')
    if content == "SECRET_BYTES":
        return topped(f'asm(".section .rodata\\n.incbin \\"{path}\\"\\n.text");\n')
    return content


def hand_in():
    write(os.path.join(scratch, "secret"), SECRET + "\n")
    for number, (name, (content, _, _)) in enumerate(EVERY.items()):
        path = f"{name}/step01.cu" if number % 2 else f"{name}.cu"
        write(os.path.join(class_folder, path), with_secret(content))


def grade(folder, *more, out="out", lab=LAB):
    return tap.make("-s", "grade", f"SUBMISSIONS={folder}", f"LAB={lab}", f"OUT={os.path.join(scratch, out)}",
                    f"SECONDS={SECONDS}", STANDARD, *more)  # fmt: skip


def results(out="out"):
    folder = os.path.join(scratch, out, "results")
    read = [json.loads(steps.text(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]
    return {result["student"]: result for result in read}


def check_class():
    begun = time.time()
    result = grade(class_folder, f"SECRET={scratch}/secret")
    took = f"{len(EVERY)} submissions in {time.time() - begun:.0f} s"
    tap.ok(result.returncode == 0 and not result.stderr.strip(), took, result.stdout + result.stderr)
    table = results()
    for name, (_, points, word) in EVERY.items():
        got = table.get(name, {"checks": [], "remark": ""})
        good = got["checks"] and without_speed(got) == points and word in got["remark"]
        tap.ok(good, f"{name}: {points} of 90 {word}", json.dumps(got, indent=1))
    rows = list(csv.DictReader(io.StringIO(steps.text(os.path.join(scratch, "out", "summary.csv")))))
    same = all(int(row["points"]) == table[row["student"]]["points"] for row in rows)
    tap.ok(same and [row["student"] for row in rows] == sorted(EVERY), "summary.csv says the same", rows)
    leaked = [name for name, one in table.items() if SECRET[:8] in json.dumps(one)]
    tap.ok(not leaked and SECRET[:8] not in result.stdout, "nobody is told the secret", leaked)
    tap.ok(not os.path.exists("/tmp/forged"), "nothing has been written")


def without_speed(result):
    """The points but those for speed, which only a GPU can give."""
    return sum(one["points"] for one in result["checks"] if one["name"] != "speed")


def times(out="out"):
    folder = os.path.join(scratch, out, "results")
    return {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}


def check_seed():
    """Each run of a kernel has inputs that nobody knows beforehand, the counted and the timed one, too."""
    judged, rates = [], []
    grader = grading.Grader.__new__(grading.Grader)
    grader.lab, grader.gpu, grader.build = LAB, True, lambda content, folder: "guest"
    grader.program, grader.rate = lambda *parts: parts, lambda *parts: rates.append(parts[-1])
    before, check.judge = check.judge, lambda *given: judged.append(given)
    grader.judge_kernel(submissions.Submission("a", "a.cu", b"x"), ["-s 64"], "--seed 7")
    check.judge = before
    _, _, shapes, rate, counted = judged[0]
    rate()
    tap.ok([*shapes, counted, *rates] == ["-s 64 --seed 7", "--seed 7", "--seed 7"], "a seed for every run", judged)


def check_again():
    """What has been graded stays; what has changed is graded anew."""
    write(os.path.join(class_folder, "course.cu"), changed((LOOP, "")))
    before = times()
    result = grade(class_folder, f"SECRET={scratch}/secret")
    after = times()
    kept = f"{len(EVERY) - 1} of {len(EVERY)} are graded already"
    tap.ok(kept in result.stdout, "all but one are kept", result.stdout)
    tap.ok([name for name in after if before[name] != after[name]] == ["course.json"], "and the changed one is not")
    tap.ok(results()["course"]["points"] == 0, "but has a new result")


# Names, and what is no submission at all.
ODD = {
    "empty.cu": (b"", "the file is empty"),
    "huge.cu": (b"//" + b"x" * (1 << 20), "more than 1 MiB"),
    "notes.txt": (b"hello", "neither a .cu file nor a folder"),
    "two-files/a.cu": (b"x", "2 .cu files"),
    "two-files/b.cu": (b"x", "2 .cu files"),
}
STRANGE = [b"$(touch x); 'a' b.cu", b"\xff\xfe.cu", b"=cmd.cu", b"-rf.cu", "\ud55c\uae00.cu".encode(),
           b"n" * 240 + b".cu", b"new\nline.cu"]  # fmt: skip


# By student, what is said of it.
WORDS = {
    "empty": "empty", "huge": "more than 1 MiB", "notes.txt": "neither", "two-files": "2 .cu files",
    "nothing": "no step01.cu", "pipe": "no regular file", "link.cu": "a link", "linking": "a link",
    "twice.cu": "same student", "twice": "error",
}  # fmt: skip


def hand_in_odd(folder):
    for name, (content, _) in ODD.items():
        write(os.path.join(folder, name), content)
    for name in STRANGE:
        write(os.path.join(os.fsencode(folder), name), b"int x = ;\n")
    os.makedirs(os.path.join(folder, "nothing"))
    os.makedirs(os.path.join(folder, "pipe"))
    os.mkfifo(os.path.join(folder, "pipe", "step01.cu"))
    os.symlink(os.path.join(scratch, "secret"), os.path.join(folder, "link.cu"))
    os.makedirs(os.path.join(folder, "linking"))
    os.symlink(os.path.join(scratch, "secret"), os.path.join(folder, "linking", "step01.cu"))
    for twice in (b"twice", b"\xfd"):
        write(os.path.join(os.fsencode(folder), twice + b".cu"), b"x")
        write(os.path.join(os.fsencode(folder), twice, b"step01.cu"), b"x")


def check_odd():
    folder = os.path.join(scratch, "odd")
    hand_in_odd(folder)
    result = grade(folder, out="odd-out")
    table = results("odd-out")
    tap.ok(result.returncode == 0, "odd names and files are no reason to stop", result.stdout + result.stderr)
    tap.ok(len(table) == len(os.listdir(folder)), "each has its result", sorted(table))
    for student, word in WORDS.items():
        remark = table.get(student, {"remark": ""})["remark"]
        tap.ok(word in remark and "\n" not in remark, f"{student}: {word}", remark)
    names = [submissions.file_name(os.fsdecode(name[:-3])) for name in STRANGE]
    plain = all(name.isascii() and len(name) < 200 and not set(name) & set(" /'$\n") for name in names)
    tap.ok(plain and len(set(names)) == len(names), "plain names for results", names)
    summary = steps.text(os.path.join(scratch, "odd-out", "summary.csv"))
    tap.ok("\n'=cmd," in summary, "no formula for a spreadsheet", summary)
    printable = all(line.isprintable() for line in result.stdout.split("\n"))
    tap.ok(printable, "what is printed can be printed", result.stdout)


def check_secret():
    """Shapes differ by student and by secret, and not from one run to the next; inputs differ always."""
    pick = lambda result: [shape.rpartition(" --seed")[0] for shape in result["shapes"]]  # noqa: E731
    table = results()
    tap.ok(pick(table["unsolved"]) != pick(table["last-term"]), "shapes differ by student")
    folder = os.path.join(scratch, "one")
    write(os.path.join(folder, "unsolved.cu"), "int x = ;\n")
    write(os.path.join(scratch, "other"), "another secret, as long\n")
    for secret in ("secret", "other"):
        grade(folder, f"SECRET={scratch}/{secret}", out=f"{secret}-out")
    mine, other = results("secret-out")["unsolved"], results("other-out")["unsolved"]
    again = pick(mine) == pick(table["unsolved"]) and mine["shapes"] != table["unsolved"]["shapes"]
    tap.ok(again, "same shapes, other inputs", mine["shapes"])
    tap.ok(pick(other) != pick(mine), "shapes differ by secret")


def check_interrupt():
    """Ctrl-C ends all that runs, and keeps what is done; the same command goes on."""
    folder, out = os.path.join(scratch, "long"), os.path.join(scratch, "long-out")
    for number in range(5):
        write(os.path.join(folder, f"student{number}.cu"), STEP + f"// {number}\n")
    command = ["make", "-s", "grade", f"SUBMISSIONS={folder}", f"LAB={LAB}", f"OUT={out}", "JOBS=1",
               f"SECONDS={SECONDS}", STANDARD]  # fmt: skip
    run = subprocess.Popen(command, cwd=steps.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)  # fmt: skip
    first = run.stdout.readline()
    os.killpg(run.pid, signal.SIGINT)
    begun = time.time()
    _, said = run.communicate()
    told = "what has been graded is kept" in said and "Traceback" not in said
    tap.ok(run.returncode != 0 and told, "Ctrl-C says so", said)
    tap.ok(time.time() - begun < 20, "at once")
    done = len(os.listdir(os.path.join(out, "results")))
    tap.ok(0 < done < 5, f"{done} of 5 are done", first)
    result = grade(folder, out="long-out")
    went_on = f"{done} of 5 are graded already" in result.stdout and len(results("long-out")) == 5
    tap.ok(went_on, "and it goes on", result.stdout)


def check_machine_code():
    """As where there is a GPU: its machine code holds the PTX's text for debuggers, too."""
    folder = os.path.join(scratch, "machine-code")
    write(os.path.join(folder, "ada.cu"), STEP)
    result = grade(folder, "GRADED_FOR=-gencode arch=compute_90,code=[sm_90,compute_90]", out="out-code")
    got = results("out-code").get("ada", {"checks": []})
    tap.ok(without_speed(got) == 90, "machine code for a GPU beside the PTX", result.stdout + result.stderr)


def check_other_labs():
    """A lab with textures and a workspace, a hunt, and a sheet of numbers."""
    folder = os.path.join(scratch, "textures")
    write(os.path.join(folder, "found.cu"), labs.solution("08"))
    grade(folder, out="textures-out", lab="08")
    tap.ok(without_speed(results("textures-out")["found"]) == 90, "lab 08", results("textures-out"))
    folder = os.path.join(scratch, "hunt")
    write(os.path.join(folder, "found.cu"), labs.solution("01-hunt"))
    write(os.path.join(folder, "not-found.cu"), labs.unsolved("01-hunt"))
    grade(folder, out="hunt-out", lab="01-hunt")
    points = {name: one["points"] for name, one in results("hunt-out").items()}
    tap.ok(points == {"found": 100, "not-found": 0}, "a hunt", points)
    folder = os.path.join(scratch, "numbers")
    write(os.path.join(folder, "half.txt"), "load_requests = 131072\nsectors_per_load = 2.5\nsectors_per_store = 1\n")
    write(os.path.join(folder, "none.txt"), "\33[31m three\n")
    broken = os.path.join(scratch, "numbers-out", "results", "none.json")
    write(broken, "[]")
    said = grade(folder, out="numbers-out", lab="01-predict").stdout
    tap.ok("no `name = number`: ?[31m" in said, "what a student wrote cannot steer a terminal", said)
    points = {name: one["points"] for name, one in results("numbers-out").items()}
    tap.ok(points == {"half": 67, "none": 0}, "a sheet of numbers", points)


# ---------------------------------------------------------------------------- formats

GRADESCOPE = {
    "score": (int, float), "execution_time": (int, float), "output": str, "output_format": str, "visibility": str,
    "stdout_visibility": str, "extra_data": dict, "tests": list, "leaderboard": list,
}  # fmt: skip
GRADESCOPE_TEST = {
    "score": (int, float), "max_score": (int, float), "status": str, "name": str, "number": str, "output": str,
    "tags": list, "visibility": str,
}  # fmt: skip
CLASSROOM = {"version": int, "status": str, "max_score": (int, float), "tests": list}
CLASSROOM_TEST = {
    "name": str, "status": str, "score": (int, float), "message": str, "test_code": str, "filename": str,
    "line_no": int, "duration": (int, float),
}  # fmt: skip
VISIBLE = ("visible", "hidden", "after_due_date", "after_published")


def misfits(value, kinds):
    """What does not have exactly these fields of these types."""
    wrong = [f"{name}: {value.get(name)!r}" for name, kind in kinds.items() if not isinstance(value.get(name), kind)]
    return wrong + sorted(set(value) - set(kinds))


def misfits_of(value, kinds, test_kinds):
    return misfits(value, kinds) + [misfit for test in value["tests"] for misfit in misfits(test, test_kinds)]


def check_points(value, points):
    """The points but those for speed, which only a GPU can give."""
    got = sum(test["score"] for test in value["tests"] if test["name"] != "speed")
    tap.ok(got == points, f"{points} points", value)


def check_gradescope(value, points):
    wrong = misfits_of(value, GRADESCOPE, GRADESCOPE_TEST)
    words = all(test["status"] in ("passed", "failed") and test["visibility"] in VISIBLE for test in value["tests"])
    words = words and value["visibility"] in VISIBLE and value["stdout_visibility"] in VISIBLE
    words = words and value["output_format"] in ("text", "simple_format", "html", "md", "ansi")
    tap.ok(not wrong and words, "the fields of Gradescope's results.json", wrong or value)
    tap.ok(value["score"] == sum(test["score"] for test in value["tests"]), "the sum", value)
    check_points(value, points)


def check_classroom(text, status, points):
    value = json.loads(base64.b64decode(text, validate=True))
    wrong = misfits_of(value, CLASSROOM, CLASSROOM_TEST)
    words = value["version"] == 1 and all(test["status"] in ("pass", "fail", "error") for test in value["tests"])
    tap.ok(not wrong and words and value["status"] == status, "the fields of GitHub Classroom's result", wrong or value)
    check_points(value, points)


def check_formats():
    script = "common/labs/formats.py"
    for name, points, status in (("backwards", 90, "pass"), ("columns-first", 70, "fail"), ("forks", 0, "error")):
        path = os.path.join(scratch, "out", "results", name + ".json")
        check_gradescope(json.loads(tap.run(["python3", script, "gradescope", path]).stdout), points)
        check_classroom(tap.run(["python3", script, "classroom", path]).stdout.strip(), status, points)
    result = tap.run(["python3", script, "classroom", "nothing.json"])
    tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1, "no result: one line", result.stderr)


def check_classroom_command():
    write(os.path.join(steps.ROOT, CLASS, "step01.cu"), STEP)
    for lab, status, points in (("01", "pass", 90), ("02", "error", 0)):
        result = tap.run(["python3", "common/labs/classroom.py", lab, "--folder", CLASS])
        last = result.stdout.splitlines()[-1]
        one_line = last.startswith("result=") and result.stdout.count("\n") == 1
        tap.ok(result.returncode == 0 and one_line, f"classroom.py {lab}", result.stdout + result.stderr)
        check_classroom(last[len("result=") :], status, points)


def unpack(archive, folder):
    """As unzip does it: with permissions, and with the old date, before that of what has been built."""
    with zipfile.ZipFile(archive) as file:
        for entry in file.infolist():
            path = file.extract(entry, folder)
            os.chmod(path, entry.external_attr >> 16 & 0o777)
            os.utime(path, (0, 0))


def share_objects(here, there):
    """What is built of the harness and the emulator, and with which flags: it need not be built again."""
    shutil.copytree(os.path.join(here, "common"), os.path.join(there, "common"), copy_function=shutil.copy2)
    for entry in os.scandir(here):
        if entry.is_file():
            shutil.copy2(entry.path, there)


def check_autograder():
    """The zip that Gradescope gets, run as it runs there, in a folder of its own."""
    archive, root = os.path.join(scratch, "a.zip"), os.path.join(scratch, "autograder")
    result = tap.make("-s", "autograder", f"LAB={LAB}", f"SECRET={scratch}/secret", f"OUT={archive}")
    tap.ok(result.returncode == 0, "make autograder", result.stderr)
    unpack(archive, os.path.join(root, "source"))
    scripts = [os.path.join(root, "source", name) for name in ("setup.sh", "run_autograder")]
    tap.ok(all(os.access(script, os.X_OK) for script in scripts), "two scripts that can be run")
    if shutil.which("shellcheck"):
        result = tap.run(["shellcheck", *scripts])
        tap.ok(result.returncode == 0, "and shellcheck says nothing", result.stdout)
    write(os.path.join(root, "submission", "mine.cu"), STEP)
    write(os.path.join(root, "submission_metadata.json"), json.dumps({"users": [{"email": "a@b.c", "name": "A"}]}))
    os.makedirs(os.path.join(root, "results"))
    course = os.path.join(root, "source", "course")
    share_objects(os.path.join(steps.ROOT, "build"), os.path.join(course, "build"))
    result = tap.run(["python3", "common/labs/gradescope.py", "run", "--root", root], folder=course)
    tap.ok(result.returncode == 0, "it grades a submission", result.stdout + result.stderr)
    check_gradescope(json.loads(steps.text(os.path.join(root, "results", "results.json"))), 90)


def check_bad_calls():
    write(os.path.join(scratch, "short"), "secret\n")
    os.makedirs(os.path.join(scratch, "nobody"))
    for arguments in (
        ["SUBMISSIONS=" + class_folder],
        ["LAB=01"],
        ["LAB=01", "SUBMISSIONS=" + scratch + "/none"],
        ["LAB=01", "SUBMISSIONS=" + scratch + "/nobody"],
        ["LAB=99", "SUBMISSIONS=" + class_folder],
        ["LAB=00", "SUBMISSIONS=" + class_folder],
        ["LAB=01", "SUBMISSIONS=" + class_folder, "SECRET=" + scratch + "/none"],
        ["LAB=01", "SUBMISSIONS=" + class_folder, "SECRET=" + scratch + "/short"],
        ["LAB=01", "SUBMISSIONS=" + class_folder, "JOBS=0"],
        ["LAB=01", "SUBMISSIONS=" + class_folder, "JOBS=-x"],
        ["LAB=01", "SUBMISSIONS=it's"],
        ["LAB=01", "SUBMISSIONS=" + class_folder, f"OUT={class_folder}/out"],
        ["LAB=01", "SUBMISSIONS=" + class_folder, f"OUT={scratch}/short"],
    ):
        out = [] if arguments[-1].startswith("OUT=") else [f"OUT={scratch}/bad"]
        result = tap.make("-s", "grade", *arguments, *out)
        said = [line for line in result.stderr.splitlines() if not line.startswith("make: ***")]
        tap.ok(result.returncode == 2 and len(said) <= 1, f"make grade {' '.join(arguments)}", result.stderr)
    for arguments in (["LAB=00"], ["LAB=01", f"SECRET={scratch}/short"], ["LAB=01", f"OUT={scratch}"]):
        result = tap.make("-s", "autograder", f"OUT={scratch}/bad.zip", *arguments)
        said = result.stderr.startswith("gradescope.py: ") and not os.path.exists(scratch + "/bad.zip")
        tap.ok(result.returncode == 2 and said, f"make autograder {' '.join(arguments)}", result.stderr)


CLASS = "labs/.grade-test"  # nobody's files are there
scratch = tempfile.mkdtemp(prefix="grade-test-")
class_folder = os.path.join(scratch, "class")
try:
    hand_in()
    check_class()
    check_formats()
    check_secret()
    check_seed()
    check_again()
    check_odd()
    check_interrupt()
    check_machine_code()
    check_other_labs()
    check_classroom_command()
    check_autograder()
    check_bad_calls()
finally:
    shutil.rmtree(scratch)
    shutil.rmtree(os.path.join(steps.ROOT, CLASS), ignore_errors=True)
tap.finish()
