"""The tables of docs/worklog.md, from docs/results/nvidia-h200/worklog.csv: every attempt that was
timed on the way to steps 11 and 14 to 17, with what it was, one record a problem."""

import measured

SHAPES = {
    "4224": (4224, 4096, 4096),
    "deep": (256, 256, 16384),
    "n64": (8192, 64, 8192),
    "m64": (64, 8192, 8192),
}
NAMES = {name: "x".join(map(str, shape)) for name, shape in SHAPES.items()}


def found(number, key, shape):
    m, n, k = SHAPES.get(shape) or (int(shape),) * 3
    for row in measured.table("worklog"):
        if (row["round"], row["attempt"]) == (number, key) and (row["m"], row["n"], row["k"]) == (str(m), str(n), str(k)):
            return row
    raise measured.NotMeasured(f"round {number} of the worklog has no {key} at {shape}")


def attempts(number, shapes, *keys):
    """Attempts of a round: TFLOP/s of each at the shapes, and of cuBLAS beside it, their ratio."""
    shapes = shapes.split(",")
    head = " | ".join(f"{NAMES.get(shape, shape)} | of cuBLAS" for shape in shapes)
    out = [f"| round {number}, TFLOP/s | {head} |", "|---|" + "--:|--:|" * len(shapes)]
    for key in keys:
        rows = [found(number, key, shape) for shape in shapes]
        cells = [f"{float(r['step_tflops']):.1f} | {float(r['step_tflops']) / float(r['cublas_tflops']):.2f}" for r in rows]
        out.append(f"| {rows[0]['what']} | {' | '.join(cells)} |")
    return "\n".join(out)


def range_of(number, shape, prefix):
    """The slowest and the fastest of a round's attempts whose name begins so."""
    m, n, k = SHAPES.get(shape) or (int(shape),) * 3
    rates = [
        float(row["step_tflops"])
        for row in measured.table("worklog")
        if row["round"] == number and row["attempt"].startswith(prefix) and row["right"] == "yes"
        and (row["m"], row["n"], row["k"]) == (str(m), str(n), str(k))
    ]
    if not rates:
        raise measured.NotMeasured(f"round {number} has no {prefix} at {shape}")
    return f"{min(rates):.1f} to {max(rates):.1f} TFLOP/s"


def of_base(number, key, base, shape):
    """The rate of an attempt of a round, of that of another."""
    return float(found(number, key, shape)["step_tflops"]) / float(found(number, base, shape)["step_tflops"])


def slower_by(number, key, base, shape):
    return f"{100 * (1 - of_base(number, key, base, shape)):.0f} %"


def faster_by(number, key, base, shape):
    return f"{100 * (of_base(number, key, base, shape) - 1):.0f} %"


def of_cublas(number, key, shape):
    attempt = found(number, key, shape)
    return f"{float(attempt['step_tflops']) / float(attempt['cublas_tflops']):.2f}"


def stalls(*keys):
    """Where the two warps of a scheduler stood in the main loop, from ncu's samples."""
    rows = {row["attempt"]: row for row in measured.table("worklog_stalls")}
    columns = {
        "issued_percent": "cycles in which an instruction is issued",
        "dispatch_percent": "warps held by register banks (dispatch stall)",
        "short_sb_percent": "warps waiting for shared memory",
        "no_inst_percent": "warps waiting for instructions",
        "barrier_percent": "warps waiting at the barrier",
    }
    out = ["| main loop, % | " + " | ".join(columns.values()) + " | FFMA, of its instructions |"]
    out.append("|---|" + "--:|" * (len(columns) + 1))
    for key in keys:
        what = found("2", key, "4224")["what"]
        share = 100 * int(rows[key]["ffma"]) / int(rows[key]["loop_instructions"])
        out.append(f"| {what} | {' | '.join(rows[key][c] for c in columns)} | {share:.0f} |")
    return "\n".join(out)


def cells_of(name, problem):
    """TFLOP/s of a step and its ratio to cuBLAS, or nothing where it was not measured."""
    try:
        runs = measured.runs_of(measured.records(), name, *problem)
    except measured.NotMeasured:
        return ["", ""]
    return [f"{measured.median(runs, 'step_tflops'):.1f}", f"{100 * measured.median(runs, 'ratio'):.0f} %"]


def small(*names):
    """TFLOP/s of steps, and of cuBLAS beside them, where C or k is small."""
    problems = [(n, n, n) for n in (256, 384, 512, 768, 1000, 1152, 1536)]
    problems += [(256, 256, 16384), (4096, 4096, 256), (8192, 64, 8192), (64, 8192, 8192), (4093, 4093, 4093)]
    head = " | ".join(f"step {name} | of cuBLAS" for name in names)
    out = [f"| m x n x k, TFLOP/s | {head} |", "|---|" + "--:|--:|" * len(names)]
    for problem in problems:
        cells = [cell for name in names for cell in cells_of(name, problem)]
        if not any(cells):
            continue
        out.append(f"| {'x'.join(map(str, problem))} | {' | '.join(cells)} |")
    return "\n".join(out)


BLOCKS = (attempts, stalls, small)
VALUES = (range_of, slower_by, faster_by, of_cublas)
