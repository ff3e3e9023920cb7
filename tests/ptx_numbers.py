"""Numbers as PTX has them, exactly: bit patterns, and rounding in every direction. Nothing here is
taken from the emulator."""

import math
from fractions import Fraction

# name: (bits of precision, exponent of the smallest number's last bit, exponent of infinity)
FORMATS = {"f16": (11, -24, 16), "bf16": (8, -133, 128), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
SIZES = {"f16": 16, "bf16": 16, "f16x2": 32, "f32": 32, "f64": 64}
NAN, INFINITY = "nan", "inf"


class Number:
    """A value with a sign: a Fraction, NAN or INFINITY. Zero has a sign, too."""

    def __init__(self, value, negative=None):
        self.value = value
        self.negative = (negative if negative is not None
                         else not isinstance(value, str) and value < 0)

    def finite(self):
        return not isinstance(self.value, str)

    def __neg__(self):
        if self.finite():
            return Number(-self.value, not self.negative)
        return Number(self.value, not self.negative)


def size_of(type_):
    return 1 if type_ == "pred" else SIZES.get(type_) or int(type_[1:])


def signed(bits, size):
    return bits - (1 << size) if bits >> (size - 1) & 1 else bits


def decode(bits, type_):
    """A float's bits as a Number."""
    precision, least, greatest = FORMATS[type_]
    size = SIZES[type_]
    negative = bool(bits >> (size - 1))
    field = bits >> (precision - 1) & ((1 << (size - precision)) - 1)
    fraction = bits & ((1 << (precision - 1)) - 1)
    if field == (1 << (size - precision)) - 1:
        return Number(NAN if fraction else INFINITY, negative)
    if field > 0:
        fraction |= 1 << (precision - 1)
    value = Fraction(fraction) * Fraction(2) ** (max(field, 1) - 1 + least)
    return Number(-value if negative else value, negative)


def round_integer(numerator, denominator, mode, negative):
    """A positive fraction as a whole number; the sign says which way is up."""
    whole, rest = divmod(numerator, denominator)
    if mode == "rn":
        return whole + (2 * rest > denominator or (2 * rest == denominator and whole & 1))
    away = (mode == "rp" and not negative) or (mode == "rm" and negative)
    return whole + (rest != 0 and away)


def whole(value, mode):
    """A Fraction as an int."""
    result = round_integer(abs(value.numerator), value.denominator, mode, value < 0)
    return -result if value < 0 else result


def encode(number, type_, mode="rn"):
    """The bits of a Number, rounded to a float type. NaN: all ones below the sign."""
    precision, least, greatest = FORMATS[type_]
    size = SIZES[type_]
    sign = int(number.negative) << (size - 1)
    infinity = ((1 << (size - precision)) - 1) << (precision - 1)
    if number.value == NAN:
        return (1 << (size - 1)) - 1
    if number.value == INFINITY:
        return sign | infinity
    numerator, denominator = abs(number.value.numerator), number.value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    unit = max(exponent - precision, least)  # one too small at times
    for unit in (unit, unit + 1):
        up, down = (0, unit) if unit > 0 else (-unit, 0)
        steps = round_integer(numerator << up, denominator << down, mode, number.negative)
        if steps < 1 << precision:
            break
    else:
        steps, unit = steps >> 1, unit + 1
    if steps >= 1 << (precision - 1) and unit + precision > greatest:
        away = mode == "rn" or mode == ("rm" if number.negative else "rp")
        return sign | (infinity if away else infinity - 1)
    if steps < 1 << (precision - 1):
        return sign | steps
    return sign | (((unit - least + 1) << (precision - 1)) + steps - (1 << (precision - 1)))


def is_nan(bits, type_):
    return decode(bits, type_).value == NAN


def add(a, b, mode="rn"):
    if NAN in (a.value, b.value) or (a.value == b.value == INFINITY and a.negative != b.negative):
        return Number(NAN)
    if INFINITY in (a.value, b.value):
        return a if a.value == INFINITY else b
    total = a.value + b.value
    if total == 0:
        both = a.negative and b.negative
        return Number(total, both or (a.negative != b.negative and mode == "rm"))
    return Number(total)


def multiply(a, b):
    negative = a.negative != b.negative
    if NAN in (a.value, b.value):
        return Number(NAN)
    if INFINITY in (a.value, b.value):
        return Number(NAN if 0 in (a.value, b.value) else INFINITY, negative)
    return Number(a.value * b.value, negative)


def divide(a, b):
    negative = a.negative != b.negative
    if NAN in (a.value, b.value) or a.value == b.value == INFINITY or a.value == b.value == 0:
        return Number(NAN)
    if a.value == INFINITY or b.value == 0:
        return Number(INFINITY, negative)
    return Number(Fraction(0) if b.value == INFINITY else a.value / b.value, negative)


def root(a):
    """The square root, to 200 bits and sticky, which is enough for every format and mode."""
    if a.value in (NAN, 0) or (a.value == INFINITY and not a.negative):
        return a
    if a.negative:
        return Number(NAN)
    scale = 4 ** 1400
    scaled = a.value.numerator * scale // a.value.denominator
    floor = math.isqrt(scaled)
    exact = floor * floor * a.value.denominator == a.value.numerator * scale
    return Number(Fraction(2 * floor + (not exact), 2 * 2 ** 1400))


def compare(a, b):
    """-1, 0, 1, or None where there is a NaN."""
    if NAN in (a.value, b.value):
        return None
    keys = [(1 if not n.negative else -1) * Fraction(2) ** 2000 if n.value == INFINITY else n.value
            for n in (a, b)]
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


def minimum(a, b, want=-1):
    """The smaller, or with 1 the greater; a number rather than a NaN; -0 is less than 0."""
    if a.value == NAN:
        return b
    order = compare(a, b)
    if order is None:
        return a
    if order == 0:
        return a if (want == -1) == a.negative else b
    return a if order == want else b
