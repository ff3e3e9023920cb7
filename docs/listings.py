#!/usr/bin/env python3
"""listings.py [--check]: compiles what docs/ptx-primer.md reads, and writes it to docs/listings.

Needs nvcc, and for machine code cuobjdump with nvdisasm (CUOBJDUMP says where). Another release of
nvcc makes another listing of the same program, so that --check compares only where the release is
that of the files there. It exits 1 where they differ, 77 where it cannot tell.
"""

import os
import re
import subprocess
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
FOLDER = os.path.join(DOCS, "listings")
ARCH = "90"

sys.path.insert(0, os.path.join(ROOT, "tests"))
import steps  # noqa: E402
import tool  # noqa: E402

RELEASE = re.compile(r"release (\d+\.\d+), V")


class Missing(Exception):
    """A tool that is not here."""


def output(*command):
    try:
        result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError as error:
        raise Missing(f"{command[0]} is not here") from error
    if result.returncode == 77:
        raise Missing(result.stderr.strip())
    if result.returncode:
        raise SystemExit(f"listings.py: {' '.join(command)}: {result.stderr.strip()}")
    return result.stdout


def release():
    return RELEASE.search(output("nvcc", "--version"))[1]


def chunk_with(text, word, before=0):
    """The first paragraph in which `word` occurs, and so many before it."""
    chunks = re.split(r"\n\s*\n", text)
    found = next(i for i, chunk in enumerate(chunks) if word in chunk)
    return chunks[found - before : found + 1]


def up_to(text, line_with, end):
    """The text as far as the first line with `end` after the first with `line_with`."""
    return text[: text.index(end, text.index(line_with)) + len(end)]


def tidy(text):
    """Without line numbers of the source, which would change with every comment there."""
    text = re.sub(r"^// \d+:\s*", "// ", text.expandtabs(8), flags=re.M)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip() != "// demoted variable")


def vector_add_ptx():
    source = os.path.join("docs", "listings", "vector_add.cu")
    text = output("nvcc", f"-arch=compute_{ARCH}", "-ptx", source, "-o", "-")
    return tidy(text[text.index(".visible") :].replace("\n\n\n", "\n\n"))


def step07_ptx():
    text = output("make", "--silent", "ptx07", f"ARCH={ARCH}")
    end = "// end inline asm"
    parts = [
        *chunk_with(text, "@inside"),
        *chunk_with(text, "st.shared.v4", before=1)[:1],
        up_to(chunk_with(text, "st.shared.v4")[0], "st.shared.v4", end),
        up_to(chunk_with(text, "ld.shared.v4")[0], "ld.shared.v4", end),
        *chunk_with(text, "xor.b32"),
    ]
    return tidy("\n\n".join(parts))


def sass(source):
    """Machine code of a file's kernel, an instruction a line."""
    target = os.path.join("build", "listing.o")
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    flags = ["-O3", "-Icommon", f"-gencode=arch=compute_{ARCH},code=sm_{ARCH}"]
    output("nvcc", *flags, "-c", source, "-o", target)
    folder = os.path.dirname(output("sh", "-c", "command -v nvcc").strip())
    lines = output("tests/sass.sh", target, folder).splitlines()
    code = [re.sub(r"/\*([0-9a-f]+)\*/ {4,}", r"\1  ", line.strip()) for line in lines if "/*" in line]
    return [line for line in code if not line.endswith(("NOP;", "NOP ;"))]


def vector_add_sass():
    code = sass(os.path.join("docs", "listings", "vector_add.cu"))
    return "\n".join(code[: next(i for i, line in enumerate(code) if "BRA" in line)])


def step07_sass():
    """The first of each kind of instruction that step 07 asks for."""
    code = sass(os.path.relpath(steps.sources()["07"], ROOT))
    kinds = ["LDG.E", "STS.128", "STS ", "BAR.SYNC", "LDS.128", "FFMA", "0x96"]
    firsts = [next(i for i, line in enumerate(code) if kind in line) for kind in kinds]
    return "\n".join(code[i] for i in sorted(firsts))


LISTINGS = {
    "vector_add.ptx": vector_add_ptx,
    "step07.ptx": step07_ptx,
    "vector_add.sass": vector_add_sass,
    "step07.sass": step07_sass,
}


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: docs/listings.py [--check]", file=sys.stderr)
        return 2
    stale, untold = [], []
    try:
        here, there = release(), steps.text(os.path.join(FOLDER, "release")).strip()
    except Missing as missing:
        print(missing)
        return 77
    if arguments and here != there:
        print(f"made with nvcc {there}, and {here} is here")
        return 77
    for name, make in LISTINGS.items():
        path = os.path.join(FOLDER, name)
        try:
            text = make() + "\n"
        except Missing as missing:
            untold.append(f"{name}: {missing}")
            continue
        if not os.path.exists(path) or steps.text(path) != text:
            stale.append(name)
            if not arguments:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    if not arguments:
        with open(os.path.join(FOLDER, "release"), "w", encoding="utf-8") as file:
            file.write(here + "\n")
    for line in untold:
        print(line)
    if stale:
        print(f"{'out of date' if arguments else 'written'}: {', '.join(stale)}")
    return 1 if stale and arguments else 77 if untold else 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
