#!/usr/bin/env python3
"""check.py LAB [--folder FOLDER]: builds a learner's file and judges it.

In this order: correct, clean, counters, speed; each is worth points (docs/labs/rubric.tsv). Without a GPU
the kernel runs on the emulator and speed is not judged. Exit code 0: all points, 1: not all, 2: the call
made no sense, and one line says why.
"""

import argparse
import collections
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import textwrap

import basics
import labs
import steps

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
CPU_SECONDS, WALL_SECONDS = 30, 240  # of one run; a machine may be busy
FILE_BYTES = 32 << 20  # that a run may write
SHOWN = 3  # lines of a message
FULL_SPEED = 0.95  # of the course's ratio to cuBLAS

Outcome = collections.namedtuple("Outcome", "status out err")
Finding = collections.namedtuple("Finding", "passed text advice share", defaults=("", 0.0))


def limit_child():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, **settings):
    """Runs a program within limits: a status below 0 is the signal that ended it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EMULATOR_")}
    environment.update(settings)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            cwd=labs.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=limit_child,
            start_new_session=True,
        )
        try:
            status = process.wait(WALL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = -signal.SIGXCPU
        return Outcome(status, *(read_some(file) for file in (out, err)))


def read_some(file):
    file.seek(0)
    return file.read(20000).decode(errors="replace")


def emulate(program, options, **settings):
    return run([program + "-emulated", *options.split()], EMULATOR_GPU="sm_90", **settings)


def message(outcome):
    """The first lines of what the program said, or how it ended."""
    if outcome.status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"it did not end within {CPU_SECONDS} s: does every loop end?"
    said = [re.sub(r"^step\d\d: ", "", line) for line in outcome.err.splitlines() if line.strip()]
    lines = list(dict.fromkeys(said))
    if outcome.status < 0:
        lines.append(f"it crashed: {signal.Signals(-outcome.status).name}")
    return "\n".join(lines[:SHOWN]) or f"exit code {outcome.status}"


def region_to_do(name, folder):
    """Where to look first in a learner's file: a region that is still as it was cut, else any."""
    text = steps.text(os.path.join(labs.ROOT, labs.path_of(name, folder)))
    cut = dict(labs.regions(labs.unsolved(name)))
    found = [(hint, text[: text.index("// lab: " + hint)].count("\n") + 1, body)
             for hint, body in labs.regions(text)]
    untouched = [(hint, line) for hint, line, body in found if body.strip() == cut.get(hint, "").strip()]
    place = f"{labs.path_of(name, folder)}:"
    if untouched:
        return f"{place}{untouched[0][1]}: nothing here yet: {untouched[0][0]}"
    return f"{place}{found[0][1]}: look here: {found[0][0]}" if found else ""


# ---------------------------------------------------------------------------- the checks


def judge_results(program):
    """The findings `correct` and `clean`: every shape with the emulator's checks, and where those stop
    the kernel, once more without them."""
    wrong = fault = None
    shapes, passes = SHAPES, "exact and rounding"
    if basics.is_basic(os.path.basename(program)[len("step") :]):
        shapes, passes = basics.SHAPES, "every element"
    for options in shapes:
        outcome = emulate(program, options)
        if outcome.status == EMULATOR_FAULT:
            fault = fault or (options, outcome)
            outcome = emulate(program, options, EMULATOR_CHECKS="off")
        if outcome.status != 0:
            wrong = wrong or (options, outcome)
        if wrong:
            break
    correct = Finding(True, f"{passes}, {len(shapes)} shapes", share=1.0)
    if wrong:
        place = [message(fault[1])] if fault else []  # it has a line of the source
        correct = Finding(False, f"with {wrong[0]}", "\n".join([*place, message(wrong[1])]))
    if fault:
        return correct, Finding(False, f"with {fault[0]}", message(fault[1]))
    if wrong:
        return correct, Finding(False, "not judged: first it has to be correct")
    return correct, Finding(True, "no race, nothing out of bounds, nothing uninitialised", share=1.0)


def total(kernels, key, kind, field):
    return sum(entry[field] or 0 for kernel in kernels for entry in kernel[key] if entry["kind"] == kind)


def costliest(kernels, kind, field):
    """The line of the source with the most of it, and how much that is."""
    entries = [entry for kernel in kernels for entry in kernel["line_accesses"] if entry["kind"] == kind]
    worst = max(entries, key=lambda entry: entry[field] or 0)
    return f"{worst['file']}:{worst['line']}", worst[field]


def record_of(command, **settings):
    """What a run wrote with --json: its first record, or None where the run failed."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        outcome = run([*command, "--json", file.name], **settings)
        return (outcome, json.load(file)["records"][0] if outcome.status == 0 else None)


def counts_of(program, step):
    """The record of what a program does on the emulator, or None where it failed."""
    options = basics.COUNTED if basics.is_basic(step) else COUNTED
    return record_of([program + "-emulated", *options.split()], EMULATOR_GPU="sm_90")


def judge_counters(program, step):
    outcome, record = counts_of(program, step)
    if record is None:
        return Finding(False, "what it does could not be counted", message(outcome))
    kernels, met, advice, said = record["counters"], 0, [], []
    rows = [row for row in labs.table("counters") if row["step"] == step]
    for row in rows:
        kind, field, most = row["kind"], row["field"], int(row["most"])
        count = total(kernels, "accesses", kind, field)
        said.append(f"{kind} {field} {count} (at most {most})")
        if count <= most:
            met += 1
        else:
            place, here = costliest(kernels, kind, field)
            advice.append(f"{place}: {here} of {count} {kind} {field}, at most {most} in all: {row['why']}")
    return Finding(met == len(rows), "; ".join(said), "\n".join(advice), met / len(rows))


def ratio_of(program):
    """Its speed as a ratio to cuBLAS in the same run."""
    outcome, record = record_of([program, *TIMED.split()])
    return outcome, record["ratio"] if record else None


def ratio_of_course(step, build):
    """The same of the course's own step, and on which GPU; a handout has the ratio, and not the step."""
    there = labs.reached(step)
    if there:
        return float(there["ratio"]), f"on an {there['device']}"
    build(f"step{step}")
    return ratio_of(f"./step{step}")[1], ""


def judge_speed(program, step, build):
    """Against the course's own step, on the same GPU a moment later; in a handout, on the reference GPU."""
    outcome, ratio = ratio_of(program)
    if ratio is None:
        return Finding(False, f"with {TIMED}", message(outcome))
    own, where = ratio_of_course(step, build)
    if own is None:
        return Finding(False, f"not judged: the course's step {step} does not run here")
    share = min(1.0, ratio / (FULL_SPEED * own))
    text = f"{ratio:.3f} of cuBLAS; the course's step {own:.3f} {where}".rstrip()
    advice = "" if share == 1 else f"compare the registers and spills that {program} prints with the chapter's"
    return Finding(share == 1, text, advice, share)


def has_gpu(program):
    outcome = run([program, "-s", "16", "--verify-only"])
    return "no CUDA device" not in outcome.err


# ---------------------------------------------------------------------------- points


def points_of(name):
    """{check: points} of a lab; lines for * hold for every lab of the same kind."""
    kind = "*" + name[2:]
    rows = [row for row in labs.table("rubric") if row["lab"] in (name, kind)]
    return {row["check"]: int(row["points"]) for row in rows}


def print_indented(text):
    for line in text.splitlines():
        print(textwrap.fill(line[:600], 100, initial_indent="  ", subsequent_indent="    ",
                            break_on_hyphens=False))  # fmt: skip


def report(name, findings):
    """Prints what passed and the first thing to fix; returns the exit code."""
    points, earned, possible, advice = points_of(name), 0, 0, ""
    for check, finding in findings.items():
        if finding is None:
            print(f"  --    {check:9} no GPU here: not judged")
            continue
        got = round(points[check] * finding.share)
        earned += got
        possible += points[check]
        print(f"  {'ok  ' if finding.passed else 'FAIL'}  {check:9} {got:3} of {points[check]:3}   {finding.text}")
        advice = advice or finding.advice
    print(f"  {earned} of {possible} points")
    if earned < possible:
        print("\nFirst thing to fix:")
        print_indented(advice)
        print(f"  A hint: make hint{name}")
    return 0 if earned == possible else 1


def judge(name, program, build):
    """All findings for a program that has been built, in the order of the rubric."""
    step, wanted = name[:2], points_of(name)
    correct, clean = judge_results(program)
    findings = {"correct": correct, "clean": clean}
    if "counters" in wanted:
        later = Finding(False, "not judged: first it has to be correct and clean")
        findings["counters"] = judge_counters(program, step) if correct.passed and clean.passed else later
    if wanted.get("speed"):
        if build(program) is not None or not has_gpu(program):
            findings["speed"] = None
        elif correct.passed:
            findings["speed"] = judge_speed(program, step, build)
        else:
            findings["speed"] = Finding(False, "no rate for a wrong kernel")
    return findings


def make(target, folder):
    """Builds it: what make said where it failed, or None."""
    command = [os.environ.get("MAKE", "make"), target, f"LAB_FOLDER={folder}"]
    result = subprocess.run(command, cwd=labs.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace")  # fmt: skip
    return None if result.returncode == 0 else result.stdout


def check_program(name, folder):
    program = f"build/{folder}/step{name}"
    said = make(program + "-emulated", folder)
    if said is not None:
        errors = [line for line in said.splitlines() if re.search(r"\berror\b", line, re.I)]
        print(f"  FAIL  it does not compile\n  0 of {sum(points_of(name).values())} points\n\nFirst thing to fix:")
        print_indented("\n".join((errors or said.splitlines())[:SHOWN]))
        return 1
    findings = judge(name, program, lambda target: make(target, folder))
    correct = findings["correct"]
    if not correct.passed and not name.endswith("-hunt"):
        advice = f"{correct.advice}\n{region_to_do(name, folder)}"
        findings["correct"] = correct._replace(advice=advice)
    return report(name, findings)


# ---------------------------------------------------------------------------- predictions


def counted(step, cache):
    """The record of a step on the emulator."""
    if step not in cache:
        said = make(f"build/step{step}-emulated", "labs")
        outcome, cache[step] = counts_of(f"build/step{step}", step)
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
            known[field] = total(record["counters"], "accesses", kind, field)
    known["flop"] = basics.flop_of(record) if "elements" in record else 2 * record["m"] * record["n"] * record["k"]
    top, _, bottom = quotient.partition(" / ")
    return known[top] / (known[bottom] if bottom else 1)


def answers(name, folder):
    """{name: text behind the =} of a learner's sheet."""
    lines = steps.text(os.path.join(labs.ROOT, labs.path_of(name, folder))).splitlines()
    pairs = [line.partition("=") for line in lines if not line.lstrip().startswith("#") and line.strip()]
    for key, equals, _ in pairs:
        if not equals:
            raise labs.Refusal(f"{labs.path_of(name, folder)}: this line is no `name = number`: {key[:60]}")
    return {key.strip(): value.strip() for key, _, value in pairs}


def number_of(text):
    """A number, a fraction like 1/4 or a percentage; None where it is neither."""
    match = re.fullmatch(r"(-?[\d.]+)\s*(?:/\s*([\d.]+))?\s*(%?)", text)
    try:
        return float(match[1]) / float(match[2] or 1) / (100 if match[3] else 1) if match else None
    except (ValueError, ZeroDivisionError):
        return None


def check_predictions(name, folder):
    given, cache, right = answers(name, folder), {}, 0
    rows = labs.predictions(name)
    for row in rows:
        number, value = number_of(given.get(row["name"], "")), value_in(row, cache)
        if number is not None and abs(number - value) <= 0.02 * abs(value):
            right += 1
            print(f"  ok    {row['name']} = {number:g}")
        elif number is None:
            print(f"  FAIL  {row['name']}: no number yet")
        else:
            print(f"  FAIL  {row['name']}: you said {number:g}, counted are {value:.6g}\n        {row['why']}")
    print(f"  {right} of {len(rows)} numbers")
    return 0 if right == len(rows) else 1


def main(arguments):
    parser = argparse.ArgumentParser(description="Builds a learner's file and judges it.")
    parser.add_argument("lab")
    parser.add_argument("--folder", default="labs")
    given = parser.parse_args(arguments)
    name = labs.known(given.lab)
    path = labs.path_of(name, given.folder)
    if not os.path.exists(os.path.join(labs.ROOT, path)):
        raise labs.Refusal(f"{path} is not there: make lab{name} writes it")
    print(path, flush=True)
    return (check_predictions if labs.is_prediction(name) else check_program)(name, given.folder)


if __name__ == "__main__":
    labs.run(main)
