"""Reads machine code as tests/sass.sh prints it: the kernels of an object, and their main loops."""

import re
import subprocess
import sys

import matrix

ARCHITECTURE = re.compile(r"code for sm_(\w+)")
FUNCTION = re.compile(r"Function : (\S+)")
INSTRUCTION = re.compile(r"/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
TARGET = re.compile(r"0x([0-9a-f]+)")


def listing(path, tools):
    """What sass.sh prints of an object; ends the program as sass.sh does where it cannot. `tools` is
    where the toolkit's programs are."""
    result = subprocess.run(["tests/sass.sh", path, tools], stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(result.returncode)
    return result.stdout


def architecture(text):
    """90 of a listing for sm_90a."""
    return int(re.sub(r"\D", "", ARCHITECTURE.search(text)[1]))


def kernels(text):
    """{kernel: [(address, operation, operands), ...]} of a listing."""
    found, kernel = {}, None
    for line in text.splitlines():
        if match := FUNCTION.search(line):
            kernel = found.setdefault(matrix.plain_name(match[1]), [])
        elif kernel is not None and (match := INSTRUCTION.search(line)):
            kernel.append((int(match[1], 16), match[2], match[3]))
    return found


def main_loop(instructions):
    """[(operation, operands), ...] from the target of a backward branch to the branch. Of the loops
    with more than half as many FFMA (HMMA, HGMMA, of tensor cores) as the one with the most, the shortest: what
    is around it loops over tiles. Empty where no loop has one."""
    loops = []
    for address, operation, operands in instructions:
        target = TARGET.search(operands) if operation.startswith("BRA") else None
        if target and int(target[1], 16) < address:
            loops.append([each[1:] for each in instructions if int(target[1], 16) <= each[0] <= address])
    most = max(map(products, loops), default=0)
    return min((loop for loop in loops if 2 * products(loop) > most), key=len, default=[])


def products(loop):
    """Where there are instructions of tensor cores, these alone: FFMAs are few beside them, and elsewhere."""
    tensor = sum(operation.startswith(("HMMA", "HGMMA")) for operation, _ in loop)
    return 100 * tensor or sum(operation.startswith("FFMA") for operation, _ in loop)


def kind(operation):
    """LDS.128 of LDS.U.128: the operation, and its width where that is more than a word."""
    name, *rest = operation.split(".")
    return name + "".join(f".{part}" for part in rest if part in ("64", "128"))
