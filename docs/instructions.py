"""The table of docs/emulator-instructions.md that lists what computes: read from the emulator's own
table, common/emulator/opcodes.def."""

import os
import re

import steps

TABLE = os.path.join(steps.ROOT, "common", "emulator", "opcodes.def")
LINE = re.compile(r'^(\w+)\("([\w.:]+)"(?:, "(\w+)")?', re.MULTILINE)
INSIDE = re.compile(r"^// Parts of other instructions", re.MULTILINE)
COMPARISONS = {
    "COMPARISONS": "eq ne lt le gt ge",
    "UNSIGNED_COMPARISONS": "lo ls hi hs",
    "FLOAT_COMPARISONS": "equ neu ltu leu gtu geu num nan",
}


def opcodes_of(text):
    """The texts that the lines of the table stand for."""
    found = []
    for macro, opcode, type_ in LINE.findall(text):
        if macro in COMPARISONS:
            found += [f"setp.{name}.{opcode}" for name in COMPARISONS[macro].split()]
        elif macro.startswith("ROUNDED_"):
            found += [f"{opcode}.{direction}.{type_}" for direction in ("rz", "rm", "rp")]
        elif macro == "HALF_BINARY":
            found += [f"{opcode}.f16", f"{opcode}.f16x2"]
        else:
            found.append(opcode)
    return found


def all_opcodes():
    return opcodes_of(steps.text(TABLE))


def opcodes():
    """A row for each instruction, with the forms that it has."""
    text = steps.text(TABLE)
    rows = {}
    for opcode in opcodes_of(text[: INSIDE.search(text).start()]):
        name, _, form = opcode.partition(".")
        if name != "cvt" or "x2" in form:  # the text says which others there are: all
            rows.setdefault(name, []).append("." + form)
    lines = [f"| `{name}` | {' '.join(f'`{form}`' for form in forms)} |" for name, forms in sorted(rows.items())]
    return "\n".join(["| instruction | forms |", "|---|---|", *lines])


BLOCKS = (opcodes,)
