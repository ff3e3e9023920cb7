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
tap.ok(rate("06", 1024, 1024, 1024) > rate("05", 1024, 1024, 1024), "step 06 gains at 1024")
tap.finish()
