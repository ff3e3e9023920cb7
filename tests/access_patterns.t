#!/usr/bin/env python3
"""How many turns (wavefronts) a warp's access to shared memory takes, and how many sectors one to
global memory: the rules that the course teaches, against what the hardware counted for 728 patterns
of lanes (docs/results/nvidia-h200/access_patterns.csv, made by tests/access_patterns.cu)."""

import collections
import csv
import os

import steps
import tap
from wavefronts import sectors, wavefronts

path = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200", "access_patterns.csv")
wrong, patterns = collections.defaultdict(list), collections.Counter()
for row in csv.DictReader(steps.text(path).splitlines()):
    words, width = [int(word) for word in row["first_word_of_each_lane"].split()], int(row["width_words"])
    if row["wavefronts"]:
        found, counted = wavefronts(words, width, "load" in row["access"]), int(row["wavefronts"])
    else:
        found, counted = sectors(words, width), int(row["sectors"])
    kind = f"{row['access']}, {4 * width} bytes a lane"
    patterns[kind] += 1
    if found != counted:
        wrong[kind].append(f"{row['pattern']}: {found} by the rule, {counted} counted")
for kind, count in patterns.items():
    tap.ok(not wrong[kind], f"{kind}: {count} patterns", "\n".join(wrong[kind][:5]))
tap.finish()
