#!/usr/bin/env python3
"""The emulator's instructions against what the PTX ISA says of them, computed in Python with whole
numbers and fractions: each at its edges, and random programs. And the page that lists them."""

import os
import random
import re
import sys
import tempfile

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "docs"))
import instructions  # noqa: E402
from ptx_cases import RUNNER, Case, check, of_opcode
from ptx_numbers import Number, compare, decode, signed
from ptx_reference import REFERENCE

# What only makes sense together with addresses, or inside other instructions.
ELSEWHERE = ("cvta.", "isspacep.", "pack.", "low.", "high.", "flush.", "saturate.", "relu.")

U32, U64 = 2**32 - 1, 2**64 - 1


def carry_cases():
    """Sums and products of 128 bits, in words of 32 and 64; and what the carry of a difference is."""
    wide = lambda low, high, size: high << size | low
    found = []
    for size, t in ((32, "u32"), (64, "u64")):
        mask = (1 << size) - 1
        for name in ("add", "sub"):
            sign = 1 if name == "add" else -1
            found.append(Case(
                f"{name}.cc.{t}", [f"{name}.cc.{t} {{d0}}, {{a}}, {{c}};",
                                   f"{name}c.{t} {{d1}}, {{b}}, {{e}};"], [t, t], [t] * 4,
                lambda a, b, c, e, s=size, m=mask, sign=sign:
                    ((a + sign * c) & m, (wide(a, b, s) + sign * wide(c, e, s)) >> s & m)))
        found.append(Case(
            f"addc.cc.{t}", [f"add.cc.{t} {{d0}}, {{a}}, {{b}};",
                             f"addc.cc.{t} {{d0}}, {{c}}, {{e}};", f"addc.{t} {{d1}}, 0, 0;"],
            [t, t], [t] * 4,
            lambda a, b, c, e, s=size, m=mask: ((c + e + (a + b >> s)) & m, c + e + (a + b >> s) >> s)))
        # sm_90's machine code: a - b is a + ~b + 1, and the carry is that of this sum.
        found.append(Case(
            f"sub.cc.{t} then addc", [f"sub.cc.{t} {{d0}}, {{a}}, {{b}};", f"addc.{t} {{d1}}, 0, 0;"],
            [t, t], [t] * 2, lambda a, b, m=mask: ((a - b) & m, int(a >= b))))
        found.append(Case(
            f"add.cc.{t} then subc", [f"add.cc.{t} {{d0}}, {{a}}, {{b}};", f"subc.{t} {{d1}}, {{a}}, {{b}};"],
            [t, t], [t] * 2,
            lambda a, b, s=size, m=mask: ((a + b) & m, (a - b - 1 + (a + b >> s)) & m)))
        for high in ("lo", "hi"):
            found.append(Case(
                f"mad.{high}.cc.{t}", [f"mad.{high}.cc.{t} {{d0}}, {{a}}, {{b}}, {{c}};",
                                       f"madc.{high}.{t} {{d1}}, {{a}}, {{b}}, {{e}};"],
                [t, t], [t] * 4,
                lambda a, b, c, e, s=size, m=mask, h=high: (
                    lambda p: ((p + c) & m, (p + e + (p + c >> s)) & m))(
                        a * b >> s if h == "hi" else a * b & m)))
    found.append(Case(
        "madc.hi.cc.s32", ["add.cc.u32 {d0}, {c}, {e};", "madc.hi.cc.s32 {d0}, {a}, {b}, {c};",
                           "subc.s32 {d1}, {a}, {b};"], ["u32", "u32"], ["u32"] * 4,
        lambda a, b, c, e: (lambda p: (p & U32, (a - b - 1 + (p >> 32)) & U32))(
            (signed(a, 32) * signed(b, 32) >> 32 & U32) + c + (c + e >> 32))))
    return found


def form_cases():
    """Two results of a comparison, combinations, set, vectors of halves, operands wider than the
    type."""
    less = lambda a, b: signed(a, 32) < signed(b, 32)
    f_less = lambda a, b: compare(decode(a, "f32"), decode(b, "f32")) == -1
    h_less = lambda a, b: compare(decode(a, "f16"), decode(b, "f16")) == -1
    in_halves = lambda a, b, f: f(a >> 16, b >> 16) << 16 | f(a & 0xffff, b & 0xffff)
    half_sum = REFERENCE["add.f16"][2]
    return [
        Case("setp p|q", ["setp.lt.s32 {d0}|{d1}, {a}, {b};"], ["pred", "pred"], ["s32"] * 2,
             lambda a, b: (int(less(a, b)), int(not less(a, b)))),
        Case("setp.and p|q", ["setp.lt.and.s32 {d0}|{d1}, {a}, {b}, {c};"], ["pred", "pred"],
             ["s32", "s32", "pred"],
             lambda a, b, c: (int(less(a, b) and c), int(not less(a, b) and c))),
        Case("setp.or !c", ["setp.lt.or.s32 {d0}, {a}, {b}, !{c};"], ["pred"], ["s32", "s32", "pred"],
             lambda a, b, c: (int(less(a, b) or not c),)),
        Case("setp.xor.ftz", ["setp.lt.xor.ftz.f32 {d0}, {a}, {b}, {c};"], ["pred"],
             ["f32", "f32", "pred"],
             lambda a, b, c: (int(f_less(*[x if x & 0x7f800000 else 0 for x in (a, b)])) ^ c,)),
        Case("set.u32", ["set.lt.u32.s32 {d0}, {a}, {b};"], ["u32"], ["s32"] * 2,
             lambda a, b: (U32 if less(a, b) else 0,)),
        Case("set.f32", ["set.lt.f32.f32 {d0}, {a}, {b};"], ["u32"], ["f32"] * 2,
             lambda a, b: (0x3f800000 if f_less(a, b) else 0,)),
        Case("set.f32.s32", ["set.lt.f32.s32 {d0}, {a}, {b};"], ["u32"], ["s32"] * 2,
             lambda a, b: (0x3f800000 if less(a, b) else 0,)),
        Case("set.and.u32", ["set.lt.and.u32.f32 {d0}, {a}, {b}, {c};"], ["u32"],
             ["f32", "f32", "pred"], lambda a, b, c: (U32 if f_less(a, b) and c else 0,)),
        Case("set.f16", ["set.lt.f16.f16 {d0}, {a}, {b};", "set.geu.u32.f16 {d1}, {a}, {b};"],
             ["b16", "u32"], ["f16"] * 2,
             lambda a, b: (0x3c00 * h_less(a, b), U32 * (not h_less(a, b)))),
        Case("set.f16x2", ["set.lt.f16x2.f16x2 {d0}, {a}, {b};", "set.geu.u32.f16x2 {d1}, {a}, {b};"],
             ["b32", "u32"], ["f16x2"] * 2,
             lambda a, b: (in_halves(a, b, lambda x, y: 0x3c00 * h_less(x, y)),
                           in_halves(a, b, lambda x, y: 0xffff * (not h_less(x, y))))),
        Case("set.or.f16x2", ["set.lt.or.f16x2.f16x2 {d0}, {a}, {b}, {c};"], ["b32"],
             ["f16x2", "f16x2", "pred"],
             lambda a, b, c: (in_halves(a, b, lambda x, y: 0x3c00 * (h_less(x, y) or c)),)),
        Case("setp.f16x2", ["setp.lt.f16x2 {d0}|{d1}, {a}, {b};"], ["pred", "pred"], ["f16x2"] * 2,
             lambda a, b: (int(h_less(a & 0xffff, b & 0xffff)), int(h_less(a >> 16, b >> 16)))),
        Case("names and blanks as in cuda_fp16.hpp",
             ["{{.reg.b32         f;", ".reg.b16 r, spc;", "mov.b16 spc,0X3C00U;", "cvt.f32.f16 f,{a};",
              "add.f32 f,f,f;", "cvt.rn.f16.f32      r,f;", "add.f16 {d0}, r, spc;", "}}"],
             ["f16"], ["f16"], lambda a: (half_sum(half_sum(a, a), 0x3c00),)),
        Case("WARP_SZ", ["mov.u32 {d0}, WARP_SZ;", "add.u32 {d1}, {a}, WARP_SZ;"], ["u32", "u32"],
             ["u32"], lambda a: (32, (a + 32) & U32)),
        Case("mov halves", ["mov.b64 %rd15, {{{a}, {b}}};", "mov.b64 {{{d1}, %r15}}, %rd15;",
                            "mov.b64 {d0}, {{%r15, {d1}}};"], ["b64", "b32"], ["b32"] * 2,
             lambda a, b: (a << 32 | b, a)),
        Case("mov quarters", ["mov.b64 {{%h15, %h16, %h17, %h18}}, {a};",
                              "mov.b64 {d0}, {{%h18, %h17, %h16, %h15}};"], ["b64"], ["b64"],
             lambda a: (sum((a >> i & 0xffff) << 48 - i for i in (0, 16, 32, 48)),)),
        Case("mov 16-bit halves", ["mov.b32 {{%h15, %h16}}, {a};", "mov.b32 {d0}, {{%h16, %h15}};"],
             ["b32"], ["b32"], lambda a: (a >> 16 | (a & 0xffff) << 16,)),
        Case("cvt of a wider register", ["cvt.s64.s16 {d0}, {a};", "cvt.u32.u16 {d1}, {a};"],
             ["s64", "u32"], ["b64"], lambda a: (signed(a & 0xffff, 16) & U64, a & 0xffff)),
        Case("cvt into a wider register", ["cvt.s8.s32 {d0}, {a};"], ["b32"], ["s32"],
             lambda a: (signed(a & 255, 8) & U32,)),
    ]


# Random programs: 32-bit and 64-bit integers, comparisons, and branches that lanes take apart.
ALIKE = [opcode for opcode, (result, operands, _) in REFERENCE.items()
         if {*operands, result} <= {"u32", "s32", "b32", "u64", "s64", "b64"}]


class Program:
    """Statements on registers 0 to 3 of each size, and how they change the values of one lane."""

    def __init__(self, random_):
        self.random, self.lines, self.labels = random_, [], 0
        self.run = self.block(3)

    def operand(self, type_):
        return int(type_[1:]), self.random.randrange(4)

    def computation(self):
        opcode = self.random.choice(ALIKE)
        result, operands, function = REFERENCE[opcode]
        to = self.operand(result)
        sources = [self.operand(t) for t in operands]
        text = lambda o: f"{'%r' if o[0] == 32 else '%rd'}{o[1]}"
        self.lines.append(f"{opcode} {', '.join(map(text, [to, *sources]))};")

        def run(state):
            state[to] = function(*[state[s] for s in sources])
        return run

    def condition(self):
        a, b = self.operand("u32"), self.operand("u32")
        self.lines.append(f"setp.lt.u32 %p9, %r{a[1]}, %r{b[1]};")
        return lambda state: state[a] < state[b]

    def branch(self, depth):
        """Some lanes do one thing, some another."""
        condition = self.condition()
        self.labels += 1
        other, end = f"other{self.labels}", f"end{self.labels}"
        self.lines.append(f"@!%p9 bra {other};")
        yes = self.block(depth - 1)
        self.lines += [f"bra.uni {end};", f"{other}:"]
        no = self.block(depth - 1)
        self.lines.append(f"{end}:")
        return lambda state: yes(state) if condition(state) else no(state)

    def loop(self, depth):
        """Up to 7 rounds, different ones in each lane."""
        register = self.operand("u32")[1]
        counter = f"%r{12 + depth}"
        self.labels += 1
        label = f"loop{self.labels}"
        self.lines += [f"and.b32 {counter}, %r{register}, 7;", f"{label}:"]
        body = self.block(depth - 1)
        self.lines += [f"sub.s32 {counter}, {counter}, 1;", f"setp.gt.s32 %p9, {counter}, 0;",
                       f"@%p9 bra {label};"]

        def run(state):
            rounds = max(1, state[32, register] & 7)
            for _ in range(rounds):
                body(state)
        return run

    def block(self, depth):
        parts = []
        for _ in range(self.random.randrange(2, 7)):
            kind = self.random.random()
            if depth > 0 and kind < 0.2:
                parts.append(self.branch(depth))
            elif depth > 0 and kind < 0.3:
                parts.append(self.loop(depth))
            else:
                parts.append(self.computation())

        def run(state):
            for part in parts:
                part(state)
        return run


def random_program(seed):
    program = Program(random.Random(seed))
    start = ["mov.b64 {{%r2, %r3}}, {c};", "mov.b64 %rd0, {{{a}, {b}}};", "not.b64 %rd1, {c};",
             "mov.b64 %rd3, {{{b}, {a}}};"]

    def function(a, b, c):
        state = {(32, 0): a, (32, 1): b, (32, 2): c & U32, (32, 3): c >> 32, (64, 0): b << 32 | a,
                 (64, 1): ~c & U64, (64, 2): c, (64, 3): a << 32 | b}
        program.run(state)
        return (state[64, 0] ^ state[64, 1] ^ state[64, 2] ^ state[64, 3],
                state[32, 0] ^ state[32, 1] ^ state[32, 2] ^ state[32, 3])
    end = ["xor.b64 {d0}, %rd0, %rd1;", "xor.b64 {d0}, {d0}, %rd2;", "xor.b64 {d0}, {d0}, %rd3;",
           "xor.b32 {d1}, %r0, %r1;", "xor.b32 {d1}, {d1}, %r2;", "xor.b32 {d1}, {d1}, %r3;"]
    return Case(f"program {seed}", start + program.lines + end, ["u64", "u32"], ["u32", "u32", "u64"],
                function)


# The table in the documentation ----------------------------------------------------------------

SURROUNDINGS = """.version 8.4
.target sm_90
.address_size 64
.const .align 8 .b64 coefficients;
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.func (.param .b32 result) function(.param .b32 argument) {{ ret; }}
.visible .entry k0(.param .u64 input, .param .u64 output)
{{
    .reg .pred %p<9>;
    .reg .b16 %h<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .align 16 .b8 tile[64];
    .param .b32 result;
    .param .b32 argument;
    .param .b64 argument64;
    .param .b64 pointer;
    .param .b64 format;
    .param .b64 values;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    table: .branchtargets target, target;
target:
{}
}}
"""


def examples(page, name):
    """The instructions between <!-- NAME --> and <!-- end NAME -->."""
    table = page[page.index(f"<!-- {name} -->"):page.index(f"<!-- end {name} -->")]
    return [text.replace("\\|", "|") for text in re.findall(r"`([^`]+)`", table)]


def unknown(instructions):
    """Those that the decoder does not know."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(SURROUNDINGS.format("".join(f"    {text};\n" for text in instructions)))
        file.flush()
        result = tap.run([RUNNER, "unknown", file.name])
    return result.stdout.splitlines() if result.returncode == 0 else ["?" + result.stderr]


def check_page():
    page = steps.text(os.path.join(steps.ROOT, "docs", "emulator-instructions.md"))
    decoded, others = examples(page, "decoded"), examples(page, "not decoded")
    tap.ok(len(decoded) > 100 and not unknown(decoded),
           f"every example of the documentation is known ({len(decoded)})", unknown(decoded))
    strange = [text for text in others if unknown([text]) != [text]]
    tap.ok(len(others) > 5 and not strange, f"and what it rules out is not ({len(others)})", strange)


def main():
    opcodes = tap.run([RUNNER, "list"]).stdout.split()
    missing = [opcode for opcode in opcodes
               if opcode not in REFERENCE and not opcode.startswith(ELSEWHERE)]
    tap.ok(not missing and len(opcodes) > 400, "every opcode of the table has a reference", missing)
    tap.ok(sorted(opcodes) == sorted(instructions.all_opcodes()),
           "the documentation has the table's opcodes", set(opcodes) ^ set(instructions.all_opcodes()))
    check_page()
    groups = {}
    for opcode, row in REFERENCE.items():
        groups.setdefault(opcode.split(".")[0], []).append(of_opcode(opcode, *row))
    for name, cases in sorted(groups.items()):
        check(name, cases, name)
    check("carries", carry_cases(), 1)
    check("forms", form_cases(), 2)
    check("random programs", [random_program(seed) for seed in range(24)], 3)
    tap.finish()


main()
