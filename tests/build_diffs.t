#!/usr/bin/env python3
"""Each step changes no more lines of code than its budget allows."""

import diffs
import steps
import tap

# What the course's design allows: a second copy, so that raising one of them raises a question.
DESIGN = {("01", "02"): 110, ("02", "03"): 30, ("03", "04"): 55, ("04", "05"): 110,
          ("05", "06"): 50, ("06", "07"): 110, ("07", "08"): 110, ("07", "09"): 140}  # fmt: skip
kept = {(base, step): budget for base, step, budget in diffs.budgets()}
tap.ok({pair: kept.get(pair) for pair in DESIGN} == DESIGN, "the budgets are the design's", kept)

sources = steps.sources()
for base, step, budget in diffs.budgets():
    name = f"{base} to {step}: at most {budget} changed lines"
    if base in sources and step in sources:
        changed = diffs.changed_lines(sources[base], sources[step])
        tap.ok(0 < changed <= budget, f"{name} ({changed})")
    else:
        tap.ok(False, name, "a step is missing")

result = tap.make("diffs")
tap.ok(("too much" in result.stdout) == (result.returncode != 0), "make diffs fails above a budget")
tap.finish()
