"""bench.py FOLDER KIND SIZES CLOCKS STEP...: measures steps, and cuBLAS beside them, on this GPU.

KIND says how. bench: each step at each of SIZES ("256 512"), as ./step07 -s 256 measures, and its power
at 4096. sweep: at SIZES FIRST:LAST:STEP, as ./step07 --sweep does. CLOCKS is what you have made of the
GPU's clocks, locked or unlocked: NVML has no way to ask.

FOLDER/KIND.csv (FOLDER/locked/KIND.csv) gets what the programs record, with two fields more: program, a digest
of its bytes, and clocks. What is recorded of the same program, GPU, driver and clocks is not measured
again, so that what was interrupted goes on: the records of every run are in FOLDER/runs.
"""

import csv
import hashlib
import os
import re
import signal
import subprocess
import sys

import gpu
import tool

SKIPPED, INTERRUPTED = 77, 130
POWER_SIZE = 4096
SWEEP = re.compile(r"([1-9]\d*):([1-9]\d*):([1-9]\d*)")


def fail(message, code=1):
    print(f"bench: {message}", file=sys.stderr)
    sys.exit(code)


def sizes_of(kind, text):
    """The sizes that SIZES stands for, and the distance between those of a sweep."""
    if kind == "bench" and text.split() and all(re.fullmatch(r"[1-9]\d*", size) for size in text.split()):
        return [int(size) for size in text.split()], None
    if kind == "sweep" and (match := SWEEP.fullmatch(text)) and int(match[1]) <= int(match[2]):
        first, last, distance = map(int, match.groups())
        return list(range(first, last + 1, distance)), distance
    wanted = {"bench": "SIZES wants whole numbers from 1, as in SIZES='512 1024'",
              "sweep": "SWEEP wants FIRST:LAST:STEP, whole numbers from 1, FIRST up to LAST"}  # fmt: skip
    return fail(f"{wanted[kind]}, not '{text}'", 2)


def whole_records(path):
    """The records of a CSV file, less the half a line that an end in the middle has left."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))


class Bench:
    """What has been measured, and what is still to be."""

    def __init__(self, folder, kind, clocks, numbers):
        self.folder, self.kind, self.clocks, self.numbers = folder, kind, clocks, numbers
        self.programs = {number: self.digest(f"./step{number}") for number in numbers}
        self.device, self.driver = gpu.found_by(f"./step{numbers[0]}") or (None, None)
        self.records = {}  # (step, size, whether it is of the power): its record
        self.failed = 0

    def digest(self, program):
        """Of the program, and of the table that step 10 chooses by, where there is one."""
        digest = hashlib.sha256()
        for path in filter(None, (program, os.environ.get("SGEMM_TABLE"))):
            try:
                with open(path, "rb") as file:
                    digest.update(file.read())
            except OSError as error:
                fail(f"cannot read {path}: {error.strerror}")
        return digest.hexdigest()[:12]

    def prefix(self, number):
        return f"{self.kind}-{number}-{self.clocks}-{self.programs[number]}-"

    def add(self, number, path):
        """Takes over the records of a file that have a rate and are of this GPU."""
        for record in whole_records(path):
            if record["step_tflops"] and (record["device"], record["driver"]) == (self.device, self.driver):
                record.update(program=self.programs[number], clocks=self.clocks)
                self.records[number, int(record["m"]), bool(record["power_w"])] = record

    def add_earlier(self):
        """The records of runs before this one."""
        runs = os.path.join(self.folder, "runs")
        os.makedirs(runs, exist_ok=True)
        for number in self.numbers:
            for name in sorted(os.listdir(runs)):
                if name.startswith(self.prefix(number)):
                    self.add(number, os.path.join(runs, name))

    def new_file(self, number):
        count = sum(name.startswith(self.prefix(number)) for name in os.listdir(os.path.join(self.folder, "runs")))
        return os.path.join(self.folder, "runs", f"{self.prefix(number)}{count}.csv")

    def run(self, number, *options):
        """Runs a step, and takes over what it has recorded. What fails is left for the next time."""
        path = self.new_file(number)
        command = [f"./step{number}", *map(str, options), "--csv", path]
        code = subprocess.run(command, stdout=None if self.kind == "sweep" else subprocess.DEVNULL).returncode
        if os.path.exists(path):
            self.add(number, path)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code not in (0, SKIPPED):
            print(f"bench: {' '.join(command)}: exit {code}", file=sys.stderr)
            self.failed += 1

    def missing(self, sizes, power=False):
        """(step, size, power) of what there is no record of."""
        keys = ((number, size, power) for size in sizes for number in self.numbers)
        return [key for key in keys if key not in self.records]

    def measure_sizes(self, sizes):
        print("step  m = n = k   TFLOP/s   cuBLAS   ratio  SM MHz")
        for key in self.missing(sizes):
            self.run(key[0], "-s", key[1])
            if record := self.records.get(key):
                rates = "{:9.2f} {:8.2f} {:7.3f}".format(*(float(record[name]) for name in ("step_tflops", "cublas_tflops", "ratio")))
                other = record.get("arithmetic", "")  # a ratio that is not one of equals
                print(f"{key[0]}   {key[1]:10} {rates} {float(record['sm_clock_mhz'] or 'nan'):7.0f}  {other}".rstrip(), flush=True)
        for key in self.missing([POWER_SIZE], power=True):
            self.run(key[0], "-s", key[1], "--power")
            if record := self.records.get(key):
                print(f"{key[0]}   {key[1]:10} {float(record['power_w']):7.0f} W {float(record['energy_j']):8.3f} J a product", flush=True)

    def measure_sweep(self, sizes, distance):
        """Neighbours that are missing are one run of the program."""
        for number in self.numbers:
            wanted = [size for each, size, _ in self.missing(sizes) if each == number]
            while wanted:
                count = next((i for i, size in enumerate(wanted) if size != wanted[0] + i * distance), len(wanted))
                self.run(number, "--sweep", f"{wanted[0]}:{wanted[count - 1]}:{distance}")
                wanted = wanted[count:]

    def write(self):
        """All records, in the order of steps and sizes."""
        folder = os.path.join(self.folder, "locked") if self.clocks == "locked" else self.folder
        path = os.path.join(folder, self.kind + ".csv")
        os.makedirs(folder, exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, next(iter(self.records.values())), lineterminator="\n")
            out.writeheader()
            out.writerows(self.records[key] for key in sorted(self.records))
        os.replace(path + ".new", path)
        return path

    def check_clocks(self):
        """Locked clocks do not move."""
        clocks = [float(record["sm_clock_mhz"]) for record in self.records.values() if record["sm_clock_mhz"]]
        if self.clocks == "locked" and clocks and max(clocks) > 1.01 * min(clocks):
            print(f"bench: CLOCKS=locked, but they went from {min(clocks):.0f} to {max(clocks):.0f} MHz", file=sys.stderr)


def main(folder, kind, sizes, clocks, *numbers):
    sizes, distance = sizes_of(kind, sizes)
    if clocks not in ("locked", "unlocked"):
        fail(f"CLOCKS is locked or unlocked, not '{clocks}'", 2)
    bench = Bench(folder, kind, clocks, numbers)
    if bench.device is None:
        fail("needs a GPU: there is no CUDA device, and the emulator measures nothing", SKIPPED)
    bench.add_earlier()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    interrupted = False
    try:
        if kind == "bench":
            bench.measure_sizes(sizes)
        else:
            bench.measure_sweep(sizes, distance)
    except KeyboardInterrupt:
        interrupted = True
        bench.add_earlier()
    if bench.records:
        print(f"{len(bench.records)} records in {bench.write()}")
        bench.check_clocks()
    if interrupted:
        fail(f"interrupted: make {kind} goes on from here", INTERRUPTED)
    if bench.failed:
        fail(f"{bench.failed} runs failed: make {kind} tries them again")
    return 0


if __name__ == "__main__":
    tool.run(main, *sys.argv[1:])
