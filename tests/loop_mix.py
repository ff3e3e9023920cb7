"""loop_mix.py TOOLS CSV CUBIN...: the instructions of each kernel's main loop, as the assembler left them,
as a table and as a file. The main loop is the one that ends in a backward branch and holds the most
FFMA. TOOLS is where the toolkit's programs are."""

import collections
import csv
import os
import re
import subprocess
import sys

import matrix

FUNCTION = re.compile(r"Function : (\S+)")
INSTRUCTION = re.compile(r"/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
TARGET = re.compile(r"0x([0-9a-f]+)")
CLASSES = ["FFMA", "LDS.128", "LDS", "STS.128", "STS", "LDG", "LDGSTS", "TLD"]


def kernels(listing):
    """{kernel: [(address, operation, operands), ...]}"""
    found, kernel = {}, None
    for line in listing.splitlines():
        if match := FUNCTION.search(line):
            kernel = found.setdefault(matrix.plain_name(match[1]), [])
        elif kernel is not None and (match := INSTRUCTION.search(line)):
            kernel.append((int(match[1], 16), match[2], match[3]))
    return found


def main_loop(instructions):
    """The operations between the target of a backward branch and the branch."""
    best = []
    for address, operation, operands in instructions:
        target = TARGET.search(operands) if operation.startswith("BRA") else None
        if target and int(target[1], 16) < address:
            body = [op for at, op, _ in instructions if int(target[1], 16) <= at <= address]
            best = max(best, body, key=lambda loop: sum(op.startswith("FFMA") for op in loop))
    return best


def kind(operation):
    """LDS.128 of LDS.U.128: the operation, and its width where that is more than a word."""
    name, *rest = operation.split(".")
    return name + "".join(f".{part}" for part in rest if part in ("64", "128"))


def of_class(counts, name):
    """Instructions of a class; LDG and its like in all widths."""
    wide = name in ("LDG", "LDGSTS", "TLD")
    return sum(n for op, n in counts.items() if op == name or wide and op.split(".")[0] == name)


def main(tools, path, *cubins):
    rows = []
    print(f"{'':18}{'kernel':22}{'all':>5}", *(f"{name:>7}" for name in CLASSES), "  other/FFMA")
    for cubin in cubins:
        step = os.path.basename(cubin).split(".")[0]
        result = subprocess.run(["tests/sass.sh", cubin, tools], stdout=subprocess.PIPE, text=True)
        if result.returncode:
            return result.returncode
        for kernel, instructions in kernels(result.stdout).items():
            counts = collections.Counter(map(kind, main_loop(instructions)))
            rows += [(step, kernel, op, count) for op, count in sorted(counts.items())]
            total, products = sum(counts.values()), counts["FFMA"]
            cells = (f"{of_class(counts, name):>7}" for name in CLASSES)
            print(f"{step:18}{kernel:22}{total:5}", *cells, f"{(total - products) / products:12.3f}")
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["step", "kernel", "instruction", "count"])
        out.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
