#!/usr/bin/env python3
"""The speeds of the candidates: those built in are what the records of the reference GPU give, and
`make tune` finds them, with stand-ins for the steps that are as fast as the model says."""

import csv
import os
import re
import shutil
import stat
import sys
import tempfile

import steps
import tap
import tune

sys.path.insert(0, os.path.join(steps.ROOT, "docs"))
import measured  # noqa: E402

# The ladder's m, n and k that stand for the shapes that make tune measures.
KINDS = {"alone": (1024, 1024, 1024), "full": (4096, 4096, 4096), "short": (4096, 4096, 128)}
TUNED = (*KINDS, "deep")
BUILT_IN = re.compile(
    r"^    \{&step(\d\d), \{(\d+), (\d+), (\d+)\}, \{(\d+), (\d+), (\d+)(?:, (\d+))?\}\},$", re.M
)

# Stand-ins: alone, full, overhead and part of each step, on a GPU of 132 SMs.
SPEEDS = {
    "07": (300000, 360000, 33, 0),
    "08": (330000, 350000, 35, 0),
    "09": (390000, 400000, 50, 0),
    "14": (420000, 420000, 55, 7),
    "16": (330000, 330000, 60, 12),
}
TILES = {"09": (128, 256), "14": (128, 256), "16": (64, 64)}
STAND_IN = r'''#!/usr/bin/env python3
import csv, math, os, sys
step, (alone, full, overhead, part), (tile_m, tile_n) = "{step}", {speed}, {tile}
sharing = {sharing}
with open("log", "a") as log:
    log.write(f"{{step}} {{' '.join(sys.argv[1:])}} {{os.environ.get('SGEMM_TABLE', '')}}\n")
if "--list" in sys.argv:
    sys.exit(print("device   Stand-in, sm_90, 132 SMs, driver 1.2, CUDA 13.0, cuBLAS 13.1"))
if {exit}:
    sys.exit("step{step}: {complaint}") if {exit} == 1 else sys.exit({exit})
m, n, k = (int(sys.argv[sys.argv.index(option) + 1]) for option in ("-m", "-n", "-k"))
tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n)
rounds = math.ceil(tiles / 132)
seconds = rounds * 2 * tile_m * tile_n * (k + overhead) / (alone if rounds == 1 else full) / 1e6
if sharing and tiles < 132:
    shares = min(132 * sharing[0], tiles * (1 + (k - 1) // sharing[1]))
    terms = tiles * k / shares + overhead + part * shares / tiles
    seconds = 2 * tile_m * tile_n * sharing[0] * terms / full / 1e6
if "--offset" in sys.argv:
    seconds *= 2
row = dict(date="2026-01-01T00:00:00Z", device="Stand-in", compute_capability_x10=90, sms=132, driver="1.2",
           cuda="13.0", tile_m=tile_m, tile_n=tile_n, m=m, n=n, k=k, median_ms=1e3 * seconds,
           step_tflops=2e-12 * m * n * k / seconds, runs="step 08" if step == "18" else "")
with open(sys.argv[sys.argv.index("--csv") + 1], "w") as file:
    writer = csv.DictWriter(file, row)
    writer.writeheader()
    writer.writerow(row)
'''  # fmt: skip
CANDIDATES = ("07:4:4:4", "08:512:512:4", "09:4:16:4", "09:4:4:4", "14:4:16:16", "16:4:16:16")


def tuned_records(candidate):
    return {row["kind"]: row for row in measured.table("tune") if row["candidate"] == candidate and row["kind"] in TUNED}


def ladder_records(step):
    found = {}
    for kind, (m, n, k) in KINDS.items():
        runs = measured.runs_of(measured.records(), step, m, n, k)
        found[kind] = {**runs[0], "median_ms": measured.median(runs, "median_ms")}
    return found


def check_built_in():
    """Those of step 10 are from the ladder's records, those of the final sgemm() from make tune."""
    for chooser, (step, a, b, c, *built_in) in (
        (chooser, found) for chooser in ("10", tune.SGEMM) for found in BUILT_IN.findall(steps.text(steps.sources()[chooser]))
    ):
        candidate = f"{step}:{a}:{b}:{c}"
        fitted = tune.fit(step, **(ladder_records(step) if chooser == "10" else tuned_records(candidate)))
        tap.ok(list(map(str, fitted)) == [number or "0" for number in built_in], f"{chooser}, {candidate}: built in is what its records give, {fitted}", built_in)


def write_stand_in(step, code=0, complaint=""):
    path = os.path.join(folder, f"step{step}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(STAND_IN.format(step=step, speed=SPEEDS.get(step, (1, 1, 0, 0)), exit=code, complaint=complaint,
                                   tile=TILES.get(step, (128, 128)), sharing=tune.sharing(step)))  # fmt: skip
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    os.utime(path, (0, 0))  # older than what it measures


def run():
    """What make tune does: its result, and how often a step has been started for it."""
    log = os.path.join(folder, "log")
    with open(log, "w", encoding="utf-8"):
        pass
    result = tap.run([sys.executable, os.path.join(steps.ROOT, "tests", "tune.py"), "out", *CANDIDATES], folder=folder)
    return result, [line for line in steps.text(log).splitlines() if "--list" not in line]


def table():
    lines = steps.text(os.path.join(folder, "out", "table.tsv")).splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def check_tune():
    for step in (*SPEEDS, tune.SGEMM):
        write_stand_in(step)
    result, first = run()
    speeds = (SPEEDS["07"], SPEEDS["08"], SPEEDS["09"], (195000, 200000, 50, 0), SPEEDS["14"], SPEEDS["16"])
    wanted = [["device", "90", "132"]] + [
        [*candidate.split(":"), *map(str, speed)] for candidate, speed in zip(CANDIDATES, speeds)
    ]
    tap.ok(result.returncode == 0 and table() == wanted, "the table has the speeds of the stand-ins", f"{result.stderr}\n{table()}")
    tap.ok(all("--offset 1,1,1" not in line or line.startswith("09 ") for line in first), "only what has an aligned twin is unaligned")
    tap.ok(all(("table.tsv" in line) == line.startswith("18 ") for line in first), "sgemm() alone runs with the table")
    tap.ok("  of the best" in result.stdout and " step 08" in result.stdout and max(map(len, result.stdout.splitlines())) <= 100,
           "it shows what sgemm() chooses, and how near it comes", result.stdout)  # fmt: skip
    with open(os.path.join(folder, "out", "records.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tap.ok(len(rows) == 6 * 3 + len(tune.COMPARED) * 6 and {row["kind"] for row in rows} >= {"alone", "full", "short"},
           "all records are in one file", len(rows))  # fmt: skip

    result, again = run()
    tap.ok(result.returncode == 0 and not again, "nothing is measured twice", again)
    os.remove(os.path.join(folder, "out", "09-4-16-4-full.csv"))
    with open(os.path.join(folder, "out", "07-4-4-4-short.csv"), "w", encoding="utf-8") as file:
        file.write("m,n,k,median_ms\n")
    result, again = run()
    tap.ok(result.returncode == 0 and len(again) == 2 and table() == wanted, "what was interrupted goes on", again)
    os.utime(os.path.join(folder, "step08"))
    result, again = run()
    tap.ok(len(again) == 1 + 3 + len(tune.COMPARED) and all(line.startswith("08 ") for line in again),
           "a step that has been built anew is measured anew", again)  # fmt: skip


def check_failures():
    shutil.rmtree(os.path.join(folder, "out"))
    write_stand_in("09", code=77)
    result, _ = run()
    tap.ok(result.returncode == 0 and "this device cannot run it" in result.stdout and [row[0] for row in table()] == ["device", "07", "08", "14", "16"],
           "what the device cannot run is not in the table", result.stdout + result.stderr)  # fmt: skip
    write_stand_in("09", code=1, complaint="WRONG")
    result, _ = run()
    tap.ok(result.returncode == 1 and re.fullmatch(r"tune: \./step09 .*: exit 1: step09: WRONG\n", result.stderr),
           "a step that is wrong ends it, in one line", result.stderr)  # fmt: skip


check_built_in()
with tempfile.TemporaryDirectory() as folder:
    check_tune()
    check_failures()
if "emulated" in tap.run([f"./step{tune.SGEMM}", "--list"]).stdout:
    outcome = tap.make("-s", "tune")
    tap.ok("tune: needs a GPU" in outcome.stderr and outcome.stderr.count("tune:") == 1, "without a GPU it says that it needs one", outcome.stderr)
else:
    tap.skip("make tune without a GPU", "there is one")
tap.finish()
