"""plot.py FOLDER OUT: draws the records in FOLDER (ladder.csv, bench.csv, sweep.csv) with gnuplot, as SVG
files in OUT that can be read in light and in dark.

Each function below that is in CHARTS draws one chart: its title, what it shows in words, and the script
for gnuplot, with the data in it. A chart that there are no records for is left out.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
from html import escape

import measured
import steps
import tool
import topics
from svg import COLOURS as FIGURE_COLOURS

MAIN_SIZE = 4096
ROUND = 128  # sizes that are no multiple are not on a line with the others
NO_TILE = 0.25  # FLOP a byte of a kernel that reads 8 bytes from global memory for 2 operations

# The colours that the scripts use, (light, dark).
COLOURS = {
    **{name: FIGURE_COLOURS[name] for name in ("paper", "ink", "faint")},
    "rule": ("#d0d7de", "#30363d"),
    "cublas": ("#4c7a00", "#76b900"),
    "on bar": ("#fffffe", "#fffffe"),
    "bar": ("#0a69da", "#1f6feb"),
    "blue": ("#0969da", "#58a6ff"),
    "orange": ("#bc4c00", "#f0883e"),
    "violet": ("#8250df", "#bc8cff"),
    "rose": ("#cf222e", "#ff7b72"),
    "teal": ("#1b7c83", "#39c5cf"),
    "amber": ("#9a6700", "#d29922"),
    "pink": ("#bf3989", "#f778ba"),
    "grey": ("#6e7781", "#8b949e"),
}
HUES = ["blue", "orange", "violet", "rose", "teal", "amber", "pink", "grey"]
# What fits below a bar.
SHORT = {1: "naive", 2: "tiling", 3: "transpose", 4: "2 buffers", 5: "fragments", 6: "store", 7: "PTX", 8: "textures",
         9: "cp.async", 10: "dispatch", 11: "ring", 12: "registers", 13: "bulk", 14: "stream-K", 15: "tensor", 16: "64x64", 17: "8x8", 18: "final"}  # fmt: skip
SHAPES = [5, 7, 9, 11, 13, 4, 6, 8, 10, 12]  # gnuplot's filled points, then its open ones


def light(name):
    return COLOURS[name][0]


def ink(name):
    return f'rgb "{light(name)}"'


# ------------------------------------------------------------------------------- records


def title(row):
    """The step's title, or its name in the record where there is no such step here."""
    number = f"{int(row['step']):02d}"
    return steps.title(number) if number in steps.sources() else row["name"].replace("_", " ")


class Results:
    """The records of one GPU, by step."""

    def __init__(self, folder):
        self.records = measured.in_float32(row for name in ("ladder", "bench") for row in measured.table(name, folder))
        self.sweep = measured.table("sweep", folder)
        rows = self.records or self.sweep
        if not rows:
            raise SystemExit(f"plot: there is no ladder.csv, bench.csv or sweep.csv with a record in {folder}")
        self.device = rows[0]["device"]
        self.ceiling = float(rows[0]["ceiling_tflops"])
        self.names = {int(row["step"]): title(row) for row in rows + self.sweep}

    def squares(self, rows, multiple=ROUND):
        """{step: {size: its records}} where m = n = k, a multiple of it, and rows are side by side; without the
        power phase, which heats."""
        found = {}
        for row in rows:
            edges = {row[name] for name in ("m", "n", "k", "lda", "ldb", "ldc")}
            if len(edges) == 1 and int(row["m"]) % multiple == 0 and row["step_tflops"] and not row["power_w"]:
                found.setdefault(int(row["step"]), {}).setdefault(int(row["m"]), []).append(row)
        return {step: dict(sorted(found[step].items())) for step in sorted(found)}

    def main_size(self):
        """4096, or where that is missing the largest size that most steps were measured at."""
        sizes = [size for of_step in self.squares(self.records).values() for size in of_step]
        return MAIN_SIZE if MAIN_SIZE in sizes else max(statistics.multimode(sizes))

    def at_main_size(self):
        """{step: its records at that size}"""
        size = self.main_size()
        return {step: rows[size] for step, rows in self.squares(self.records).items() if size in rows}

    def power(self):
        """{step: its record with power and energy}"""
        return {int(row["step"]): row for row in self.records if row["power_w"]}


def medians(rows_of_size, column):
    return {size: measured.median(rows, column) for size, rows in rows_of_size.items()}


def of_all_steps(squares, column):
    """{size: the median over all steps}: cuBLAS runs beside each."""
    sizes = sorted({size for rows in squares.values() for size in rows})
    return {size: measured.median([row for rows in squares.values() for row in rows.get(size, [])], column) for size in sizes}


# ------------------------------------------------------------------------------- scripts


def block(name, lines):
    """Data for gnuplot, which it finds as $NAME."""
    return "\n".join([f"${name} << EOD", *(" ".join(map(str, line)) for line in lines), "EOD", ""])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


HEAD = f"""
set encoding utf8
set termoption noenhanced
set border 3 lc {ink('faint')}
set tics nomirror scale 0.5 textcolor {ink('ink')}
set grid ytics lt 1 lw 0.5 lc {ink('rule')}
set title textcolor {ink('ink')}
set key outside right top Left reverse textcolor {ink('ink')} samplen 2
set style fill solid noborder
set boxwidth 0.7
"""


def size_axis(sizes):
    """A logarithmic one, with the sizes that were measured and no others."""
    kept = [size for size in sizes if size in (256, 512) or size >= 1024 and (size & (size - 1) == 0 or size == max(sizes))]
    ticks = ", ".join(f'"{size}" {size}' for size in kept)
    return f"""set logscale x 2
set xrange [{min(sizes) * 0.93}:{max(sizes) * 1.08}]
set xtics ({ticks})
set xlabel "m = n = k" textcolor {ink('ink')}
"""


def lines_over_size(results, squares, column, extra, points=True):
    """Data and the parts of a plot command: a line a step, in its colour."""
    data, parts = "", []
    for i, (step, rows) in enumerate(squares.items()):
        name = f"step{step:02d}"
        data += block(name, medians(rows, column).items())
        colour = f"lc {ink(HUES[i % len(HUES)])}"
        style = f"with linespoints lw 1.6 pt {SHAPES[i % len(SHAPES)]} ps 0.7" if points else "with lines lw 1.6"
        dash = " dt (8,3)" if i >= len(HUES) else ""
        parts.append(f"${name} using 1:2 {style}{dash} {colour} title {quoted(f'{step:02d} {results.names[step]}')}")
    return data, "plot " + ", \\\n    ".join(extra + parts) + "\n"


# ------------------------------------------------------------------------------- charts


def ladder(results):
    """The steps as bars."""
    size, runs = results.main_size(), results.at_main_size()
    rates = {step: measured.median(rows, "step_tflops") for step, rows in runs.items()}
    cublas = measured.median([row for rows in runs.values() for row in rows], "cublas_tflops")
    ticks = ", ".join(f'"{step:02d}\\n{SHORT.get(step, "")}" {i}' for i, step in enumerate(rates))
    script = block("rates", ([i, f"{rate:.4f}"] for i, rate in enumerate(rates.values()))) + f"""
set key off
set xtics ({ticks}) scale 0 font ",11"
set xrange [-0.6:{len(rates) - 0.4}]
set yrange [0:{1.15 * max(cublas, *rates.values())}]
set ylabel "TFLOP/s" textcolor {ink('ink')}
set bmargin 3.5
set arrow from graph 0, first {cublas} to graph 1, first {cublas} nohead lw 2 lc {ink('cublas')} front
set label "cuBLAS {cublas:.1f}" at graph 0.01, first {cublas} offset 0,0.7 textcolor {ink('cublas')} front
plot $rates using 1:2 with boxes lc {ink('bar')}, \\
    $rates using 1:(0):(sprintf("%.1f", $2)) with labels offset 0,0.6 textcolor {ink('on bar')}
"""
    words = f"cuBLAS {cublas:.1f}. " + ", ".join(f"step {step:02d} {rate:.1f}" for step, rate in rates.items())
    return f"TFLOP/s at m = n = k = {size} on one {results.device}", words, script


def rate(results):
    """TFLOP/s over size."""
    squares = results.squares(results.records)
    cublas = of_all_steps(squares, "cublas_tflops")
    extra = [f"$cublas using 1:2 with lines lw 4 lc {ink('cublas')} title \"cuBLAS\"",
             f"{results.ceiling} with lines lw 1.5 dt (3,3) lc {ink('ink')} title \"ceiling {results.ceiling:.1f}\""]  # fmt: skip
    data, plot = lines_over_size(results, squares, "step_tflops", extra)
    script = block("cublas", cublas.items()) + data + size_axis(list(cublas)) + f"""
set yrange [0:*]
set ylabel "TFLOP/s" textcolor {ink('ink')}
""" + plot
    return f"TFLOP/s over size on one {results.device}", in_words(squares, "step_tflops", 1) + f". Ceiling {results.ceiling:.1f}", script


def ratio(results):
    """The rate of cuBLAS is 1."""
    squares = results.squares(results.records)
    extra = [f"1 with lines lw 4 lc {ink('cublas')} title \"cuBLAS\""]
    data, plot = lines_over_size(results, squares, "ratio", extra)
    sizes = list(of_all_steps(squares, "ratio"))
    script = data + size_axis(sizes) + f"""
set yrange [0:*]
set ylabel "ratio to cuBLAS" textcolor {ink('ink')}
""" + plot
    return f"Speed of the steps relative to cuBLAS on one {results.device}", in_words(squares, "ratio", 2), script


def in_words(squares, column, digits):
    """What the lines show, size by size."""
    parts = []
    for size in of_all_steps(squares, column):
        cells = (f"{step:02d} {measured.median(rows[size], column):.{digits}f}" for step, rows in squares.items() if size in rows)
        parts.append(f"At {size}: {', '.join(cells)}")
    return ". ".join(parts)


def power(results):
    """Watts, and what they are good for."""
    records = results.power()
    if not records:
        return None
    size = next(iter(records.values()))["m"]
    columns = ("power_w", "cublas_power_w", "gflops_per_w", "cublas_gflops_per_w")
    rows = [[i, *(f"{float(row[name]):.6g}" for name in columns)] for i, row in enumerate(records.values())]
    ticks = ", ".join(f'"{step:02d}" {i}' for i, step in enumerate(records))
    marks = f"with points pt 12 ps 1.3 lw 2 lc {ink('cublas')} title \"cuBLAS, in the same run\""
    script = block("power", rows) + f"""
set multiplot layout 1,2 title {quoted(f"One product after the other at m = n = k = {size} on one {results.device}")} textcolor {ink('ink')}
set xtics ({ticks}) scale 0
set xrange [-0.6:{len(records) - 0.4}]
set yrange [0:*]
set key bmargin center horizontal
set title "power, W"
plot $power using 1:2 with boxes lc {ink('bar')} title "step", $power using 1:3 {marks}
set title "GFLOP/s a watt"
plot $power using 1:4 with boxes lc {ink('bar')} title "step", $power using 1:5 {marks}
unset multiplot
"""
    words = ". ".join(f"Step {step:02d}: {float(row['power_w']):.0f} W, {float(row['gflops_per_w']):.1f} GFLOP/s a watt;"
                      f" cuBLAS {float(row['cublas_power_w']):.0f} W, {float(row['cublas_gflops_per_w']):.1f}" for step, row in records.items())  # fmt: skip
    return f"Power and GFLOP/s a watt on one {results.device}", words, script


def intensity(row):
    """FLOP for each byte that blocks ask of global memory, as ./step00 roofline has it."""
    m, n = int(row["tile_m"]), int(row["tile_n"])
    return NO_TILE if row["shared_bytes"] == "0" else m * n / (2 * (m + n))


def roofline(results):
    """The roofs of memory and of arithmetic, and where each step is."""
    try:
        memory = float(topics.named(results.device.removeprefix("NVIDIA "))["memory_gb_s"]) / 1e3
    except StopIteration:
        print(f"plot: no roofline: docs/devices.tsv has no row for {results.device}", file=sys.stderr)
        return None
    points = {}
    for step, rows in results.at_main_size().items():
        if rows[0]["shared_bytes"]:  # of a step that chooses among others there is no one tile
            points.setdefault(intensity(rows[0]), []).append((measured.median(rows, "step_tflops"), step))
    labels = []  # in turn on the two sides of a column of points
    for x, found in points.items():
        for i, (y, text) in enumerate(clusters(sorted(found))):
            side = "left offset 0.8,0" if i % 2 else "right offset -0.8,0"
            labels.append(f"set label {quoted(text)} at {x:.4f}, {y:.4f} {side} font \",11\" textcolor {ink('ink')}")
    script = block("points", ([f"{x:.4f}", f"{y:.4f}"] for x, found in points.items() for y, _ in found))
    script += "\n".join(labels) + f"""
set logscale xy
set xrange [0.1:200]
set yrange [0.5:100]
set xtics (0.1, 0.25, 1, 4, 16, 32, 64, 128)
set ytics (0.5, 1, 2, 5, 10, 20, 50, 100)
set xlabel "FLOP for each byte that blocks ask of global memory" textcolor {ink('ink')}
set ylabel "TFLOP/s" textcolor {ink('ink')}
set key inside right bottom
set label "memory, {1e3 * memory:.0f} GB/s" at 1, {0.8 * memory} textcolor {ink('faint')}
set label "arithmetic, {results.ceiling:.1f} TFLOP/s" at 100, {1.13 * results.ceiling} center textcolor {ink('faint')}
roof(x) = x * {memory} < {results.ceiling} ? x * {memory} : {results.ceiling}
set samples 1000
plot roof(x) with lines lw 2 lc {ink('ink')} notitle, \\
    $points using 1:2 with points pt 7 ps 0.7 lc {ink('orange')} title "steps at m = n = k = {results.main_size()}"
"""
    words = f"Memory {1e3 * memory:.0f} GB/s, arithmetic {results.ceiling:.1f} TFLOP/s. " + ". ".join(
        f"Step {step:02d}: {x:.2f} FLOP a byte, {y:.1f} TFLOP/s" for x, found in points.items() for y, step in sorted(found, key=lambda each: each[1]))  # fmt: skip
    return f"Roofline of one {results.device}, and the steps", words, script


def clusters(found):
    """(height, label) of points above each other, those that are too near to label apart as one."""
    groups = []
    for y, step in found:
        if groups and y < 1.09 * groups[-1][-1][0]:
            groups[-1].append((y, step))
        else:
            groups.append([(y, step)])
    return [(statistics.mean(y for y, _ in group), ", ".join(f"{step:02d}" for _, step in sorted(group, key=lambda each: each[1]))) for group in groups]


def sweep(results):
    """The protocol of the SGEMM source: rates above, ratios below."""
    squares = results.squares(results.sweep, multiple=1)
    cublas = of_all_steps(squares, "cublas_tflops")
    sizes = list(cublas)
    data, rates = lines_over_size(results, squares, "step_tflops", [f"$cublas using 1:2 with lines lw 3 lc {ink('cublas')} title \"cuBLAS\""], points=False)
    script = block("cublas", cublas.items()) + data + f"""
set multiplot layout 2,1 title {quoted(f"The sweep from {sizes[0]} to {sizes[-1]} on one {results.device}")} textcolor {ink('ink')}
set lmargin 9
set xrange [{sizes[0]}:{sizes[-1]}]
set ylabel "TFLOP/s" textcolor {ink('ink')}
set yrange [0:*]
""" + rates
    data, ratios = lines_over_size(results, squares, "ratio", [f"1 with lines lw 3 lc {ink('cublas')} title \"cuBLAS\""], points=False)
    script += data + f"""
set ylabel "ratio to cuBLAS" textcolor {ink('ink')}
set xlabel "m = n = k" textcolor {ink('ink')}
set yrange [*:*]
""" + ratios + "unset multiplot\n"
    means = (f"step {step:02d} {geometric_mean(rows):.3f}" for step, rows in squares.items())
    return f"The sweep of sizes on one {results.device}", f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}. Geometric mean of the ratio to cuBLAS: {', '.join(means)}", script


def geometric_mean(rows_of_size):
    return statistics.geometric_mean(medians(rows_of_size, "ratio").values())


CHARTS = {"ladder": (ladder, 900, 380), "rate": (rate, 900, 460), "ratio": (ratio, 900, 460),
          "power": (power, 900, 360), "roofline": (roofline, 900, 520), "sweep": (sweep, 900, 640)}  # fmt: skip


# ------------------------------------------------------------------------------- SVG

COLOUR = re.compile(r"""(stroke|fill|color) *= *['"](rgb\([ \d,]+\)|#\w+|black)['"]""")


def hexadecimal(colour):
    if colour.startswith("rgb"):
        return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour))
    return light("ink") if colour == "black" else colour.lower()


def readable(svg, title, words):
    """gnuplot's SVG with a title, its content in words, and colours for dark surroundings."""
    version = re.search(r"GNUPLOT ([\d.]+ patchlevel \d+)", svg)[1]
    dark = "".join(f'[{what}="{pair[0]}"]{{{what}:{pair[1]}}}' for pair in COLOURS.values() for what in ("fill", "stroke", "color"))
    svg = COLOUR.sub(lambda match: f'{match[1]}="{hexadecimal(match[2])}"', svg)
    head = (f'<title>{escape(title)}</title>\n<desc>{escape(words)}.</desc>\n<!-- gnuplot {version} -->\n'
            f"<style>@media (prefers-color-scheme: dark) {{{dark}}}</style>")  # fmt: skip
    svg = re.sub(r"<title>.*?</desc>", lambda _: head, svg, count=1, flags=re.S)
    return svg.replace("<svg ", '<svg role="img"', 1)


def draw(results, name):
    """The chart as SVG, or None where there is nothing to show."""
    chart, width, height = CHARTS[name]
    if not (results.sweep if chart is sweep else results.records):
        return None
    found = chart(results)
    if not found:
        return None
    title, words, script = found
    terminal = f'set terminal svg size {width},{height} font "sans-serif,13" background rgb "{light("paper")}"\n'
    heading = "" if "multiplot" in script else f"set title {quoted(title)}\n"
    result = subprocess.run(["gnuplot"], input=terminal + HEAD + heading + script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode or result.stderr:
        raise SystemExit(f"plot: {name}: gnuplot: {result.stderr.strip()}")
    return readable(result.stdout, title, words)


def main(folder, out):
    if not shutil.which("gnuplot"):
        raise SystemExit("plot: gnuplot is missing (package: gnuplot-nox)")
    results = Results(folder)
    os.makedirs(out, exist_ok=True)
    for name in CHARTS:
        if svg := draw(results, name):
            path = os.path.join(out, name + ".svg")
            with open(path, "w", encoding="utf-8") as file:
                file.write(svg)
            print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py FOLDER OUT")
    tool.run(main, *sys.argv[1:])
