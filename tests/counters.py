"""counters.py PROGRAM SIZE FOLDER [CSV]: what the hardware counted while a step's kernel ran once.

Runs Nsight Compute (ncu: $NCU, in PATH, in FOLDER or where its own installer puts it) and prints
a table; writes it, with the metrics' names, as CSV too. Clocks are left alone, so that the time can be set beside the program's own; ncu empties
the caches before each of its passes. Exits 77 where this machine does not let us count.
"""

import csv
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import tool

L1 = "l1tex__"
GLOBAL = "_pipe_lsu_mem_global_op_"
SHARED = "_pipe_lsu_mem_shared_op_"
STALLS = (
    "long_scoreboard short_scoreboard mio_throttle barrier math_pipe_throttle wait not_selected"
    " dispatch_stall"
).split()

# A row of the table: what, unit, metric, and what the metric is divided by: a metric or a number.
ROWS = [
    ("time", "ms", "gpu__time_duration.sum", 1e6),
    ("warps active", "% of peak", "sm__warps_active.avg.pct_of_peak_sustained_active", 1),
    ("issue slots used", "%", "smsp__issue_active.avg.pct_of_peak_sustained_active", 1),
    ("FMA pipe", "%", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", 1),
    ("FMA instructions", "% of peak", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", 1),
    ("DRAM read", "MB", "dram__bytes_read.sum", 1e6),
    ("DRAM throughput", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed", 1),
]
for way, name in (("ld", "loads"), ("st", "stores")):
    requests = f"{L1}t_requests{GLOBAL}{way}.sum"
    ROWS += [
        (f"global {name}", "requests", requests, 1),
        ("", "sectors/request", f"{L1}t_sectors{GLOBAL}{way}.sum", requests),
        ("", "bytes/sector, 32 is ideal",
         f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{way}.ratio", 1),
    ]  # fmt: skip
ROWS.append(("cp.async", "instructions", "smsp__inst_executed_op_ldgsts.sum", 1))
for way, name in (("ld", "loads"), ("st", "stores")):
    ROWS += [
        (f"shared {name}", "wavefronts", f"{L1}data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum", 1),
        ("", "of them bank conflicts", f"{L1}data_bank_conflicts{SHARED}{way}.sum", 1),
    ]
for stall in STALLS:
    metric = f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio"
    ROWS.append((f"stalled: {stall.replace('_', ' ')}", "warps per issue", metric, 1))


def find_ncu(folder):
    if os.environ.get("NCU"):
        return os.environ["NCU"]
    installed = sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)
    return shutil.which("ncu") or shutil.which("ncu", path=folder) or next(iter(installed), None)


def metrics():
    named = [name for row in ROWS for name in row[2:] if isinstance(name, str)]
    return list(dict.fromkeys(named))


def read_counts(log):
    """{kernel: {metric: value}} from ncu's CSV, which may follow other lines."""
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    kernels = {}
    for row in csv.DictReader(lines[start:]):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue  # n/a on this GPU
        kernels.setdefault(row["Kernel Name"].split("(")[0], {})[row["Metric Name"]] = value
    return kernels


def print_table(kernel, counts):
    print(kernel)
    for what, unit, metric, divisor in ROWS:
        divisor = counts.get(divisor) if isinstance(divisor, str) else divisor
        if metric in counts and divisor:
            value = counts[metric] / divisor
            digits = 0 if value == int(value) else 2
            print(f"  {what:28}{value:18,.{digits}f}  {unit}")


def write_csv(path, program, size, kernels):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["step", "kernel", "m_n_k", "metric", "value"])
        for kernel, counts in kernels.items():
            for metric, value in counts.items():
                out.writerow([os.path.basename(program).removeprefix("step"), kernel, size, metric, f"{value:.10g}"])


def fail(message, status):
    print(f"profile: {message}", file=sys.stderr)
    return status


def main(program, size, folder, csv_path=None):
    ncu = find_ncu(folder)
    if not ncu:
        return fail("ncu is missing. It comes with Nsight Compute (package cuda-nsight-compute).", 77)
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        command = [
            ncu, "--csv", "--log-file", log.name, "--print-units", "base", "--clock-control", "none",
            "--kernel-name", "regex:step_sgemm", "--launch-count", "1", "--metrics", ",".join(metrics()),
            program, "-s", size, "--no-verify", "--repeats", "1",
        ]  # fmt: skip
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = result.stdout + log.read()
    if "ERR_NVGPUCTRPERM" in output:
        return fail(
            "this machine lets only its administrator read the counters (ERR_NVGPUCTRPERM). That is"
            " a setting of the driver: NVreg_RestrictProfilingToAdminUsers=0 changes it.",
            77,
        )
    kernels = read_counts(output)
    if not kernels:
        return fail(f"ncu counted nothing. It said:\n{output.rstrip()}", result.returncode or 1)
    print(f"{program}, m = n = k = {size}, one launch")
    for kernel, counts in kernels.items():
        print_table(kernel, counts)
    if csv_path:
        write_csv(csv_path, program, size, kernels)
    return 0


if __name__ == "__main__":
    tool.run(main, *sys.argv[1:])
