"""What the instructions of PTX compute, from the PTX ISA's words: one function on bit patterns for
each. Nothing here is taken from the emulator."""

import math
import struct
from fractions import Fraction

from ptx_numbers import (FORMATS, INFINITY, NAN, Number, add, compare, decode, divide, encode, is_nan,
                         minimum, multiply, root, signed, size_of, whole)

REFERENCE = {}  # opcode: (type of the result, types of the operands, function)
WORDS = {"u": lambda bits, size: bits, "b": lambda bits, size: bits, "s": signed}
DIRECTIONS = ("rn", "rz", "rm", "rp")


def define(opcode, result, operands, function):
    assert opcode not in REFERENCE, opcode
    REFERENCE[opcode] = (result, operands.split(), function)


def integer(opcode, result, operands, function):
    """A function of ints with the operands' signs, whose result wraps around."""
    types = operands.split()

    def on_bits(*bits):
        values = [b if t == "imm" else WORDS[t[0]](b, size_of(t)) for b, t in zip(bits, types)]
        return int(function(*values)) & ((1 << size_of(result)) - 1)

    define(opcode, result, operands, on_bits)


def floating(opcode, type_, count, function, mode="rn"):
    """A function of Numbers whose result is rounded."""
    define(opcode, type_, " ".join([type_] * count),
           lambda *bits: encode(function(*[decode(b, type_) for b in bits]), type_, mode))


def quotient(a, b, size):
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return a if b == 0 else (abs(a) % abs(b)) * (-1 if a < 0 else 1)


def define_integers():
    for size in (16, 32, 64):
        for sign in "su":
            t = f"{sign}{size}"
            integer(f"add.{t}", t, f"{t} {t}", lambda a, b: a + b)
            integer(f"sub.{t}", t, f"{t} {t}", lambda a, b: a - b)
            integer(f"mul.lo.{t}", t, f"{t} {t}", lambda a, b: a * b)
            integer(f"mul.hi.{t}", t, f"{t} {t}", lambda a, b, s=size: a * b >> s)
            integer(f"mad.lo.{t}", t, f"{t} {t} {t}", lambda a, b, c: a * b + c)
            if size > 16:
                integer(f"mad.hi.{t}", t, f"{t} {t} {t}", lambda a, b, c, s=size: (a * b >> s) + c)
            if size < 64:
                w = f"{sign}{2 * size}"
                integer(f"mul.wide.{t}", w, f"{t} {t}", lambda a, b: a * b)
                integer(f"mad.wide.{t}", w, f"{t} {t} {w}", lambda a, b, c: a * b + c)
            integer(f"div.{t}", t, f"{t} {t}", lambda a, b, s=size: quotient(a, b, s))
            integer(f"rem.{t}", t, f"{t} {t}", remainder)
            integer(f"min.{t}", t, f"{t} {t}", min)
            integer(f"max.{t}", t, f"{t} {t}", max)
            integer(f"shr.{t}", t, f"{t} u32", lambda a, b: a >> min(b, 64))
        t = f"b{size}"
        integer(f"neg.s{size}", t, f"s{size}", lambda a: -a)
        integer(f"abs.s{size}", t, f"s{size}", abs)
        integer(f"and.{t}", t, f"{t} {t}", lambda a, b: a & b)
        integer(f"or.{t}", t, f"{t} {t}", lambda a, b: a | b)
        integer(f"xor.{t}", t, f"{t} {t}", lambda a, b: a ^ b)
        integer(f"not.{t}", t, t, lambda a: ~a)
        integer(f"cnot.{t}", t, t, lambda a: a == 0)
        integer(f"shl.{t}", t, f"{t} u32", lambda a, b: a << min(b, 64))
        integer(f"shr.{t}", t, f"{t} u32", lambda a, b: a >> min(b, 64))
    integer("add.sat.s32", "s32", "s32 s32", lambda a, b: max(-2**31, min(2**31 - 1, a + b)))
    integer("sub.sat.s32", "s32", "s32 s32", lambda a, b: max(-2**31, min(2**31 - 1, a - b)))
    for sign in "su":
        t = f"{sign}32"
        low = (lambda a: signed(a & 0xffffff, 24)) if sign == "s" else (lambda a: a & 0xffffff)
        integer(f"mul24.lo.{t}", t, "u32 u32", lambda a, b, low=low: low(a) * low(b))
        integer(f"mad24.lo.{t}", t, "u32 u32 u32", lambda a, b, c, low=low: low(a) * low(b) + c)
        integer(f"sad.{t}", t, f"{t} {t} {t}", lambda a, b, c: abs(a - b) + c)
        for other in "su":
            integer(f"dp4a.{t}.{other}32", t, "u32 u32 u32",
                    lambda a, b, c, x=sign, y=other: c + sum(
                        WORDS[x](a >> i & 255, 8) * WORDS[y](b >> i & 255, 8) for i in (0, 8, 16, 24)))


def field(a, first, length, size, is_signed):
    first, length = first & 255, length & 255
    bits = a >> first & ((1 << length) - 1)
    if not is_signed or length == 0:
        return bits
    last = min(first + length - 1, size - 1)
    return signed(a >> min(first, last) & ((1 << (last - min(first, last) + 1)) - 1),
                  last - min(first, last) + 1) if first <= last else -(a >> (size - 1) & 1)


def insert(a, b, first, length, size):
    first, length = first & 255, length & 255
    mask = ((1 << length) - 1) << first
    return ((b & ~mask) | (a << first & mask)) & ((1 << size) - 1)


def find_bit(a, is_signed, size):
    if is_signed and a >> (size - 1):
        a = ~a & ((1 << size) - 1)
    return a.bit_length() - 1


def permuted(a, b, selector):
    source = b << 32 | a
    result = 0
    for i in range(4):
        choice = selector >> 4 * i & 15
        byte = source >> 8 * (choice & 7) & 255
        result |= (255 * (byte >> 7) if choice & 8 else byte) << 8 * i
    return result


# Which byte goes to each place, the highest first, for the four values of the two selecting bits.
PERMUTATIONS = {"f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
                "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
                "rc8": ((0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4),
                "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
                "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
                "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2))}


def chosen_bytes(a, b, choice):
    source = (b << 32 | a).to_bytes(8, "little")
    return int.from_bytes(bytes(source[i] for i in choice), "big")


def define_bits():
    for size in (32, 64):
        b = f"b{size}"
        integer(f"popc.{b}", "u32", b, lambda a: bin(a).count("1"))
        integer(f"clz.{b}", "u32", b, lambda a, s=size: s - a.bit_length())
        integer(f"brev.{b}", b, b, lambda a, s=size: int(f"{a:0{s}b}"[::-1], 2))
        integer(f"bfi.{b}", b, f"{b} {b} u32 u32", lambda a, x, f, n, s=size: insert(a, x, f, n, s))
        for sign in "us":
            t = f"{sign}{size}"
            integer(f"bfe.{t}", t, f"{b} u32 u32",
                    lambda a, f, n, s=size, x=sign == "s": field(a, f, n, s, x))
            integer(f"bfind.{t}", "u32", b, lambda a, s=size, x=sign == "s": find_bit(a, x, s))
    for sign in "us":
        integer(f"bfind.shiftamt.{sign}32", "u32", "b32",
                lambda a, x=sign == "s": -1 if find_bit(a, x, 32) < 0 else 31 - find_bit(a, x, 32))
    integer("prmt.b32", "b32", "b32 b32 b32", permuted)
    for mode, choices in PERMUTATIONS.items():
        integer(f"prmt.b32.{mode}", "b32", "b32 b32 b32",
                lambda a, b, c, choices=choices: chosen_bytes(a, b, choices[c & 3]))
    integer("lop3.b32", "b32", "b32 b32 b32 imm",
            lambda a, b, c, table: sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1))
                                        & 1) << i for i in range(32)))
    integer("bmsk.wrap.b32", "b32", "b32 b32", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31))
    integer("bmsk.clamp.b32", "b32", "b32 b32",
            lambda a, b: ((1 << min(b, 32)) - 1) << a if a < 32 else 0)
    for kind, count in (("wrap", lambda c: c & 31), ("clamp", lambda c: min(c, 32))):
        integer(f"shf.l.{kind}.b32", "b32", "b32 b32 b32",
                lambda a, b, c, n=count: (b << 32 | a) << n(c) >> 32)
        integer(f"shf.r.{kind}.b32", "b32", "b32 b32 b32",
                lambda a, b, c, n=count: (b << 32 | a) >> n(c))


def of_half(function, bits):
    """A function of Python's floats, rounded to float16."""
    value = struct.unpack("<e", struct.pack("<H", bits))[0]
    result = function(value)
    if math.isnan(result) or math.isinf(result):
        return encode(Number(NAN if math.isnan(result) else INFINITY, result < 0), "f16")
    return encode(Number(Fraction(result), math.copysign(1, result) < 0), "f16")


def half_power(exponent):
    return math.inf if exponent > 1000 else 2.0 ** exponent


def define_floats():
    one = Number(1)
    for t in ("f32", "f64"):
        for mode in ("", ".rn", ".rz", ".rm", ".rp"):
            m = mode[1:] or "rn"
            floating(f"add{mode}.{t}", t, 2, lambda a, b, m=m: add(a, b, m), m)
            floating(f"sub{mode}.{t}", t, 2, lambda a, b, m=m: add(a, -b, m), m)
            floating(f"mul{mode}.{t}", t, 2, multiply, m)
            if mode:
                floating(f"fma{mode}.{t}", t, 3, lambda a, b, c, m=m: add(multiply(a, b), c, m), m)
                floating(f"div{mode}.{t}", t, 2, divide, m)
                floating(f"rcp{mode}.{t}", t, 1, lambda a: divide(one, a), m)
                floating(f"sqrt{mode}.{t}", t, 1, root, m)
        floating(f"mad.rn.{t}", t, 3, lambda a, b, c: add(multiply(a, b), c))
        size = size_of(t)
        top = 1 << (size - 1)
        define(f"neg.{t}", t, t, lambda a, top=top: a ^ top)
        define(f"abs.{t}", t, t, lambda a, top=top: a & ~top)
        define(f"copysign.{t}", t, f"{t} {t}", lambda a, b, top=top: (a & top) | (b & ~top))
        floating(f"min.{t}", t, 2, minimum)
        floating(f"max.{t}", t, 2, lambda a, b: minimum(a, b, 1))
    for name, want in (("min", -1), ("max", 1)):
        floating(f"{name}.NaN.f32", "f32", 2, lambda a, b, w=want: Number(NAN)
                 if NAN in (a.value, b.value) else minimum(a, b, w))
    both = {"add": add, "add.rn": add, "sub": lambda a, b: add(a, -b), "sub.rn": lambda a, b: add(a, -b),
            "mul": multiply, "mul.rn": multiply, "min": minimum, "max": lambda a, b: minimum(a, b, 1),
            "fma.rn": lambda a, b, c: add(multiply(a, b), c)}
    for name, want in (("min", -1), ("max", 1)):
        both[f"{name}.NaN"] = lambda a, b, w=want: (Number(NAN) if NAN in (a.value, b.value)
                                                    else minimum(a, b, w))
    for name, function in both.items():
        floating(f"{name}.f16", "f16", 3 if name == "fma.rn" else 2, function)
    define("neg.f16", "f16", "f16", lambda a: a ^ 0x8000)
    define("abs.f16", "f16", "f16", lambda a: a & 0x7fff)
    for name, function in (("ex2", half_power), ("tanh", math.tanh)):
        define(f"{name}.approx.f16", "f16", "f16", lambda a, f=function: of_half(f, a))
    for name in list(both) + ["neg", "abs", "ex2.approx", "tanh.approx"]:
        _, operands, function = REFERENCE[f"{name}.f16"]
        define(f"{name}.f16x2", "f16x2", " ".join(["f16x2"] * len(operands)),
               lambda *w, f=function: f(*[x >> 16 for x in w]) << 16 | f(*[x & 0xffff for x in w]))


def near(function):
    """An approximation: of float32, at the bits' value; NaN where there is none."""
    def on_bits(*bits):
        values = [struct.unpack("<f", struct.pack("<I", b))[0] for b in bits]
        try:
            return ("near", function(*values))
        except (ValueError, ZeroDivisionError, OverflowError):
            return None  # special values are looked at one by one
    return on_bits


def define_approximations():
    functions = {"rcp": lambda a: 1 / a, "sqrt": math.sqrt, "rsqrt": lambda a: 1 / math.sqrt(a),
                 "ex2": lambda a: 2.0 ** a, "lg2": math.log2, "sin": math.sin, "cos": math.cos,
                 "tanh": math.tanh}
    for name, function in functions.items():
        define(f"{name}.approx.f32", "f32", "f32", near(function))
    for name in ("div.approx.f32", "div.full.f32"):
        define(name, "f32", "f32 f32", near(lambda a, b: a / b))
    for name in ("rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"):
        floating(name, "f64", 1, (lambda a: divide(Number(1), a)) if name[1] == "c" else
                 lambda a: decode(encode(divide(Number(1), decode(encode(root(a), "f64"), "f64")),
                                         "f64"), "f64"))


def define_comparisons():
    orders = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
    unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"):
        names = dict(orders)
        if t[0] == "u":
            names.update({name: orders[same] for name, same in unsigned.items()})
        for name, wanted in names.items():
            integer(f"setp.{name}.{t}", "pred", f"{t} {t}",
                    lambda a, b, w=wanted: (a > b) - (a < b) in w)
    names = {**orders, **{name + "u": wanted + (None,) for name, wanted in orders.items()},
             "num": (-1, 0, 1), "nan": (None,)}
    for t in ("f32", "f64", "f16"):
        for name, wanted in names.items():
            define(f"setp.{name}.{t}", "pred", f"{t} {t}", lambda a, b, t=t, w=wanted: int(
                compare(decode(a, t), decode(b, t)) in w))
    for t in ("f32", "f64"):
        precision, least, _ = FORMATS[t]
        def normal(a, t=t, smallest=precision - 1 + least):
            n = decode(a, t)
            return n.finite() and abs(n.value) >= 2.0 ** smallest
        tests = {"finite": lambda a, t=t: decode(a, t).finite(),
                 "infinite": lambda a, t=t: decode(a, t).value == INFINITY,
                 "number": lambda a, t=t: not is_nan(a, t),
                 "notanumber": is_nan, "normal": normal,
                 "subnormal": lambda a, t=t, f=normal: decode(a, t).finite() and not f(a)
                 and decode(a, t).value != 0}
        for name, function in tests.items():
            define(f"testp.{name}.{t}", "pred", t,
                   lambda a, f=function, t=t: int(f(a, t) if f is is_nan else f(a)))


def define_selections():
    for t in ("b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        define(f"selp.{t}", t, f"{t} {t} pred", lambda a, b, p: a if p else b)
    for t in ("b32", "u32", "s32", "f32", "b64", "f64"):
        define(f"slct.{t}.s32", t, f"{t} {t} s32", lambda a, b, c: a if signed(c, 32) >= 0 else b)
    for t in ("b32", "f32"):
        define(f"slct.{t}.f32", t, f"{t} {t} f32",
               lambda a, b, c: a if compare(decode(c, "f32"), Number(0)) in (0, 1) else b)
    for t in ("b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "f16x2", "b64", "u64", "s64",
              "f64", "pred"):
        define(f"mov.{t}", t, t, lambda a: a)
    for name, function in {"and": lambda a, b: a & b, "or": lambda a, b: a | b,
                           "xor": lambda a, b: a ^ b}.items():
        define(f"{name}.pred", "pred", "pred pred", function)
    define("not.pred", "pred", "pred", lambda a: 1 - a)


INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")


def converted(to, from_, mode, saturate, is_whole):
    """The function of cvt{.mode}{.sat}.to.from."""
    def function(bits):
        if from_ in INTEGERS:
            value = Number(WORDS[from_[0]](bits, size_of(from_)))
        else:
            value = decode(bits, from_)
        if to in INTEGERS:
            size, is_signed = size_of(to), to[0] == "s"
            low, high = (-1 << (size - 1), (1 << (size - 1)) - 1) if is_signed else (0, (1 << size) - 1)
            if value.value == NAN:
                result = (low or 1 << (size - 1)) if from_ == "f64" or size == 64 else 0
            elif not value.finite():
                result = low if value.negative else high
            else:
                result = whole(value.value, mode) if from_ in FLOATS else value.value
            if saturate or from_ in FLOATS:
                result = max(low, min(high, result))
            # There are no registers of 8 bits: those are extended to 32.
            kept = result & ((1 << size) - 1)
            return signed(kept, 8) & 0xffffffff if to == "s8" else kept
        if is_whole and value.finite():
            value = Number(whole(value.value, mode), value.negative)
        if saturate:
            if value.value == NAN or value.negative:
                value = Number(0)
            elif value.value == INFINITY or value.value > 1:
                value = Number(1)
        return encode(value, to, mode)
    return function


def define_conversions():
    """All that PTX allows, but for bfloat16 with anything except float32."""
    for to in INTEGERS:
        for from_ in INTEGERS:
            if to != from_:
                define(f"cvt.{to}.{from_}", to, from_, converted(to, from_, None, False, False))
                define(f"cvt.sat.{to}.{from_}", to, from_, converted(to, from_, None, True, False))
        for from_ in ("f16", "f32", "f64"):
            for mode in DIRECTIONS:
                define(f"cvt.{mode}i.{to}.{from_}", to, from_, converted(to, from_, mode, False, False))
                define(f"cvt.{mode}.{from_}.{to}", from_, to, converted(from_, to, mode, False, False))
    for to, from_ in (("f16", "f32"), ("f16", "f64"), ("f32", "f64"), ("bf16", "f32")):
        for mode in DIRECTIONS:
            define(f"cvt.{mode}.{to}.{from_}", to, from_, converted(to, from_, mode, False, False))
        define(f"cvt.{from_}.{to}", from_, to, converted(from_, to, "rn", False, False))
        define(f"cvt.rn.sat.{to}.{from_}", to, from_, converted(to, from_, "rn", True, False))
    for t in ("f16", "f32", "f64"):
        for mode in DIRECTIONS:
            define(f"cvt.{mode}i.{t}.{t}", t, t, converted(t, t, mode, False, True))
            define(f"cvt.{mode}i.sat.{t}.{t}", t, t, converted(t, t, mode, True, True))
    # The nearest with 11 bits, ties away from zero; of infinities and NaNs only the other bits go.
    define("cvt.rna.tf32.f32", "b32", "b32",
           lambda a: (a + (0x1000 if a >> 23 & 255 != 255 else 0)) & 0xffffe000)
    define("cvt.sat.f32.f32", "f32", "f32", converted("f32", "f32", "rn", True, False))
    for t, kind in (("f16x2", "f16"), ("bf16x2", "bf16")):
        narrow = converted(kind, "f32", "rn", False, False)
        define(f"cvt.rn.{t}.f32", "b32", "f32 f32", lambda a, b, f=narrow: f(a) << 16 | f(b))


def flushed(bits):
    return bits if bits & 0x7f800000 else bits & 0x80000000


def relu(bits):
    number = decode(bits, "f16")
    return encode(Number(0) if number.negative and number.value != NAN else number, "f16")


def define_half_modified():
    """.sat and .relu of float16."""
    clamp = converted("f16", "f16", "rn", True, False)
    for name in ("add.sat", "sub.sat", "mul.sat", "add.rn.sat", "fma.rn.sat", "fma.rn.relu"):
        stem, _, change = name.rpartition(".")
        after = relu if change == "relu" else clamp
        _, operands, function = REFERENCE[f"{stem}.f16"]
        one = lambda *b, f=function, g=after: g(f(*b))
        define(f"{name}.f16", "f16", " ".join(operands), one)
        define(f"{name}.f16x2", "f16x2", " ".join(["f16x2"] * len(operands)),
               lambda *w, f=one: f(*[x >> 16 for x in w]) << 16 | f(*[x & 0xffff for x in w]))


def define_modified():
    """A sample of what the decoder puts together: .ftz and .sat."""
    clamp = converted("f32", "f32", "rn", True, False)
    for opcode in ("add.f32", "add.rn.f32", "sub.rz.f32", "mul.f32", "fma.rn.f32", "fma.rp.f32",
                   "div.rn.f32", "rcp.rn.f32", "sqrt.rn.f32", "min.f32", "max.f32", "neg.f32",
                   "abs.f32", "setp.lt.f32", "setp.geu.f32", "setp.nan.f32"):
        result, operands, function = REFERENCE[opcode]
        stem = opcode[:-4]
        types = " ".join(operands)
        after = flushed if result == "f32" else lambda bits: bits
        ftz = lambda *b, f=function, g=after: g(f(*[flushed(x) for x in b]))
        define(f"{stem}.ftz.f32", result, types, ftz)
        if stem[:3] in ("add", "sub", "mul", "fma"):
            define(f"{stem}.sat.f32", result, types, lambda *b, f=function: clamp(f(*b)))
            define(f"{stem}.ftz.sat.f32", result, types, lambda *b, f=ftz: clamp(f(*b)))
    for text in ("cvt.rzi.s32.f32", "cvt.rn.f16.f32", "cvt.f64.f32"):
        result, _, function = REFERENCE[text]
        define(text.replace(f".{result}", f".ftz.{result}"), result, "f32",
               lambda a, f=function: f(flushed(a)))
    define("cvt.rn.ftz.f32.f64", "f32", "f64", lambda a: flushed(REFERENCE["cvt.rn.f32.f64"][2](a)))


for definitions in (define_integers, define_bits, define_floats, define_approximations,
                    define_comparisons, define_selections, define_conversions, define_modified, define_half_modified):
    definitions()
