#!/usr/bin/env python3
"""classroom.py LAB [--folder FOLDER]: judges the learner's file of a lab as make grade does, and prints it as
GitHub Classroom reads it: a line `result=BASE64`, for $GITHUB_OUTPUT. What make says goes to stderr.
"""

import json
import os
import subprocess
import sys
import tempfile

import formats
import labs
import submissions


def nothing(lab, problem):
    """The result where there is none."""
    empty = {"name": "file", "points": 0, "possible": 100, "passed": False, "text": problem, "advice": ""}
    return {"lab": lab, "file": "", "status": "refused", "points": 0, "possible": 100, "checks": [empty],
            "remark": problem, "seconds": 0}  # fmt: skip


def graded(lab, folder, more=()):
    """The result of a folder with one submission, or None where make did not come to one."""
    with tempfile.TemporaryDirectory() as out:
        command = [os.environ.get("MAKE", "make"), "-s", "grade", f"SUBMISSIONS={folder}", f"LAB={lab}", f"OUT={out}"]
        subprocess.run([*command, *more], cwd=labs.ROOT, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        results = os.path.join(out, "results")
        names = os.listdir(results) if os.path.isdir(results) else []
        if len(names) != 1:
            return None
        with open(os.path.join(results, names[0]), encoding="utf-8") as file:
            return json.load(file)


def judge(lab, folder):
    path = labs.path_of(lab, folder)
    content, problem = submissions.read(os.path.join(labs.ROOT, path))
    if problem:
        return nothing(lab, f"{path}: {problem}")
    with tempfile.TemporaryDirectory() as handed_in:
        with open(os.path.join(handed_in, os.path.basename(path)), "wb") as file:
            file.write(content)
        return graded(lab, handed_in) or nothing(lab, "the judge could not be built or run")


def main(arguments):
    parser = labs.Parser(description="Judges a lab for GitHub Classroom.")
    parser.add_argument("lab")
    parser.add_argument("--folder", default="labs")
    given = parser.parse_args(arguments)
    print("result=" + formats.in_base64(formats.classroom(judge(labs.known(given.lab), given.folder))))
    return 0


if __name__ == "__main__":
    labs.run(main)
