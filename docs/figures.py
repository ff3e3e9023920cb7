#!/usr/bin/env python3
"""figures.py [--check]: draws the figures of the chapters to docs/figures.

Where a thread reads and writes comes from the steps themselves: the constants of a step and the
expressions of its kernel are read from its source. What an access costs comes from the rules in
tests/wavefronts.py. --check changes nothing: it names the figures that are not up to date and exits 1.
"""

import os
import re
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(DOCS, "figures")

sys.path.insert(0, os.path.join(os.path.dirname(DOCS), "tests"))
import steps  # noqa: E402
import tool  # noqa: E402
from svg import HUES, Picture  # noqa: E402
from wavefronts import sectors, wavefronts  # noqa: E402

# ---------------------------------------------------------------------------- reading a step


def computed(expression, values):
    """The value of an expression of C on integers that are not negative."""
    python = re.sub(r"\(int64_t\)|\(int\)", "", expression).replace("/", "//")
    python = python.replace("threadIdx.x", "thread").replace("blockIdx.x", "block")
    python = re.sub(r"^textured \? (.*) : .*$|\(textured \? (.*?) : .*?\)", r"(\1\2)", python)
    return eval(python, {"__builtins__": {}}, values)  # noqa: S307: the project's own sources


class Step:
    """The constants of a step and the expressions of its kernel."""

    def __init__(self, number):
        text = re.sub(r"//[^\n]*", "", steps.text(steps.sources()[number]))
        self.kernel = text[text.index("tiles_across =") :]
        self.text, self.constants = text, {}
        for name, value in re.findall(r"(\w+) = ([^,]+),", re.search(r"^enum \{(.*?)^\};", text, re.S | re.M)[1]):
            self.constants[name] = computed(value, self.constants)

    def __getattr__(self, name):
        try:
            return self.constants[name]
        except KeyError:
            raise AttributeError(name) from None

    def value(self, name, thread, **more):
        """What the kernel's variable `name` is in a thread."""
        expression = re.search(rf"\b{name} = ([^;]*?)[,;] *(?=\w+ = |\n)", self.kernel + "\n")[1]
        values = {**self.constants, "thread": thread, "warp": thread // 32, "lane": thread % 32, **more}
        return computed(expression, values)

    def result(self, function, argument):
        """What a function of one line returns, such as patch_row."""
        parameter, expression = re.search(
            rf"\b{function}\(int (\w)\)\s*\{{\s*return ([^;]*);", self.text
        ).groups()
        return computed(expression, {**self.constants, parameter: argument})


# ---------------------------------------------------------------------------- pieces of figures


def used_sectors(picture, x, y, words, across, colour, title):
    """The sectors that hold these words, in order, `across` in a line, the words asked for coloured."""
    asked = set(words)
    touched = sorted({word // 8 for word in words})
    picture.text(x, y - 8, title, 13)
    for number, sector in enumerate(touched):
        left = x + number % across * 60
        top = y + number // across * 16
        for i in range(8):
            picture.box(left + 7 * i, top, 7, 11, colour if sector * 8 + i in asked else "empty", thick=0.6)
        picture.frame(left, top, 56, 11, "faint", 1)


def bank_rows(picture, x, y, words, width, lanes, title):
    """A line a lane: the banks of the words that it asks for."""
    picture.text(x, y - 22, title, 13, bold=True)
    for bank in range(0, 32, 4):
        picture.text(x + 40 + bank * 10 + 20, y - 6, f"{bank}-{bank + 3}", 10, "middle", "faint")
    for line, lane in enumerate(lanes):
        top = y + 15 * line
        picture.text(x + 34, top + 11, f"lane {lane}", 10, "end", "faint")
        banks = {(words[lane] + i) % 32 for i in range(width)}
        for bank in range(32):
            picture.box(x + 40 + bank * 10, top, 10, 14, HUES[lane % 8] if bank in banks else "empty", thick=0.6)


# ---------------------------------------------------------------------------- step 01


def access_01():
    step, ld = Step("01"), 1024
    picture = Picture(
        760, 300,
        "What a warp of step 01 touches for one term of its sums, and what it would touch if it ran down a column",
        "Along a row, 32 lanes read one word of A, one sector, and 32 neighbours of B, four sectors used whole. "
        "Down a column they read 32 words of A in 32 sectors, an eighth of each used, and one word of B.",
    )  # fmt: skip
    along = [(step.value("row", t, block=0, tiles_across=1), step.value("col", t, block=0, tiles_across=1)) for t in range(32)]
    for top, title, cells in (
        (0, "step 01: lanes along a row of C", along),
        (134, "the other way: lanes down a column", [(col, row) for row, col in along]),
    ):
        a, b = [row * ld for row, _ in cells], [col for _, col in cells]
        picture.text(16, top + 26, title, 15, bold=True)
        used_sectors(picture, 16, top + 62, a, 6, "blue", f"A: sectors a load, {sectors(a, 1)}")
        used_sectors(picture, 400, top + 62, b, 6, "amber", f"B: sectors a load, {sectors(b, 1)}")
    picture.text(16, 108, "a box: a sector of 32 bytes, 8 floats; coloured: what the lanes asked for", 12, colour="faint")
    return picture


# ---------------------------------------------------------------------------- step 02


def tiles_02():
    step = Step("02")
    patches = step.TILE_M // step.THREAD_M
    picture = Picture(
        760, 410, "The tiles of a block, and the patch of a thread",
        f"Left: a block computes a tile of {step.TILE_M} by {step.TILE_N} elements of C from a band of rows of A and a "
        f"band of columns of B, {step.TILE_K} terms at a time. Right: the tile of C is cut into {patches} by {patches} "
        f"patches of {step.THREAD_M} by {step.THREAD_N}, one a thread; for each term the thread needs {step.THREAD_M} "
        f"elements of the A tile and {step.THREAD_N} of the B tile.",
    )  # fmt: skip
    # Left: the matrices.
    picture.box(20, 160, 140, 220)
    picture.box(180, 20, 180, 120)
    picture.box(180, 160, 180, 220)
    picture.box(20, 230, 140, 50, "grey")
    picture.box(240, 20, 50, 120, "grey")
    for i in range(1, 7):
        picture.line(20 + 20 * i, 230, 20 + 20 * i, 280, "rule", 1)
    for i in range(1, 6):
        picture.line(240, 20 + 20 * i, 290, 20 + 20 * i, "rule", 1)
    picture.box(60, 230, 20, 50, "blue", "ink", 1.5)
    picture.box(240, 60, 50, 20, "amber", "ink", 1.5)
    picture.box(240, 230, 50, 50, "green", "ink", 1.5)
    picture.text(28, 180, "A", 16, bold=True)
    picture.text(188, 40, "B", 16, bold=True)
    picture.text(188, 180, "C", 16, bold=True)
    picture.text(70, 298, f"{step.TILE_M}x{step.TILE_K}", 11, "middle")
    picture.text(296, 74, f"{step.TILE_K}x{step.TILE_N}", 11)
    picture.text(265, 298, f"{step.TILE_M}x{step.TILE_N}", 11, "middle")
    picture.text(20, 400, "terms: left to right in A, downwards in B", 11, colour="faint")
    # Right: the tile, as patches of threads.
    left, top, side = 480, 110, 16
    thread = 5 * patches + 9
    row, col = thread // patches, thread % patches
    picture.text(left, 32, "one term of one tile", 14, bold=True)
    picture.box(left, 60, 16 * side, 14, "amber")
    picture.box(left + col * side, 60, side, 14, "orange", "ink", 2)
    picture.text(left + 16 * side, 54, "a row of the B tile", 11, "end", "faint")
    picture.box(left - 40, top, 14, 16 * side, "blue")
    picture.box(left - 40, top + row * side, 14, side, "teal", "ink", 2)
    picture.text(left - 46, top + 16 * side, "a column of the A tile", 11, colour="faint", turned=True)
    for i in range(patches):
        for j in range(patches):
            mine = (i, j) == (row, col)
            picture.box(left + side * j, top + side * i, side, side, "green" if mine else "empty", thick=0.7)
    picture.frame(left + col * side, top + row * side, side, side)
    picture.line(left + col * side + side / 2, 76, left + col * side + side / 2, top + row * side - 3, "ink", 1.2, True)
    picture.line(left - 24, top + row * side + side / 2, left + col * side - 3, top + row * side + side / 2, "ink", 1.2, True)
    picture.text(left, top + 16 * side + 18, f"{patches}x{patches} patches of {step.THREAD_M}x{step.THREAD_N}; thread {thread} marked", 11, colour="faint")
    return picture


def loads(number):
    """Who fetches what: the first rows of the A tile, and the B tile."""
    step = Step(number)
    rows = 12
    word = "32 rows apart" if number == "02" else "4 rows in a column"
    picture = Picture(
        760, 330, f"Which thread of step {number} fetches which element of the tiles",
        f"In the A tile a thread fetches {step.A_LOADS} elements, {word}; eight neighbouring threads fetch the eight terms "
        f"of a row. In the B tile a warp fetches a row, each lane {step.B_LOADS} elements {step.B_APART} columns apart.",
    )  # fmt: skip
    owner = {}
    apart = step.constants.get("A_APART", 1)
    for thread in range(step.THREADS):
        row, col = step.value("a_row", thread), step.value("a_col", thread)
        for i in range(step.A_LOADS):
            owner[row + apart * i, col] = thread
    picture.text(16, 26, f"A tile, rows 0 to {rows - 1} of {step.TILE_M}", 14, bold=True)
    for row in range(rows):
        picture.text(36, 61 + 20 * row, row, 10, "end", "faint")
        for col in range(step.TILE_K):
            thread = owner[row, col]
            picture.cell(42 + 34 * col, 48 + 20 * row, 34, 20, thread, HUES[thread // 32])
    picture.text(42, 48 + 20 * rows + 16, "number: the thread; colour: its warp", 11, colour="faint")
    picture.text(380, 26, "B tile, all of it", 14, bold=True)
    for row in range(step.TILE_K):
        picture.text(392, 63 + 26 * row, row, 10, "end", "faint")
        lanes = [t for t in range(step.THREADS) if step.value("b_row", t) == row]
        for i in range(step.B_LOADS):
            first, last = lanes[0], lanes[-1]
            picture.cell(398 + 87 * i, 48 + 26 * row, 87, 22, f"{first} to {last}", HUES[first // 32])
    for i in range(step.B_LOADS):
        picture.text(398 + 87 * i + 43, 272, f"columns {step.B_APART * i}-{step.B_APART * i + 31}", 10, "middle", "faint")
    picture.text(398, 304, "a request of a warp: 32 neighbours, 4 sectors", 11, colour="faint")
    return picture


def loads_02():
    return loads("02")


# ---------------------------------------------------------------------------- step 03


def loads_03():
    return loads("03")


def banks_03():
    step = Step("03")
    lanes = range(32)

    def stores(ld):
        """The first word of each lane's 16-byte store, from the indices in fill()."""
        row, col = re.search(r"tiles->a\[(.*?)\]\[(.*?)\], a\)", step.text).groups()
        return [computed(row, {**step.constants, "thread": t}) * ld + computed(col, {**step.constants, "thread": t}) for t in lanes]

    padded, plain = step.A_TILE_LD, step.TILE_M
    picture = Picture(
        760, 210, "The banks that the first 8 lanes store to, without and with padding",
        f"With rows of {plain} floats lanes 0 to 7 all store to banks 0 to 3, and the store of a warp takes "
        f"{wavefronts(stores(plain), 4, False)} wavefronts. With rows of {padded} each lane begins 4 banks after the one "
        f"before, and the store takes {wavefronts(stores(padded), 4, False)}.",
    )  # fmt: skip
    for x, ld in ((6, plain), (386, padded)):
        words = stores(ld)
        title = f"rows of {ld} floats: {wavefronts(words, 4, False)} wavefronts a store"
        bank_rows(picture, x, 50, words, 4, range(8), title)
    picture.text(46, 192, "columns: the 32 banks, 4 to a group; a lane stores 16 bytes, 4 words", 11, colour="faint")
    return picture


# ---------------------------------------------------------------------------- step 04


def bar(picture, x, y, pieces, height=26):
    """Pieces (width, words, colour) side by side."""
    for width, words, colour in pieces:
        if colour:
            picture.cell(x, y, width, height, words, colour, 11)
        x += width


def timeline_04():
    picture = Picture(
        760, 300, "One round of the loop, before and after: not to scale",
        "Before: a block loads the next tiles, waits for them, passes a barrier, fills them in, passes a second barrier, and "
        "then multiplies. After: it starts the loads, multiplies the tiles it has while they are on their way, fills the other "
        "buffer and passes one barrier.",
    )  # fmt: skip
    picture.text(16, 28, "step 03: one buffer", 15, bold=True)
    for i, name in enumerate(("memory", "arithmetic")):
        picture.text(96, 61 + 34 * i, name, 12, "end", "faint")
    for turn in range(2):
        x = 106 + 316 * turn
        bar(picture, x, 44, [(150, f"tiles {turn} on their way", "blue")])
        picture.cell(x + 150, 44, 10, 60, "", "rose")
        bar(picture, x + 160, 78, [(36, "fill", "amber")])
        picture.cell(x + 196, 78, 10, 26, "", "rose")
        bar(picture, x + 206, 78, [(110, f"multiply {turn}", "green")])
    picture.text(16, 150, "step 04: two buffers", 15, bold=True)
    for i, name in enumerate(("memory", "arithmetic")):
        picture.text(96, 183 + 34 * i, name, 12, "end", "faint")
    bar(picture, 106, 166, [(90, "tiles 0", "blue")])
    bar(picture, 196, 200, [(36, "fill 0", "amber")])
    for turn in range(3):
        x = 242 + 166 * turn
        picture.cell(x - 10, 200, 10, 26, "", "rose")
        bar(picture, x, 166, [(110, f"tiles {turn + 1} on their way", "blue")])
        bar(picture, x, 200, [(112, f"multiply {turn}", "green"), (44, f"fill {turn + 1}", "amber")])
    picture.text(106, 262, "red: __syncthreads. In step 04 the loads have the whole arithmetic to arrive; only the first wait is left.", 12, colour="faint")
    picture.line(106, 280, 730, 280, "faint", 1, True)
    picture.text(730, 296, "time", 11, "end", "faint")
    return picture


# ---------------------------------------------------------------------------- step 05


def lanes_05():
    before, step = Step("04"), Step("05")
    lanes = range(32)
    ways = (
        ("step 04", [(before.value("row", t), before.value("col", t)) for t in lanes]),
        ("step 05", [(step.value("lane_row", t), step.value("lane_col", t)) for t in lanes]),
        ("4 down, 8 across, not in pairs", [(t // step.LANES_N * 4, t % step.LANES_N * 4) for t in lanes]),
    )

    def cost(cells):
        """Wavefronts of a 16-byte load of A, whose tile has rows of A_TILE_LD, and of B."""
        return [wavefronts([cell[i] for cell in cells], 4, True) for i in (0, 1)]

    told = "; ".join(f"{title}: {cost(cells)[0]} and {cost(cells)[1]}" for title, cells in ways)
    picture = Picture(
        760, 440, "Which lane computes which part of C, and what its reads of the tiles cost",
        f"Wavefronts of a 16-byte load of A and of B: {told}.",
    )  # fmt: skip
    top = 30
    for title, cells in ways:
        a, b = cost(cells)
        wide = title == ways[0][0]
        picture.text(16, top, title, 15, bold=True)
        picture.text(744, top, f"a load of A: {a} wavefronts, of B: {b}", 13, "end")
        width, height = (45, 26) if wide else (64, 22)
        rows, cols = sorted({r for r, _ in cells}), sorted({c for _, c in cells})
        for lane, (row, col) in enumerate(cells):
            x = 20 + cols.index(col) * width
            y = top + 12 + rows.index(row) * height
            picture.cell(x, y, width, height, lane, HUES[lane // 8], 11)
        note = "a box: 8x8 of C in one piece; 16 rows of 128 columns a warp" if wide else "a box: a square of 4x4, one of a lane's four"
        if wide:
            picture.text(20, top + 12 + len(rows) * height + 15, note + ". Colour: 8 lanes, a quarter of the warp.", 11, colour="faint")
        else:
            for i, line in enumerate(textwrap_note(note)):
                picture.text(20 + 8 * width + 14, top + 32 + 18 * i, line, 11, colour="faint")
        top += len(rows) * height + (72 if wide else 48)
    return picture


def textwrap_note(note):
    return [note] if len(note) < 34 else [note[: note.index(",") + 1], note[note.index(",") + 2 :]]


def hierarchy_05():
    step = Step("05")
    warps_m, warps_n = step.TILE_M // step.WARP_M, step.TILE_N // step.WARP_N
    picture = Picture(
        760, 300, "From the tile of a block to the four squares of a thread",
        f"A block computes {step.TILE_M} by {step.TILE_N} elements of C with {warps_m * warps_n} warps; a warp computes "
        f"{step.WARP_M} by {step.WARP_N}; each of its 32 lanes computes four squares of 4 by 4, "
        f"{4 * step.LANES_M} rows and {4 * step.LANES_N} columns apart.",
    )  # fmt: skip
    picture.text(20, 28, f"block: {step.TILE_M}x{step.TILE_N}, {step.THREADS} threads", 14, bold=True)
    for warp in range(warps_m * warps_n):
        picture.cell(20 + 105 * (warp % warps_n), 44 + 52 * (warp // warps_n), 105, 52, f"warp {warp}", "green" if warp == 0 else "empty", 12)
    picture.line(238, 60, 272, 60, "ink", 1.5, True)
    left, top, width, height = 290, 44, 28, 26
    picture.text(left, 28, f"warp: {step.WARP_M}x{step.WARP_N}, 32 lanes", 14, bold=True)
    lane = 13
    squares = {}
    for number in range(32):
        for i in range(0, step.THREAD_M, 4):
            for j in range(0, step.THREAD_N, 4):
                row = step.value("lane_row", number) + step.result("patch_row", i)
                col = step.value("lane_col", number) + step.result("patch_col", j)
                squares[row // 4, col // 4] = number
    for (row, col), number in squares.items():
        picture.cell(left + width * col, top + height * row, width, height, number, "amber" if number == lane else "empty", 10)
    picture.line(left, top + 4 * height, left + 16 * width, top + 4 * height, "ink", 1.5)
    picture.line(left + 8 * width, top, left + 8 * width, top + 8 * height, "ink", 1.5)
    picture.text(left, top + 8 * height + 20, f"number: the lane that computes this square of 4x4; lane {lane} marked", 11, colour="faint")
    return picture


# ---------------------------------------------------------------------------- step 06


def store_06():
    before, step, ld = Step("05"), Step("06"), 4096
    scattered = [before.value("lane_row", t) * ld + before.value("lane_col", t) for t in range(32)]
    picture = Picture(
        760, 330, "One store of a warp to C, as accumulators lie and after they have been rearranged",
        f"As they lie: 32 lanes write 2 words in each of {sectors(scattered, 1)} sectors. Rearranged through shared memory: "
        f"32 neighbours of one row, {sectors(list(range(32)), 1)} sectors used whole.",
    )  # fmt: skip
    picture.text(16, 26, "step 05: each lane writes element [0][0] of its square", 15, bold=True)
    used_sectors(picture, 16, 64, scattered, 8, "rose", f"{sectors(scattered, 1)} sectors, 2 words of 8 used")
    picture.text(16, 132, "step 06: through shared memory", 15, bold=True)
    for lane in range(32):
        row, col = step.value("lane_row", lane) // 4, step.value("lane_col", lane) // 4
        picture.cell(16 + 36 * col, 148 + 28 * row, 36, 28, lane, HUES[lane // 8], 10)
    picture.text(16, 278, "staged: 16 rows of 32; each lane", 11, colour="faint")
    picture.text(16, 294, "writes its square of 4x4 …", 11, colour="faint")
    picture.line(316, 204, 352, 204, "ink", 1.5, True)
    for row in range(4):
        for lane in range(32):
            picture.box(370 + 11 * lane, 148 + 28 * row, 11, 28, "green" if row == 1 else "empty", thick=0.5)
    picture.text(370, 278, "… and reads one word of each row: lane = column.", 11, colour="faint")
    used_sectors(picture, 370, 312, list(range(32)), 8, "green", "")
    picture.text(620, 322, f"{sectors(list(range(32)), 1)} sectors, all used", 12)
    return picture


# ---------------------------------------------------------------------------- step 07


def xor_07():
    size, row = 8192, 7
    offset = 4096 + 512 * row
    picture = Picture(
        760, 262, "Switching buffers by XOR, after an offset has been added, at two places of shared memory",
        f"Two buffers of {size} bytes, and row {row} of B at offset {offset} in each. Where shared memory begins at 0, XOR with "
        f"{size} leads from one buffer to the same place in the other. Where it begins at 1024, the address has the "
        "bit set already, and XOR leads below the first buffer, to memory that the system keeps.",
    )  # fmt: skip

    def at(address):
        return 30 + address * 700 / (2 * size + 1024)

    for top, base in ((56, 0), (174, 1024)):
        address = base + offset
        picture.text(30, top - 28, f"shared memory begins at {base}" + (": below it, grey, is the system's" if base else ""), 14, bold=True)
        if base:
            picture.box(at(0), top, at(base) - at(0), 30, "grey")
        for i in (0, 1):
            start = base + i * size
            picture.cell(at(start), top, at(size) - at(0), 30, "", ("blue", "green")[i])
            picture.text(at(start) + 8, top + 20, f"buffer {i}", 12)
        for place, colour in ((address, "amber"), (address ^ size, "amber" if base == 0 else "rose")):
            picture.box(at(place), top, max(6, at(512) - at(0)), 30, colour, "ink", 1.5)
        picture.line(at(address) + 8, top + 38, at(address ^ size) + 8, top + 38, "ink", 1.5, True)
        middle = (at(address) + at(address ^ size)) / 2
        picture.text(middle, top + 56, f"{address:#x} ^ {size:#x} = {address ^ size:#x}", 12, "middle")
    return picture


# ---------------------------------------------------------------------------- step 08


def texture_08():
    step = Step("08")
    k, lda, rows = 36, 40, 4
    first = 32
    picture = Picture(
        760, 270, f"The last tile of A where k is {k} and a row has {lda} floats",
        f"A texel is 4 floats. The tile holds terms {first} to {first + step.TILE_K - 1}; of its two texels a row, the first "
        "lies in the matrix and the second in the padding, where anything may stand. Past the last row the texture answers 0.",
    )  # fmt: skip
    picture.text(16, 28, f"A: k = {k}, lda = {lda}, in texels of 4 floats", 15, bold=True)
    for row in range(rows + 1):
        end = row == rows
        picture.text(60, 70 + 30 * row, "after A" if end else f"row {row}", 11, "end", "faint")
        for texel in range(lda // 4):
            inside = texel * 4 < k
            colour = "empty" if end else "blue" if inside else "rose"
            words = "0" if end else f"{4 * texel}-{4 * texel + 3}" if inside else "?"
            picture.cell(76 + 60 * texel, 52 + 30 * row, 60, 28, words, colour, 11)
    picture.frame(76 + 60 * first / 4, 48, 120, 30 * (rows + 1) + 6, "ink", 2.5)
    picture.text(76 + 60 * first / 4 + 60, 222, "the last tile", 12, "middle")
    picture.text(76, 222, "blue: terms. Red: padding, or with lda = 36 the next row.", 12, colour="faint")
    picture.text(76, 244, "The step asks for texel -1 instead: 0.", 12, colour="faint")
    return picture


# ---------------------------------------------------------------------------- step 09


def path_09():
    picture = Picture(
        760, 220, "From global to shared memory: through registers, and by cp.async",
        "Through registers a thread issues a load, waits for it, and issues a store: the value passes through a register, which "
        "is taken all the while. With cp.async it issues one instruction and the value goes from the caches to shared memory.",
    )  # fmt: skip
    for top, title in ((30, "steps 02 to 08"), (130, "step 09")):
        picture.text(16, top, title, 15, bold=True)
    for x, name in ((16, "global memory"), (196, "L2, L1"), (556, "shared memory")):
        for top in (44, 144):
            picture.cell(x, top, 140, 40, name, "blue" if x < 190 else "grey" if x < 400 else "green", 13)
    picture.cell(376, 44, 140, 40, "register", "rose", 13)
    for x1, x2, y in ((156, 194, 64), (336, 374, 64), (516, 554, 64), (156, 194, 164), (336, 554, 164)):
        picture.line(x1, y, x2, y, "ink", 1.5, True)
    picture.text(355, 104, "ld.global", 12, "middle", "faint")
    picture.text(535, 104, "st.shared", 12, "middle", "faint")
    picture.text(446, 204, "cp.async, later cp.async.wait_all", 12, "middle", "faint")
    return picture


def ring_09():
    picture = Picture(
        760, 230, "Two buffers in step 09: not to scale",
        "While the block multiplies the tiles in one buffer, copies for the next tiles are on their way into the other. At the "
        "end of a round each thread waits for its own copies, then the barrier makes all of them visible.",
    )  # fmt: skip
    for i, name in enumerate(("buffer 0", "buffer 1", "arithmetic")):
        picture.text(86, 61 + 40 * i, name, 12, "end", "faint")
    bar(picture, 96, 44, [(70, "copy 0", "blue")])
    for turn in range(4):
        x = 176 + 144 * turn
        picture.cell(x - 10, 44, 10, 106, "", "rose")
        copying, reading = (turn + 1) % 2, turn % 2
        if turn < 3:
            bar(picture, x, 44 + 40 * copying, [(100, f"copy {turn + 1}", "blue")])
        bar(picture, x, 44 + 40 * reading, [(134, f"tiles {turn}, read", "green")])
        bar(picture, x, 124, [(134, f"multiply {turn}", "amber")])
    picture.text(96, 182, "red: cp.async.wait_all, then __syncthreads. No register waits for a value, and nothing is filled in.", 12, colour="faint")
    picture.line(96, 202, 742, 202, "faint", 1, True)
    picture.text(742, 220, "time", 11, "end", "faint")
    return picture


def tile_09():
    old, new = Step("07"), Step("09")
    picture = Picture(
        760, 300, "What a thread multiplies for one term, in step 07 and in step 09",
        f"Step 07: {old.THREAD_M} elements of A times {old.THREAD_N} of B are {old.THREAD_M * old.THREAD_N} products from "
        f"{old.THREAD_M + old.THREAD_N} operands. Step 09: {new.THREAD_M} times {new.THREAD_N} are "
        f"{new.THREAD_M * new.THREAD_N} products from {new.THREAD_M + new.THREAD_N}.",
    )  # fmt: skip
    for x, step, title in ((60, old, "step 07"), (430, new, "step 09")):
        m, n = step.THREAD_M, step.THREAD_N
        picture.text(x, 26, f"{title}: {m * n} products from {m + n} operands", 14, bold=True)
        for j in range(n):
            picture.box(x + 24 + 13 * j, 40, 13, 13, "amber", thick=0.7)
        for i in range(m):
            picture.box(x, 62 + 13 * i, 13, 13, "blue", thick=0.7)
            for j in range(n):
                picture.box(x + 24 + 13 * j, 62 + 13 * i, 13, 13, "green", thick=0.7)
        picture.text(x + 140, 60 + 6.5 * m, f"{m * n / (m + n):.1f} products", 13)
        picture.text(x + 140, 78 + 6.5 * m, "for each operand read", 13)
    return picture


# ---------------------------------------------------------------------------- step 10

SMS = 132  # of the reference GPU


def built_in_speed(step):
    """MFLOP/s of a full SM, as steps/10_dispatch.cu has it."""
    text = steps.text(steps.sources()["10"])
    return int(re.search(rf"\{{&step{step}, \{{[^}}]*\}}, \{{\d+, (\d+), \d+\}}\}}", text)[1])


def rounds_of(step, size):
    """(tiles of each round, their width in time): what the SMs do at m = n = size."""
    geometry = Step(step)
    tiles = -(-size // geometry.TILE_M) * -(-size // geometry.TILE_N)
    counts = [min(SMS, tiles - done) for done in range(0, tiles, SMS)]
    return counts, geometry.TILE_M * geometry.TILE_N / built_in_speed(step)


def waves_10():
    sizes, names = (2048, 3072), ("07", "09")
    said = []
    for size in sizes:
        for step in names:
            counts, _ = rounds_of(step, size)
            said.append(f"At {size} step {step} has {sum(counts)} tiles: {len(counts)} rounds, the last of {counts[-1]}.")
    picture = Picture(760, 356, f"Tiles on {SMS} SMs, round by round, at two sizes", " ".join(said))
    longest = max(len(counts) * width for counts, width in (rounds_of(step, size) for size in sizes for step in names))
    for panel, size in enumerate(sizes):
        top = 34 + 158 * panel
        picture.text(16, top - 10, f"m = n = k = {size}", 15, bold=True)
        for line, (step, colour) in enumerate(zip(names, ("blue", "amber"))):
            counts, width = rounds_of(step, size)
            y, height = top + 62 * line, 52
            picture.text(96, y + 22, f"step {step}", 12, "end")
            picture.text(96, y + 38, f"{sum(counts)} tiles", 12, "end", "faint")
            for turn, count in enumerate(counts):
                x, wide = 106 + 600 * width / longest * turn, 600 * width / longest
                busy = height * count / SMS
                picture.box(x, y, wide, height - busy, "empty")
                picture.cell(x, y + height - busy, wide, busy, count if busy > 12 else "", colour, 12)
    picture.text(106, 332, f"height: the {SMS} SMs; coloured: those with a tile; width: how long a tile takes on a full SM", 12, colour="faint")
    picture.line(106, 344, 742, 344, "faint", 1, True)
    picture.text(742, 338, "time", 11, "end", "faint")
    return picture


def split_15():
    """A float32 as two TF32 numbers, and which of the products of two such pairs are made."""
    picture = Picture(
        760, 300, "A float32 number as two TF32 numbers, and three of four products",
        "The 24 significant bits of x: the first 11 become the large part, rounded to nearest; bit 12 decides about that and becomes the sign of what is left;"
        " bits 13 to 23 become the small part; the last one is cut off. Of the four products of the parts of a and b, large times large, large times small"
        " and small times large are added up; small times small, 2^-22 of the product at most, is left out.")  # fmt: skip
    bit, left = 24, 100
    picture.text(16, 46, "x", 13, bold=True)
    for i in range(24):
        picture.cell(left + bit * i, 28, bit, 28, i + 1, "blue" if i < 11 else "violet" if i == 11 else "amber" if i < 23 else "grey")
    for y, word, first, colour in ((72, "large", 0, "blue"), (116, "small", 12, "amber")):
        picture.text(16, y + 18, word, 13, bold=True)
        for i in range(first, first + 11):
            picture.cell(left + bit * i, y, bit, 28, i + 1, colour)
    picture.text(left + bit * 11 + 12, 90, "the nearest number with 11 bits", 12, colour="faint")
    picture.text(left, 164, "what is left: bit 12 has rounded the large part, and so become a sign; then 11 bits", 12, colour="faint")
    products = (("large a x large b", "blue", "1"), ("small a x large b", "amber", "up to 2^-11"), ("large a x small b", "amber", "up to 2^-11"),
                ("small a x small b", "empty", "up to 2^-22"))  # fmt: skip
    for i, (words, colour, size) in enumerate(products):
        x = 100 + 162 * i
        picture.cell(x, 190, 150, 34, words, colour, 12)
        picture.text(x + 75, 244, size, 12, "middle", "faint")
    picture.text(16, 211, "products", 13, bold=True)
    picture.text(16, 244, "of the whole", 12, colour="faint")
    picture.text(586, 268, "left out", 12, colour="faint")
    return picture


def roles_13():
    """The ring between the warp that copies and those that multiply."""
    picture = Picture(
        760, 300, "Step 13: who waits for whom",
        "A ring of four pairs of tiles. The warp that copies waits until a pair is empty, then starts two bulk copies into it. The eight warps "
        "that multiply wait until a pair is full, and say when they have read it. Each pair has an mbarrier for either.",
    )  # fmt: skip
    picture.cell(16, 60, 140, 120, "1 warp: copies", "blue", 13)
    picture.cell(604, 60, 140, 120, "8 warps: multiply", "amber", 13)
    states = (("pair 0", "green", "being read"), ("pair 1", "green", "full"), ("pair 2", "blue", "bytes on their way"), ("pair 3", "empty", "empty"))
    for i, (name, colour, state) in enumerate(states):
        x = 210 + 86 * i
        picture.cell(x, 84, 80, 72, name, colour, 12)
        picture.text(x + 40, 174, state, 10, "middle", "faint")
    picture.line(156, 100, 204, 100, arrow=True)
    picture.line(554, 100, 602, 100, arrow=True)
    picture.text(380, 40, "full[stage]: one arrival, and as many bytes as a pair of tiles has", 12, "middle")
    picture.line(210, 52, 550, 52, "ink", 1.5, True)
    picture.text(380, 222, "empty[stage]: eight arrivals, one for each warp that has read", 12, "middle")
    picture.line(550, 202, 210, 202, "ink", 1.5, True)
    picture.text(16, 260, "Each side has its own place in the ring. Neither waits for the block as a whole: a warp may be up to", 12, colour="faint")
    picture.text(16, 278, "three pairs ahead of another, and the copies up to four pairs ahead of the slowest.", 12, colour="faint")
    return picture


def pieces_19():
    """How a tile of B lies in shared memory for wgmma."""
    picture = Picture(
        760, 330, "Step 19: a tile of B in shared memory",
        "A piece is 8 columns of B with 4 terms each: 8 rows of 16 bytes, 128 bytes in a row. Pieces for neighbouring columns follow each other, "
        "16 for 128 columns; the next four terms come 2048 bytes later. One wgmma reads two such rows of pieces: 8 terms of 128 columns.",
    )  # fmt: skip
    picture.text(16, 28, "a piece: 8 columns of B, 4 terms", 13, bold=True)
    for i in range(8):
        picture.text(66, 58 + 22 * i, f"column {i}", 11, "end", "faint")
        for p in range(4):
            picture.cell(74 + 44 * p, 44 + 22 * i, 44, 22, 4 * i + p, ("blue", "green", "amber", "rose")[p], 11)
    picture.text(162, 240, "numbers: banks, all 32", 11, "middle", "faint")
    picture.text(372, 28, "the tile, large parts: 128 columns, 32 terms", 13, bold=True)
    for p in range(8):
        y = 44 + 22 * p
        picture.text(364, y + 15, f"terms {4 * p} to {4 * p + 3}", 11, "end", "faint")
        for i in range(16):
            picture.cell(372 + 23 * i, y, 23, 22, "", "teal" if p < 2 else "empty")
    picture.frame(372, 44, 368, 44)
    picture.text(556, 240, "a cell: a piece, 128 bytes; a row of 16: 2048 bytes", 11, "middle", "faint")
    picture.text(16, 274, "frame: what one wgmma reads, 8 terms of 128 columns. Its descriptor: starts here, 2048 bytes further along k, 128 along", 12, colour="faint")
    picture.text(16, 292, "the columns. The small parts follow, 16 KiB behind.", 12, colour="faint")
    return picture


FIGURES = (
    access_01, tiles_02, loads_02, loads_03, banks_03, timeline_04, lanes_05, hierarchy_05, store_06, xor_07,
    texture_08, path_09, ring_09, tile_09, waves_10, roles_13, split_15, pieces_19,
)  # fmt: skip


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: docs/figures.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for figure in FIGURES:
        name = figure.__name__.replace("_", "-") + ".svg"
        path = os.path.join(FOLDER, name)
        drawn = figure().svg()
        if not os.path.exists(path) or steps.text(path) != drawn:
            stale.append(name)
            if not arguments:
                os.makedirs(FOLDER, exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(drawn)
    if stale:
        print(f"{'out of date' if arguments else 'drawn'}: {', '.join(stale)}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
