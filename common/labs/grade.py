#!/usr/bin/env python3
"""grade.py SUBMISSIONS --lab LAB [--secret FILE] [--out DIR] [--jobs N] [--seconds S] [--gpu]

Grades a folder of submissions: one file (alice.cu) or one folder (alice/step07.cu) a student. Each is
compiled and run in processes of its own, within limits; its host code is shut in (common/labs/wire.h). Writes
DIR/results/STUDENT.json and DIR/summary.csv, and prints the summary. What has been graded already, and has
not changed since, stays. Exit code 0: all are graded, 2: the call made no sense, or a file could not be read or
written, 130: interrupted.

Called by make grade, which says in the environment how to compile (COMPILE), and what links (LINK).
"""

import concurrent.futures
import csv
import hashlib
import hmac
import io
import json
import os
import re
import secrets
import shlex
import shutil
import tempfile
import threading
import time

import basics
import check
import labs
import limits
import submissions

RESULTS = "results"
COMPILING = limits.Limits(60, 240, 32 << 20, 4 << 30)
OBJECT_NAMES = re.compile(r"^(\S+) ([A-Za-z])", re.MULTILINE)  # of nm -P
OBJECT_SECTIONS = re.compile(r"^ *\d+ (\S+)", re.MULTILINE)  # of objdump -h
# Those that compilers write. Others the linker may take for its own: one named .rela.ifunc has functions called
# before the process is shut in.
PLAIN_SECTION = re.compile(
    r"\.(?:text|data|bss|rodata|init_array|fini_array|eh_frame|comment|note|group|nv_fatbin|nvFatBinSegment|"
    r"llvm_addrsig)(?:\..*)?|\.debug_.*|__nv_module_id"
)
# What a submission's host code may call beside the part of the CUDA runtime that guest.c has.
HARMLESS = set(
    "atexit calloc malloc free memcpy memmove memset memcmp strlen stdout stderr __stack_chk_fail "
    "_GLOBAL_OFFSET_TABLE_ ceil ceilf floor floorf sqrt sqrtf fmin fminf fmax fmaxf pow log2 abs".split()
)
INCLUDED = re.compile(r"^\.+ (.*)$", re.MULTILINE)  # what gcc -H and clang -H print
COLUMNS = ("correct", "clean", "counters", "speed", "numbers")
# A mistake in the judge that a submission has found costs that one only.
OURS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
ROOM = 64 << 20  # bytes that have to be free where submissions are built and run

timing = threading.Lock()  # on a GPU nothing else runs beside what is timed


class Refused(Exception):
    """Why a submission gets no points, in one line."""


# ---------------------------------------------------------------------------- what differs by student


class Draw:
    """Numbers that only the secret tells."""

    def __init__(self, secret, student, lab):
        self.key, self.who = secret, os.fsencode(f"{student}\0{lab}\0")

    def between(self, least, most, what):
        digest = hmac.new(self.key, self.who + what.encode(), hashlib.sha256).digest()
        return least + int.from_bytes(digest[:8], "big") % (most - least + 1)

    def choose(self, what, *choices):
        return choices[self.between(0, len(choices) - 1, what)]


def shapes_of(draw):
    """The problems that a student's file is run with: of each kind that has caught mistakes one."""
    b = draw.between
    m, n, k = b(66, 126, "m"), b(66, 126, "n"), b(17, 60, "k")
    aligned_n, aligned_k = 4 * b(18, 30, "n4"), 4 * b(9, 15, "k4")
    rows, cols, terms = b(130, 150, "rows"), b(2, 60, "cols"), b(9, 31, "terms")
    padded = (
        f"-m {m} -n {n} -k {k} --lda {k + b(1, 9, 'lda')} --ldb {n + b(1, 9, 'ldb')} "
        f"--ldc {n + b(1, 9, 'ldc')} --offset {b(0, 3, 'A')},{b(0, 3, 'B')},{b(1, 3, 'C')}"
    )
    return [
        "-s 64 --shared-base 0",
        "-s 64 --shared-base 1024",
        f"{padded} --alpha {draw.choose('alpha', 0.7, -1.3, 2.5)} --beta {draw.choose('beta', -0.6, 0.9, 1.7)}",
        f"-m {b(20, 60, 'm4')} -n {aligned_n} -k {aligned_k} --lda {aligned_k + 4} --ldc {aligned_n + 4}",
        f"-m {rows} -n {cols} -k {terms} --beta {draw.choose('old', 0.5, -0.5)}",
        f"-m {cols} -n {rows} -k {terms}",
        f"-m {b(3, 9, 'rest')} -n {b(3, 9, 'none')} -k 5 --alpha 0 --beta 0.5",
    ]


# ---------------------------------------------------------------------------- from source to program


def environment(folder):
    return {"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": folder}


def errors_of(text, source):
    """The compiler's messages about the file itself: another one may be none of the student's business."""
    lines = [line[line.index(source) :] for line in text.splitlines() if source in line]
    own = [line for line in lines if re.match(re.escape(source) + r"\S*:? .*\berror\b", line)]
    return own[0][:300] if own else "it does not compile"


def included(text):
    return [os.path.realpath(os.path.join(labs.ROOT, path)) for path in INCLUDED.findall(text)]


def compiled(source, goal, folder):
    """What the compiler says, with the files that it includes."""
    command = [*shlex.split(os.environ["COMPILE"]), "-Xcompiler", "-H", "-c", source, "-o", goal]
    return limits.run(command, labs.ROOT, environment(folder), COMPILING)


def header_folders():
    """Where the headers are that every step includes: the course's, the toolkit's, the compiler's."""
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        source = os.path.join(folder, "headers.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include "step.h"\n')
        outcome = compiled(source, os.path.join(folder, "headers.o"), folder)
    if outcome.status != 0:
        raise labs.Refusal(f"the compiler does not work here: {check.message(outcome).splitlines()[-1]}")
    return tuple({os.path.dirname(path) + os.sep for path in included(outcome.err)})


def check_includes(text, folders):
    if limits.is_cut(text):
        raise Refused("the compiler has more to say of it than anybody can read")
    if not all(path.startswith(folders) for path in included(text)):
        raise Refused("it includes a file that is neither the course's nor the toolkit's")


def listed(pattern, tool, folder):
    """What a tool lists of an object file: all of it, or nothing."""
    outcome = limits.run(tool, folder, environment(folder), COMPILING)
    if outcome.status != 0 or limits.is_cut(outcome.out):
        raise Refused("it does not compile to an object file, or to one with too many names")
    return pattern.findall(outcome.out)


def symbols(path, folder):
    return listed(OBJECT_NAMES, ["nm", "-P", path], folder)


def check_sections(path, folder):
    for name in listed(OBJECT_SECTIONS, ["objdump", "-h", path], folder):
        if not PLAIN_SECTION.fullmatch(name):
            raise Refused(f"it has a section {name[:40]}, which is the linker's business")


def check_object(path, folder, step, offered):
    """Nothing but the step's descriptor may be visible to the outside, and only what is offered wanted."""
    for name, kind in symbols(path, folder):
        if kind in "Uvw" and name not in offered:
            raise Refused(f"its host code wants {name}: it may start kernels, and has no library to call")
        if kind in "iu" or (kind.isupper() and kind != "U" and name != f"step{step}" and not name.startswith("_Z")):
            raise Refused(f"it defines {name} for others than itself: make it static")


def check_bytes(path, secret):
    """Assembly can take a file into an object. Of the secret it must not be."""
    with open(path, "rb") as file:
        content = file.read()
    if any(secret[at : at + 8] in content for at in range(0, len(secret) - 7)):
        raise Refused("it holds the secret")


def built(path):
    return os.path.join(labs.ROOT, path)


class Grader:
    def __init__(self, lab, secret, seconds, jobs, gpu):
        self.lab, self.step, self.secret, self.gpu = lab, lab[:2], secret, gpu
        self.counts = {}
        self.seconds, self.running = seconds, limits.Limits(seconds, 8 * seconds, 8 << 20, 4 << 30)
        self.workers = str(max(1, (os.cpu_count() or 1) // jobs))
        if labs.is_prediction(lab):
            check.counted(self.step, self.counts)
            self.tools = []
        else:
            guest = f"build/common/labs/guest-step{self.step}.o"
            self.tools = ["build/judge-emulated", guest, "build/common/labs/wire.o"]
            self.prepare()
        self.digest = self.rules()

    def prepare(self):
        """Builds what is the same for all."""
        want_room()
        own = ["build/judge", f"step{self.step}"] if self.gpu else []
        said = check.make(" ".join([*self.tools, *own]), "labs")
        if said is not None:
            raise labs.Refusal(f"the judge does not build: {check.first_errors(said)[0]}")
        self.folders = header_folders()
        functions = [name for name, kind in symbols(built(self.tools[1]), labs.ROOT) if kind == "T"]
        self.offered = HARMLESS.union(functions) - {"main"}

    def rules(self):
        """Changes with whatever could change a result, but for the submission."""
        digest = hmac.new(self.secret, os.environ["COMPILE"].encode(), hashlib.sha256)
        tables = [f"docs/labs/{name}.tsv" for name in ("rubric", "counters", "predictions")]
        tools = [f"common/labs/{name}.py" for name in ("check", "grade", "limits", "submissions")]
        for path in (*self.tools, *tables, *tools):
            with open(built(path), "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
        return digest.digest() + f"{self.gpu} {self.seconds}".encode()

    def fingerprint(self, one):
        """Changes with whatever could change the result of this submission."""
        return hashlib.sha256(self.digest + one.problem.encode() + b"\0" + one.content).hexdigest()

    def build(self, content, folder):
        """The program that runs the submission's host code."""
        source, goal = (os.path.join(folder, f"step{self.lab}{suffix}") for suffix in (".cu", ".o"))
        with open(source, "wb") as file:
            file.write(content)
        outcome = compiled(source, goal, folder)
        check_includes(outcome.err, (*self.folders, folder + os.sep))
        if outcome.status < 0:
            raise Refused("the compiler did not end in time")
        if outcome.status != 0:
            raise Refused(errors_of(outcome.out + outcome.err, os.path.basename(source)))
        check_object(goal, folder, self.step, self.offered)
        check_sections(goal, folder)
        check_bytes(goal, self.secret)
        guest = os.path.join(folder, "guest")
        link = [*shlex.split(os.environ["LINK"]), "-o", guest, *map(built, self.tools[1:]), goal]
        if limits.run(link, folder, environment(folder), COMPILING).status != 0:
            raise Refused("it does not link")
        return guest

    def program(self, judge, guest, folder):
        settings = {"EMULATOR_WORKERS": self.workers}
        return check.Program([built(judge), guest], folder, settings, self.running)

    def rate(self, guest, folder, more):
        """On a GPU, where nothing limits memory: CUDA reserves more addresses than any machine has bytes."""
        program = self.program("build/judge", guest, folder)._replace(limits=limits.RUN)
        with timing:
            return check.judge_speed(program, self.step, float(check.rubric(self.lab)["speed"]["full"]), more)

    def judge_kernel(self, one, shapes, seed):
        """Every run has inputs of its own: those of a known seed could be computed beforehand."""
        with tempfile.TemporaryDirectory(prefix="grade-") as folder:
            folder, seeded = os.path.realpath(folder), [f"{shape} {seed}" for shape in shapes]
            guest = self.build(one.content, folder)
            rate = (lambda: self.rate(guest, folder, seed)) if self.gpu else None
            return check.judge(self.lab, self.program("build/judge-emulated", guest, folder), seeded, rate, seed)

    def judge_numbers(self, one):
        path = os.path.basename(one.file)
        try:
            given = check.answers(one.content.decode("utf-8-sig", errors="replace"), submissions.shown(path))
        except labs.Refusal as refusal:
            raise Refused(str(refusal)) from None
        judged = list(check.judge_predictions(self.lab, given, self.counts))
        right = [good for good, _ in judged]
        wrong = [text for good, text in judged if not good]
        text = f"{sum(right)} of {len(right)} numbers"
        return {"numbers": check.Finding(all(right), text, "\n".join(wrong), sum(right) / len(right))}

    def judge(self, one, shapes, seed):
        """The findings, or why there are none. On a full disk nothing is any submission's fault."""
        if one.problem:
            return None, one.problem
        want_room()
        try:
            findings = self.judge_numbers(one) if labs.is_prediction(self.lab) else self.judge_kernel(one, shapes, seed)
            return findings, ""
        except Refused as refused:
            return None, str(refused)
        except OURS as error:
            return None, f"the judge itself failed, tell the teacher: {type(error).__name__}: {error}"
        finally:
            want_room()

    def grade(self, one):
        """The result of a submission, as it is written."""
        begun, seed = time.monotonic(), f"--seed {secrets.randbelow(1 << 31)}"
        shapes = shapes_of(Draw(self.secret, one.student, self.lab))
        findings, problem = self.judge(one, shapes, seed)
        return {
            "student": submissions.shown(one.student),
            "lab": self.lab,
            "file": submissions.shown(one.file),
            "fingerprint": self.fingerprint(one),
            "status": "refused" if findings is None else "graded",
            **points(self.lab, findings, self.gpu),
            "remark": problem or check.first_advice(findings),
            "shapes": [f"{shape} {seed}" for shape in shapes],
            "seconds": round(time.monotonic() - begun, 2),
        }


def want_room():
    """Ends the run where what follows could not be written."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < ROOM:
        raise labs.Refusal(f"{folder}: less than {ROOM >> 20} MiB are free; TMPDIR=folder names another place")


def points(lab, findings, gpu):
    """What was reached of what can be had here, with each check; nothing where there are no findings."""
    if findings is None:
        refused = check.Finding(False, "not judged")
        findings = {name: refused if gpu or name != "speed" else None for name in check.points_of(lab)}
    scores = check.score(lab, findings)
    checks = [
        {"name": name, "points": got, "possible": most, "passed": findings[name].passed,
         "text": findings[name].text, "advice": findings[name].advice}
        for name, (got, most) in scores.items()
    ]  # fmt: skip
    sums = {key: sum(one[key] for one in checks) for key in ("points", "possible")}
    return {**sums, "checks": checks}


# ---------------------------------------------------------------------------- files and tables


def write_private(path, text):
    labs.write_file(path, text, 0o600)


def result_path(out, one):
    return os.path.join(out, RESULTS, submissions.file_name(one.student) + ".json")


def kept(out, one, fingerprint):
    """The result of an earlier run, or None where something has changed since."""
    try:
        with open(result_path(out, one), encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and result.get("fingerprint") == fingerprint else None


def remark_of(result):
    """Its first line, as a terminal can show it: a message may quote what a student wrote."""
    return submissions.shown((result["remark"].splitlines() or [""])[0])


def row_of(result):
    reached = {one["name"]: one["points"] for one in result["checks"]}
    return [result["student"], result["lab"], result["points"], result["possible"],
            *(reached.get(column, "") for column in COLUMNS), result["status"], remark_of(result)]  # fmt: skip


def unspreadsheet(value):
    """A spreadsheet takes a text that begins like this for a formula."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value


def write_summary(path, results):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "lab", "points", "possible", *COLUMNS, "status", "remark"])
    writer.writerows([unspreadsheet(value) for value in row_of(result)] for result in results)
    write_private(path, text.getvalue())


def print_summary(results):
    columns = [name for name in COLUMNS if any(one["name"] == name for result in results for one in result["checks"])]
    print(f"\n{'student':20} {'points':>9}  " + "".join(f"{name:>9}" for name in columns))
    for result in results:
        reached = {one["name"]: one["points"] for one in result["checks"]}
        cells = "".join(f"{reached.get(name, '-'):>9}" for name in columns)
        remark = "" if result["status"] == "graded" else "  " + remark_of(result)
        total = f"{result['points']}/{result['possible']}"
        print(f"{result['student'][:20]:20} {total:>9}  {cells}{remark}"[:100].rstrip())


# ---------------------------------------------------------------------------- the class


def grade_all(grader, everyone, out, jobs):
    """{student: result}, those of an earlier run included."""
    results = {one.student: kept(out, one, grader.fingerprint(one)) for one in everyone}
    todo = [one for one in everyone if results[one.student] is None]
    if len(todo) < len(everyone):
        print(f"{len(everyone) - len(todo)} of {len(everyone)} are graded already", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(grader.grade, one): one for one in todo}
        try:
            for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
                one, result = futures[future], future.result()
                write_private(result_path(out, one), json.dumps(result, indent=1) + "\n")
                results[one.student] = result
                print(f"{number:4} of {len(todo)}  {result['student'][:40]:40} {result['points']:3} of "
                      f"{result['possible']}", flush=True)  # fmt: skip
        except BaseException:  # KeyboardInterrupt, too
            limits.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return results


def read_secret(path):
    try:
        with open(path, "rb") as file:
            secret = file.read().strip()
    except OSError as error:
        raise labs.Refusal(f"SECRET={path}: {error.strerror}") from None
    if len(secret) < 16:
        raise labs.Refusal(f"SECRET={path}: it holds {len(secret)} bytes; 16 or more are wanted")
    return secret


def gradable(name):
    """A lab that this judge can judge."""
    lab = labs.known(name)
    if basics.is_basic(lab) and not labs.is_prediction(lab):
        raise labs.Refusal(f"lab {lab} is a program of its own, which its author judges: make check{lab}")
    return lab


def positive(name, text):
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise labs.Refusal(f"{name}={text}: a whole number is wanted, 1 or more")
    return int(text)


def is_in(path, folder):
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)


def main(arguments):
    parser = labs.Parser(description="Grades a folder of submissions.")
    parser.add_argument("submissions")
    parser.add_argument("--lab", required=True)
    parser.add_argument("--secret")
    parser.add_argument("--out")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1))
    parser.add_argument("--seconds", default="30")
    parser.add_argument("--gpu", action="store_true")
    given = parser.parse_args(arguments)
    lab = gradable(given.lab)
    jobs, seconds = positive("JOBS", given.jobs), positive("SECONDS", given.seconds)
    if not os.path.isdir(given.submissions):
        raise labs.Refusal(f"SUBMISSIONS={given.submissions}: there is no such folder")
    out = given.out or os.path.join("build", "grades", lab)
    if is_in(out, given.submissions):
        raise labs.Refusal(f"OUT={out}: it is in SUBMISSIONS, where everything is somebody's; another folder")
    everyone = submissions.find(given.submissions, lab)
    if not everyone:
        raise labs.Refusal(f"SUBMISSIONS={given.submissions}: nothing is in this folder")
    secret = read_secret(given.secret) if given.secret else b""
    labs.make_folder(os.path.join(out, RESULTS))
    grader = Grader(lab, secret, seconds, jobs, given.gpu)
    results = grade_all(grader, everyone, out, jobs)
    ordered = [results[one.student] for one in everyone]
    write_summary(os.path.join(out, "summary.csv"), ordered)
    print_summary(ordered)
    print(f"\n{out}/summary.csv, and a file for each student in {out}/{RESULTS}")
    return 0


if __name__ == "__main__":
    labs.run(main, "interrupted: what has been graded is kept, the same command goes on")
