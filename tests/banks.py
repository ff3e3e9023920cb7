"""banks.py TOOLS CSV CUBIN...: what the register banks make of each kernel's main loop, as text and as
a file. TOOLS is where the toolkit's programs are.

Registers lie in two banks, even and odd, and each bank gives one register a cycle. What an operand
marked .reuse has read stays at hand until another operand in the same position, from the same bank, is
read. The sources are in docs/register-banks.md, and so is what this estimate does not know.
"""

import collections
import csv
import os
import re
import sys
import textwrap

import sass
import tool

REGISTER = re.compile(r"[-|]*R(\d+)\b")  # not RZ, which is no register
HALF_AS_MANY_LANES = (70, 72, 75, 80)  # 64 an SM: an FFMA takes two cycles there
WIDTH = 100


def sources(operands):
    """The operands that an FFMA reads: all but the first, which it writes."""
    return [operand.strip() for operand in operands.split(",")[1:]]


def reads(loop):
    """[(even, odd), ...]: how many registers each FFMA of a loop reads from the two banks."""
    found, held = [], {}  # held: what is at hand, {(position, bank): register}
    for operation, operands in loop:
        if not operation.startswith("FFMA"):
            continue
        needed = set()
        for position, operand in enumerate(sources(operands)):
            if match := REGISTER.match(operand):
                register = int(match[1])
                place = position, register % 2
                if held.pop(place, None) != register:
                    needed.add(register)
                if operand.endswith(".reuse"):
                    held[place] = register
        odd = sum(register % 2 for register in needed)
        found.append((len(needed) - odd, odd))
    return found


def examine(loop, architecture):
    """The figures of a main loop, as the CSV has them. Bank cycles are for an FFMA: the least, if reads
    of neighbours even out over the loop, and the most, if each FFMA waits for its own."""
    products = [operands for operation, operands in loop if operation.startswith("FFMA")]
    found = reads(loop)
    count = len(found)
    even, odd = (sum(bank) for bank in zip(*found))
    issue = 2 if architecture in HALF_AS_MANY_LANES else 1
    return {
        "architecture": architecture,
        "instructions": len(loop),
        "ffma": count,
        "source_operands": sum(len(sources(operands)) for operands in products),
        "reuse_operands": sum(operands.count(".reuse") for operands in products),
        "even_reads": even,
        "odd_reads": odd,
        "least_bank_cycles": round(max(issue, even / count, odd / count), 4),
        "most_bank_cycles": round(sum(max(issue, *each) for each in found) / count, 4),
    }


def print_block(step, kernel, row, loop):
    count, even, odd = row["ffma"], row["even_reads"], row["odd_reads"]
    others = collections.Counter(sass.kind(operation) for operation, _ in loop if not operation.startswith("FFMA"))
    mix = ", ".join(f"{name}\xa0{number}" for name, number in others.most_common())
    print(f"{step} {kernel}, sm_{row['architecture']}: {row['instructions']} instructions in the main loop, {count} of them FFMA")
    print(f"  operands marked .reuse     {row['reuse_operands']} of {row['source_operands']}, {100 * row['reuse_operands'] / row['source_operands']:.0f} %")
    print(f"  registers read, an FFMA    {(even + odd) / count:.2f}: {even / count:.2f} even, {odd / count:.2f} odd")
    print(f"  bank cycles, an FFMA       {row['least_bank_cycles']:.2f} if reads even out, {row['most_bank_cycles']:.2f} if they do not")
    other = f"  other instructions         {(row['instructions'] - count) / count:.3f} an FFMA: {mix}"
    print(textwrap.fill(other, WIDTH, subsequent_indent=" " * 29).replace("\xa0", " "), flush=True)


def main(tools, path, *cubins):
    rows = []
    for cubin in cubins:
        step = os.path.basename(cubin).split(".")[0]
        text = sass.listing(cubin, tools)
        for kernel, instructions in sass.kernels(text).items():
            loop = sass.main_loop(instructions)
            if any(operation.startswith("FFMA") for operation, _ in loop):
                row = examine(loop, sass.architecture(text))
                rows.append({"step": step, "kernel": kernel, **row})
                print_block(step, kernel, row, loop)
    if not rows:
        print(f"banks: no kernel with an FFMA in a loop in {' '.join(cubins)}", file=sys.stderr)
        return 1
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    return 0


if __name__ == "__main__":
    tool.run(main, *sys.argv[1:])
