"""access_patterns.py PROGRAM CSV TOOLS: runs the program made of tests/access_patterns.cu under ncu and
writes each pattern of lanes with what the hardware counted for it."""

import csv
import subprocess
import sys
import tempfile

import counters
import tool

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
SHARED_EXECUTED = "smsp__inst_executed_op_shared_"
GLOBAL_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_"
NAMES = [
    name + way
    for way in ("ld.sum", "st.sum")
    for name in (WAVEFRONTS, SECTORS, SHARED_EXECUTED, GLOBAL_REQUESTS)
]


def counts(program, folder):
    """The lines that the program printed, and for each of its launches {metric: value}."""
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        command = [
            counters.find_ncu(folder), "--csv", "--log-file", log.name, "--print-units", "base",
            "--clock-control", "none", "--metrics", ",".join(NAMES), program,
        ]  # fmt: skip
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        lines = log.read().splitlines()
    launches = {}
    for row in csv.DictReader(lines[lines.index(next(x for x in lines if x.startswith('"ID"'))) :]):
        value = int(float(row["Metric Value"].replace(",", "")))
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value
    patterns = [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 3]
    return patterns, [launches[i] for i in sorted(launches)]


def main(program, path, folder):
    patterns, launches = counts(program, folder)
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            "access,pattern,width_words,first_word_of_each_lane,wavefronts,sectors,inst_executed".split(",")
        )
        for (access, name, width, words), launch in zip(patterns, launches, strict=True):
            space, way = access.split("_")
            way = "ld.sum" if way == "load" else "st.sum"
            shared = space == "shared"
            out.writerow(
                [access.replace("_", " "), name, width, words]
                + [launch[WAVEFRONTS + way] if shared else "", "" if shared else launch[SECTORS + way]]
                + [launch[(SHARED_EXECUTED if shared else GLOBAL_REQUESTS) + way]]
            )
    print(f"{len(launches)} patterns")


if __name__ == "__main__":
    tool.run(main, *sys.argv[1:])
