"""What the chapters take from steps, results and the emulator: the blocks and values that
docs/generate.py fills in."""

import json
import os
import re
import statistics
import subprocess
import tempfile
import textwrap

import measured
import variants

import diffs
import steps

SIZES = ("1024", "2048", "4096", "12288", "k128")
EXPERIMENT_SIZES = SIZES[:3]
HEADINGS = {"k128": "4096x4096x128"}
NOT_YET = "(not measured yet)"

# Output of the emulator names lines of PTX, which differ from compiler to compiler: it is made anew
# only where the objects come from this one, for this architecture.
COMPILER, ARCHITECTURE = "13.0", "80"

L1, STALLED = "l1tex__", "smsp__average_warps_issue_stalled_"
PRODUCTS = 4096**3 / 32  # multiply-adds of a warp at m = n = k = 4096


def stalled(reason):
    return lambda c: c[f"{STALLED}{reason}_per_issue_active.ratio"]


def of_peak(metric):
    return lambda c: c[f"{metric}.avg.pct_of_peak_sustained_active"]


def sectors(way):
    return lambda c: (
        c[f"{L1}t_sectors_pipe_lsu_mem_global_op_{way}.sum"]
        / c[f"{L1}t_requests_pipe_lsu_mem_global_op_{way}.sum"]
    )


def millions(metric):
    return lambda c: c[metric] / 1e6


# name: what it says, its unit, how it comes from the counters, digits
METRICS = {
    "time": ("time", "ms", lambda c: c["gpu__time_duration.sum"] / 1e6, 2),
    "issue": ("issue slots used", "%", of_peak("smsp__issue_active"), 0),
    "fma": ("FMA pipe busy", "%", of_peak("sm__pipe_fma_cycles_active"), 0),
    "warps": ("warps on a multiprocessor", "% of the most", of_peak("sm__warps_active"), 0),
    "dram": ("DRAM bandwidth used", "%", lambda c: c["dram__throughput.avg.pct_of_peak_sustained_elapsed"], 1),
    "dram_read": ("read from DRAM", "GB", lambda c: c["dram__bytes_read.sum"] / 1e9, 2),
    "loads": ("global loads", "million requests", millions(f"{L1}t_requests_pipe_lsu_mem_global_op_ld.sum"), 1),
    "load_sectors": ("sectors a global load", "", sectors("ld"), 1),
    "sectors_loaded": ("sectors loaded", "million", millions(f"{L1}t_sectors_pipe_lsu_mem_global_op_ld.sum"), 0),
    "sectors_stored": ("sectors stored", "million", millions(f"{L1}t_sectors_pipe_lsu_mem_global_op_st.sum"), 1),
    "stores": ("global stores", "million requests", millions(f"{L1}t_requests_pipe_lsu_mem_global_op_st.sum"), 2),
    "store_sectors": ("sectors a global store", "", sectors("st"), 1),
    "store_bytes": ("bytes used of a sector stored", "of 32", lambda c: c["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"], 0),
    "shared_loads": ("shared loads", "million wavefronts", millions(f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), 1),
    "shared_stores": ("shared stores", "million wavefronts", millions(f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 1),
    "wavefronts": ("wavefronts of shared loads", "for each FFMA of a warp", lambda c: c[f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] / PRODUCTS, 3),
    "load_conflicts": ("of them bank conflicts", "million", millions(f"{L1}data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), 1),
    "store_conflicts": ("of them bank conflicts", "million", millions(f"{L1}data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"), 1),
    "copies": ("cp.async", "million instructions", millions("smsp__inst_executed_op_ldgsts.sum"), 1),
    "wait_global": ("warps waiting for global memory", "for each instruction issued", stalled("long_scoreboard"), 2),
    "wait_shared": ("warps waiting for shared memory", "for each instruction issued", stalled("short_scoreboard"), 2),
    "wait_barrier": ("warps waiting at a barrier", "for each instruction issued", stalled("barrier"), 2),
    "wait_dispatch": ("warps waiting for the dispatch of an instruction", "for each instruction issued", stalled("dispatch_stall"), 2),
    "wait_pipe": ("warps waiting for the pipe that their instruction needs", "for each instruction issued", stalled("math_pipe_throttle"), 2),
    "tensor": ("tensor cores busy", "%", of_peak("sm__pipe_tensor_op_hmma_cycles_active"), 0),
    "wait_fixed": ("warps waiting for the end of an instruction of fixed length", "for each instruction issued", stalled("wait"), 2),
    "ready": ("warps that are ready while another issues", "for each instruction issued", stalled("not_selected"), 2),
}  # fmt: skip

# Kinds of machine instructions; the last takes what is left.
KINDS = {
    "multiply-adds (FFMA)": ["FFMA"],
    "loads from shared memory": ["LDS"],
    "stores to shared memory": ["STS"],
    "loads from global memory, copies, texture fetches": ["LDG", "LDGSTS", "TLD"],
    "integers and addresses": "IADD3 IMAD LEA LOP3 SHF SEL VIMNMX UIADD3 UIMAD ULOP3 USEL".split(),
    "comparisons": "ISETP PLOP3 UISETP".split(),
    "moves between registers": "MOV CS2R HFMA2 UMOV".split(),
    "branches, barriers and the rest": [],
}


class KeepOld(Exception):
    """This block cannot be made here: what stands there stays."""


def chapter_file(step):
    """07-inline-ptx.md, as the program prints it."""
    return os.path.basename(steps.all_sources()[step])[:-3].replace("_", "-") + ".md"


def has_page(name):
    return os.path.exists(os.path.join(steps.ROOT, "docs", name))


def base_of(step):
    return next((base for base, grown, _ in diffs.budgets() if grown == step), None)


def name_of(name):
    """Of a step, "step 07"; of an experiment, its name with a link to its change."""
    return f"step {name}" if name.isdigit() else f"[{name}](variants/{name}.diff)"


def told(name):
    """The same, with what the experiment changes."""
    return name_of(name) if name.isdigit() else f"{name_of(name)}: {variants.load(name).title}"


# ---------------------------------------------------------------------------- values within a line


def rate(name, size):
    return f"{measured.rate(name, size):.1f}"


def ratio(name, size):
    return f"{100 * measured.median(measured.runs(name, size), 'ratio'):.0f} %"


def cublas(name, size):
    return f"{measured.median(measured.runs(name, size), 'cublas_tflops'):.1f}"


def faster(name, base, size):
    """By how much `name` is faster than `base`."""
    return f"{100 * (measured.rate(name, size) / measured.rate(base, size) - 1):.1f} %"


def slower(name, base, size):
    """By how much `name` is slower than `base`."""
    return f"{100 * (1 - measured.rate(name, size) / measured.rate(base, size)):.1f} %"


def times(name, base, size):
    return f"{measured.rate(name, size) / measured.rate(base, size):.1f} times"


def count(name, metric):
    _, _, value, digits = METRICS[metric]
    return f"{value(measured.counts(name)):.{digits}f}"


def loop(name, what, kernel=None):
    """Instructions of a kind in the main loop; "all" of them, or "others" for one FFMA."""
    counted = measured.loop(name, kernel)
    total, products = sum(counted.values()), counted["FFMA"]
    if what == "all":
        return str(total)
    if what == "others":
        return f"{(total - products) / products:.3f}"
    return str(sum(n for op, n in counted.items() if op == what or op.startswith(what + ".")))


def share(name):
    """FFMA among the instructions of the main loop, in percent."""
    return f"{100 * int(loop(name, 'FFMA')) / int(loop(name, 'all')):.0f}"


def fewer(name, base):
    """By how much the main loop of `name` is shorter than that of `base`."""
    return f"{100 * (1 - int(loop(name, 'all')) / int(loop(base, 'all'))):.1f} %"


def bank_cycles(name, which):
    """Cycles of the register banks for an FFMA of the main loop, by the estimate: "least" or "most"."""
    return f"{float(measured.banks(name)[which + '_bank_cycles']):.2f}"


def turns(name):
    """Wavefronts of shared memory in a cycle of a multiprocessor, at 4096. The clock is that of the timed runs."""
    found = measured.counts(name)
    wavefronts = sum(found[f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"] for way in ("ld", "st"))
    cycles = found["gpu__time_duration.sum"] * float(record(name, "sm_clock_mhz")) / 1e3
    return f"{wavefronts / int(record(name, 'sms')) / cycles:.2f}"


def per_request(step, way):
    """Wavefronts of a shared load, "ld", or store, "st", on the average, at 256x384x64."""
    found = measured.small_counts(step, 256, 384, 64)
    wavefronts = found[f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"]
    return f"{wavefronts / found[f'smsp__inst_executed_op_shared_{way}.sum']:.1f}"


def lines(step):
    """Changed lines of code, from the step that it grew out of."""
    sources = steps.sources()
    return str(diffs.changed_lines(sources[base_of(step)], sources[step]))


def record(name, column, size="4096"):
    return measured.runs(name, size)[0][column]


def watts(step):
    """Watts at m = n = k = 4096, in a phase of launches back to back."""
    return f"{float(power_record(step)['power_w']):.0f}"


def gflops_per_watt(step):
    """GFLOP/s for each watt in that phase, and cuBLAS's in the same run."""
    return f"{float(power_record(step)['gflops_per_w']):.1f}"


def cublas_gflops_per_watt(step):
    return f"{float(power_record(step)['cublas_gflops_per_w']):.1f}"


def power_record(step):
    for row in measured.records():
        if int(row["step"]) == int(step) and row["power_w"]:
            return row
    raise measured.NotMeasured(f"no power of step {step}")


def mma_cycles(chains, fadds, warps):
    """Of a loop of nothing but mma, with so many sums in flight, and FADDs between one mma and the next."""
    for row in measured.table("mma_cycles"):
        if (row["chains"], row["fadds_between"], row["warps_a_scheduler"]) == (chains, fadds, warps):
            return f"{float(row['cycles_an_mma']):.1f}"
    raise measured.NotMeasured(f"no mma with {chains} chains, {fadds} FADDs and {warps} warps")


def tensor_sum(inputs, k):
    """The mean error where tensor cores add up all terms, in the units of accuracy.csv."""
    for row in measured.table("tensor_sums"):
        if (row["inputs"], row["k"]) == (inputs, k):
            return f"{float(row['mean_error']):.0f}"
    raise measured.NotMeasured(f"no sums of {inputs} inputs in tensor cores with k = {k}")


def step00(experiment):
    """What an experiment of step 00 printed on the reference GPU."""
    return steps.text(os.path.join(measured.FOLDER, f"step00-{experiment}.txt"))


def shown(experiment, row, column, digits):
    """A figure of what it printed: of the first line that begins with `row` (_ is a blank), the figure in
    this column, counted from the right."""
    begin = row.split("_")
    lines = map(str.split, step00(experiment).splitlines())
    found = next(words for words in lines if words[: len(begin)] == begin)
    return f"{float(found[-int(column)]):.{digits}f}"


def unaligned_loss(name, whose):
    """What leading dimensions of 4097 cost at 4096, of the rate of the step, or of cuBLAS beside it."""
    aligned, unaligned = (measured.median(measured.runs_of(measured.records(), name, 4096, 4096, 4096, ld), f"{whose}_tflops")
                          for ld in (None, 4097))  # fmt: skip
    return f"{100 * (1 - unaligned / aligned):.0f} %"


def beside_kernel(name):
    """The share of a step's time at 4096 that its main kernel, whose counters there are, does not take."""
    return f"{100 * (1 - METRICS['time'][2](measured.counts(name)) / measured.median(measured.runs(name, '4096'), 'median_ms')):.0f} %"


def errors():
    """{(inputs, m, k, of): record} of accuracy.csv."""
    return {(record["inputs"], record["m"], record["k"], record["of"]): record for record in measured.table("accuracy")}


def worse_than_cublas(name):
    """The largest ratio of a step's mean error to that of cuBLAS in float32."""
    found = errors()
    return f"{max(float(record['mean_error']) / float(found[(*key[:3], 'cuBLAS float32')]['mean_error']) for key, record in found.items() if key[3] == f'step {name}'):.1f}"


VALUES = (unaligned_loss, beside_kernel, worse_than_cublas, watts, gflops_per_watt, cublas_gflops_per_watt, rate, ratio, cublas, faster, slower, times, count, loop, share, bank_cycles, turns, fewer, per_request, lines, record, shown, mma_cycles, tensor_sum)

# ---------------------------------------------------------------------------- blocks


def nav(step):
    """The line under a chapter's title."""
    numbers = list(steps.all_sources())
    here = numbers.index(step)
    source = os.path.basename(steps.all_sources()[step])
    parts = [f"[steps/{source}](../steps/{source})"]
    if base := base_of(step):
        parts.append(f"grown out of [{base}]({chapter_file(base)}) by {lines(step)} lines, `make diff{step}`")
    for word, at in (("before", here - 1), ("next", here + 1)):
        number = numbers[at] if 0 <= at < len(numbers) else None
        if number and has_page(chapter_file(number)):
            parts.append(f"{word}: [{number} {steps.title(number)}]({chapter_file(number)})")
    return " · ".join(parts + ["[all chapters](README.md)"] * has_page("README.md"))


def excerpt(step, name):
    """What stands between two anchors of a step, and where."""
    path = steps.all_sources()[step]
    text = steps.text(path)
    match = re.search(rf"^[ ]*// \[{name}\]\n(.*?)^[ ]*// \[/{name}\]\n", text, re.DOTALL | re.MULTILINE)
    if not match:
        raise LookupError(f"no [{name}] in {path}")
    kept = [line for line in match[1].splitlines() if not re.match(r"\s*// (lab:|end lab)", line)]
    first = text.count("\n", 0, match.start(1)) + 1
    source = os.path.basename(path)
    return (
        f"```c\n{textwrap.dedent(chr(10).join(kept))}\n```\n"
        f"[steps/{source}, line {first}](../steps/{source}#L{first})"
    )


def row(cells):
    return "| " + " | ".join(cells) + " |"


def change(name, base, size):
    percent = round(100 * (measured.rate(name, size) / measured.rate(base, size) - 1))
    return f"{percent:+d} %" if percent else "0 %"


def try_rate(name, size):
    try:
        return f"{measured.rate(name, size):.1f}"
    except measured.NotMeasured:
        return ""


def kibibytes(number):
    """Of what a record says; a step without a kernel says nothing."""
    return f"{int(number) / 1024:.1f} KiB" if number else ""


def rates(*names):
    """TFLOP/s of steps and experiments at all sizes, and what they take."""
    sizes = SIZES if all(map(str.isdigit, names)) else EXPERIMENT_SIZES
    out = [
        row(["TFLOP/s"] + [HEADINGS.get(size, size) for size in sizes] + ["registers", "shared memory", "blocks"]),
        "|---|" + "--:|" * (len(sizes) + 3),
    ]
    for name in names:
        try:
            found = measured.runs(name, "4096")[0]
        except measured.NotMeasured:
            out.append(row([told(name), "not measured yet"] + [""] * (len(sizes) + 2)))
            continue
        out.append(
            row([told(name)] + [try_rate(name, size) for size in sizes] + [
                found["registers"], kibibytes(found["shared_bytes"]), found["blocks_per_sm"]
            ])
        )  # fmt: skip
    return "\n".join(out)


def gained(step):
    """A step beside the one that it grew out of, and beside cuBLAS."""
    base = base_of(step)
    out = rates(*([base] if base else []), step).splitlines()
    if base:
        changes = [change(step, base, size) for size in SIZES]
        out.append(row(["change"] + changes + ["", "", ""]))
    out.append(row(["cuBLAS"] + [cublas(step, size) for size in SIZES] + ["", "", ""]))
    of_cublas = [ratio(step, size) for size in SIZES]
    out.append(row([f"step {step}, of cuBLAS"] + of_cublas + ["", "", ""]))
    return "\n".join(out)


def counters(*names):
    """What the hardware counted at 4096: steps or experiments as columns, metrics as rows."""
    columns = [name for name in names if name not in METRICS]
    metrics = [name for name in names if name in METRICS]
    out = [row(["at m = n = k = 4096"] + list(map(name_of, columns)) + [""])]
    out.append("|---|" + "--:|" * len(columns) + "---|")
    for metric in metrics:
        what, unit, _, _ = METRICS[metric]
        cells = []
        for name in columns:
            try:
                cells.append(count(name, metric))
            except measured.NotMeasured:
                cells.append("not measured yet")
        out.append(row([what] + cells + [unit]))
    return "\n".join(out)


def loops(*names):
    """The instructions of main loops by kind: steps or experiments as columns."""
    counted = [measured.loop(name) for name in names]
    out = [row(["main loop, for sm_90"] + list(map(name_of, names))), "|---|" + "--:|" * len(names)]
    rest = [dict(loop) for loop in counted]
    for kind, operations in KINDS.items():
        sums = []
        for left in rest:
            mine = [op for op in left if op.split(".")[0] in operations or not operations]
            sums.append(sum(left.pop(op) for op in mine))
        if any(sums):
            out.append(row([kind] + list(map(str, sums))))
    out.append(row(["all"] + [str(sum(loop.values())) for loop in counted]))
    out.append(row(["for each FFMA, others"] + [loop(name, "others") for name in names]))
    return "\n".join(out)


def dispatched(*names):
    """What the register banks should cost main loops, and how warps waited for the dispatch of an instruction."""
    out = [row(["main loop", "cycles at least", "at most", "warps waiting for dispatch", "TFLOP/s at 4096"]), "|---|" + "--:|" * 4]
    for name in sorted(names, key=lambda name: float(count(name, "wait_dispatch"))):
        cycles = [bank_cycles(name, which) for which in ("least", "most")]
        out.append(row([name_of(name), *cycles, count(name, "wait_dispatch"), rate(name, "4096")]))
    return "\n".join(out)


def built_here():
    """Whether the emulated programs are built by the compiler that the text was made with."""
    build = os.path.join(steps.ROOT, "build")
    try:
        flags, architectures = (steps.text(os.path.join(build, f)) for f in ("nvcc-flags", "architectures"))
    except FileNotFoundError:
        return False
    return f" {COMPILER} " in flags and architectures.strip() == ARCHITECTURE


def tidy(errors):
    """Messages without the PTX line and in lines that fit."""
    errors = re.sub(r" \(PTX line \d+: [^)]*\)", "", errors)
    return "\n".join(textwrap.fill(x, 96, break_on_hyphens=False, subsequent_indent="    ") for x in errors.splitlines())


def hunks(name):
    """The change of a variant."""
    return "```diff\n" + "\n@@\n".join("\n".join(hunk) for hunk in variants.load(name).hunks) + "\n```"


def attempt(name):
    """A mistake: the change, and what the emulator says of it."""
    variant = variants.load(name)
    if not built_here() or not os.path.exists(os.path.join(variants.BUILT, name + "-emulated")):
        raise KeepOld
    said, statuses = [], []
    for options in variant.runs:
        status, output, errors = variants.run(variant, options)
        statuses.append(status)
        said.append(f"$ build/variants/{name}-emulated {options}")
        verified = [line for line in output.splitlines() if " exact " in line]
        said.append(tidy(errors) if status else "\n".join(verified))
    if not variants.is_as_told(variant, statuses):
        raise ValueError(f"docs/variants/{name}.diff: exit status {statuses}")
    return f"{hunks(name)}\n\n```text\n" + "\n".join(said) + "\n```"


def twin(name):
    """The program that runs a step or an experiment on the emulator, from the root."""
    path = f"build/step{name}-emulated" if name.isdigit() else f"build/variants/{name}-emulated"
    if not built_here() or not os.path.exists(os.path.join(steps.ROOT, path)):
        raise KeepOld
    return path


def accesses(name, size):
    """{kind: its counts} of one product of a step or an experiment on the emulator."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = [twin(name), "-s", size, "--json", file.name]
        subprocess.run(command, cwd=steps.ROOT, stdout=subprocess.DEVNULL, check=True, timeout=variants.SECONDS)
        kernels = json.load(file)["records"][0]["counters"]
    return {access["kind"]: access for access in kernels[0]["accesses"]}


def counted(size, *names):
    """What the emulator counts for steps and experiments: requests, and what one of them costs."""
    found = {name: accesses(name, size) for name in names}
    out = [row([f"counted at m = n = k = {size}"] + list(map(name_of, names)) + [""])]
    out.append("|---|" + "--:|" * len(names) + "---|")
    marked = False
    for kind in ("global load", "global store", "texture load", "shared load", "shared store"):
        requests = [found[name].get(kind, {}).get("requests", 0) for name in names]
        if not any(requests):
            continue
        joined = ["~" * (found[name].get(kind, {}).get("on_gpu") == "may be fewer") for name in names]
        out.append(row([f"{kind}s"] + [f"{n or ''}{tilde}" for n, tilde in zip(requests, joined)] + ["requests"]))
        unit = "wavefronts" if kind.startswith("shared") else "sectors"
        costs = [f"{found[n][kind][unit] / r:.1f}" if r else "" for n, r in zip(names, requests)]
        out.append(row([""] + costs + [f"{unit} a request"]))
        marked |= any(joined)
    note = "\n\n~ of the PTX: the assembler may join such accesses into fewer, wider ones."
    return "\n".join(out) + note * marked


def draw(step, pattern):
    """The command that draws what a warp touches in the first line of a step that has this in it."""
    numbered = enumerate(steps.text(steps.sources()[step]).splitlines(), 1)
    number = next(number for number, line in numbered if re.search(pattern, line))
    return f"```sh\n./step{step} --emulate -s 128 --line {number} --figure build/access-{step}.svg\n```"


def emulator(step, *options):
    """What a step prints on the emulator."""
    result = subprocess.run(
        [twin(step), *options], cwd=steps.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60
    )
    text = "\n".join(line.rstrip() for line in result.stdout.splitlines())
    return f"```text\n$ ./step{step} --emulate {' '.join(options)}\n{text}\n```"


def experiment(name):
    """What an experiment of step 00 prints on the emulator."""
    command = [twin("00"), name]
    result = subprocess.run(command, cwd=steps.ROOT, stdout=subprocess.PIPE, check=True, text=True, timeout=60)
    table = result.stdout.split("\n\n", 1)[1]
    return f"```text\n$ ./step00 {name} --emulate\n{table.strip(chr(10))}\n```"


def on_gpu(name):
    """The tables that an experiment of step 00 printed on the reference GPU."""
    text = step00(name)
    device = re.search(r"^device +NVIDIA (.*?),", text, re.M)[1]
    tables = text.split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    return f"```text\n$ ./step00 {name}     # {device}\n{tables}\n```"


def figure(name):
    """A figure with its text alternative, which the figure itself holds."""
    text = steps.text(os.path.join(steps.ROOT, "docs", "figures", name + ".svg"))
    title, description = (re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1] for tag in ("title", "desc"))
    return f"![{title}. {description}](figures/{name}.svg)"


def swept(step, name="sweep"):
    """The ratios to cuBLAS of a sweep: their geometric mean, the least, and where that is."""
    records = sorted((int(row["m"]), row) for row in measured.table(name) if int(row["step"]) == int(step))
    out = [row(["m = n = k", "sizes", "geometric mean of the ratios to cuBLAS", "the least", "TFLOP/s"]), "|---|--:|--:|--:|--:|"]
    for least, most in ((0, 4096), (4096, 1 << 30)):
        part = [(size, record) for size, record in records if least <= size < most]
        ratios = {size: float(record["ratio"]) for size, record in part}
        speeds = [float(record["step_tflops"]) for _, record in part]
        worst = min(ratios, key=ratios.get)
        out.append(row([f"{part[0][0]} to {part[-1][0]}", str(len(part)), f"{statistics.geometric_mean(ratios.values()):.3f}",
                        f"{ratios[worst]:.3f} at {worst}", f"{min(speeds):.1f} to {max(speeds):.1f}"]))  # fmt: skip
    return "\n".join(out)


def choices():
    """What make tune compared: the rate of each candidate, that of sgemm(), and what sgemm() ran."""
    rows = [row for row in measured.table("tune") if row["kind"][0].isdigit()]
    found = {(row["candidate"][:2], row["kind"]): row for row in rows}
    names = sorted({name for name, _ in found if name.isdigit()})
    out = [row(["m x n x k, TFLOP/s", *names, "sgemm()", "of the best", "runs"]), "|---|" + "--:|" * (len(names) + 2) + "---|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        if not all((name, kind) in found for name in names):
            continue
        speeds = [float(found[name, kind]["step_tflops"]) for name in names]
        chosen = found["sg", kind]
        speed = float(chosen["step_tflops"])
        out.append(row([kind, *(f"{each:.1f}" for each in speeds), f"{speed:.1f}", f"{100 * speed / max(speeds):.0f} %", chosen["runs"]]))
    return "\n".join(out)


def three_tf32(*names):
    """Steps that compute in 3xTF32 beside step 14 and cuBLAS, which compute in float32; the first is compared."""
    out = [row(["TFLOP/s", *(f"step {name}, 3xTF32" for name in names), "step 14, float32", "cuBLAS, float32",
                f"step {names[0]} is faster than cuBLAS's float32 by"]), "|---|" + "--:|" * (len(names) + 3)]  # fmt: skip
    for size in (1024, 2048, 4096, 8192, 12288):
        runs = [measured.runs_of(measured.table("three_tf32"), name, size, size, size) for name in names]
        out.append(row([f"m = n = k = {size}", *(f"{measured.median(found, 'step_tflops'):.1f}" for found in runs), try_rate("14", str(size)),
                        f"{measured.median(runs[0], 'cublas_tflops'):.1f}", f"{100 * (measured.median(runs[0], 'ratio') - 1):+.0f} %"]))  # fmt: skip
    return "\n".join(out)


def accuracy(*names):
    """Errors of steps and of cuBLAS against float64, the mean and the largest."""
    found = errors()
    whose = [f"step {name}" for name in names] + ["cuBLAS float32", "cuBLAS TF32"]
    out = [row(["inputs", "m = n", "k", *(f"{name}: mean, largest" for name in whose)]), "|---|--:|--:|" + "--:|" * len(whose)]
    for inputs, m, k in dict.fromkeys(key[:3] for key in found):
        cells = [found[inputs, m, k, name] for name in whose]
        out.append(row([inputs, m, k, *(f"{float(cell['mean_error']):.2f}, {float(cell['largest_error']):.1f}" for cell in cells)]))
    return "\n".join(out)


BLOCKS = (
    three_tf32, accuracy, nav, excerpt, rates, gained, swept, choices, counters, loops, dispatched, hunks, attempt, counted, draw, emulator, experiment, on_gpu, figure,
)  # fmt: skip
