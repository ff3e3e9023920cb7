"""What the tests and tools read from the files of the steps."""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
DESCRIPTOR = re.compile(r"^const struct step step\d\d = \{.*?^\};", re.DOTALL | re.MULTILINE)


def sources():
    """{"07": ".../steps/07_inline_ptx.cu", ...}, in order."""
    paths = sorted(glob.glob(os.path.join(ROOT, "steps", "[0-9][0-9]_*.cu")))
    return {os.path.basename(path)[:2]: path for path in paths}


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
