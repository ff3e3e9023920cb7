"""Prints registers and spills of every kernel on every architecture; exits 1 on any spill.

Reads what `ptxas -v` reported, one file a step: build/matrix/07_inline_ptx.log.
"""

import os
import re
import sys

import tool

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(sm_\w+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")


def plain_name(mangled):
    """step_sgemm of _ZN37_INTERNAL_d2_01_naive_cu_1a10step_sgemmE5sgemm."""
    for match in re.finditer(r"(\d+)(?=step_)", mangled):
        for digits in (match[1], match[1][1:], match[1][2:]):
            if digits and int(digits) <= len(mangled) - match.end():
                return mangled[match.end() : match.end() + int(digits)]
    return mangled


def read_log(path):
    """{("step_sgemm", "sm_80"): (126, "")}: registers, and what is spilled in ptxas's words."""
    kernels = {}
    spilled = key = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if match := ENTRY.search(line):
                key, spilled = (plain_name(match[1]), match[2]), ""
            elif match := SPILL.search(line):
                spilled = match[0] if any(map(int, match.groups())) else ""
            elif (match := USED.search(line)) and key:
                kernels[key] = int(match[1]), spilled
                key = None
    return kernels


def order(architecture):
    return int(re.sub(r"\D", "", architecture))


def main(paths):
    logs = {os.path.basename(path)[:2]: read_log(path) for path in paths}
    architectures = sorted({key[1] for log in logs.values() for key in log}, key=order)
    spills = []
    width = max([len(key[0]) for log in logs.values() for key in log], default=0)
    print(f"registers per thread, by compute capability\nstep  {'kernel':{width}}", *(f"{a[3:]:>5}" for a in architectures))
    for step, log in logs.items():
        for kernel in dict.fromkeys(key[0] for key in log):
            cells = [log.get((kernel, a), ("-", "")) for a in architectures]
            print(f"{step:4}  {kernel:{width}}", *(f"{registers:>5}" for registers, _ in cells))
            for architecture, (_, spilled) in zip(architectures, cells):
                if spilled:
                    spills.append(f"step {step}, {kernel}, {architecture}: {spilled}")
    print("\n".join(["spills and stack:", *spills]) if spills else "no spills, no stack")
    return 1 if spills else 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
