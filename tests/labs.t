#!/usr/bin/env python3
"""Labs: every unsolved one compiles and is wrong, every solution has all points, every planted mistake is
found by the check that should find it; a cut file has no trace of what was cut, and nobody's work is lost.
"""

import concurrent.futures
import os
import re
import shutil
import sys
import time

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "common", "labs"))
import basics  # noqa: E402
import check  # noqa: E402
import labs  # noqa: E402
import limits  # noqa: E402

FOLDER = "labs/.test"  # nobody's files are there
SOLVED = FOLDER + "/solved"
GAPS = [name for name in labs.names() if len(name) == 2]
HUNTS = [name for name in labs.names() if name.endswith("-hunt")]
CHUNKS = "00-chunks"  # lab 00 with the wrong neighbours, and all sums right
PREDICTIONS = [name for name in labs.names() if labs.is_prediction(name)]


def full(path):
    return os.path.join(steps.ROOT, path)


def clear():
    for folder in (full(FOLDER), full("build/" + FOLDER)):
        shutil.rmtree(folder, ignore_errors=True)


def write(path, text):
    os.makedirs(os.path.dirname(full(path)), exist_ok=True)
    with open(full(path), "w", encoding="utf-8") as file:
        file.write(text)


def lab(what, name, *more, folder=FOLDER):
    return tap.run(["python3", "common/labs/lab.py", what, name, "--folder", folder, *more])


def judge(name, folder=FOLDER):
    """Runs the judge as make does, on PTX alone."""
    command = ["python3", "common/labs/check.py", name, "--folder", folder]
    return tap.run(command, environment={**os.environ, "LAB_PTX": "1"})


def check_tables():
    for name in GAPS:
        ours = [row for row in labs.table("counters") if row["step"] == name]
        tap.ok(ours and sum(check.points_of(name).values()) == 100, f"lab {name}: counters, and 100 points")
        ours = {row["step"]: row for row in labs.table("hunts")}
        tap.ok(name in ours and name + "-predict" in PREDICTIONS, f"lab {name}: a hunt and predictions")
    for name in GAPS + HUNTS:
        hints = labs.hints(name)
        tap.ok(len(hints) == 3 and all(hints), f"lab {name}: three hints", hints)


def check_cut(name):
    """Nothing that only the regions held is in the cut file."""
    whole, cut = steps.text(steps.all_sources()[name]), labs.unsolved(name)
    bodies = [line.strip() for _, body in labs.regions(whole) for line in body.splitlines()]
    rest = {line.strip() for line in labs.REGION.sub("", whole).splitlines()}
    kept = {line.strip() for line in cut.splitlines()} - rest
    left = [line for line in bodies if line in kept and line]
    tap.ok(bodies and not left, f"lab {name}: no trace of {len(bodies)} lines", "\n".join(left))
    asked = [hint for hint, _ in labs.regions(whole)]
    tap.ok([hint for hint, _ in labs.regions(cut)] == asked, f"lab {name}: each hint is there")
    hunt = labs.unsolved(name + "-hunt")
    tap.ok("// lab" not in hunt and "end lab" not in hunt, f"lab {name}-hunt: no mark tells where")
    tap.ok(hunt != labs.solution(name + "-hunt"), f"lab {name}-hunt: there is a mistake")


def write_chunks():
    """Each thread adds elements that lie side by side, and its neighbour others far away."""
    own = "(int64_t)blockIdx.x * blockDim.x + threadIdx.x"
    loop = f"for (int64_t i = {own}; i < n; i += stride)\n        c[i] ="
    chunk = (
        f"const int64_t each = (n + stride - 1) / stride, first = ({own}) * each;\n"
        "    for (int64_t i = first; i < n && i < first + each; i++)\n        c[i] ="
    )
    text = labs.solution("00")
    tap.ok(text.count(loop) == 1, "lab 00 has its loop once")
    write(f"{FOLDER}/step{CHUNKS}.cu", text.replace(loop, chunk))


def build():
    """All twins in one call of make, in C++14: nvcc reads CUDA's headers in half the time."""
    goals = [f"build/{FOLDER}/step{name}-emulated" for name in [*GAPS, *HUNTS, CHUNKS]]
    result = tap.make("-j2", "LAB_PTX=1", "LAB_STANDARD=-std=c++14", f"LAB_FOLDER={FOLDER}", *goals)
    tap.ok(result.returncode == 0, f"{len(goals)} files compile", result.stderr[-2000:])
    tap.ok("warning" not in result.stderr, "without a warning", result.stderr[-2000:])


def check_unsolved(name, findings):
    correct, clean = findings
    tap.ok(not correct.passed and not clean.passed, f"lab {name}, unsolved, is wrong", findings)
    words = "elements are wrong" if basics.is_basic(name) else "WRONG at"
    tap.ok(words in correct.advice and "of " in correct.advice, f"lab {name} says what is wrong", correct.advice)


def check_solution(name, findings, counters):
    passed = all(finding.passed for finding in (*findings, counters))
    tap.ok(passed, f"lab {name}, solved: correct, clean, and the counters hold", (*findings, counters))


def check_hunt(name, findings):
    found = dict(zip(("correct", "clean"), findings))
    wanted = labs.hunted(name)["found_by"]
    tap.ok(not found[wanted].passed and found[wanted].advice, f"lab {name}: {wanted} finds the mistake", findings)
    if name == "06-hunt":
        tap.ok(found["correct"].passed, "a race whose result is right is correct, and only not clean", findings)


def check_judgements():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [pool.submit(check.judge_results, check.twin(f"build/{FOLDER}/step{name}"), check.shapes_of(name)) for name in GAPS]
        planted = [pool.submit(check.judge_results, check.twin(f"build/{FOLDER}/step{name}"), check.shapes_of(name)) for name in HUNTS]
        right = [pool.submit(check.judge_results, check.twin(f"build/step{name}"), check.shapes_of(name)) for name in GAPS]
        counted = [pool.submit(check.counts_of, check.twin(f"build/step{name}"), name) for name in GAPS]
    for name, findings in zip(GAPS, wrong):
        check_unsolved(name, findings.result())
    for name, findings in zip(HUNTS, planted):
        check_hunt(name, findings.result())
    records = {name: counts.result()[1] for name, counts in zip(GAPS, counted)}
    for name, findings in zip(GAPS, right):
        check_solution(name, findings.result(), check.judge_record(records[name], name))
    return records


def check_counters_fail(records):
    """No step before a lab, which a handout has complete, meets what the lab asks for; the line that costs
    most is named."""
    chunks = check.judge_counters(check.twin(f"build/{FOLDER}/step{CHUNKS}"), "00")
    earlier = [(step, name) for name in GAPS for step in GAPS if "00" < step < name]
    found = {(step, name): check.judge_record(records[step], name) for step, name in earlier}
    for (step, name), finding in {(CHUNKS, "00"): chunks, **found}.items():
        place = re.search(r"steps?.*\.cu:\d+: ", finding.advice)
        tap.ok(not finding.passed and finding.share < 1 and place, f"step {step} handed in as lab {name}", finding)


def check_speed():
    """Points by the ratio to cuBLAS; the ratios are made up, because there may be no GPU."""
    for ratio, share in ((0.9, 1.0), (0.76, 1.0), (0.38, 0.5)):
        check.ratio_of = lambda program, more="", r=ratio: (None, 0.8 if program == check.at("step07") else r)
        finding = check.judge_speed("mine", "07", float(check.rubric("07")["speed"]["full"]))
        tap.ok(abs(finding.share - share) < 1e-9, f"{ratio} of cuBLAS where the course has 0.8: {share}", finding)


def check_reports():
    """The judge as a learner sees it."""
    result = judge("01")
    tap.ok(result.returncode == 1, "unsolved: exit code 1", result.stdout + result.stderr)
    tap.ok("FAIL  correct     0 of  50" in result.stdout, "and no points", result.stdout)
    tap.ok(f"{FOLDER}/step01.cu:" in result.stdout and "First thing to fix" in result.stdout, "a place", result.stdout)
    tap.ok("of cuBLAS" not in result.stdout and "TFLOP" not in result.stdout, "no rate", result.stdout)
    write(SOLVED + "/step01.cu", labs.solution("01"))
    result = judge("01", SOLVED)
    most = re.search(r"of (\d+) points", result.stdout)[1]
    tap.ok("90 of 90 points" in result.stdout or " of 100 points" in result.stdout, "solved", result.stdout)
    tap.ok(result.returncode == 0 or "FAIL  speed" in result.stdout, "exit code 0", result.stdout)
    tap.ok(lab("solution", "01", folder=SOLVED).stdout.endswith("is the course's own\n"), "no difference")
    write(SOLVED + "/step01.cu", labs.solution("01").replace("float sum = 0;", "float sum = 0"))
    result = judge("01", SOLVED)
    tap.ok(result.returncode == 1 and f"{SOLVED}/step01.cu(" in result.stdout, "an error of the compiler", result.stdout)
    tap.ok(f"  0 of {most} points\n" in result.stdout, f"which leaves 0 of {most} points, as many as before", result.stdout)


def check_files():
    path = full(FOLDER + "/step02.cu")
    write(FOLDER + "/step02.cu", "mine\n")
    result = lab("start", "02")
    tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1, "never over another file", result.stderr)
    tap.ok(steps.text(path) == "mine\n", "which is as it was")
    for number in (1, 2):
        tap.ok(lab("start", "02", "--force").returncode == 0, f"--force, time {number}")
    tap.ok(steps.text(path + ".1") == "mine\n" and os.path.exists(path + ".2"), "every copy is kept")
    os.unlink(full(FOLDER + "/step04.cu"))
    os.symlink("nowhere", full(FOLDER + "/step04.cu"))
    tap.ok(lab("start", "04").returncode == 2 and lab("start", "04", "--force").returncode == 0, "nor over a link")
    tap.ok(os.path.islink(full(FOLDER + "/step04.cu.1")), "which is kept, too")
    differing = lab("solution", "02").stdout
    tap.ok("\n+        fill(&tiles, fetched_a, fetched_b);\n" in differing, "the solution is a diff", differing)


def check_hints():
    said = [lab("hint", "03").stdout for _ in range(4)]
    numbers = [text.split()[1] for text in said]
    tap.ok(numbers == ["1", "2", "3", "3"], "hints go on to the last", said)
    write(FOLDER + "/.hints03", "x\n")
    tap.ok("Hint 1 of 3" in lab("hint", "03").stdout, "and begin anew where nobody knows how many there were")
    offered = "make hint03" in said[0] and "make solution03" in said[2]
    tap.ok(offered, "and then the solution is offered", said[2])


def check_predictions():
    for name in PREDICTIONS:
        lab("start", name)
        path, cache = labs.path_of(name, FOLDER), {}
        result = judge(name)
        empty = f"0 of {len(labs.predictions(name))} numbers"
        tap.ok(result.returncode == 1 and empty in result.stdout, f"lab {name}: empty", result.stdout + result.stderr)
        record = check.counted(name[:2], cache)
        values = {row["name"]: check.value_of(row["formula"], record) for row in labs.predictions(name)}
        write(path, "".join(f"{key} = {value}\n" for key, value in values.items()))
        tap.ok(judge(name).returncode == 0, f"lab {name}: what is counted is right")
    write(path, "".join(f"{key} = {2 * value + 1}\n" for key, value in values.items()))
    said = judge(name).stdout
    tap.ok(labs.predictions(name)[0]["why"] in said, "a miss is explained", said)
    first, *others = values
    write(path, f"\ufeff{first} = 8*16\n{others[0]} = 1\n{others[0]} = {values[others[0]]}\n")
    said = judge(name).stdout
    tap.ok("no number: 8*16 " in said and "more than once" in said, "no number, and two for one question", said)
    write(path, f"{first[:-1]} = {values[first]}\n")
    tap.ok(f"{first}: no number yet; nobody asks for {first[:-1]}\n" in judge(name).stdout, "a name that is wrong")
    for text, number in (("1/4", 0.25), ("25 %", 0.25), ("4", 4), ("", None), ("1/0", None), ("1.2.3", None), ("4,096", 4096), ("65 536", 65536), ("4,5", None)):
        tap.ok(check.number_of(text) == number, f"'{text}' is {number}")


def limited(command, **changed):
    return limits.run(["sh", "-c", command], steps.ROOT, dict(os.environ), limits.RUN._replace(**changed))


def check_places():
    """Where a message sends a learner whose gaps are all filled."""
    path, solved = labs.path_of("03", SOLVED), labs.solution("03")
    write(path, solved)
    store, load = (line for line, text in enumerate(solved.splitlines(), 1) if "// lab: " in text)
    for said, wanted in (
        ("WRONG at", f"lines {store}, {load}"),
        (f"race: at {path}:{load + 2}, kernel", f"{path}:{load}: look here: read the fragments"),
        (f"misaligned: at {path}:{solved[: solved.index('make_float4')].count(chr(10)) + 1}", f"{path}:{store}: look here"),
    ):  # fmt: skip
        looks = check.where_to_look("03", SOLVED, said)
        tap.ok(wanted in looks and "\n" not in looks, f"'{said[:12]}': {wanted}", looks)
    barrier = "        __syncthreads();\n        // Unrolled"
    changed = solved.replace("        __syncthreads();\n        // Unrolled", "        // Unrolled")
    line = solved[: solved.index(barrier)].count("\n") + 1
    with open(full(path), "wb") as file:
        file.write(changed.encode() + "// \ud589\n".encode("euc-kr"))
    looks = check.where_to_look("03", SOLVED, "WRONG at")
    tap.ok(changed != solved and f"{path}:{line}: this is outside" in looks, "a barrier that has gone is noticed", looks)


def check_repairs():
    """What is right and clean and yet not as the step has it."""
    write(SOLVED + "/step03-hunt.cu", labs.unsolved("03-hunt").replace("TILE_M + 2", "TILE_M"))
    rolled = labs.solution("05").replace("#pragma unroll\n        for (int p", "#pragma unroll 1\n        for (int p")
    write(SOLVED + "/step05.cu", rolled)
    for name, words in (("03-hunt", "shared store conflicts"), ("05", "local load requests")):
        said = judge(name, SOLVED).stdout
        counted = re.search(r"ok +clean .*\n  FAIL  counters", said) and f"{words} " in said[said.index("First thing") :]
        tap.ok(counted, f"lab {name}: {words}", said)


def check_limits():
    begun = time.time()
    outcome = limited("while :; do :; done", cpu_seconds=1)
    tap.ok("did not end" in check.message(outcome) and time.time() - begun < 60, "an endless run is ended", outcome)
    outcome = limited("sleep 60 & sleep 60", wall_seconds=1)
    tap.ok("did not end" in check.message(outcome), "one that waits for ever, too", outcome)
    outcome = limited("yes; exit 0", file_bytes=1 << 16)
    tap.ok(len(outcome.out) <= 1 << 16 and len(check.message(outcome)) < 300, "endless output is cut", outcome)
    lower = "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (9, 9)); sys.path[:0] = ['common/labs']; "
    lower += "import limits; print(limits.run(['sh', '-c', 'ulimit -Ht'], '.', {}, limits.RUN).out)"
    tap.ok(tap.run(["python3", "-c", lower]).stdout.strip() == "9", "limits that are there already stay")
    outcome = limited("kill -SEGV $$")
    tap.ok("it crashed: SIGSEGV" in check.message(outcome), "a crash is a crash", outcome)


def check_bad_input():
    write(FOLDER + "/file", "")
    inside = ["--folder", FOLDER + "/file"]
    for arguments in (["start", "03", *inside], ["hint", "03", *inside], ["start", "--bogus"], ["begin", "03"], ["start", "99"], ["hint", "7"], ["solution", "01-hunts"], ["solution", "09-predict"], ["hint", "03-predict"]):
        result = lab(*arguments)
        tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1, " ".join(arguments), result.stderr)
    os.mkfifo(full(FOLDER + "/step07.cu.fifo"))
    os.replace(full(FOLDER + "/step07.cu.fifo"), full(FOLDER + "/step07.cu"))
    for result in (judge("07"), lab("start", "07"), lab("solution", "07")):
        tap.ok(result.returncode == 2 and "no regular file" in result.stderr, "a pipe", result.stderr)
    result = judge("04", FOLDER + "/empty")
    tap.ok(result.returncode == 2 and "make lab04 writes it" in result.stderr, "nothing to judge", result.stderr)
    write(FOLDER + "/step01-predict.txt", "three sectors\n")
    result = judge("01-predict")
    tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1, "a sheet that is none", result.stderr)
    result = tap.make("-n", "check04", f"LAB_FOLDER={FOLDER}/empty")
    tap.ok(result.returncode == 0 and "check.py" in result.stdout, "make -n check04 only shows it", result.stderr)
    result = tap.make("check", "04")
    tap.ok(result.returncode == 2 and "check07" in result.stderr, "make check 04", result.stderr)
    result = tap.make("lab99", f"LAB_FOLDER={FOLDER}")
    tap.ok("there is no lab 99" in result.stderr, "make lab99", result.stderr)


clear()
check_tables()
write_chunks()
for gap in GAPS:
    check_cut(gap)
    for both in (gap, gap + "-hunt"):
        lab("start", both)
build()
check_counters_fail(check_judgements())
check_speed()
check_reports()
check_files()
check_hints()
check_predictions()
check_places()
check_repairs()
check_limits()
check_bad_input()
clear()
tap.finish()
