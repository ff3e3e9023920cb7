#!/usr/bin/env python3
"""handout.py [--classroom] [--name NAME] LAB...: writes build/handout/NAME.tar.gz, which a student unpacks
and works with: those labs, cut, the steps before them, and what builds and judges. With --classroom a
folder build/handout/NAME instead, ready to be pushed as a template of GitHub Classroom.

The same course gives the same bytes. Nothing that a lab asks for is in it: where that cannot be had, one
line says why, and the exit code is 2.
"""

import glob
import gzip
import io
import os
import re
import tarfile

import basics
import check
import labs
import pages
import plan
import steps

import measured

TEMPLATES = os.path.join(labs.ROOT, "common", "labs", "handout")
OUT = os.path.join("build", "handout")
VERBATIM = [
    "LICENSE", ".clang-format", "common/*.[ch]", "common/*.cu", "common/basics/*.[ch]", "common/emulator/*",
    "common/library/*.mk", "common/labs/*.mk", "docs/variants.py", "docs/variants.mk",
    "docs/emulator-facts.tsv", "docs/labs/rubric.tsv", "tests/steps.py", "tests/tool.py", "tests/diffs.py",
    "tests/counters.py", "tests/wavefronts.py", "tests/ptx.sh", "tests/sass.sh", "tests/sanitize.sh",
]  # fmt: skip
TOOLS = ["lab", "check"]  # of common/labs, with what they import
JUDGES = ["classroom", "grade"]  # what a classroom has beside these, with the judge in C
DATE = 1767225600  # of every file in an archive: the first of January 2026


def read(path):
    return steps.text(os.path.join(labs.ROOT, path))


def found(pattern):
    paths = sorted(glob.glob(os.path.join(labs.ROOT, pattern)))
    return [os.path.relpath(path, labs.ROOT) for path in paths if os.path.isfile(path)]


def tools(names):
    """The Python files of common/labs that these need."""
    wanted, done = list(names), []
    while wanted:
        path = f"common/labs/{wanted.pop()}.py"
        if path not in done and os.path.exists(os.path.join(labs.ROOT, path)):
            done.append(path)
            wanted += re.findall(r"^import (\w+)$", read(path), re.MULTILINE)
    return sorted(done)


def rows(path, keep):
    """A table with its comments and those rows for whose fields keep() holds."""
    lines = read(path).splitlines(keepends=True)
    fixed = [index for index, line in enumerate(lines) if line.startswith("#")]
    fixed += [next(index for index in range(len(lines)) if index not in fixed)] if path.startswith("docs") else []
    return "".join(line for index, line in enumerate(lines) if index in fixed or keep(line.rstrip("\n").split("\t")))


def value(number):
    return f"{number:.9g}"


def reached(wanted):
    """What the course's steps count and reach, for a check that does not have them."""
    lines = ["# What the course's own steps count (questions of the predictions) and reach on a GPU.\n"]
    lines.append("step\tname\tvalue\n")
    for name in wanted.gaps:
        if name != "00":
            ratio = measured.median(measured.runs(name, "4096"), "ratio")
            lines += [f"{name}\tratio\t{value(ratio)}\n", f"{name}\tdevice\t{measured.records()[0]['device']}\n"]
    cache = {}
    for name in wanted.predictions:
        for row in labs.predictions(name):
            lines.append(f"{name[:2]}\t{row['name']}\t{value(check.value_in(row, cache))}\n")
    return "".join(lines)


def filled(template, wanted, classroom, listed=""):
    """A template with what differs from handout to handout put in."""
    kept, text = wanted.kept, steps.text(os.path.join(TEMPLATES, template))
    for needed, field in ((1, "@STEPS?(?:_HERE)?@"), (2, "@GEMM@")):
        if len(kept) < needed:  # help without the lines, and the headings, of what is not there
            text = re.sub(rf"^##.*{field}.*\n", "", text, flags=re.MULTILINE)
    if not wanted.programs:  # nothing is built
        text = re.sub(r"^.*hint@LAB@.*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^(?:The first|After a) check .*\n(?:.+\n)*\n", "", text, flags=re.MULTILINE)
    if not wanted.programs:
        text = re.sub(r"^##.*@MINE@.*\n", "", text, flags=re.MULTILINE)
    if not wanted.predictions:
        text = re.sub(r"^.*@PREDICT@.*\n", "", text, flags=re.MULTILINE)
    if not wanted.gaps:
        text = re.sub(r"^Write between .*\n(?:.+\n)*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^## \w.*:\n##\n", "", text, flags=re.MULTILINE)
    steps_here = f"steps {kept[0]} to {kept[-1]}" if len(kept) > 1 else "step 00" if kept else "no step"
    fields = {
        "@LABS@": " ".join([*wanted.programs, *wanted.predictions]),
        "@MAIN@": " ".join(wanted.programs or wanted.predictions),
        "@STEPS@": " ".join(kept),
        "@STEPS_HERE@": steps_here,
        "@LAB@": [*wanted.programs, *wanted.predictions][0],
        "@MINE@": (wanted.programs or [""])[0],
        "@PREDICT@": (wanted.predictions or [""])[0],
        "@STEP@": kept[-1] if kept else "",
        "@GEMM@": kept[-1] if kept else "",
        "@PAGES@": listed,
        "@GRADE@": "grade" if classroom else "",
    }
    for field, words in fields.items():
        text = text.replace(field, words)
    text = re.sub(r"^(##   make )(\S+) +", lambda match: f"{match[1]}{match[2]:16} ", text, flags=re.MULTILINE)
    return re.sub(r"^(\$ make.*?) +# ", lambda match: f"{match[1]:22}  # ", text, flags=re.MULTILINE)


def listing(texts):
    """A line of Markdown for each page."""
    titles = {path: text.split("\n", 1)[0].removeprefix("# ") for path, text in texts.items()}
    return "\n".join(f"- [{title}]({path})" for path, title in titles.items())


def contents(wanted, classroom=False):
    """{path: text} of everything in a handout."""
    files = {path: read(path) for pattern in VERBATIM for path in found(pattern)}
    for path in found("docs/figures/*.svg"):
        if not wanted.traces(text := read(path)):
            files[path] = text
    for step in wanted.kept:
        files.update((path, read(path)) for path in found(f"steps/{step}_*.cu") + found(f"docs/variants/{step}-*.diff"))
    files.update((path, read(path)) for path in tools(TOOLS + JUDGES * classroom))
    files.update((path, read(path)) for path in found("common/labs/*.[ch]") if classroom)
    judged = [name[:2] for name in wanted.programs]
    files["docs/labs/counters.tsv"] = rows("docs/labs/counters.tsv", lambda row: row[0] in judged)
    asked = [name[:2] for name in wanted.predictions]
    files["docs/labs/predictions.tsv"] = rows("docs/labs/predictions.tsv", lambda row: row[0] in asked)
    files["tests/budgets.tsv"] = rows("tests/budgets.tsv", lambda row: row[1] in wanted.kept)
    for name in wanted.programs:
        files[f"docs/labs/hints/{name}.md"] = read(f"docs/labs/hints/{name}.md")
        files[f"docs/labs/handed/step{name}.cu"] = files[labs.path_of(name, "labs")] = wanted.file_of(name)
    for name in wanted.predictions:
        files[labs.path_of(name, "labs")] = labs.unsolved(name)
    files["docs/labs/handed/reached.tsv"] = reached(wanted)
    files["common/course.mk"] = re.sub(r"^##.*\n", "", read("Makefile"), flags=re.MULTILINE)
    files["Makefile"] = filled("Makefile", wanted, classroom)
    files[".gitignore"] = "/build/\n/step[0-9][0-9]\n__pycache__/\n"
    texts = pages.Pages(wanted, files).all()
    files["README.md"] = filled("README.md", wanted, classroom, listing(texts))
    files.update(texts)
    drawn = set(re.findall(r"figures/[\w-]+\.svg", "".join(texts.values())))
    return {path: text for path, text in files.items() if not path.endswith(".svg") or path[len("docs/") :] in drawn}


def refuse_traces(wanted, files):
    for path, text in files.items():
        for trace in wanted.traces(text):
            raise labs.Refusal(f"{path} would give away {trace}")


def is_program(path):
    """Whether a file of the course may be executed."""
    full = os.path.join(labs.ROOT, path)
    return os.path.exists(full) and os.access(full, os.X_OK)


def write_archive(path, top, files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            content = files[name].encode()
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mtime, member.mode = len(content), DATE, 0o755 if is_program(name) else 0o644
            archive.addfile(member, io.BytesIO(content))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=DATE) as packed:
        packed.write(buffer.getvalue())


def write_folder(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755 if is_program(name) else 0o644)


def workflow(wanted):
    """A job that judges each lab after a push: a step a lab, and one that reports."""
    template = steps.text(os.path.join(TEMPLATES, "classroom.yml"))
    before, each, after = template.split("# for each lab\n")
    judgeable = [name for name in wanted.programs if not basics.is_basic(name)]  # 00 is its learner's to judge
    ids = ["lab" + name.replace("-", "") for name in judgeable]
    judged = "".join(each.replace("@LAB@", name).replace("@ID@", key) for name, key in zip(judgeable, ids))
    results = "\n".join(f"          {name.upper()}_RESULTS: ${{{{ steps.{name}.outputs.result }}}}" for name in ids)
    return before + judged + after.replace("@RESULTS@", results.lstrip()).replace("@RUNNERS@", ",".join(ids))


def planned(names):
    """The plan for the labs that were asked for."""
    if not names:
        raise labs.Refusal('which labs? make handout LABS="03 05"')
    wanted = plan.Plan([labs.known(name) for name in names])
    if wanted.hunts and len(wanted.programs) > 1:
        raise labs.Refusal(f"{wanted.hunts[0]} shows the whole step: it has to be handed out alone")
    return wanted


def main(arguments):
    parser = labs.Parser(description="Writes what a student needs for some labs.")
    parser.add_argument("labs", nargs="*", metavar="LAB")
    parser.add_argument("--classroom", action="store_true")
    parser.add_argument("--name")
    given = parser.parse_args(arguments)
    wanted = planned(given.labs)
    name = given.name or "-".join(["classroom" if given.classroom else "labs", *sorted(set(given.labs))])
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise labs.Refusal(f"NAME={name}: letters, digits, dots and dashes")
    if given.classroom and not [name for name in wanted.programs if not basics.is_basic(name)]:
        raise labs.Refusal("a classroom needs a lab that a judge can judge: of steps 01 to 09, no predictions alone")
    files = contents(wanted, given.classroom)
    if given.classroom:
        files[".github/workflows/classroom.yml"] = workflow(wanted)
    refuse_traces(wanted, files)
    path = os.path.join(labs.ROOT, OUT, name)
    labs.make_folder(os.path.dirname(path))
    if given.classroom:
        if os.path.exists(path):
            raise labs.Refusal(f"{OUT}/{name} is there already: remove it, or NAME=another")
        write_folder(path, files)
        print(f"{OUT}/{name}: {len(files)} files, to be pushed as a template")
    else:
        write_archive(path + ".tar.gz", name, files)
        print(f"{OUT}/{name}.tar.gz: labs {' '.join(wanted.programs + wanted.predictions)}, {len(files)} files")
    return 0


if __name__ == "__main__":
    labs.run(main)
