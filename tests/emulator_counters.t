#!/usr/bin/env python3
"""What the emulator counts: as the hardware did for 728 patterns of lanes and for every step at two
shapes (docs/results/nvidia-h200/), and as it must be for kernels whose accesses are known."""

import collections
import csv
import json
import os
import tempfile

import steps
import tap

RESULTS = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200")
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
WAYS = {"load": "ld", "store": "st"}


def rows(name):
    return csv.DictReader(steps.text(os.path.join(RESULTS, name)).splitlines())


def total(kernels, kind, field, on_gpu=None):
    """Over all kernels and lines; with on_gpu, of the accesses of which the report says that."""
    return sum(
        access[field] or 0
        for kernel in kernels
        for access in kernel["line_accesses"]
        if access["kind"] == kind and on_gpu in (None, access["on_gpu"])
    )


# ---------------------------------------------------------------------------- patterns of lanes


def patterns():
    """[access, pattern, width, words, counts] for each launch of the program of patterns."""
    text = tap.run(["build/tests/access_patterns-emulated"]).stdout
    read, at = json.JSONDecoder().raw_decode, 0
    while at < len(text):
        end = text.index("\n", at)
        line = text[at:end].split("\t")
        counts, at = read(text, end + 1)
        at += 1
        yield [line[0].replace("_", " "), *line[1:], counts]


def check_patterns():
    wrong, seen = collections.defaultdict(list), collections.Counter()
    found = list(patterns())
    for row, (access, pattern, width, words, counts) in zip(rows("access_patterns.csv"), found):
        same = [row["access"], row["pattern"], row["width_words"], row["first_word_of_each_lane"]]
        field = "wavefronts" if row["wavefronts"] else "sectors"
        counted = [total(counts, access, "requests"), total(counts, access, field)]
        kind = f"{access}, {4 * int(width)} bytes a lane"
        seen[kind] += 1
        if same != [access, pattern, width, words] or counted != [1, int(row[field])]:
            wrong[kind].append(f"{pattern}: {counted} counted, {field} {row[field]} by the hardware")
    for kind, count in seen.items():
        tap.ok(not wrong[kind], f"{kind}: {count} patterns as on the GPU", "\n".join(wrong[kind][:5]))
    tap.ok(len(found) == len(list(rows("access_patterns.csv"))), f"all {len(found)} patterns")


# ---------------------------------------------------------------------------- the steps


def count_step(step, shape, *options):
    """The kernels of one product."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = [f"build/step{step}-emulated", "--json", file.name, *options]
        for name, value in zip("mnk", shape):
            command += [f"-{name}", str(value)]
        result = tap.run(command)
        if result.returncode != 0:
            return []
        return json.load(file)["records"][0]["counters"]


def hardware_counts():
    """{step: {shape: {metric: value}}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows("step_counters.csv"):
        found[row["step"]][row["m"], row["n"], row["k"]][row["metric"]] = int(row["value"])
    return found


def check_global(step, shape, counts, hardware):
    """Textures are no global memory to the hardware either; cp.async is."""
    for way, op in WAYS.items():
        for field in ("requests", "sectors"):
            got, wanted = total(counts, f"global {way}", field), hardware[GLOBAL.format(field, op)]
            name = f"step {step} {'x'.join(shape)}: global {way} {field}"
            tap.ok(got == wanted, name, f"{got} counted, {wanted} by the hardware")


def near(got, wanted):
    return abs(got - wanted) <= 0.02 * wanted


def check_shared(step, counts, hardware):
    """Of lines whose width the PTX fixes. The hardware counts whole kernels. Lines that the assembler
    may change are in the epilogue, which does the same in both shapes, because they take as many
    blocks: so the larger shape is compared by what it has more."""
    small, large = counts
    for way, op in WAYS.items():
        kind, metric = f"shared {way}", WAVEFRONTS.format(op)
        wanted = [hardware[shape][metric] for shape in (small, large)]
        got = [total(counts[shape], kind, "wavefronts") for shape in (small, large)]
        if total(counts[large], kind, "wavefronts", "may be fewer") > 0:
            got, wanted = [got[1] - got[0]], [wanted[1] - wanted[0]]
        name = f"step {step}: wavefronts of {kind}s"
        if total(counts[large], kind, "requests", "same") == 0 or got == [0]:
            tap.skip(name, "no line whose width the PTX fixes is in the loop")
        else:
            good = all(near(*pair) for pair in zip(got, wanted))
            tap.ok(good, name, f"{got} counted, {wanted} by the hardware")


def check_steps():
    for step, shapes in hardware_counts().items():
        counts = {shape: count_step(step, shape) for shape in shapes}
        for shape, hardware in shapes.items():
            check_global(step, shape, counts[shape], hardware)
        check_shared(step, counts, shapes)
        m, n, k = (int(length) for length in list(shapes)[1])
        n = -(-n // 256) * 256 if step == "09" else n  # its tiles hang over the edge
        ffma = sum(kernel["ffma_instructions"] for kernel in counts[list(shapes)[1]])
        tap.ok(32 * ffma == m * n * k, f"step {step}: a multiply-add of a lane for each product",
               f"{ffma} of warps for {m}x{n}x{k}")


# ---------------------------------------------------------------------------- known kernels


def count_case(name, *arguments):
    """The only kernel of a case of tests/emulator/counts.cu, or an empty one where it failed."""
    text = tap.run(["build/tests/emulator/counts", name, *arguments]).stdout
    return json.loads(text[3:])[0] if text.startswith("ok\n[") else collections.defaultdict(int)


def walk():
    """(sectors of data, wavefronts) of the loop in `walk`, for one warp."""
    sectors = wavefronts = 0
    for step in range(600):
        words = {lane * step % 1000 for lane in range(32)}
        sectors += len({word // 8 for word in words})
        wavefronts += max(collections.Counter(word % 32 for word in words).values())
    return sectors, wavefronts


def check_known():
    kernel = count_case("walk")
    sectors, wavefronts = walk()
    loop = [a for a in kernel["line_accesses"] or [] if a["requests"] == 6 * 600]
    tap.ok([a["sectors"] or a["wavefronts"] for a in loop] == [6 * sectors, 6 * wavefronts],
           "more patterns than the emulator keeps: sectors and wavefronts", loop)
    for more in (["0", "-1", "1"], ["7", "-1", "3"], ["0", "0", "2", "128"], ["0", "0", "2", "256"]):
        tap.ok(count_case("walk", *more) == kernel, f"the same with {' '.join(more)}")

    kernel = count_case("apart")
    tap.ok(total([kernel], "global load", "sectors") == 4, "two allocations: 2 sectors of each", kernel)
    kernel = count_case("both")
    got = [total([kernel], kind, field) for kind, field in
           (("global load", "sectors"), ("shared load", "wavefronts"), ("global load", "requests"))]
    tap.ok(got == [2, 1, 1], "generic addresses: what is in global and what is in shared memory", got)
    text = tap.run(["build/tests/emulator/bulk", "counted"]).stdout
    kernel = json.loads(text.removesuffix("ok\n"))[0]
    got = [total([kernel], "bulk copy", field) for field in ("requests", "sectors", "bytes")]
    others = [a for a in kernel["accesses"] or [] if a["kind"] != "bulk copy"]
    tap.ok(got == [2, 8 + 2, 256 + 32] and not others and "bulk copies" in kernel["assumed"],
           "bulk copies: sectors, and nothing that an mbarrier does", kernel)
    kernel = count_case("twice")
    tap.ok((kernel["launches"], total([kernel], "global load", "requests")) == (2, 2),
           "launches of a kernel are added up, forgotten ones are not", kernel)

    kernel = count_case("local")
    local = [a for a in kernel["line_accesses"] or [] if a["kind"].startswith("local")]
    tap.ok({a["kind"] for a in local} == {"local load", "local store"}
           and all(a["on_gpu"] == "unknown" for a in local),
           "local memory: what the PTX says does not hold for the GPU", local)


def check_divergence():
    parting, together, half = (count_case(name) for name in ("parting", "together", "half_a_warp"))
    tap.ok(parting["parted_branches"] == 31, "32 lanes leave a loop one by one: 31 branches part them",
           parting["parted_branches"])
    tap.ok(30 < parting["idle_lanes_percent"] < 60, "about half of the lanes idle",
           parting["idle_lanes_percent"])
    tap.ok((together["parted_branches"], together["idle_lanes_percent"]) == (0, 0),
           "lanes that stay together: none parts, none is idle", together)
    apart, one = (count_case(f"switch_{name}") for name in ("apart", "together"))
    got = [(kernel["parted_branches"], kernel["conditional_branches"]) for kernel in (apart, one)]
    tap.ok(got == [(1, 1), (0, 1)], "a table of targets: a branch, that parts lanes or not", got)
    tap.ok(half["idle_lanes_percent"] == 50, "a block of 16 threads: half of a warp is idle", half)


check_patterns()
check_steps()
check_known()
check_divergence()
tap.finish()
