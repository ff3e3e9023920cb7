#!/usr/bin/env python3
"""Every command of the README is one that works: its targets exist, and so do its files."""

import os
import re

import steps
import tap

README = os.path.join(steps.ROOT, "README.md")
if not os.path.exists(README):
    tap.skip_all("there is no README.md yet")

text = steps.text(README)
targets = set()
for words in re.findall(r"\bmake((?: [A-Za-z0-9_=./,+-]+)*)", "\n".join(re.findall(r"`[^`]+`|^    .*|```.*?```", text, re.M | re.S))):
    targets.update(word for word in words.split() if not word.startswith("-") and "=" not in word)
for target in sorted(targets):
    target = target.replace("NN", "07")
    result = tap.make("--dry-run", target)
    tap.ok(result.returncode == 0, f"make {target}", result.stderr)

tap.ok({"step07"} <= targets, "the README says how to build a step")
for link in sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", text))):
    tap.ok(os.path.exists(os.path.join(steps.ROOT, link)), f"{link} exists")
tap.finish()
