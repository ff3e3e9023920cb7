#!/usr/bin/env python3
"""generate.py [--check]: fills in what the documents take from results and sources.

A document holds a block between <!-- generated: NAME ARGUMENT... --> and <!-- end generated -->, and a
value within a line between <!--=NAME ARGUMENT...--> and <!--/-->. Each NAME is a function: of this file
for the README, of docs/chapters.py, docs/instructions.py, docs/topics.py and docs/worklog.py for the
rest. Figures come from docs/results and docs/devices.tsv only. --check changes nothing: it names the documents that are not
up to date and exits 1.
"""

import glob
import os
import re
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)

sys.path.insert(0, os.path.join(ROOT, "tests"))
import chapters  # noqa: E402
import diffs  # noqa: E402
import instructions  # noqa: E402
import steps  # noqa: E402
import tool  # noqa: E402
from measured import FOLDER, NotMeasured, measured, median, records, runs_of, table  # noqa: E402
import topics  # noqa: E402
import worklog  # noqa: E402

BLOCK = re.compile(
    r"(<!-- generated: (\w+)((?: \S+)*) -->\n)(.*?)\n?(<!-- end generated -->)", re.DOTALL
)
VALUE = re.compile(r"(<!--=(\w+)((?: [\w.-]+)*)-->)([^<\n]*)(<!--/-->)")

# What each step is about, for the table of the ladder.
IDEAS = {
    "00": "CUDA C basics, an experiment each: copies, launches, coalescing, occupancy, roofline",
    "01": "one thread computes one element; `threadIdx.x` runs along a row, so that loads coalesce",
    "02": "a tile of A and of B is read from global memory once a block; a thread keeps 8x8 of C",
    "03": "the tile of A is kept transposed and padded, so that fragments are read 16 bytes at a time",
    "04": "two buffers: the next tile's loads are in flight during the arithmetic",
    "05": "lanes laid out so that one read serves many, a term ahead; products to and fro",
    "06": "the finished tile is rearranged in shared memory and stored by rows",
    "07": "loads, stores and addresses written by hand; buffers switched by one XOR",
    "08": "16-byte fetches through textures, which answer 0 past the end",
    "09": "`cp.async`: from global to shared memory without registers, and a tile twice as wide",
    "10": "`sgemm()` as BLAS has it: estimates which of 07, 08 and 09 is the quickest, and starts it",
    "11": "a ring of four pairs of tiles: copies have more than a round to arrive; no bounds in the loop",
    "13": "bulk copies by one warp, of tiles that were packed before; the others only multiply, and wait at mbarriers",
    "14": "what would be the last round of tiles is cut along k: every SM gets an equal share",
    "15": "tensor cores: each operand as two TF32 numbers, three products: as accurate as float32, but not float32",
    "16": "the same with tiles of 64x64, for a small C",
    "17": "8x8 elements of C a thread in place of 8x4: fewer loads a product, for a narrow C and a long k",
    "18": "`sgemm()` chooses among 13, 14, 16 and 17, too: what counts there is the parts to add up",
    "19": "tensor cores as Hopper has them: four warps, one `wgmma`, B read from shared memory; three products as in 15",
}


def changed_lines():
    """{step: changed lines of code}, from the step that it grew out of."""
    sources = steps.sources()
    return {
        step: f"{diffs.changed_lines(sources[base], sources[step])}"
        + (f" (from {base})" if int(base) + 1 != int(step) else "")
        for base, step, _ in reversed(diffs.budgets())
    }


def ladder():
    """A row a step: what it is, how much it changes, how fast it is."""
    sizes = (1024, 4096, 12288)
    rows, changed = records(), changed_lines()
    lines = [
        "| step | the one idea | lines changed | 1024 | 4096 | 12288 | of cuBLAS at 4096 |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    cublas = {size: [] for size in sizes}
    for step, path in steps.all_sources().items():
        page = chapters.chapter_file(step)
        number = f"[{step}](docs/{page})" if chapters.has_page(page) else step
        head = f"| {number} [{steps.title(step)}](steps/{os.path.basename(path)}) | {IDEAS[step]} | {changed.get(step, '')}"
        other = steps.arithmetic(step) != "float32"
        if step not in measured(rows) and not other:
            lines.append(f"{head} | | | | |")
            continue
        runs = {size: runs_of(table("three_tf32") if other else rows, step, size, size, size) for size in sizes}
        rates = " | ".join(f"{median(runs[size], 'step_tflops'):.1f}" for size in sizes)
        if other:  # no ratio: cuBLAS beside it computes in float32
            lines.append(f"{head} | {rates} | {steps.arithmetic(step)} |")
            continue
        lines.append(f"{head} | {rates} | {100 * median(runs[4096], 'ratio'):.0f} % |")
        for size in sizes:
            cublas[size] += runs[size]
    rates = " | ".join(f"{median(cublas[size], 'cublas_tflops'):.1f}" for size in sizes)
    lines.append(f"| cuBLAS | float32, pedantic | | {rates} | |")
    return "\n".join(lines)


def conditions():
    """On what, with what, when, and how far to trust it."""
    rows = records()
    runs = [runs_of(rows, step, 4096, 4096, 4096) for step in measured(rows)]
    row = runs[0][0]
    apart = max(
        100 * (max(rates) / min(rates) - 1)
        for rates in ([float(run["step_tflops"]) for run in of_step] for of_step in runs)
    )
    capped = [
        step
        for step in measured(rows)
        if "power" in runs_of(rows, step, 12288, 12288, 12288)[0]["throttle"]
    ]
    small_k = ", ".join(
        f"{step} {median(runs_of(rows, step, 4096, 4096, 128), 'step_tflops'):.1f}"
        for step in ("05", "06")
    )
    return (
        f"TFLOP/s at m = n = k on one {row['device']} (sm_{row['compute_capability_x10']},"
        f" {row['sms']} SMs, driver {row['driver']}, CUDA {row['cuda']}, cuBLAS {row['cublas']},"
        f" {row['date'][:10]}), clocks not locked, L2 flushed before each run. Medians over"
        f" {len(runs[0])} processes, one at 12288; within one, step and cuBLAS take turns, and the"
        " last column is the median of their ratios. At 4096 the rate of a step differs by up to"
        f" {apart:.1f} % from process to process. At 12288 the power limit slowed"
        f" {', '.join(capped) if capped else 'none'}. At 4096x4096x128, where the store matters:"
        f" {small_k}. Every record: [docs/results](docs/results/nvidia-h200/ladder.csv)."
    )


def output():
    """What ./step07 printed where the results come from."""
    text = steps.text(os.path.join(FOLDER, "step07.txt"))
    return "\n".join(("    " + line).rstrip() for line in ["$ ./step07"] + text.splitlines())


OF_CHAPTERS = chapters.BLOCKS + chapters.VALUES + worklog.BLOCKS + worklog.VALUES + instructions.BLOCKS
FUNCTIONS = {f.__name__: f for f in (ladder, conditions, output) + OF_CHAPTERS}


def function(name):
    return FUNCTIONS.get(name) or getattr(topics, name)


def filled(text):
    def fill_block(match):
        start, name, arguments, old, end = match.groups()
        try:
            new = function(name)(*arguments.split())
        except chapters.KeepOld:
            new = old
        except NotMeasured:
            new = chapters.NOT_YET
        return f"{start}{new}\n{end}"

    def fill_value(match):
        start, name, arguments, _, end = match.groups()
        try:
            return f"{start}{function(name)(*arguments.split())}{end}"
        except NotMeasured:
            return f"{start}{chapters.NOT_YET}{end}"

    return VALUE.sub(fill_value, BLOCK.sub(fill_block, text))


def documents():
    """The README, and every page in docs/, as paths from the root."""
    pages = sorted(glob.glob(os.path.join(DOCS, "*.md")))
    return ["README.md"] + [os.path.relpath(page, ROOT) for page in pages]


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: docs/generate.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for name in documents():
        path = os.path.join(ROOT, name)
        old = steps.text(path)
        new = filled(old)
        if new != old:
            stale.append(name)
            if not arguments:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(new)
    if stale:
        print(f"{'out of date' if arguments else 'written'}: {', '.join(stale)}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
