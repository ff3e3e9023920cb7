"""loop_mix.py TOOLS CSV CUBIN...: the instructions of each kernel's main loop, as the assembler left them,
as a table and as a file. TOOLS is where the toolkit's programs are."""

import collections
import csv
import os
import sys

import sass
import tool

PRODUCTS = ("FFMA", "HMMA", "HGMMA")
CLASSES = ["FFMA", "LDS.128", "LDS", "STS.128", "STS", "LDG", "LDGSTS", "TLD"]


def of_class(counts, name):
    """Instructions of a class; LDG and its like in all widths."""
    wide = name in ("LDG", "LDGSTS", "TLD", "HMMA", "HGMMA")
    return sum(n for op, n in counts.items() if op == name or wide and op.split(".")[0] == name)


def main(tools, path, *cubins):
    rows = []
    print(f"{'':18}{'kernel':22}{'all':>5}", *(f"{name:>7}" for name in CLASSES), "  other/FFMA")
    for cubin in cubins:
        step = os.path.basename(cubin).split(".")[0]
        for kernel, instructions in sass.kernels(sass.listing(cubin, tools)).items():
            counts = collections.Counter(sass.kind(operation) for operation, _ in sass.main_loop(instructions))
            total, products = sum(counts.values()), sum(of_class(counts, name) for name in PRODUCTS)
            if products == 0:
                continue  # it packs
            rows += [(step, kernel, op, count) for op, count in sorted(counts.items())]
            cells = (f"{of_class(counts, name):>7}" for name in CLASSES)
            print(f"{step:18}{kernel:22}{total:5}", *cells, f"{(total - products) / products:12.3f}")
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["step", "kernel", "instruction", "count"])
        out.writerows(rows)
    return 0


if __name__ == "__main__":
    tool.run(main, *sys.argv[1:])
