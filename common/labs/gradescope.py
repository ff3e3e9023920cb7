#!/usr/bin/env python3
"""gradescope.py zip LAB [--secret FILE] [--out FILE.zip] | run [--root /autograder]

zip makes the autograder that a teacher uploads: setup.sh, run_autograder, and the course. run is what
run_autograder calls: it grades the submission below the root and writes results/results.json there.
"""

import json
import os
import shutil
import stat
import sys
import tempfile
import time
import zipfile

import classroom
import formats
import grade
import labs
import submissions

PARTS = ("Makefile", "LICENSE", "common", "docs", "steps", "tests")
LEFT_OUT = ("__pycache__", "results", "figures")  # folders that no judge needs

SETUP = """#!/usr/bin/env bash
# Installs what the judge needs, and builds it, once for all submissions. No GPU is needed: kernels run on
# the course's emulator.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -qy --no-install-recommends make gcc g++ python3 python3-venv
if [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
    python3 -m venv /opt/cuda-wheels
    /opt/cuda-wheels/bin/pip install -q --disable-pip-version-check @WHEELS@
    ln -sfn /opt/cuda-wheels/lib/python3*/site-packages/nvidia/cu13 /opt/cuda
fi
cd "$(dirname "$0")/course"
make -s -j"$(nproc)" grade-tools
"""
WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl",
          "nvidia-cublas")  # fmt: skip
RUN = """#!/usr/bin/env bash
# Grades one submission.
cd /autograder/source/course && exec python3 common/labs/gradescope.py run
"""


def setup():
    return SETUP.replace("@WHEELS@", " ".join(f"'{name}==13.0.*'" for name in WHEELS))


def course_files():
    for part in PARTS:
        full = os.path.join(labs.ROOT, part)
        if os.path.isfile(full):
            yield part
        for folder, folders, names in os.walk(full):
            folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
            yield from (os.path.relpath(os.path.join(folder, name), labs.ROOT) for name in sorted(names))


def add(archive, name, content, executable):
    """The same content gives the same archive, whenever it is made."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_zip(lab, secret, out):
    with zipfile.ZipFile(out, "w") as archive:
        add(archive, "setup.sh", setup(), True)
        add(archive, "run_autograder", RUN, True)
        for name in course_files():
            full = os.path.join(labs.ROOT, name)
            add(archive, "course/" + name, read(full), os.access(full, os.X_OK))
        add(archive, "course/lab", lab + "\n", False)
        if secret:
            add(archive, "course/secret", secret + b"\n", False)


def student_of(root):
    """Who has handed in: an address, and of several the first. What differs by student hangs on it."""
    try:
        with open(os.path.join(root, "submission_metadata.json"), encoding="utf-8") as file:
            address = str(json.load(file)["users"][0]["email"])
    except (OSError, ValueError, LookupError, TypeError):
        address = ""
    return submissions.shown(address).replace("/", "_").lstrip(".")[:100] or "submission"


def grade_submission(root, lab):
    """The result of what has been handed in, or None where there is none."""
    secret = os.path.join(labs.ROOT, "secret")
    with tempfile.TemporaryDirectory() as folder:
        try:
            handed_in = os.path.join(folder, student_of(root))
            shutil.copytree(os.path.join(root, "submission"), handed_in, symlinks=True)
        except (OSError, shutil.Error) as error:  # pipes, and what else cannot be copied
            print(f"gradescope.py: {error}", file=sys.stderr)
        return classroom.graded(lab, folder, [f"SECRET={secret}"] if os.path.exists(secret) else [])


def run(root):
    begun = time.monotonic()
    lab = read(os.path.join(labs.ROOT, "lab")).decode().strip()
    result = grade_submission(root, lab)
    if result is None:
        problem = "The autograder itself failed, and this is no judgement of the submission. Tell the teacher."
        result = {**classroom.nothing(lab, problem), "fingerprint": ""}
    result["seconds"] = time.monotonic() - begun
    with open(os.path.join(root, "results", "results.json"), "w", encoding="utf-8") as file:
        json.dump(formats.gradescope(result), file, indent=1)


def main(arguments):
    parser = labs.Parser(description="An autograder for Gradescope.")
    tasks = parser.add_subparsers(dest="task", required=True)
    zipping, running = tasks.add_parser("zip"), tasks.add_parser("run")
    zipping.add_argument("lab")
    zipping.add_argument("--secret")
    zipping.add_argument("--out")
    running.add_argument("--root", default="/autograder")
    given = parser.parse_args(arguments)
    if given.task == "run":
        run(given.root)
        return 0
    lab = grade.gradable(given.lab)
    secret = grade.read_secret(given.secret) if given.secret else b""
    out = given.out or os.path.join(labs.ROOT, "build", f"autograder-{lab}.zip")
    labs.make_folder(os.path.dirname(os.path.abspath(out)))
    make_zip(lab, secret, out)
    print(os.path.relpath(out))
    return 0


if __name__ == "__main__":
    labs.run(main)
