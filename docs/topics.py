"""What the topic chapters take from results, listings and lists: a function a generated block."""

import csv
import os
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
RESULTS = os.path.join(DOCS, "results", "nvidia-h200")

sys.path.insert(0, os.path.join(ROOT, "tests"))
import steps  # noqa: E402

ADD_FLOP, ADD_BYTES = 1, 12  # of one element of a vector addition: two floats read, one written


def table(header, rows, numbers=()):
    """A Markdown table; the columns in `numbers` are aligned to the right."""
    rule = ["--:" if i in numbers else "---" for i in range(len(header))]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def read_csv(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def named(device):
    rows = read_csv(os.path.join(DOCS, "devices.tsv"), "\t")
    return next(row for row in rows if row["device"].startswith(device))


def ridge(row):
    """FLOP a byte from which on arithmetic is the limit."""
    return float(row["fp32_tflops"]) * 1e3 / float(row["memory_gb_s"])


def devices():
    """Peaks that manufacturers state, and what the roofline makes of them."""
    rows = []
    for row in read_csv(os.path.join(DOCS, "devices.tsv"), "\t"):
        add = float(row["memory_gb_s"]) * ADD_FLOP / ADD_BYTES
        share = add / 10 / float(row["fp32_tflops"])
        rows.append(
            [f"[{row['device']}]({row['source']})", row["capability"], row["sms"]]
            + [row["fp32_tflops"], row["memory_gb_s"]]
            + [f"{ridge(row):.1f}", f"{add:.0f}", f"{share:.2f} %"]
        )
    header = ["GPU (source)", "capability", "SMs", "peak FP32, TFLOP/s", "memory, GB/s"]
    header += ["ridge, FLOP/byte", "vector add at most, GFLOP/s", "of peak"]
    return table(header, rows, range(1, 8))


def vector_add_bound(device):
    """The sentence that works out the roofline of vector addition."""
    row = named(device)
    peak, memory = float(row["fp32_tflops"]), float(row["memory_gb_s"])
    add = memory * ADD_FLOP / ADD_BYTES
    return (
        f"{row['device']}: peak {peak:g} TFLOP/s, memory {memory:g} GB/s. Ridge point: {peak:g} × 10¹² /"
        f" ({memory:g} × 10⁹) = {ridge(row):.2f} FLOP/byte. Vector add has {ADD_FLOP}/{ADD_BYTES} ="
        f" {ADD_FLOP / ADD_BYTES:.3f} FLOP/byte, {ridge(row) * ADD_BYTES / ADD_FLOP:.0f} times less. Its"
        f" bound: {memory:g} × 10⁹ / {ADD_BYTES} = {add:.0f} GFLOP/s, {add / 10 / peak:.2f} % of the peak."
    )


# ------------------------------------------------------------------------------- patterns of access


def patterns():
    return read_csv(os.path.join(RESULTS, "access_patterns.csv"))


def counted(rows, access, pattern, width, column):
    wanted = {"access": access, "pattern": pattern, "width_words": str(width)}
    return int(next(row for row in rows if wanted.items() <= row.items())[column])


def sectors():
    """Sectors of a warp's load of floats at a stride, as counted, and the bus efficiency."""
    found, rows = patterns(), []
    for stride in (1, 2, 3, 4, 5, 6, 7, 8, 16, 32):
        count = counted(found, "global load", f"stride {stride}", 1, "sectors")
        rows.append([stride, count, f"128 / {32 * count}", f"{100 * 128 / (32 * count):.1f} %"])
    return table(["stride, floats", "sectors", "asked / moved, bytes", "bus efficiency"], rows, range(4))


def sectors_by_width():
    """The same for lanes side by side, of 4, 8 and 16 bytes, aligned and not."""
    found, rows = patterns(), []
    for width in (1, 2, 4):
        aligned = counted(found, "global load", "stride 1", width, "sectors")
        shifted = counted(found, "global load", f"offset {width}", width, "sectors")
        rows.append([4 * width, 128 * width, aligned, f"{128 * width / aligned:.0f}", shifted])
    header = ["bytes a lane", "bytes a warp", "sectors, aligned", "bytes a sector", "sectors, one lane off"]
    return table(header, rows, range(5))


def wavefronts():
    """Wavefronts of a warp's load from shared memory, lanes at a stride of so many elements."""
    found, rows = patterns(), []
    for stride in (1, 2, 3, 4, 8, 16, 32, 33):
        cells = [
            counted(found, "shared load", f"stride {stride}", width, "wavefronts") for width in (1, 2, 4)
        ]
        rows.append([stride, *cells])
    return table(["stride, elements", "4 bytes a lane", "8 bytes", "16 bytes"], rows, range(4))


def sharing():
    """Wavefronts where lanes read the same words."""
    found = patterns()
    cases = [
        ("each lane its own, side by side", "stride 1"),
        ("lanes 0 and 1 the same, 2 and 3, …", "neighbours share by 2"),
        ("4 neighbours the same", "neighbours share by 4"),
        ("8 neighbours the same", "neighbours share by 8"),
        ("16 neighbours the same", "neighbours share by 16"),
        ("all 32 the same", "broadcast"),
        ("lanes n and n + 4 the same, of each 8", "lanes that differ in bits 4 share"),
        ("lanes n and n + 8 the same, of each 16", "lanes that differ in bits 8 share"),
        ("lanes n and n + 16 the same", "lanes that differ in bits 16 share"),
        ("lanes n, n + 1, n + 16, n + 17 the same", "lanes that differ in bits 17 share"),
    ]
    rows = [
        [text, *(counted(found, "shared load", name, width, "wavefronts") for width in (1, 2, 4))]
        for text, name in cases
    ]
    return table(["lanes that read the same words", "4 bytes a lane", "8 bytes", "16 bytes"], rows, (1, 2, 3))


def step_patterns():
    """The accesses of the steps themselves."""
    found = patterns()
    cases = [
        ("step 03 stores its tile of A, rows of 128 floats", "store", "A store, leading dimension 128"),
        ("the same, rows of 132", "store", "A store, leading dimension 132"),
        ("lanes 4 down and 8 across, unpaired, read A", "load", "unpaired lanes read A"),
        ("the same, read B", "load", "unpaired lanes read B"),
        ("step 05's lanes read A", "load", "step 05 reads A"),
        ("step 05's lanes read B", "load", "step 05 reads B"),
    ]
    rows = [
        [text, counted(found, f"shared {way}", name, 4, "wavefronts")] for text, way, name in cases
    ]
    return table(["access, 16 bytes a lane", "wavefronts"], rows, (1,))


# ------------------------------------------------------------------------------- steps


def ladder_row(step):
    rows = read_csv(os.path.join(RESULTS, "ladder.csv"))
    return next(row for row in rows if row["step"] == str(int(step)) and row["n"] == "4096")


def resources():
    """What a thread and a block of each step take, and the occupancy that leaves."""
    rows = []
    for step in steps.sources():
        row = ladder_row(step)
        rows.append(
            [step, row["registers"], row["shared_bytes"], row["blocks_per_sm"]]
            + [f"{float(row['occupancy_percent']):.1f} %"]
        )
    return table(["step", "registers a thread", "shared bytes a block", "blocks an SM", "occupancy"], rows, range(1, 5))


# ------------------------------------------------------------------------------- listings


def listing(name):
    """A file of docs/listings as a block of code."""
    text = steps.text(os.path.join(DOCS, "listings", name)).rstrip()
    language = {"cu": "cuda", "ptx": "ptx", "sass": "text"}[name.rsplit(".", 1)[1]]
    return f"```{language}\n{text}\n```"
