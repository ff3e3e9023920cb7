#!/usr/bin/env python3
"""generate.py [--check]: fills in what the documents take from results and sources.

A document holds it between <!-- generated: NAME --> and <!-- end generated -->; each NAME is a
function below or in docs/topics.py, called with the words that follow it. Figures come from
docs/results and docs/devices.tsv only. --check changes nothing: it names the documents that are not
up to date and exits 1.
"""

import csv
import glob
import os
import re
import statistics
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
RESULTS = os.path.join(DOCS, "results", "nvidia-h200")
DOCUMENTS = ["README.md"] + sorted(
    os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(DOCS, "*.md"))
)

sys.path.insert(0, os.path.join(ROOT, "tests"))
import diffs  # noqa: E402
import steps  # noqa: E402
import topics  # noqa: E402

BLOCK = re.compile(r"(<!-- generated: (\w+)((?: \S+)*) -->\n).*?(<!-- end generated -->)", re.DOTALL)

TITLE = re.compile(r'\.title = "([^"]*)"')

# What each step is about, for the table of the ladder.
IDEAS = {
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
}


def records():
    with open(os.path.join(RESULTS, "ladder.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured(rows):
    """The steps that there are results of."""
    known = {int(row["step"]) for row in rows}
    return [step for step in steps.sources() if int(step) in known]


def runs_of(rows, step, m, n, k):
    """The records of a problem, one a process, less that of the power phase, which heats the GPU."""
    wanted = {"step": int(step), "m": m, "n": n, "k": k}
    found = [
        row
        for row in rows
        if all(row[name] == str(value) for name, value in wanted.items()) and not row["power_w"]
    ]
    if not found:
        raise LookupError(f"no record with {wanted} in {RESULTS}")
    return found


def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)


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
    for step, path in steps.sources().items():
        title = TITLE.search(steps.text(path))[1]
        head = f"| [{step} {title}](steps/{os.path.basename(path)}) | {IDEAS[step]} | {changed.get(step, '')}"
        if step not in measured(rows):
            lines.append(f"{head} | | | | |")
            continue
        runs = {size: runs_of(rows, step, size, size, size) for size in sizes}
        rates = " | ".join(f"{median(runs[size], 'step_tflops'):.1f}" for size in sizes)
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
    text = steps.text(os.path.join(RESULTS, "step07.txt"))
    return "\n".join(("    " + line).rstrip() for line in ["$ ./step07"] + text.splitlines())


def filled(text):
    def fill(match):
        function = globals().get(match[2]) or getattr(topics, match[2])
        return f"{match[1]}{function(*match[3].split())}\n{match[4]}"

    return BLOCK.sub(fill, text)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: docs/generate.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for name in DOCUMENTS:
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
    sys.exit(main(sys.argv[1:]))
