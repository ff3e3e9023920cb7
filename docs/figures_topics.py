#!/usr/bin/env python3
"""figures_topics.py [--check]: draws the figures of the topic chapters to docs/figures.

Each function below draws one figure. --check
changes nothing: it names the figures that are not up to date and exits 1.
"""

import math
import os
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(DOCS, "figures")

sys.path.insert(0, DOCS)
import svg  # noqa: E402
import topics  # noqa: E402
import tool  # noqa: E402

class Figure(svg.Picture):
    """A picture of named boxes."""

    def named(self, x, y, width, height, lines, colour="empty"):
        """A box with lines of text in its middle, the first of them bold."""
        self.box(x, y, width, height, colour)
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + 18 * i, line, 12 if i else 14, "middle", bold=i == 0)

    def arrow(self, x1, y1, x2, y2):
        self.line(x1, y1, x2, y2, arrow=True)

    def say(self, x, y, words, how=""):
        """Text; `how` has any of small, bold, faint, and middle or end for what x is of it."""
        anchor = "middle" if "middle" in how else "end" if "end" in how else "start"
        size, colour = 12 if "small" in how else 14, "faint" if "faint" in how else "ink"
        self.text(x, y, words, size, anchor, colour, bold="bold" in how)

    def dot(self, x, y, colour):
        self.parts.append(f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')


def stack():
    figure = Figure(
        640, 330, "The CUDA stack",
        "From top to bottom: applications and frameworks such as PyTorch; libraries cuBLAS and cuDNN beside"
        " your own kernels in CUDA C; the runtime API; the driver API; the driver; the GPU.",
    )  # fmt: skip
    figure.named(20, 14, 600, 44, ["your program, or a framework such as PyTorch"], "blue")
    figure.named(20, 66, 290, 44, ["libraries", "cuBLAS, cuDNN, …"], "green")
    figure.named(330, 66, 290, 44, ["your own kernels", "CUDA C: __global__, <<<…>>>"], "green")
    figure.named(20, 118, 600, 44, ["runtime API", "cudaMalloc, cudaMemcpy, cudaGetLastError"], "amber")
    figure.named(20, 170, 600, 44, ["driver API", "cuMemAlloc, cuModuleLoad, cuLaunchKernel"], "amber")
    figure.named(20, 222, 600, 44, ["driver", "commands to the GPU, its memory, PTX to machine code at load"], "rose")
    figure.named(20, 274, 600, 44, ["GPU"], "empty")
    return figure


def hierarchy():
    """Sizes are those of the reference GPU's architecture, compute capability 9.0."""
    figure = Figure(
        700, 350, "Where data lives",
        "A pyramid of memories: registers of a thread, shared memory and L1 of a multiprocessor, L2 of the"
        " GPU, global memory, and host memory over PCIe. The nearer, the smaller and faster.",
    )  # fmt: skip
    levels = [
        (270, "registers", "256 KiB an SM; up to 255 words a thread", "one thread", "blue"),
        (320, "shared memory and L1", "256 KiB an SM; 227 KiB a block at most", "one block", "green"),
        (390, "L2", "50 MB for all SMs of an H100", "the whole GPU", "amber"),
        (460, "global memory", "141 GB; 4800 GB/s (H200)", "the whole GPU", "rose"),
        (530, "host memory", "behind PCIe: 64 GB/s a direction (Gen5 x16)", "the CPU", "empty"),
    ]
    for i, (width, name, size, who, kind) in enumerate(levels):
        figure.named(20 + (530 - width) / 2, 40 + 60 * i, width, 50, [name, size], kind)
        figure.say(565, 70 + 60 * i, who, "small faint")
    figure.say(285, 24, "small, near, fast", "middle small faint")
    figure.say(565, 24, "seen by", "small bold")
    return figure


def execution():
    figure = Figure(
        720, 372, "What you write, and what runs it",
        "Left, the software side: a grid of blocks, a block of threads. Right, the hardware side: a GPU of"
        " multiprocessors, each with four schedulers. A block is placed on one multiprocessor and stays"
        " there; it is cut into warps of 32 lanes; a scheduler issues one instruction of one warp.",
    )  # fmt: skip
    figure.say(160, 24, "you write", "middle bold")
    figure.say(560, 24, "the hardware runs", "middle bold")
    figure.box(20, 40, 280, 96, "blue")
    figure.say(30, 58, "grid", "small bold")
    for i in range(4):
        figure.named(36 + 64 * i, 66, 54, 46, [f"{i}"], "empty")
    figure.say(160, 129, "blocks, in no order", "middle small faint")
    figure.box(20, 172, 280, 84, "green")
    figure.say(30, 190, "block: up to 1024 threads", "small bold")
    for i in range(32):
        figure.box(30 + 8.1 * i, 204, 6.5, 18)
    figure.say(160, 245, "they share memory and __syncthreads()", "middle small faint")
    figure.box(20, 292, 280, 64, "amber")
    figure.say(30, 310, "thread: its own registers", "small bold")
    figure.say(30, 334, "c[i] = a[i] + b[i];")
    figure.box(420, 40, 280, 96, "blue")
    figure.say(430, 58, "GPU", "small bold")
    for i in range(4):
        figure.named(436 + 64 * i, 66, 54, 46, ["SM"], "empty")
    figure.say(560, 129, "132 SMs on an H200", "middle small faint")
    figure.box(420, 172, 280, 84, "green")
    figure.say(430, 190, "SM: up to 64 warps of 32 lanes", "small bold")
    for i in range(4):
        figure.box(430 + 66 * i, 202, 62, 26)
        figure.say(461 + 66 * i, 219, "scheduler", "middle small")
    figure.say(560, 247, "each: one warp's instruction a cycle", "middle small faint")
    figure.box(420, 292, 280, 64, "amber")
    figure.say(430, 310, "lane: one of the 32 places of a warp", "small bold")
    figure.say(430, 334, "on or off for this instruction", "small")
    for y, words in ((88, "a block goes to one SM"), (214, "32 threads in a row: a warp"), (324, "one place each")):
        figure.arrow(306, y, 414, y)
        for i, part in enumerate(_halves(words)):
            figure.say(360, y - 24 + 15 * i, part, "middle small faint")
    return figure


def _halves(words):
    """Text on two lines, cut at the space nearest to its middle."""
    spaces = [i for i, letter in enumerate(words) if letter == " "]
    cut = min(spaces, key=lambda i: abs(i - len(words) / 2))
    return words[:cut], words[cut + 1 :]


def sectors():
    figure = Figure(
        700, 300, "Sectors that a warp's load touches",
        "Lanes 0 to 31 read one float each. Side by side they need 4 sectors of 32 bytes, all of it used."
        " Two floats apart they need 8 sectors, half of it used. Eight or more apart each lane needs a"
        " sector of its own: 32, an eighth of it used.",
    )  # fmt: skip
    cases = [(1, "side by side: 4 sectors, all used"), (2, "stride 2: 8 sectors, half used")]
    cases += [(8, "stride 8: 32 sectors, an eighth used; the first 10 are shown")]
    for row, (stride, label) in enumerate(cases):
        y = 20 + 92 * row
        figure.say(20, y + 10, label, "small bold")
        count = min(4 * stride, 10)
        for sector in range(count):
            figure.box(20 + 66 * sector, y + 20, 62, 34)
            for word in range(8):
                used = (8 * sector + word) % stride == 0
                figure.box(23 + 66 * sector + 7 * word, y + 27, 6, 20, "orange" if used else "paper")
        figure.say(20, y + 70, "32 bytes each", "small faint")
    return figure


def row_major():
    figure = Figure(
        700, 330, "Row-major storage and the leading dimension",
        "A matrix of 3 rows and 5 columns inside rows of 8 elements. In memory row follows row; from an"
        " element to the one below it is 8 elements, the leading dimension, of which 3 are padding.",
    )  # fmt: skip
    size = 36
    figure.say(20, 26, "A: m = 3 rows, k = 5 columns, lda = 8", "bold")
    for i in range(3):
        for j in range(8):
            figure.box(20 + size * j, 42 + size * i, size, size, "blue" if j < 5 else "paper")
            if j < 5:
                figure.say(20 + size * (j + 0.5), 42 + size * (i + 0.65), f"{i},{j}", "middle small")
    figure.say(330, 64, "element (i, j) is A[i * lda + j]")
    figure.say(330, 90, "lda ≥ k; the rest of a row is not ours:", "small")
    figure.say(330, 108, "never written, and it may hold anything", "small")
    figure.say(330, 138, "the transpose of A, column-major, is", "small")
    figure.say(330, 156, "the same memory with the same lda", "small")
    figure.say(20, 196, "in memory", "bold")
    step = 27
    for x in range(24):
        i, j = divmod(x, 8)
        figure.box(20 + step * x, 208, step, 34, "blue" if j < 5 else "paper")
        if j < 5:
            figure.say(20 + step * (x + 0.5), 229, f"{i},{j}", "middle small")
    figure.line(20 + step * 0.5, 252, 20 + step * 0.5, 268)
    figure.line(20 + step * 8.5, 252, 20 + step * 8.5, 268)
    figure.line(20 + step * 0.5, 260, 20 + step * 8.5, 260)
    figure.say(20 + step * 4.5, 280, "lda = 8: from (0,0) to (1,0)", "middle small")
    figure.say(20, 312, "Last element needed: (rows − 1) · lda + columns = 21 elements from the start, not 24.", "small faint")
    return figure


def pipeline():
    figure = Figure(
        760, 330, "What nvcc does with a .cu file",
        "nvcc splits a .cu file. The device part goes through cicc to PTX and through ptxas to SASS; fatbinary"
        " packs both. The host part goes to the host compiler, and the packed device code with it. At run"
        " time the driver takes SASS for its GPU, or translates the PTX: JIT.",
    )  # fmt: skip
    figure.named(20, 130, 104, 60, ["step07.cu", "host + device"], "empty")
    figure.named(190, 40, 110, 60, ["cicc", "device code"], "green")
    figure.named(350, 40, 110, 60, ["ptxas", "once a GPU kind"], "green")
    figure.named(510, 40, 110, 60, ["fatbinary", "packs them"], "green")
    figure.named(190, 220, 270, 60, ["gcc or cl", "host code; a launch becomes a call"], "blue")
    figure.named(510, 220, 110, 60, ["step07.o", "both inside"], "empty")
    figure.named(660, 130, 84, 60, ["driver", "at run time"], "rose")
    figure.arrow(124, 150, 188, 90)
    figure.arrow(124, 170, 188, 235)
    figure.arrow(300, 70, 348, 70)
    figure.say(324, 60, "PTX", "middle small bold")
    figure.arrow(460, 70, 508, 70)
    figure.say(484, 60, "SASS", "middle small bold")
    figure.arrow(540, 100, 420, 218)
    figure.say(498, 160, "fat binary: SASS and PTX", "small")
    figure.arrow(460, 250, 508, 250)
    figure.arrow(620, 235, 690, 192)
    figure.say(20, 312, "The driver takes SASS made for its GPU. Where there is none, it compiles the PTX (JIT).", "small faint")
    return figure


def roofline():
    """Two GPUs' roofs, from docs/devices.tsv; both axes are logarithmic."""
    figure = Figure(
        700, 400, "Roofline",
        "Attainable rate against arithmetic intensity. Left of the ridge point memory is the limit, right of"
        " it arithmetic. Vector add, 1/12 FLOP a byte, lies far to the left; a 128x128 tile of SGEMM, 32"
        " FLOP a byte, to the right.",
    )  # fmt: skip
    left, right, top, bottom = 70, 660, 30, 330
    low_x, high_x, low_y, high_y = 0.03, 300, 0.1, 100  # FLOP/byte, TFLOP/s

    def at(x, y):
        across = math.log(x / low_x) / math.log(high_x / low_x)
        up = math.log(y / low_y) / math.log(high_y / low_y)
        return left + across * (right - left), bottom - up * (bottom - top)

    for x in (0.1, 1, 10, 100):
        figure.line(*at(x, low_y), *at(x, high_y), "rule", 1, dashed=True)
        figure.say(at(x, low_y)[0], bottom + 18, f"{x:g}", "middle small")
    for y in (0.1, 1, 10, 100):
        figure.line(*at(low_x, y), *at(high_x, y), "rule", 1, dashed=True)
        figure.say(left - 8, at(low_x, y)[1] + 4, f"{y:g}", "end small")
    figure.say((left + right) / 2, bottom + 40, "arithmetic intensity, FLOP/byte", "middle small")
    figure.say(10, 20, "TFLOP/s", "small")
    for name, place in (("H200", 18), ("A100", 18)):
        row = topics.named(name)
        peak, memory = float(row["fp32_tflops"]), float(row["memory_gb_s"]) / 1e3
        start = max(low_x, low_y / memory)
        points = [at(start, start * memory), at(peak / memory, peak), at(high_x, peak)]
        for start, end in zip(points, points[1:]):
            figure.line(*start, *end, thick=2.2)
        figure.say(right - 4, points[2][1] + place, row["device"], "end small bold")
        figure.dot(*points[1], "ink")
        figure.say(points[1][0] + 4, points[1][1] + place + 2, f"ridge {peak / memory:.1f}", "small")
    memory = float(topics.named("H200")["memory_gb_s"]) / 1e3
    for intensity, label, ceiling in (
        (topics.ADD_FLOP / topics.ADD_BYTES, "vector add, 1/12", memory / 12),
        (32, "SGEMM 128x128, 32", float(topics.named("H200")["fp32_tflops"])),
    ):
        x, y = at(intensity, ceiling)
        figure.line(x, y, x, bottom, "faint", dashed=True)
        figure.dot(x, y, "orange")
        figure.say(x + 8, bottom - 6, label, "small")
    return figure


FIGURES = {
    "cuda-stack": stack,
    "memory-hierarchy": hierarchy,
    "execution": execution,
    "sectors": sectors,
    "row-major": row_major,
    "nvcc-pipeline": pipeline,
    "roofline": roofline,
}


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: docs/figures_topics.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for name, draw in FIGURES.items():
        path = os.path.join(FOLDER, name + ".svg")
        text = draw().svg()
        if not os.path.exists(path) or topics.steps.text(path) != text:
            stale.append(name)
            if not arguments:
                os.makedirs(FOLDER, exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    if stale:
        print(f"{'out of date' if arguments else 'written'}: {', '.join(stale)}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
