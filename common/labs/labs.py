"""What the tools for labs share: which labs there are, and a learner's file cut from its step.

A lab's name is that of its step, "07": regions of the step are left to the learner. "07-hunt" is the whole
step with a mistake of docs/variants planted in it. "07-predict" is a list of numbers to be foretold.
"""

import argparse
import csv
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHEETS = os.path.join(ROOT, "docs", "labs")
HANDED = os.path.join(SHEETS, "handed")  # in a handout only: its labs, cut, and what the course reached

sys.path[:0] = [os.path.join(ROOT, "docs"), os.path.join(ROOT, "tests")]
import steps  # noqa: E402
import tool  # noqa: E402
import variants  # noqa: E402

REGION = re.compile(r"^( *)// lab: ([^\n]*)\n(.*?)^ *// end lab\n", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^ *// (?:lab: .*|end lab|\[/?[a-z0-9_]+\])\n", re.MULTILINE)
BUILD_LINE = re.compile(r"^// Build and run: .*\n", re.MULTILINE)


class Refusal(Exception):
    """What was wrong, in one line that ends the program with exit code 2."""


class Parser(argparse.ArgumentParser):
    """One that says in one line what is wrong with the arguments."""

    def error(self, message):
        raise Refusal(message)


def table(name):
    """The rows of docs/labs/NAME.tsv; lines that begin with # are comments."""
    lines = steps.text(os.path.join(SHEETS, name + ".tsv")).splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    return list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))


def sheet(name):
    """The page of a lab, as a path from the root: that of its step."""
    return os.path.relpath(glob.glob(os.path.join(SHEETS, name[:2] + "-*.md"))[0], ROOT)


def names():
    """Every lab: steps that have a sheet, hunts, predictions. Of a handout, those that it is made of."""
    predictions = sorted({row["step"] + "-predict" for row in table("predictions")})
    if os.path.isdir(HANDED):
        return sorted(os.path.basename(path)[4:-3] for path in glob.glob(os.path.join(HANDED, "*.cu"))) + predictions
    sheets = glob.glob(os.path.join(SHEETS, "[0-9][0-9]-*.md"))
    cut = sorted(os.path.basename(path)[:2] for path in sheets)
    hunts = [row["step"] + "-hunt" for row in table("hunts")]
    return cut + hunts + predictions


def known(name):
    if name not in names() and os.path.isdir(HANDED):
        raise Refusal(f"there is no lab {name} in this handout: {' '.join(names())}")
    if name not in names():
        steps_there = " ".join(there for there in names() if len(there) == 2)
        raise Refusal(f"there is no lab {name}: {steps_there}, and these with -hunt or -predict behind them")
    return name


def is_prediction(name):
    return name.endswith("-predict")


def path_of(name, folder):
    """The learner's file, as a path from the root."""
    return os.path.join(folder, f"step{name}" + (".txt" if is_prediction(name) else ".cu"))


def text_of(path):
    """The text of a learner's file, whatever editor wrote it."""
    full = os.path.join(ROOT, path)
    if os.path.exists(full) and not os.path.isfile(full):
        raise Refusal(f"{from_root(path)} is no regular file")
    with open(full, encoding="utf-8-sig", errors="replace") as file:
        return file.read()


def from_root(path):
    """A path as it is told: from the root where it is below."""
    return str(path).removeprefix(ROOT + os.sep)


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Refusal(f"{from_root(path)} cannot be made: there is a file of that name") from None


def write_file(path, text, mode=0o666):
    """All of it or nothing, on a full disk, too: a reader never sees a half of it."""
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        if os.path.lexists(part):
            os.unlink(part)
        raise Refusal(f"{from_root(path)}: {error.strerror}") from None


def regions(text):
    """The hint, and the lines between the marks, of each region in the text."""
    return [(match[2], match[3]) for match in REGION.finditer(text)]


def cut(text):
    """The text with nothing in its regions, or `return 0;` where a function has to return something."""

    def emptied(match):
        indent, hint, body = match.groups()
        stub = f"{indent}return 0;\n" if re.search(r"\breturn\b", body) else "\n"
        return f"{indent}// lab: {hint}\n{stub}{indent}// end lab\n"

    return REGION.sub(emptied, text)


def with_commands(text, name):
    """The step's text with the lab's commands in its header."""
    line = f"// Check: make check{name}    Hint: make hint{name}    Sheet: {sheet(name)}\n"
    return BUILD_LINE.sub(line, text, count=1)


def hunted(name):
    """The mistake that is planted in a hunt."""
    return next(row for row in table("hunts") if row["step"] == name[:2])


def solution(name):
    """What the learner's file may be in the end."""
    if name[:2] not in steps.all_sources():
        raise Refusal("a handout has no solutions")
    text = steps.text(steps.all_sources()[name[:2]])
    return with_commands(MARK.sub("", text) if name.endswith("-hunt") else text, name)


def question_sheet(name):
    """The file of a lab of predictions."""
    lines = [f"# Write a number behind each =, then: make check{name}.   Sheet: {sheet(name)}"]
    lines.append(f"# Of {'the kernel add with 65536 elements' if name[:2] == '00' else 'one launch at m = n = k = 128'}.")
    for row in predictions(name):
        lines += ["", f"# {row['question']}", f"{row['name']} ="]
    return "\n".join(lines) + "\n"


def predictions(name):
    return [row for row in table("predictions") if row["step"] == name[:2]]


def unsolved(name):
    """The learner's file to begin with."""
    if is_prediction(name):
        return question_sheet(name)
    if os.path.isdir(HANDED):
        return steps.text(os.path.join(HANDED, f"step{name}.cu"))
    if name.endswith("-hunt"):
        planted = variants.source(variants.load(hunted(name)["variant"]))
        return with_commands(MARK.sub("", planted), name)
    return cut(solution(name))


def hints(name):
    """The three hints of a lab, the strongest last."""
    pieces = re.split(r"^## .*\n", steps.text(os.path.join(SHEETS, "hints", name + ".md")), flags=re.MULTILINE)
    return [piece.strip("\n") for piece in pieces[1:]]


def reached(step):
    """{name: value} of what the course's step counts and reaches, where a handout holds it in its place."""
    path = os.path.join(HANDED, "reached")
    rows = table(os.path.join("handed", "reached")) if os.path.exists(path + ".tsv") else []
    return {row["name"]: row["value"] for row in rows if row["step"] == step}


def run(main, interrupted="interrupted"):
    """Runs main(arguments) as a program. Where it refuses, or a file cannot be read or written, one line and
    exit code 2; after Ctrl-C the words and exit code 130."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show stops nothing
    try:
        tool.run(main, sys.argv[1:])
    except Refusal as refusal:
        problem, status = refusal, 2
    except OSError as error:
        problem, status = f"{from_root(error.filename or 'a file')}: {error.strerror}", 2
    except KeyboardInterrupt:
        problem, status = interrupted, 130
    print(f"{os.path.basename(sys.argv[0])}: {problem}", file=sys.stderr)
    sys.exit(status)
