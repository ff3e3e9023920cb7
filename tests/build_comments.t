#!/usr/bin/env python3
"""The comments of the steps that are read by machines: `// [name]` ... `// [/name]` around an
excerpt, `// lab: hint (about N lines)` ... `// end lab` around what a lab removes."""

import re

import steps
import tap

ANCHOR = re.compile(r"\s*// \[(/?)([a-z0-9_]+)\]$")
LAB = re.compile(r"\s*// lab: \S.* \(about \d+ lines?\)$")
END_LAB = re.compile(r"\s*// end lab$")
LOOKS_LIKE_ONE = re.compile(r"//\s*\[|//\s*(end\s+)?lab\b", re.I)


def faults(text):
    """What is wrong, a line each."""
    found, open_anchors, seen, lab = [], [], set(), None
    for number, line in enumerate(text.splitlines(), 1):
        if match := ANCHOR.match(line):
            closing, name = match.groups()
            if not closing and name in seen:
                found.append(f"line {number}: [{name}] for the second time")
            if not closing:
                open_anchors.append(name)
                seen.add(name)
            elif not open_anchors or open_anchors.pop() != name:
                found.append(f"line {number}: [/{name}] closes what is not open")
        elif LAB.match(line):
            if lab:
                found.append(f"line {number}: a lab inside the lab of line {lab}")
            lab = number
        elif END_LAB.match(line):
            if not lab:
                found.append(f"line {number}: the end of no lab")
            elif lab == number - 1:
                found.append(f"line {number}: a lab of no lines")
            lab = None
        elif LOOKS_LIKE_ONE.search(line):
            found.append(f"line {number}: neither an anchor nor a lab: {line.strip()}")
    found += [f"[{name}] is not closed" for name in open_anchors]
    return found + ([f"the lab of line {lab} is not closed"] if lab else [])


for step, source in steps.all_sources().items():
    text = steps.text(source)
    tap.ok(not faults(text), f"step {step}: anchors and labs are in order", "\n".join(faults(text)))
    if step in steps.sources():
        tap.ok(re.search(r"^\s*// lab: ", text, re.M), f"step {step} has a lab")
    tap.ok(
        text.startswith(f"// Step {step}: ") and f"make step{step} && ./step{step}" in text,
        f"step {step}: the header names the step and how to build it",
    )

for bad in ("// [a]", "// [a]\n// [/b]", "// [a]\n// [/a]\n// [a]\n// [/a]", "// [/a]", "// [A b]"):
    tap.ok(faults(bad), f"rejected: {bad!r}")
for bad in ("// lab: x (about 2 lines)", "// end lab", "// lab: x\nf();\n// end lab"):
    tap.ok(faults(bad), f"rejected: {bad!r}")
tap.finish()
