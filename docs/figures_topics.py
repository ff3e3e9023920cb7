#!/usr/bin/env python3
"""figures_topics.py [--check]: draws the figures of the topic chapters to docs/figures.

Each function below draws one figure. Colours follow the reader's light or dark theme. --check
changes nothing: it names the figures that are not up to date and exits 1.
"""

import math
import os
import sys
from xml.sax.saxutils import escape

DOCS = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(DOCS, "figures")

sys.path.insert(0, DOCS)
import topics  # noqa: E402

STYLE = """
    text { font: 14px system-ui, sans-serif; fill: #1f2328; }
    .small { font-size: 12px; }
    .bold { font-weight: 600; }
    .code { font-family: ui-monospace, monospace; font-size: 13px; }
    .middle { text-anchor: middle; }
    .end { text-anchor: end; }
    .faint { fill: #57606a; }
    rect, path, line, circle { stroke: #57606a; stroke-width: 1.2; fill: none; }
    .a { fill: #ddf4ff; } .b { fill: #dafbe1; } .c { fill: #fff8c5; } .d { fill: #ffebe9; }
    .none { fill: none; } .plain { fill: #f6f8fa; } .dash { stroke-dasharray: 4 3; }
    .head { fill: #57606a; stroke: none; } .bar { fill: #0969da; stroke: none; } .thick { stroke-width: 2.2; }
    .mark { fill: #cf222e; stroke: none; }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3; } .faint { fill: #9198a1; }
        rect, path, line, circle { stroke: #9198a1; }
        .a { fill: #0c2d6b; } .b { fill: #033a16; } .c { fill: #3b2300; } .d { fill: #490202; }
        .plain { fill: #212830; } .head { fill: #9198a1; } .bar { fill: #4493f8; } .mark { fill: #ff7b72; }
    }
"""


class Figure:
    """An SVG that grows by shapes; x runs right and y down, in pixels."""

    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.parts = []

    def add(self, part):
        self.parts.append("  " + part)

    def rect(self, x, y, width, height, kind="plain", round_=4):
        self.add(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_}"/>'
        )

    def text(self, x, y, text, kind=""):
        self.add(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def box(self, x, y, width, height, lines, kind="plain"):
        """A rectangle with lines of text in its middle, the first of them bold."""
        self.rect(x, y, width, height, kind)
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + 18 * i, line, "middle " + ("bold" if i == 0 else "small"))

    def line(self, x1, y1, x2, y2, kind=""):
        self.add(f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>')

    def arrow(self, x1, y1, x2, y2):
        angle = math.atan2(y2 - y1, x2 - x1)
        corners = [(x2 - 9 * math.cos(angle + s), y2 - 9 * math.sin(angle + s)) for s in (-0.45, 0.45)]
        self.line(x1, y1, x2 - 5 * math.cos(angle), y2 - 5 * math.sin(angle))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *corners])
        self.add(f'<polygon class="head" points="{points}"/>')

    def svg(self):
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
                f' width="{self.width}" height="{self.height}" role="img" aria-labelledby="title desc">',
                f'  <title id="title">{escape(self.title)}</title>',
                f'  <desc id="desc">{escape(self.description)}</desc>',
                f"  <style>{STYLE}  </style>",
                *self.parts,
                "</svg>\n",
            ]
        )


def stack():
    figure = Figure(
        640, 330, "The CUDA stack",
        "From top to bottom: applications and frameworks such as PyTorch; libraries cuBLAS and cuDNN beside"
        " your own kernels in CUDA C; the runtime API; the driver API; the driver; the GPU.",
    )  # fmt: skip
    figure.box(20, 14, 600, 44, ["your program, or a framework such as PyTorch"], "a")
    figure.box(20, 66, 290, 44, ["libraries", "cuBLAS, cuDNN, …"], "b")
    figure.box(330, 66, 290, 44, ["your own kernels", "CUDA C: __global__, <<<…>>>"], "b")
    figure.box(20, 118, 600, 44, ["runtime API", "cudaMalloc, cudaMemcpy, cudaGetLastError"], "c")
    figure.box(20, 170, 600, 44, ["driver API", "cuMemAlloc, cuModuleLoad, cuLaunchKernel"], "c")
    figure.box(20, 222, 600, 44, ["driver", "commands to the GPU, its memory, PTX to machine code at load"], "d")
    figure.box(20, 274, 600, 44, ["GPU"], "plain")
    return figure


def hierarchy():
    """Sizes are those of the reference GPU's architecture, compute capability 9.0."""
    figure = Figure(
        700, 350, "Where data lives",
        "A pyramid of memories: registers of a thread, shared memory and L1 of a multiprocessor, L2 of the"
        " GPU, global memory, and host memory over PCIe. The nearer, the smaller and faster.",
    )  # fmt: skip
    levels = [
        (270, "registers", "256 KiB an SM; up to 255 words a thread", "one thread", "a"),
        (320, "shared memory and L1", "256 KiB an SM; 227 KiB a block at most", "one block", "b"),
        (390, "L2", "50 MB for all SMs of an H100", "the whole GPU", "c"),
        (460, "global memory", "141 GB; 4800 GB/s (H200)", "the whole GPU", "d"),
        (530, "host memory", "behind PCIe: 64 GB/s a direction (Gen5 x16)", "the CPU", "plain"),
    ]
    for i, (width, name, size, who, kind) in enumerate(levels):
        figure.box(20 + (530 - width) / 2, 40 + 60 * i, width, 50, [name, size], kind)
        figure.text(565, 70 + 60 * i, who, "small faint")
    figure.text(285, 24, "small, near, fast", "middle small faint")
    figure.text(565, 24, "seen by", "small bold")
    return figure


def execution():
    figure = Figure(
        720, 372, "What you write, and what runs it",
        "Left, the software side: a grid of blocks, a block of threads. Right, the hardware side: a GPU of"
        " multiprocessors, each with four schedulers. A block is placed on one multiprocessor and stays"
        " there; it is cut into warps of 32 lanes; a scheduler issues one instruction of one warp.",
    )  # fmt: skip
    figure.text(160, 24, "you write", "middle bold")
    figure.text(560, 24, "the hardware runs", "middle bold")
    figure.rect(20, 40, 280, 96, "a")
    figure.text(30, 58, "grid", "small bold")
    for i in range(4):
        figure.box(36 + 64 * i, 66, 54, 46, [f"{i}"], "plain")
    figure.text(160, 129, "blocks, in no order", "middle small faint")
    figure.rect(20, 172, 280, 84, "b")
    figure.text(30, 190, "block: up to 1024 threads", "small bold")
    for i in range(32):
        figure.rect(30 + 8.1 * i, 204, 6.5, 18, "plain", 1)
    figure.text(160, 245, "they share memory and __syncthreads()", "middle small faint")
    figure.rect(20, 292, 280, 64, "c")
    figure.text(30, 310, "thread: its own registers", "small bold")
    figure.text(30, 334, "c[i] = a[i] + b[i];", "code")
    figure.rect(420, 40, 280, 96, "a")
    figure.text(430, 58, "GPU", "small bold")
    for i in range(4):
        figure.box(436 + 64 * i, 66, 54, 46, ["SM"], "plain")
    figure.text(560, 129, "132 SMs on an H200", "middle small faint")
    figure.rect(420, 172, 280, 84, "b")
    figure.text(430, 190, "SM: up to 64 warps of 32 lanes", "small bold")
    for i in range(4):
        figure.rect(430 + 66 * i, 202, 62, 26)
        figure.text(461 + 66 * i, 219, "scheduler", "middle small")
    figure.text(560, 247, "each: one warp's instruction a cycle", "middle small faint")
    figure.rect(420, 292, 280, 64, "c")
    figure.text(430, 310, "lane: one of the 32 places of a warp", "small bold")
    figure.text(430, 334, "on or off for this instruction", "small")
    for y, words in ((88, "a block goes to one SM"), (214, "32 threads in a row: a warp"), (324, "one place each")):
        figure.arrow(306, y, 414, y)
        for i, part in enumerate(_halves(words)):
            figure.text(360, y - 24 + 15 * i, part, "middle small faint")
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
        figure.text(20, y + 10, label, "small bold")
        count = min(4 * stride, 10)
        for sector in range(count):
            figure.rect(20 + 66 * sector, y + 20, 62, 34, "plain", 2)
            for word in range(8):
                used = (8 * sector + word) % stride == 0
                figure.rect(23 + 66 * sector + 7 * word, y + 27, 6, 20, "bar" if used else "none", 1)
        figure.text(20, y + 70, "32 bytes each", "small faint")
    return figure


def row_major():
    figure = Figure(
        700, 330, "Row-major storage and the leading dimension",
        "A matrix of 3 rows and 5 columns inside rows of 8 elements. In memory row follows row; from an"
        " element to the one below it is 8 elements, the leading dimension, of which 3 are padding.",
    )  # fmt: skip
    size = 36
    figure.text(20, 26, "A: m = 3 rows, k = 5 columns, lda = 8", "bold")
    for i in range(3):
        for j in range(8):
            figure.rect(20 + size * j, 42 + size * i, size, size, "a" if j < 5 else "none dash", 0)
            if j < 5:
                figure.text(20 + size * (j + 0.5), 42 + size * (i + 0.65), f"{i},{j}", "middle small")
    figure.text(330, 64, "element (i, j) is A[i * lda + j]", "code")
    figure.text(330, 90, "lda ≥ k; the rest of a row is not ours:", "small")
    figure.text(330, 108, "never written, and it may hold anything", "small")
    figure.text(330, 138, "the transpose of A, column-major, is", "small")
    figure.text(330, 156, "the same memory with the same lda", "small")
    figure.text(20, 196, "in memory", "bold")
    step = 27
    for x in range(24):
        i, j = divmod(x, 8)
        figure.rect(20 + step * x, 208, step, 34, "a" if j < 5 else "none dash", 0)
        if j < 5:
            figure.text(20 + step * (x + 0.5), 229, f"{i},{j}", "middle small")
    figure.line(20 + step * 0.5, 252, 20 + step * 0.5, 268)
    figure.line(20 + step * 8.5, 252, 20 + step * 8.5, 268)
    figure.line(20 + step * 0.5, 260, 20 + step * 8.5, 260)
    figure.text(20 + step * 4.5, 280, "lda = 8: from (0,0) to (1,0)", "middle small")
    figure.text(20, 312, "Last element needed: (rows − 1) · lda + columns = 21 elements from the start, not 24.", "small faint")
    return figure


def pipeline():
    figure = Figure(
        760, 330, "What nvcc does with a .cu file",
        "nvcc splits a .cu file. The device part goes through cicc to PTX and through ptxas to SASS; fatbinary"
        " packs both. The host part goes to the host compiler, and the packed device code with it. At run"
        " time the driver takes SASS for its GPU, or translates the PTX: JIT.",
    )  # fmt: skip
    figure.box(20, 130, 104, 60, ["step07.cu", "host + device"], "plain")
    figure.box(190, 40, 110, 60, ["cicc", "device code"], "b")
    figure.box(350, 40, 110, 60, ["ptxas", "once a GPU kind"], "b")
    figure.box(510, 40, 110, 60, ["fatbinary", "packs them"], "b")
    figure.box(190, 220, 270, 60, ["gcc or cl", "host code; a launch becomes a call"], "a")
    figure.box(510, 220, 110, 60, ["step07.o", "both inside"], "plain")
    figure.box(660, 130, 84, 60, ["driver", "at run time"], "d")
    figure.arrow(124, 150, 188, 90)
    figure.arrow(124, 170, 188, 235)
    figure.arrow(300, 70, 348, 70)
    figure.text(324, 60, "PTX", "middle small bold")
    figure.arrow(460, 70, 508, 70)
    figure.text(484, 60, "SASS", "middle small bold")
    figure.arrow(540, 100, 420, 218)
    figure.text(498, 160, "fat binary: SASS and PTX", "small")
    figure.arrow(460, 250, 508, 250)
    figure.arrow(620, 235, 690, 192)
    figure.text(20, 312, "The driver takes SASS made for its GPU. Where there is none, it compiles the PTX (JIT).", "small faint")
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
        figure.line(*at(x, low_y), *at(x, high_y), "dash")
        figure.text(at(x, low_y)[0], bottom + 18, f"{x:g}", "middle small")
    for y in (0.1, 1, 10, 100):
        figure.line(*at(low_x, y), *at(high_x, y), "dash")
        figure.text(left - 8, at(low_x, y)[1] + 4, f"{y:g}", "end small")
    figure.text((left + right) / 2, bottom + 40, "arithmetic intensity, FLOP/byte", "middle small")
    figure.text(10, 20, "TFLOP/s", "small")
    for name, place in (("H200", 18), ("A100", 18)):
        row = topics.named(name)
        peak, memory = float(row["fp32_tflops"]), float(row["memory_gb_s"]) / 1e3
        start = max(low_x, low_y / memory)
        points = [at(start, start * memory), at(peak / memory, peak), at(high_x, peak)]
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        figure.add(f'<path class="thick" d="{path}"/>')
        figure.text(right - 4, points[2][1] + place, row["device"], "end small bold")
        figure.add(f'<circle class="head" cx="{points[1][0]:.1f}" cy="{points[1][1]:.1f}" r="4"/>')
        figure.text(points[1][0] + 4, points[1][1] + place + 2, f"ridge {peak / memory:.1f}", "small")
    memory = float(topics.named("H200")["memory_gb_s"]) / 1e3
    for intensity, label, ceiling in (
        (topics.ADD_FLOP / topics.ADD_BYTES, "vector add, 1/12", memory / 12),
        (32, "SGEMM 128x128, 32", float(topics.named("H200")["fp32_tflops"])),
    ):
        x, y = at(intensity, ceiling)
        figure.line(x, y, x, bottom, "dash")
        figure.add(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        figure.text(x + 8, bottom - 28, label, "small")
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
    sys.exit(main(sys.argv[1:]))
