"""Operands at the edges of each type, kernels that apply instructions to them, and their results on
the emulator."""

import math
import os
import random
import struct
import tempfile
from fractions import Fraction

import steps
import tap
from ptx_numbers import FORMATS, NAN, decode, encode, is_nan, size_of, Number

RUNNER = os.path.join(steps.ROOT, "build", "tests", "ptx_runner")
THREADS = 256
CLASSES = {1: ("pred", "%p"), 16: ("b16", "%h"), 32: ("b32", "%r"), 64: ("b64", "%rd")}


class Case:
    """Lines of PTX in which {d0}, {d1} are results and {a}, {b}, {c}, {e} operands."""

    def __init__(self, name, lines, results, operands, function):
        self.name, self.lines, self.function = name, lines, function
        self.results, self.operands = results, operands


def of_opcode(opcode, result, operands, function):
    names = ["{d0}"] + ["{" + name + "}" for name in "abce"[:len(operands)]]
    return Case(opcode, [f"{opcode} {', '.join(names)};"], [result], operands,
                lambda *bits: (function(*bits),))


def register_size(type_):
    size = size_of(type_)
    return 32 if size == 8 else size


def edges(type_, random_):
    """Bit patterns worth trying, then random ones."""
    size = size_of(type_)
    if type_ == "pred":
        return [0, 1]
    if type_ in FORMATS:
        precision, least, greatest = FORMATS[type_]
        powers = [least, least + precision - 1, -1, 0, 1, precision - 1, precision, 15, 16, 31, 32, 63,
                  64, greatest - 1]
        near = [encode(Number(Fraction(2) ** p), type_) for p in powers]
        top = 1 << (size - 1)
        infinity = encode(Number("inf"), type_)
        found = [0, infinity, infinity + 1, infinity - 1]
        found += [n + i for n in near for i in (-1, 0, 1)]
        found += [encode(Number(Fraction(n, 4)), type_)
                  for n in (1, 3, 5, 6, 7, 10, 14, 1002, 1022)]
        return sorted({x & (top - 1) | sign for x in found for sign in (0, top)})
    if type_ == "f16x2":
        halves = edges("f16", random_)
        return [random_.choice(halves) << 16 | random_.choice(halves) for _ in range(64)]
    numbers = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1 << (size - 1),
               (1 << (size - 1)) - 1, (1 << size // 2) - 1, 1 << size // 2]
    return sorted({x & ((1 << size) - 1) for n in numbers for x in (n, -n, ~n)})


def operands_of(case, random_):
    """THREADS tuples of bit patterns."""
    choices = [edges(t, random_) for t in case.operands if t != "imm"]
    rows = []
    for i in range(THREADS):
        row = []
        for t, values in zip((t for t in case.operands if t != "imm"), choices):
            if len(choices) == 1 and i < len(values):
                row.append(values[i])
            elif random_.random() < 0.7:
                row.append(random_.choice(values))
            else:
                row.append(random_.getrandbits(size_of(t)))
        rows.append(row)
    return rows


def kernel(index, case, table):
    """The kernel's text. `table`: the immediate operand, for all threads."""
    lines, values = [], {}
    for i, type_ in enumerate(t for t in case.operands if t != "imm"):
        size = register_size(type_)
        kind, prefix = CLASSES[size]
        values["abce"[i]] = f"{prefix}{i}"
        if size == 1:
            lines += [f"ld.global.b32 %r9, [%rd10+{8 * i}];", f"setp.ne.s32 %p{i}, %r9, 0;"]
        else:
            lines.append(f"ld.global.{kind} {prefix}{i}, [%rd10+{8 * i}];")
    if "imm" in case.operands:
        values["abce"[case.operands.index("imm")]] = str(table)
    stores = []
    for i, type_ in enumerate(case.results):
        size = register_size(type_)
        kind, prefix = CLASSES[size]
        values[f"d{i}"] = f"{prefix}{5 + i}"
        if size == 1:
            stores += [f"selp.b32 %r9, 1, 0, %p{5 + i};", f"st.global.b32 [%rd11+{8 * i}], %r9;"]
        else:
            stores.append(f"st.global.{kind} [%rd11+{8 * i}], {prefix}{5 + i};")
    body = "\n    ".join(lines + [line.format(**values) for line in case.lines] + stores)
    return f"""
.visible .entry k{index}(.param .u64 input, .param .u64 output)
{{
    .reg .pred %p<20>;
    .reg .b16 %h<20>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<20>;
    mov.u32 %r10, %tid.x;
    mov.u32 %r11, %ctaid.x;
    mad.lo.s32 %r10, %r11, 64, %r10;
    ld.param.u64 %rd10, [input];
    ld.param.u64 %rd11, [output];
    mad.wide.u32 %rd10, %r10, 32, %rd10;
    mad.wide.u32 %rd11, %r10, 16, %rd11;
    {body}
    ret;
}}
"""


def pack(row):
    return struct.pack("<4Q", *row, *[0] * (4 - len(row)))


def run_all(kernels, rows, vector_bits):
    """The results of each kernel's threads, two words each; None where the program failed."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("ptx", "input", "output")]
        with open(paths[0], "w", encoding="ascii") as file:
            file.write(".version 8.4\n.target sm_80\n.address_size 64\n" + "".join(kernels))
        with open(paths[1], "wb") as file:
            file.write(b"".join(pack(row) for block in rows for row in block))
        result = tap.run([RUNNER, "run", *paths, str(len(kernels)), str(THREADS),
                          str(vector_bits)])
        if result.returncode != 0:
            return None, result.stderr
        with open(paths[2], "rb") as file:
            words = list(struct.iter_unpack("<2Q", file.read()))
    return [words[i:i + THREADS] for i in range(0, len(words), THREADS)], ""


def as_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def agrees(got, wanted, type_):
    if wanted is None:
        return True
    if isinstance(wanted, tuple):  # an approximation: within 2^-22 of it
        value = as_float(got)
        if math.isnan(wanted[1]):
            return math.isnan(value)
        bound = max(abs(wanted[1]) * 2.0 ** -22, 2.0 ** -149)
        return abs(value - wanted[1]) <= bound or abs(wanted[1]) > 3.4e38
    if type_ in FORMATS and decode(wanted, type_).value == NAN:
        return is_nan(got, type_)
    if type_ == "f16x2":
        return all(agrees(got >> i & 0xffff, wanted >> i & 0xffff, "f16") for i in (0, 16))
    return got == wanted


def check(name, cases, seed):
    """One test for each case, on the widest vectors of this CPU and on narrower ones."""
    random_ = random.Random(seed)
    tables = [random_.getrandbits(8) for _ in cases]
    rows = [operands_of(case, random_) for case in cases]
    kernels = [kernel(i, case, table) for i, (case, table) in enumerate(zip(cases, tables))]
    results = [run_all(kernels, rows, bits) for bits in (0, 128, 256)]
    for words, error in results:
        if words is None:
            tap.ok(False, f"{name} runs", error)
            return
    bad = []
    for i, case in enumerate(cases):
        for thread, row in enumerate(rows[i]):
            operands = list(row)
            if "imm" in case.operands:
                operands.insert(case.operands.index("imm"), tables[i])
            wanted = case.function(*operands)
            for words, _ in results:
                got = words[i][thread]
                if not all(agrees(g, w, t) for g, w, t in zip(got, wanted, case.results)):
                    bad.append(f"{case.name} of {[hex(x) for x in operands]}: {[hex(x) for x in got]}, "
                               f"wanted {wanted}")
    tap.ok(not bad, f"{name} ({len(cases)})", "\n".join(bad[:20]))
