"""The PTX inside a step's object, as the emulator finds it: plain text between other sections."""

import os
import re

import matrix
import steps

# Up to what follows: inline assembly may have a brace of its own at the start of a line.
KERNEL = re.compile(r"\.entry .*?(?=^(?:\.visible )?\.entry|^\.file|^\.section|\Z)", re.M | re.S)


class Kernel:
    """One .entry of the PTX: its plain name, its directives and its instructions."""

    def __init__(self, text):
        self.text = text
        self.name = matrix.plain_name(re.search(r"\.entry (\w+)", text)[1])

    def threads(self):
        return int(re.search(r"\.maxntid (\d+)", self.text)[1])

    def blocks(self):
        match = re.search(r"\.minnctapersm (\d+)", self.text)
        return int(match[1]) if match else 1

    def has(self, pattern):
        return re.search(pattern, self.text) is not None


def object_of(step):
    name = os.path.basename(steps.sources()[step])[:-3]
    return os.path.join(steps.ROOT, "build", "steps", name + ".o")


def modules_of(step):
    """The text of every PTX module in the object."""
    with open(object_of(step), "rb") as file:
        content = file.read()
    return [m[0].decode() for m in re.finditer(rb"\.version \d+\.\d+\n\.target [^\0]*", content)]


def kernels_of(step):
    """The kernels of the object's first PTX module."""
    return [Kernel(m[0]) for m in KERNEL.finditer(modules_of(step)[0])]
