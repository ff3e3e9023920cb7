#!/usr/bin/env python3
"""variants.py source NAME | try NAME | list: a step with the change of docs/variants/NAME.diff.

The file's first lines say what the change is, a "mistake" or an "experiment", and with which options
it is run on the emulator. Then come hunks, `@@` between them, in the form of a diff without line
numbers: the old text must be in the step exactly once.
"""

import collections
import glob
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "docs", "variants")
BUILT = os.path.join(ROOT, "build", "variants")
SECONDS = 60  # that a run may take

sys.path.insert(0, os.path.join(ROOT, "tests"))
import steps  # noqa: E402
import tool  # noqa: E402

Variant = collections.namedtuple("Variant", "name step kind title runs hunks")


def names():
    return sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(FOLDER, "*.diff")))


def load(name):
    lines = steps.text(os.path.join(FOLDER, name + ".diff")).splitlines()
    head = [line[2:] for line in lines if line.startswith("# ")]
    kind, title = head[0].split(": ", 1)
    runs = [line[5:] for line in head[1:] if line.startswith("run: ")] or ["-s 128"]
    hunks = "\n".join(lines[len(head) :]).split("\n@@\n")
    if kind not in ("mistake", "experiment"):
        raise ValueError(f"docs/variants/{name}.diff is neither a mistake nor an experiment: {kind}")
    return Variant(name, name[:2], kind, title, runs, [hunk.splitlines() for hunk in hunks])


def source(variant):
    """The changed text of the step."""
    text = steps.text(steps.all_sources()[variant.step])
    for hunk in variant.hunks:
        old = "".join(line[1:] + "\n" for line in hunk if not line.startswith("+"))
        new = "".join(line[1:] + "\n" for line in hunk if not line.startswith("-"))
        if text.count(old) != 1:
            raise ValueError(f"docs/variants/{variant.name}.diff: {text.count(old)} times in the step:\n{old}")
        text = text.replace(old, new)
    return text


def run(variant, options):
    """Runs it on the emulator: (exit status, stdout, stderr)."""
    program = os.path.relpath(os.path.join(BUILT, variant.name + "-emulated"), ROOT)
    result = subprocess.run(
        [program, *options.split()],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
    )
    return result.returncode, result.stdout, result.stderr


def is_as_told(variant, statuses):
    """An experiment is right in every run, a mistake is caught in one."""
    return any(statuses) if variant.kind == "mistake" else not any(statuses)


def try_it(variant):
    """Shows the change and runs it."""
    print(f"step {variant.step}, {variant.kind}: {variant.title}")
    print("\n@@\n".join("\n".join(hunk) for hunk in variant.hunks))
    statuses = []
    for options in variant.runs:
        status, output, errors = run(variant, options)
        statuses.append(status)
        print(f"\n$ build/variants/{variant.name}-emulated {options}\n{output}", end="")
        print("\n".join(textwrap.fill(line, 100, break_on_hyphens=False) for line in errors.splitlines()))
        print(f"exit status {status}")
    return 0 if is_as_told(variant, statuses) else 1


def main(arguments):
    if arguments == ["list"]:
        for name in names():
            variant = load(name)
            print(f"  make try{name:24} {variant.kind}: {variant.title}")
        print("On a GPU an experiment can be timed beside its step: make time09-narrow.")
        return 0
    if len(arguments) != 2 or arguments[0] not in ("source", "try") or arguments[1] not in names():
        print("usage: docs/variants.py source NAME | try NAME | list", file=sys.stderr)
        return 2
    variant = load(arguments[1])
    if arguments[0] == "try":
        return try_it(variant)
    print(source(variant), end="")
    return 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:], unread=0)
