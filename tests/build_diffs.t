#!/usr/bin/env python3
"""Each step changes no more lines of code than its budget allows."""

import diffs
import steps
import tap

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
