#!/usr/bin/env python3
"""The committed results of the reference GPU: all verified, and the ladder is one. Ratios to cuBLAS
are medians over processes."""

import os
import statistics
import sys

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "docs"))
import generate  # noqa: E402
import measured  # noqa: E402

# The least ratio to cuBLAS at m = n = k = 4096, and at 12288.
LEAST = {
    4096: {"01": 0.10, "02": 0.55, "03": 0.65, "04": 0.73, "05": 0.82, "07": 0.87, "08": 0.89, "09": 0.98,
           "11": 1.00, "14": 1.05, "18": 1.05},
    12288: {"09": 1.00, "11": 1.05, "14": 1.05, "16": 0.85, "18": 1.08},
    8192: {"14": 1.05},
    4093: {"18": 1.05},
    2048: {"11": 1.00, "14": 1.05, "18": 1.05},
    1024: {"14": 1.05, "16": 1.05, "18": 1.10},
    1000: {"18": 1.10},
    768: {"16": 1.05, "18": 1.10},
    512: {"16": 1.00, "18": 1.05},
    384: {"16": 1.05, "18": 1.10},
    256: {"16": 1.05, "18": 1.10},
}  # fmt: skip
# Of the last step's sweep: the geometric mean of the ratios, and the lower end of each one's interval.
LEAST_MEAN, LEAST_LOW = 1.08, 1.00
LEAST_UNALIGNED = 0.94  # the aim is 0.95, and not reached
LEAST_TENSOR = {"15": 1.25, "19": 2.5}
MOST_ERROR = 1  # the floor is 2
MOST_LOST = 0.01  # from a step to the next
MOST_LOST_OF = {"13": 0.02}  # packing costs more than bulk copies gain, where matrices are aligned: its chapter says so

rows = generate.records()
tap.ok({row["verify"] for row in rows} == {"exact"}, "every record is of a verified step")
tap.ok({row["spilled_bytes"] for row in rows} <= {"0", ""}, "no step spills")


def rate(step, m, n, k):
    return generate.median(generate.runs_of(rows, step, m, n, k), "step_tflops")


for size, least in LEAST.items():
    for step, ratio in least.items():
        found = generate.median(generate.runs_of(rows, step, size, size, size), "ratio")
        tap.ok(found >= ratio, f"step {step} at {size}: {found:.3f} of cuBLAS, at least {ratio}")

# Where a step is compared with the one before: 06 is about the store, 16 about a small C.
PROBLEMS = {"06": (4096, 4096, 128), "16": (512, 512, 512)}

numbers = generate.measured(rows)
for base, step in zip(numbers, numbers[1:]):
    problem = PROBLEMS.get(step, (4096, 4096, 4096))
    before, after = rate(base, *problem), rate(step, *problem)
    tap.ok(
        after >= before * (1 - MOST_LOST_OF.get(step, MOST_LOST)),
        f"step {step} is no slower than {base} at {'x'.join(map(str, problem))}:"
        f" {after:.2f} and {before:.2f} TFLOP/s",
    )
sweep = measured.table("sweep")
tap.ok({(row["verify"], row["step"]) for row in sweep} == {("exact", numbers[-1])}, "the sweep is of the last step, verified")
mean = statistics.geometric_mean(float(row["ratio"]) for row in sweep)
tap.ok(mean >= LEAST_MEAN, f"its {len(sweep)} ratios to cuBLAS: {mean:.3f} on the average, at least {LEAST_MEAN}")
low = min((float(row["ratio_low"]), row["m"]) for row in sweep)
tap.ok(low[0] >= LEAST_LOW, f"the interval of the least begins at {low[0]:.3f} ({low[1]}), at least {LEAST_LOW}")
aligned, unaligned = (generate.median(generate.runs_of(rows, numbers[-1], 4096, 4096, 4096, ld), "step_tflops") for ld in (None, 4097))
tap.ok(unaligned >= LEAST_UNALIGNED * aligned, f"leading dimensions of 4097 at 4096: {unaligned / aligned:.3f} of the aligned rate, at least {LEAST_UNALIGNED}")

# Steps that use tensor cores: faster than cuBLAS in float32, and no less accurate.
tensor = measured.table("three_tf32")
for step, least in LEAST_TENSOR.items():
    found = [float(row["ratio_low"]) for row in generate.runs_of(tensor, step, 4096, 4096, 4096)]
    tap.ok(len(found) > 1 and min(found) >= least, f"step {step} at 4096: {min(found):.3f} of cuBLAS's float32 at least in {len(found)} runs, {least} wanted")
errors = {(row["inputs"], row["of"]): float(row["mean_error"]) for row in measured.table("accuracy") if row["m"] == "4096"}
for inputs, of in errors:
    if of.startswith("step"):
        part = errors[inputs, of] / errors[inputs, "cuBLAS float32"]
        tap.ok(part <= MOST_ERROR, f"{of}, {inputs} inputs at 4096: a mean error {part:.2f} of that of cuBLAS in float32, at most {MOST_ERROR}")
tap.ok({of for _, of in errors if of.startswith("step")} == {f"step {step}" for step in LEAST_TENSOR}, "the errors of all of them")
tap.ok(rate("06", 1024, 1024, 1024) > rate("05", 1024, 1024, 1024), "step 06 gains at 1024")
tap.finish()
