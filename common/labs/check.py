#!/usr/bin/env python3
"""check.py LAB [--folder FOLDER]: builds a learner's file and judges it.

In this order: correct, clean, counters, speed; each is worth points (docs/labs/rubric.tsv). Without a GPU
the kernel runs on the emulator and speed is not judged. Exit code 0: all points, 1: not all, 2: the call
made no sense, and one line says why.
"""

import collections
import ctypes
import json
import os
import re
import signal
import subprocess
import tempfile
import textwrap

import basics
import labs
import limits

# Each is run for both passes of the harness, exact and rounding.
SHAPES = [
    "-s 128",
    "-m 129 -n 257 -k 17 --alpha 1.5 --beta 0.5",
    "-m 35 -n 79 -k 19 --lda 23 --ldb 83 --ldc 81 --offset 3,2,1",
    "-m 40 -n 72 -k 36 --lda 40 --beta -0.7",
    "-m 128 -n 100 -k 64",
    "-m 1 -n 513 -k 129",
    "-m 9 -n 9 -k 9 --alpha 0 --beta 0.5",
    "-s 64 --shared-base 0",
    "-s 64 --shared-base 1024",
]
COUNTED = "-s 128"
TIMED = "-s 4096"
EMULATOR_FAULT = 4
SHOWN = 3  # lines of a message

Finding = collections.namedtuple("Finding", "passed text advice share", defaults=("", 0.0))

# Of a learner's file: what is asked for, what stands there, and in which lines.
Gap = collections.namedtuple("Gap", "hint body first last")

# A learner's program: what starts it, in which folder and environment, within which limits.
Program = collections.namedtuple("Program", "command folder environment limits")


def at(path):
    """The program with this path from the root, as the learner would start it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMULATOR_")}
    return Program([os.path.join(labs.ROOT, path)], labs.ROOT, inherited, limits.RUN)


def twin(path):
    return at(path + "-emulated")


def run(program, options, **settings):
    command = [*program.command, *options.split()]
    return limits.run(command, program.folder, {**program.environment, **settings}, program.limits)


def emulate(program, options, **settings):
    return run(program, options, EMULATOR_GPU="sm_90", **settings)


def message(outcome):
    """The first lines of what the program said, or how it ended."""
    if outcome.status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "it did not end in time: does every loop end?"
    if outcome.status == -signal.SIGXFSZ:
        return "it printed without end, or asked for too much memory"
    said = [re.sub(r"^(?:step\d\d|sgemm): ", "", line) for line in outcome.err.splitlines() if line.strip()]
    lines = list(dict.fromkeys(said))
    if outcome.status < 0:
        lines.append(f"it crashed: {signal.Signals(-outcome.status).name}")
    return "\n".join(lines[:SHOWN]) or f"exit code {outcome.status}"


def gaps_of(text):
    """The gaps of a learner's file, with the numbers of their first and last lines."""
    for match in labs.REGION.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        yield Gap(match[2], match[3], first, first + match[0].count("\n") - 1)


def named_by(said, path, text):
    """The gaps that hold a line which a message names, or that call the function which holds it."""
    numbers = {int(number) for number in re.findall(rf"{re.escape(path)}:(\d+)", said)}
    heads = [(index, head[1]) for index, line in enumerate(text.splitlines(), 1)
             if (head := re.match(r"static [^=;]*?(\w+)\(", line))]  # fmt: skip
    functions = {max((head for head in heads if head[0] <= number), default=(0, ""))[1] for number in numbers}
    for gap in gaps_of(text):
        called = set(re.findall(r"(\w+)\(", gap.body))
        if called & functions or any(gap.first <= number <= gap.last for number in numbers):
            yield gap


def changed_beside(text, name):
    """The first line outside of the gaps that is not as it was at first, or None."""

    def outside(whole):
        blanked = labs.REGION.sub(lambda match: "\n" * match[0].count("\n"), whole)
        return [(line.strip(), number) for number, line in enumerate(blanked.splitlines(), 1) if line.strip()]

    mine, first = outside(text), outside(labs.unsolved(name))
    return next((line[1] for line, before in zip(mine, first) if line[0] != before[0]), None)


def where_to_look(name, folder, said):
    """Where in a learner's file the mistake may be: a gap that is still as it was cut, else those to which
    the message leads, else all; and what has been changed beside them."""
    path = labs.path_of(name, folder)
    text = labs.text_of(path)
    cut = dict(labs.regions(labs.unsolved(name)))
    gaps = list(gaps_of(text))
    for gap in gaps:
        if gap.body.strip() == cut.get(gap.hint, "").strip():
            return f"{path}:{gap.first}: nothing here yet: {gap.hint}"
    looks, changed = list(named_by(said, path, text)) or gaps, changed_beside(text, name)
    if len(looks) == 1:
        advice = [f"{path}:{looks[0].first}: look here: {looks[0].hint}"]
    else:
        numbers = ", ".join(str(gap.first) for gap in looks)
        advice = [f"{path}: all gaps are filled; look into these: lines {numbers}"] if looks else []
    if changed:
        advice.append(f"{path}:{changed}: this is outside of the gaps, and not as it was at first")
    return "\n".join(advice)


# ---------------------------------------------------------------------------- the checks


def shapes_of(name):
    return basics.SHAPES if basics.is_basic(name) else SHAPES


def judge_results(program, shapes):
    """The findings `correct` and `clean`: every shape with the emulator's checks, and where those stop
    the kernel, once more without them."""
    wrong = fault = None
    for options in shapes:
        outcome = emulate(program, options)
        if outcome.status == EMULATOR_FAULT:
            fault = fault or (options, outcome)
            outcome = emulate(program, options, EMULATOR_CHECKS="off")
        if outcome.status != 0:
            wrong = wrong or (options, outcome)
        if wrong:
            break
    correct = Finding(True, f"every element, {len(shapes)} shapes", share=1.0)
    if wrong:
        told = [message(fault[1])] if fault else []  # it has a line of the source
        told += [message(wrong[1])] if message(wrong[1]) not in told else []
        correct = Finding(False, f"with {wrong[0]}", "\n".join(told))
    if fault:
        return correct, Finding(False, f"with {fault[0]}", message(fault[1]))
    if wrong:
        return correct, Finding(False, "not judged: first it has to be correct")
    return correct, Finding(True, "no race, nothing out of bounds, nothing uninitialised", share=1.0)


def amount(entry, field):
    if field == "branches":
        return entry["conditional_branches"]
    if field == "barriers":
        return entry["control_instructions"] - entry["conditional_branches"]
    return entry[field] or 0


def entries_of(kernels, kind, by_line=False):
    """What is counted of a kind of access, or of "kernel", all instructions."""
    if kind == "kernel":
        return [entry for kernel in kernels for entry in (kernel["lines"] if by_line else [kernel])]
    key = "line_accesses" if by_line else "accesses"
    return [entry for kernel in kernels for entry in kernel[key] if entry["kind"] == kind]


def total(kernels, kind, field):
    return sum(amount(entry, field) for entry in entries_of(kernels, kind))


def costliest(kernels, kind, field):
    """The line of the source with the most of it, and how much that is."""
    entries = entries_of(kernels, kind, by_line=True)
    worst = max(entries, key=lambda entry: amount(entry, field), default=None)
    if worst is None:
        return "no line of the file", 0
    return f"{worst['file']}:{worst['line']}", amount(worst, field)


def record_of(program, options, **settings):
    """What a run wrote with --json: its first record, or None where the run failed, or wrote no JSON: names
    of files and functions in it are the learner's."""
    with tempfile.NamedTemporaryFile("r", suffix=".json", encoding="utf-8", errors="replace") as file:
        command = Program([*program.command, "--json", file.name], *program[1:])
        outcome = run(command, options, **settings)
        try:
            return outcome, json.load(file, strict=False)["records"][0] if outcome.status == 0 else None
        except ValueError as error:
            return outcome._replace(err=f"its record cannot be read: {error}"), None


def counts_of(program, step, more=""):
    """The record of what a program does on the emulator, or None where it failed."""
    options = basics.COUNTED if basics.is_basic(step) else COUNTED
    return record_of(program, f"{options} {more}", EMULATOR_GPU="sm_90")


def judge_counters(program, step, more=""):
    outcome, record = counts_of(program, step, more)
    if record is None:
        return Finding(False, "what it does could not be counted", message(outcome))
    return judge_record(record, step)


def judge_record(record, step):
    kernels, met, advice, said = record["counters"], 0, [], []
    rows = [row for row in labs.table("counters") if row["step"] == step]
    for row in rows:
        kind, field, most = row["kind"], row["field"], int(row["most"])
        count = total(kernels, kind, field)
        said.append(f"{kind} {field} {count} (at most {most})")
        if count <= most:
            met += 1
        else:
            place, here = costliest(kernels, kind, field)
            advice.append(f"{place}: {kind} {field} {here} in this line, {count} in all, at most {most}: {row['why']}")
    return Finding(met == len(rows), "; ".join(said), "\n".join(advice), met / len(rows))


def ratio_of(program, more=""):
    """Its speed as a ratio to cuBLAS in the same run."""
    outcome, record = record_of(program, f"{TIMED} {more}")
    return outcome, record["ratio"] if record else None


def ratio_of_course(step):
    """The same of the course's own step, and on which GPU; a handout has the ratio, and not the step."""
    there = labs.reached(step)
    if there:
        return float(there["ratio"]), f"on an {there['device']}"
    return ratio_of(at(f"step{step}"))[1], ""


def judge_speed(program, step, full, more=""):
    """Against the course's own step, on the same GPU a moment later; in a handout, on the reference GPU. All
    points from `full` of its ratio on."""
    outcome, ratio = ratio_of(program, more)
    if ratio is None:
        return Finding(False, f"with {TIMED}", message(outcome))
    own, where = ratio_of_course(step)
    if own is None:
        return Finding(False, f"not judged: the course's step {step} does not run here")
    share = min(1.0, ratio / (full * own))
    text = f"{ratio:.3f} of cuBLAS; the course's step {own:.3f} {where}".rstrip()
    advice = "" if share == 1 else "compare the registers and spills that your program prints with the chapter's"
    return Finding(share == 1, text, advice, share)


def has_gpu(program):
    return "no CUDA device" not in run(program, "-s 16 --verify-only").err


# ---------------------------------------------------------------------------- points


def rubric(name):
    """{check: its row} of a lab; lines for * hold for every lab of the same kind."""
    kind = "*" + name[2:]
    return {row["check"]: row for row in labs.table("rubric") if row["lab"] in (name, kind)}


def points_of(name):
    return {check: int(row["points"]) for check, row in rubric(name).items()}


def gpu_is_here():
    """Whether the driver has a GPU, where there is no program that could be asked."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def most_points(name):
    """All that can be had here: those for speed on a GPU only."""
    return sum(points for check, points in points_of(name).items() if check != "speed" or gpu_is_here())


def score(name, findings):
    """The points of each check that was judged, {check: (points, of)}, by the rubric."""
    points = points_of(name)
    return {
        check: (round(points[check] * finding.share), points[check])
        for check, finding in findings.items()
        if finding is not None
    }


def first_advice(findings):
    return next((finding.advice for finding in findings.values() if finding and finding.advice), "")


def print_indented(text):
    for line in text.splitlines():
        print(textwrap.fill(line[:600], 100, initial_indent="  ", subsequent_indent="    ",
                            break_on_hyphens=False))  # fmt: skip


def report(name, findings):
    """Prints what passed and the first thing to fix; returns the exit code."""
    scores = score(name, findings)
    for check, finding in findings.items():
        if finding is None:
            print(f"  --    {check:9} no GPU here: not judged")
            continue
        got, most = scores[check]
        print(f"  {'ok  ' if finding.passed else 'FAIL'}  {check:9} {got:3} of {most:3}   {finding.text}")
    earned, possible = (sum(column) for column in zip(*scores.values()))
    print(f"  {earned} of {possible} points")
    if earned < possible:
        print("\nFirst thing to fix:")
        advice = first_advice(findings)
        print_indented(advice)
        earlier = re.search(r"(?:nothing here yet|look here): (?:much )?as in lab (\d\d)", advice)
        print(f"  A hint: make hint{earlier[1] if earlier else name}")
    return 0 if earned == possible else 1


def judge(name, program, shapes, rate=None, more=""):
    """All findings for a program on the emulator, in the order of the rubric; rate() judges its speed
    where there is a GPU. `more` are options of the run that is counted."""
    wanted = points_of(name)
    correct, clean = judge_results(program, shapes)
    findings = {"correct": correct, "clean": clean}
    if "counters" in wanted:
        later = Finding(False, "not judged: first it has to be correct and clean")
        findings["counters"] = judge_counters(program, name[:2], more) if correct.passed and clean.passed else later
    if wanted.get("speed"):
        wrong = Finding(False, "no rate for a wrong kernel")
        findings["speed"] = None if rate is None else rate() if correct.passed else wrong
    return findings


def make(targets, folder):
    """Builds them: what make said where it failed, or None."""
    command = [os.environ.get("MAKE", "make"), *targets.split(), f"LAB_FOLDER={folder}"]
    result = subprocess.run(command, cwd=labs.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace")  # fmt: skip
    return None if result.returncode == 0 else result.stdout


def rate_on_gpu(name, program, folder):
    """What judges its speed, or None where there is no GPU."""
    step, row = name[:2], rubric(name).get("speed")
    if row is None or row["full"] == "-" or make(program, folder) is not None or not has_gpu(at(program)):
        return None

    def rate():
        if not labs.reached(step):
            make(f"step{step}", folder)
        return judge_speed(at(program), step, float(row["full"]))

    return rate


def first_errors(said):
    """Of what make said: the lines with an error, or where there is none the last."""
    lines = said.splitlines() or ["make ended without a word"]
    wrong = re.compile(r"\berror\b|undefined reference|relocation truncated|No space left", re.I)
    errors = [line for line in lines if wrong.search(line) and not line.startswith("make")]
    return (errors or lines[-1:])[:SHOWN]


def check_program(name, folder):
    program = f"build/{folder}/step{name}"
    if not os.path.exists(os.path.join(labs.ROOT, "build", "common", "emulator")):
        print("  building the emulator, this once: a minute or two", flush=True)
    said = make(program + "-emulated", folder)
    if said is not None:
        print(f"  FAIL  it does not compile\n  0 of {most_points(name)} points\n\nFirst thing to fix:")
        print_indented("\n".join(first_errors(said)))
        return 1
    findings = judge(name, twin(program), shapes_of(name), rate_on_gpu(name, program, folder))
    correct = findings["correct"]
    if not correct.passed and not name.endswith("-hunt"):
        advice = f"{correct.advice}\n{where_to_look(name, folder, correct.advice)}"
        findings["correct"] = correct._replace(advice=advice)
    return report(name, findings)


# ---------------------------------------------------------------------------- predictions


def counted(step, cache):
    """The record of a step on the emulator."""
    if step not in cache:
        if not os.path.exists(os.path.join(labs.ROOT, "build", f"step{step}-emulated")):
            print(f"  building step {step} and the emulator, this once: a minute or two", flush=True)
        said = make(f"build/step{step}-emulated", "labs")
        outcome, cache[step] = counts_of(twin(f"build/step{step}"), step)
        if cache[step] is None:
            raise labs.Refusal(f"step {step} does not run here: {said or message(outcome)}")
    return cache[step]


def value_in(row, cache):
    """What a prediction is compared with."""
    known = labs.reached(row["step"]).get(row["name"])
    return float(known) if known else value_of(row["formula"], counted(row["step"], cache))


def value_of(formula, record):
    """Of `sectors / requests of global load`, or `warps_per_sm / most_warps_per_sm of kernel`."""
    quotient, _, kind = formula.partition(" of ")
    kernel = max(record["counters"], key=lambda k: k["warp_instructions"])
    known = dict(kernel)
    if kind != "kernel":
        for field in ("requests", "sectors", "wavefronts", "conflicts", "bytes"):
            known[field] = total(record["counters"], kind, field)
    known["flop"] = basics.flop_of(record) if "elements" in record else 2 * record["m"] * record["n"] * record["k"]
    top, _, bottom = quotient.partition(" / ")
    return known[top] / (known[bottom] if bottom else 1)


def answers(text, path):
    """{name: texts behind its =} of a learner's sheet."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pairs = [line.partition("=") for line in lines]
    for key, equals, _ in pairs:
        if not equals:
            raise labs.Refusal(f"{path}: this line is no `name = number`: {key[:60]}")
    given = collections.defaultdict(list)
    for key, _, value in pairs:
        given[key.strip()].append(value.strip())
    return given


def number_of(text):
    """A number, 4096 or 4 096 or 4,096, a fraction like 1/4 or a percentage; None where it is neither."""
    text = re.sub(r"(?<=\d)[ ,](?=\d{3}\b)", "", text)
    match = re.fullmatch(r"(-?[\d.]+)\s*(?:/\s*([\d.]+))?\s*(%?)", text)
    try:
        return float(match[1]) / float(match[2] or 1) / (100 if match[3] else 1) if match else None
    except (ValueError, ZeroDivisionError):
        return None


def judge_predictions(name, given, cache):
    """A line of text for each question, and whether the answer was right."""
    unknown = sorted(set(given) - {row["name"] for row in labs.predictions(name)})
    for row in labs.predictions(name):
        answer = "".join(given.get(row["name"], [])[:1])
        number, value = number_of(answer), value_in(row, cache)
        if len(given.get(row["name"], [])) > 1:
            yield False, f"{row['name']}: answered more than once: leave one line"
        elif number is not None and abs(number - value) <= 0.02 * abs(value):
            yield True, f"{row['name']} = {number:g}"
        elif number is None and answer:
            yield False, f"{row['name']}: no number: {answer[:40]} (as 4096, 1.5, 1/3 or 33 %)"
        elif number is None:
            yield False, f"{row['name']}: no number yet" + (f"; nobody asks for {unknown.pop(0)[:40]}" if unknown else "")
        else:
            yield False, f"{row['name']}: you said {number:g}, counted are {value:.6g}\n{row['why']}"


def check_predictions(name, folder):
    path = labs.path_of(name, folder)
    judged = list(judge_predictions(name, answers(labs.text_of(path), path), {}))
    for right, text in judged:
        print(f"  {'ok  ' if right else 'FAIL'}  " + text.replace("\n", "\n        "))
    right = sum(right for right, _ in judged)
    print(f"  {right} of {len(judged)} numbers")
    return 0 if right == len(judged) else 1


def main(arguments):
    parser = labs.Parser(description="Builds a learner's file and judges it.")
    parser.add_argument("lab")
    parser.add_argument("--folder", default="labs")
    given = parser.parse_args(arguments)
    name = labs.known(given.lab)
    path = labs.path_of(name, given.folder)
    if not os.path.exists(os.path.join(labs.ROOT, path)):
        raise labs.Refusal(f"{path} is not there: make lab{name} writes it")
    labs.text_of(path)
    print(path, flush=True)
    return (check_predictions if labs.is_prediction(name) else check_program)(name, given.folder)


if __name__ == "__main__":
    labs.run(main)
