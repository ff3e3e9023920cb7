"""What the topic chapters take from results, listings and lists: a function a generated block."""

import csv
import math
import os
import sys

import measured

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


# ------------------------------------------------------------------------------- contents

TOPICS = {
    "cuda-basics": "host and device, kernels, warps, occupancy, coalescing, roofline: what step 00 runs",
    "gemm-anatomy": "how matrices lie in memory, tiles and their intensity, which tile when",
    "ptx-primer": "PTX and machine code read line by line; inline PTX",
    "shared-memory-banks": "wavefronts, padding, sharing lanes, where shared memory begins",
    "register-banks": "even and odd registers, `.reuse`, and what decides where sums lie: `make banks07`",
    "benchmarking": "clocks, throttling, caches, protocol: how to get a figure that means something",
    "why-is-it-slower-here": "your figure is not the README's: what to look at, in order",
    "emulator": "how steps run without a GPU, and what that checks",
    "glossary": "the words",
    "reading": "documents, sources, other courses",
    "coverage": "every fact of the two source texts, with its place here and what had to be corrected",
}


def heading(path):
    return steps.text(path).split("\n", 1)[0].removeprefix("# ")


def chapters_found():
    """The chapters of steps that are there, in order."""
    return sorted(name for name in os.listdir(DOCS) if name[:2].isdigit() and name.endswith(".md"))


def chapters():
    """A row a chapter of a step."""
    rows = [[f"[{name[:2]}]({name})", heading(os.path.join(DOCS, name))] for name in chapters_found()]
    return table(["step", "chapter"], rows) if rows else "The chapters of the steps are being written."


def contents():
    """A row a chapter on a subject."""
    return table(["chapter", "what is in it"], [[f"[{name}]({name}.md)", text] for name, text in TOPICS.items()])


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
        ("lanes n and n + 8 the same, of each 16", "lanes that differ in bits 8 share"),
        ("lanes n and n + 16 the same", "lanes that differ in bits 16 share"),
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


def spaced(number):
    return f"{number:_}".replace("_", " ")


def stray_conflicts():
    """Conflicts that are counted where the rules find none: few, and only in long runs."""
    shared = "_pipe_lsu_mem_shared_op_ld.sum"
    names = [f"l1tex__data_bank_conflicts{shared}", f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]
    large, small = (
        {row["metric"]: int(float(row["value"])) for row in read_csv(os.path.join(RESULTS, name)) if keep(row)}
        for name, keep in (
            ("counters.csv", lambda row: row["step"] == "05"),
            ("step_counters.csv", lambda row: row["step"] == "05" and row["n"] == "384"),
        )
    )
    return (
        "A few conflicts more are no fault of yours. Loads of step 05 at 4096:"
        f" {spaced(large[names[0]])} among {spaced(large[names[1]])} wavefronts, and"
        f" {spaced(small[names[0]])} among {spaced(small[names[1]])} at 256x384x64."
    )


# ------------------------------------------------------------------------------- steps


def ladder_row(step):
    """A record at 4096, or None where the step has no kernel or has not been measured."""
    rows = read_csv(os.path.join(RESULTS, "ladder.csv"))
    found = (row for row in rows if row["step"] == str(int(step)) and row["n"] == "4096")
    return next((row for row in found if row["registers"]), None)


def resources():
    """What a thread and a block of each step take, and the occupancy that leaves."""
    rows = []
    for step in steps.sources():
        row = ladder_row(step)
        if row is None:
            continue
        rows.append(
            [step, row["registers"], row["shared_bytes"], row["blocks_per_sm"]]
            + [f"{float(row['occupancy_percent']):.1f} %"]
        )
    return table(["step", "registers a thread", "shared bytes a block", "blocks an SM", "occupancy"], rows, range(1, 5))


def intensity():
    """FLOP a byte of global memory, and products an operand read from shared memory, of tiles."""
    tiles = [
        (1, 1, "one element a thread, nothing shared (step 01 without caches)"),
        (16, 16, ""),
        (32, 32, ""),
        (64, 64, ""),
        (128, 128, "steps 02 to 08"),
        (128, 256, "step 09; 256x128 is the same"),
        (256, 256, ""),
    ]
    rows = []
    for m, n, remark in tiles:
        floats = m + n  # moved for a term of all m * n sums
        rows.append([f"{m}x{n}", 2 * m * n, 4 * floats, f"{2 * m * n / (4 * floats):.3g}", remark])
    header = ["tile of C", "FLOP a term", "bytes a term", "FLOP/byte", "remark"]
    return table(header, rows, (1, 2, 3))


def thread_tiles():
    """How many products a thread gets out of the operands that it reads from shared memory."""
    rows = []
    for m, n, remark in (
        (1, 1, "one element a thread"), (4, 4, ""), (8, 8, "steps 02 to 08"), (16, 8, "step 09"),
    ):  # fmt: skip
        rows.append([f"{m}x{n}", m * n, m + n, f"{m * n / (m + n):.2f}", m * n, remark])
    header = ["thread's part of C", "products a term", "operands", "products an operand", "registers of sums", "remark"]
    return table(header, rows, (1, 2, 3, 4))


def waves():
    """How well a number of tiles divides among the reference GPU's multiprocessors."""
    sms = int(ladder_row("07")["sms"])
    rows = []
    for size in (512, 1024, 2048, 3072, 4096, 8192):
        row = [size]
        for m, n, step in ((128, 128, "07"), (128, 256, "09")):
            at_once = sms * int(ladder_row(step)["blocks_per_sm"])
            tiles = -(-size // m) * -(-size // n)
            busy = tiles / at_once
            row += [tiles, f"{busy:.2f}", f"{100 * busy / math.ceil(busy):.0f} %", f"{min(tiles, sms)}"]
        rows.append(row)
    header = ["m = n"]
    for tile in ("128x128", "128x256"):
        header += [f"tiles {tile}", "waves", "places used", "SMs with work"]
    return table(header, rows, range(9))


def ladder():
    return read_csv(os.path.join(RESULTS, "ladder.csv"))


def power():
    """Watts and energy of each step and of cuBLAS, running back to back."""
    rows = []
    for row in ladder():
        if row["power_w"]:
            rows.append(
                [f"{int(row['step']):02d}", f"{100 * float(row['ratio']):.0f} %"]
                + [f"{float(row[name]):.0f}" for name in ("power_w", "cublas_power_w")]
                + [f"{float(row[name]):.1f}" for name in ("gflops_per_w", "cublas_gflops_per_w")]
                + [f"{float(row[name]):.2f}" for name in ("energy_j", "cublas_energy_j")]
            )
    header = ["step", "speed, of cuBLAS", "W", "cuBLAS, W", "GFLOP/s a watt", "cuBLAS", "J a product", "cuBLAS, J"]
    return table(header, rows, range(8))


def throttled():
    """What unlocked clocks did in the longest runs of the reference GPU."""
    rows = [row for row in ladder() if row["n"] == "12288" and row["throttle"]]
    if not rows:
        return "No record of the reference GPU was slowed by a limit."
    clocks = [float(row["sm_clock_mhz"]) for row in rows]
    reasons = sorted({row["throttle"] for row in rows})
    names = ", ".join(f"{int(row['step']):02d}" for row in rows)
    return (
        f"On the H200, whose clock may go up to {rows[0]['max_sm_clock_mhz']} MHz, steps {names} ran at"
        f" {min(clocks):.0f} to {max(clocks):.0f} MHz at 12288, and the reason given was: {', '.join(reasons)}."
    )


# ------------------------------------------------------------------------------- main loops


def banks(*names):
    """What the main loops of steps and experiments ask of the register banks, of each first kernel."""
    rows = []
    for name in names:
        row = measured.banks(name)
        count = int(row["ffma"])
        even, odd = int(row["even_reads"]), int(row["odd_reads"])
        rows.append(
            [name, count, f"{100 * int(row['reuse_operands']) / int(row['source_operands']):.0f} %"]
            + [f"{even / count:.2f}", f"{odd / count:.2f}"]
            + [f"{float(row[column]):.2f}" for column in ("least_bank_cycles", "most_bank_cycles")]
            + [f"{(int(row['instructions']) - count) / count:.3f}"]
        )
    header = ["main loop, sm_90", "FFMA", "marked", "even registers an FFMA", "odd", "cycles at least", "at most", "other instructions"]
    return table(header, rows, range(1, 8))


# ------------------------------------------------------------------------------- listings


def listing(name):
    """A file of docs/listings as a block of code."""
    text = steps.text(os.path.join(DOCS, "listings", name)).rstrip()
    language = {"cu": "cuda", "ptx": "ptx", "sass": "text"}[name.rsplit(".", 1)[1]]
    return f"```{language}\n{text}\n```"


def listing_release():
    """Who made the listings."""
    release = steps.text(os.path.join(DOCS, "listings", "release")).strip()
    return (
        f"The listings below were made by nvcc {release} for compute capability 9.0. Another version prints"
        " other register numbers, and sometimes other instructions."
    )
