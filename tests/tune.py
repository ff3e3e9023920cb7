"""tune.py FOLDER CANDIDATE...: measures what sgemm() chooses from, on this GPU.

A candidate is a step and the alignments of A, B and C that it is for: 07:4:4:4, 09:4:16:4. Each is
measured three times by its own program: with four tiles on every SM, with four that are short in k, and
with one; or, where it cuts tiles, with a few deep ones. From that come its speeds (struct speed in
common/library/handle.h), which FOLDER/table.tsv keeps for sgemm_load_table() and for
SGEMM_TABLE=FOLDER/table.tsv ./step18. Then sgemm() runs with that table beside the candidates, at sizes
that none of it was measured at.

Every run leaves a CSV file in FOLDER and is not made again while that is newer than its program:
what was interrupted goes on. FOLDER/records.csv has all of them.
"""

import csv
import math
import os
import re
import subprocess
import sys

import gpu
import steps
import tool

SKIPPED = 77
SGEMM = "18"
TERMS, FEW_TERMS, MANY_TERMS = 4096, 128, 16384
# m, n, k of the comparison, and how many pairs of runs each takes.
COMPARED = (
    *((size, size, size) for size in (256, 512, 1000, 1024, 1152, 1280, 1408, 1536, 2048, 3072, 4096)),
    (256, 256, 16384), (4096, 4096, 256), (8192, 64, 8192), (64, 8192, 8192),
)  # fmt: skip
PAIRS = 31
FOLDER = sys.argv[1] if len(sys.argv) > 1 else ""


def fail(message, code=1):
    print(f"tune: {message}", file=sys.stderr)
    sys.exit(code)


# ------------------------------------------------------------------------------- the model


def seconds_per_operation(record):
    """Of one term of a tile, on the SM that computes the most tiles. As in steps/10_dispatch.cu."""
    m, n, tile_m, tile_n, sms = (int(record[name]) for name in ("m", "n", "tile_m", "tile_n", "sms"))
    rounds = math.ceil(math.ceil(m / tile_m) * math.ceil(n / tile_n) / sms)
    return float(record["median_ms"]) / 1e3 / (rounds * 2 * tile_m * tile_n)


def sharing(step):
    """(blocks on an SM that share tiles, the fewest terms of a share), or None where tiles are not cut."""
    text = steps.text(steps.sources()[step])
    if ".sharing_blocks" not in text:
        return None
    constants = dict(re.findall(r"^ +(BLOCKS_AN_SM|FEW_STEPS|TILE_K) = (\d+),", text, re.M))
    return int(constants["BLOCKS_AN_SM"]), int(constants["FEW_STEPS"]) * int(constants["TILE_K"])


def terms_to_add(record, rate, overhead, blocks_an_sm, least):
    """What a part of a tile takes, in terms, from a record of a few tiles. As in steps/18_final_dispatch.cu."""
    m, n, k, tile_m, tile_n, sms = (int(record[name]) for name in ("m", "n", "k", "tile_m", "tile_n", "sms"))
    tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n)
    shares = min(blocks_an_sm * sms, tiles * (1 + (k - 1) // least))
    terms = float(record["median_ms"]) / 1e3 * rate / (2 * tile_m * tile_n * blocks_an_sm)
    return max(0, (terms - tiles * k / shares - overhead) / (shares / tiles))


def fit(step, full, short, alone=None, deep=None):
    """(alone, full, overhead, part) of a candidate, as in struct speed, from a record of each kind that
    shapes() has for it."""
    k, few = int(full["k"]), int(short["k"])
    long_time, short_time = seconds_per_operation(full), seconds_per_operation(short)
    rate = (k - few) / (long_time - short_time) if long_time > short_time else 0
    overhead = rate * short_time - few
    if overhead <= 0:  # less than the noise
        rate, overhead = k / long_time, 0
    if deep is not None:
        part = terms_to_add(deep, rate, overhead, *sharing(step))
        return round(rate / 1e6), round(rate / 1e6), round(overhead), round(part)
    alone_rate = (int(alone["k"]) + overhead) / seconds_per_operation(alone)
    return round(alone_rate / 1e6), round(rate / 1e6), round(overhead), 0


# ------------------------------------------------------------------------------- measuring


def read(path):
    """The record in a file, or {} where there is none with a time."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            record = next(csv.DictReader(file), {})
    except FileNotFoundError:
        return {}
    return record if record.get("median_ms") else {}


def is_newer(path, others):
    return os.path.exists(path) and all(os.path.getmtime(path) > os.path.getmtime(each) for each in others)


def measure(name, step, m, n, k, *options, table=None):
    """The record of a run of a step, or None where the device cannot run it."""
    program, path = f"./step{step}", os.path.join(FOLDER, f"{name}.csv")
    record = read(path)
    if is_newer(path, [program, table] if table else [program]) and (
            record.get("m"), record.get("n"), record.get("k")) == (str(m), str(n), str(k)):  # fmt: skip
        return record
    command = [program, *map(str, ("-m", m, "-n", n, "-k", k, *options)), "--csv", path]
    environment = {**os.environ, "SGEMM_TABLE": table} if table else None
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if result.returncode == SKIPPED:
        return None
    record = read(path)
    if result.returncode != 0 or not record:
        fail(f"{' '.join(command)}: exit {result.returncode}: {result.stderr.strip() or 'no rate'}")
    return record


def shapes(step, tile_m, tile_n, sms):
    """{kind: (m, n, k)}: a tile for each SM in a matrix about as high as wide, and four times as many. Where
    tiles are cut, an eighth as many in place of the first: each SM has a part of one."""
    divisors = [down for down in range(1, sms + 1) if sms % down == 0]
    down = min(divisors, key=lambda down: abs(math.log(tile_m * down / (tile_n * sms / down))))
    m, n = tile_m * down, tile_n * (sms // down)
    few = max(1, sms // 8)
    first = {"deep": (tile_m, few * tile_n, MANY_TERMS)} if sharing(step) else {"alone": (m, n, TERMS)}
    return {**first, "full": (2 * m, 2 * n, TERMS), "short": (2 * m, 2 * n, FEW_TERMS)}


def measure_candidate(candidate, unaligned):
    """{kind: record}, or None where the device cannot run it."""
    step = candidate.split(":")[0]
    offset = ["--offset", "1,1,1"] if unaligned else []
    first = measure(f"{step}-first", step, 256, 256, 256, "--repeats", 6)
    if first is None:
        return None
    wanted = shapes(step, *(int(first[name]) for name in ("tile_m", "tile_n", "sms")))
    name = candidate.replace(":", "-")
    return {kind: measure(f"{name}-{kind}", step, *wanted[kind], *offset) for kind in wanted}


def measure_all(candidates, records):
    """{candidate: speeds} of those that this device can run. Adds to the records."""
    speeds = {}
    print("MFLOP/s of an SM with one block, and of a full one")
    print("terms of k that a tile takes more, and that a part of one takes to be added up")
    print(f"step {'alignments':>11} {'alone':>10} {'full':>10} {'overhead':>10} {'part':>10}", flush=True)
    for candidate in candidates:
        step, alignments = candidate.split(":", 1)
        found = measure_candidate(candidate, unaligned=candidate not in aligned(candidates))
        if found is None:
            print(f"{step:4} {alignments:>11}  this device cannot run it", flush=True)
            continue
        speeds[candidate] = fit(step, **found)
        records.update({(candidate, kind): record for kind, record in found.items()})
        print(f"{step:4} {alignments:>11}", *(f"{number:>10}" for number in speeds[candidate]), flush=True)
    return speeds


def aligned(candidates):
    """Of each step the candidate for the largest alignments: what it runs on aligned matrices."""
    best = {}
    for candidate in sorted(candidates, key=lambda each: sum(map(int, each.split(":")[1:]))):
        best[candidate.split(":")[0]] = candidate
    return [candidate for candidate in candidates if candidate in best.values()]


def compare(candidates, table, records):
    """Prints what each candidate reaches, and sgemm() with the table. Adds to the records."""
    numbers = {candidate: candidate.split(":")[0] for candidate in candidates}
    heads = [f"{step:>7}" for step in numbers.values()]
    print(f"\nTFLOP/s of steps, and of sgemm()\n{'m':>6} {'n':>6} {'k':>6}", *heads, f"{'sgemm()':>8}  of the best")
    for m, n, k in COMPARED:
        name = f"{m}x{n}x{k}"
        for candidate, step in numbers.items():
            records[candidate, name] = measure(f"{step}-{name}", step, m, n, k, "--repeats", PAIRS)
        chosen = measure(f"{SGEMM}-{name}", SGEMM, m, n, k, "--repeats", PAIRS, table=table)
        rates = [float(records[candidate, name]["step_tflops"]) for candidate in candidates]
        rate = float(chosen["step_tflops"])
        records["sgemm", name] = chosen
        print(f"{m:6} {n:6} {k:6}", *(f"{each:7.2f}" for each in rates), f"{rate:8.2f}  {100 * rate / max(rates):7.1f} %  {chosen['runs']}", flush=True)  # fmt: skip


# ------------------------------------------------------------------------------- results


def write_whole(path, text):
    """Writes a file whole or not at all, and leaves it alone where it is like that already."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def table_text(speeds, record):
    lines = [
        "# What make tune measured, for sgemm_load_table() and SGEMM_TABLE (see common/library/table.c).",
        f"# {record['device']}, driver {record['driver']}, CUDA {record['cuda']}, {record['date'][:10]}",
        "# compute capability times ten, SMs",
        f"device\t{record['compute_capability_x10']}\t{record['sms']}",
        "# step, alignments of A, B and C, MFLOP/s of an SM with one block, of a full one, overhead and part in terms",
    ]
    lines += ["\t".join([*candidate.split(":"), *map(str, speed)]) for candidate, speed in speeds.items()]
    return "\n".join(lines) + "\n"


def write_records(path, records):
    with open(path, "w", encoding="utf-8", newline="") as file:
        fields = ["candidate", "kind", *next(iter(records.values()))]
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for (candidate, kind), record in records.items():
            writer.writerow({"candidate": candidate, "kind": kind, **record})


def main(candidates):
    records = {}
    if not gpu.found_by(f"./step{SGEMM}"):
        fail("needs a GPU: there is no CUDA device, and the emulator measures nothing", SKIPPED)
    os.makedirs(FOLDER, exist_ok=True)
    speeds = measure_all(candidates, records)
    table = os.path.join(FOLDER, "table.tsv")
    write_whole(table, table_text(speeds, next(iter(records.values()))))
    compare(aligned(speeds), table, records)
    write_records(os.path.join(FOLDER, "records.csv"), records)
    print(f"\n{table} is for SGEMM_TABLE={table} ./step{SGEMM}, and for sgemm_load_table()")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        fail("usage: tune.py FOLDER CANDIDATE...", 2)
    tool.run(main, sys.argv[2:])
