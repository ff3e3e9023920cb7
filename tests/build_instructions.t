#!/usr/bin/env python3
"""The steps use the instructions that their chapters are about: in the PTX that each object holds,
and in the machine code, where there is a disassembler."""

import re

import ptx
import steps
import tap

# step: (what, in which kernels, pattern in the PTX, pattern in the machine code)
EVERY = r".*"
WANTED = [
    ("01", "loads from global memory", EVERY, r"ld\.global\.f32", r"\bLDG\.E\b"),
    ("02", "shared memory", EVERY, r"\bst\.shared", r"\bSTS\b"),
    ("07", "predicated loads from global memory", EVERY, r"@%?\w+\s+ld\.global", r"@!?U?P\d\s+LDG"),
    ("07", "128-bit loads from shared memory", EVERY, r"\bld\.shared\.v4\.f32", r"\bLDS\.128\b"),
    ("07", "128-bit stores to shared memory", EVERY, r"\bst\.shared\.v4\.f32", r"\bSTS\.128\b"),
    ("07", "a buffer switched by XOR", EVERY, r"\bxor\.b32", r"\bU?LOP3"),
    ("08", "texture fetches", r".*texture.*", r"\btex\.1d\.v4\.f32\.s32", r"\bT(LD|EX)\b"),
    ("09", "copies from global to shared memory", EVERY, r"\bcp\.async\.c[ag]\.shared\.global", r"\bLDGSTS\b"),
    ("09", "waits for them", EVERY, r"\bcp\.async\.wait_", r"\bLDGDEPBAR\b|\bDEPBAR\b"),
]  # fmt: skip
LOCAL_MEMORY = r"\b(LDL|STL)\b"


def functions(listing):
    """{kernel: machine code} from what `make sassNN` prints."""
    parts = re.split(r"^\s*Function : (\S+)$", listing, flags=re.M)
    return {ptx.matrix.plain_name(name): code for name, code in zip(parts[1::2], parts[2::2])}


for step, source in steps.sources().items():
    if not steps.has_kernel(source):
        continue
    modules = ptx.modules_of(step)
    tap.ok(modules, f"step {step}: the object holds PTX as plain text")
    kernels = {kernel.name: kernel for kernel in ptx.kernels_of(step)} if modules else {}
    wanted = [row for row in WANTED if row[0] == step]
    for _, what, which, pattern, _ in wanted:
        chosen = [kernel for name, kernel in kernels.items() if re.fullmatch(which, name)]
        tap.ok(
            chosen and all(kernel.has(pattern) for kernel in chosen), f"step {step}, PTX: {what}"
        )

    sass = tap.make("-s", f"sass{step}")
    if "missing" in sass.stderr:
        tap.skip(f"step {step}, machine code", "no cuobjdump and nvdisasm here")
        continue
    code = functions(sass.stdout)
    tap.ok(code.keys() == kernels.keys(), f"step {step}: make sass{step} lists {', '.join(kernels)}", sass.stderr)
    for _, what, which, _, pattern in wanted:
        chosen = [text for name, text in code.items() if re.fullmatch(which, name)]
        tap.ok(
            chosen and all(re.search(pattern, text) for text in chosen),
            f"step {step}, machine code: {what}",
        )
    local = [name for name, text in code.items() if re.search(LOCAL_MEMORY, text)]
    tap.ok(not local, f"step {step}, machine code: no local memory", ", ".join(local))
tap.finish()
