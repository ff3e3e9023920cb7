"""What the tests and tools read from the files of the steps."""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
DESCRIPTOR = re.compile(r"^const struct step step\d\d = \{.*?^\};", re.DOTALL | re.MULTILINE)


def all_sources():
    """{"00": ".../steps/00_vector_add.cu", ...}, in order."""
    paths = sorted(glob.glob(os.path.join(ROOT, "steps", "[0-9][0-9]_*.cu")))
    return {os.path.basename(path)[:2]: path for path in paths}


def sources():
    """The same without step 00, which multiplies no matrices."""
    return {step: path for step, path in all_sources().items() if step != "00"}


def title(step):
    """As a person writes it: of the descriptor, or of the header where there is none."""
    source = text(all_sources()[step])
    found = re.search(r'\.title = "([^"]*)"', source) or re.match(r"// Step \d\d: (.*)", source)
    return found[1]


def arithmetic(step):
    """What the step computes with, "3xTF32" or "float32"."""
    found = re.search(r'\.arithmetic = "([^"]*)"', text(all_sources()[step]))
    return found[1] if found else "float32"


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def has_kernel(path):
    """Whether the step has kernels of its own: one may choose among those of others."""
    return "__global__" in text(path)


def code_lines(path):
    """The lines of code: no comments, no blank lines, no descriptor."""
    code = COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] == '"' else "", text(path))
    code = DESCRIPTOR.sub("", code)
    return [line.rstrip() for line in code.splitlines() if line.strip()]
