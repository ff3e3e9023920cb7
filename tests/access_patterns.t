#!/usr/bin/env python3
"""How many turns (wavefronts) a warp's access to shared memory takes, and how many sectors one to
global memory: the rules that the course teaches, against what the hardware counted for 728 patterns
of lanes (docs/results/nvidia-h200/access_patterns.csv, made by tests/access_patterns.cu)."""

import collections
import csv
import os

import steps
import tap

LANES = range(32)


def turns(words, width, lanes):
    """The most words of one bank that these lanes want: the others wait for them."""
    banks = collections.defaultdict(set)
    for lane in lanes:
        for word in range(words[lane], words[lane] + width) if words[lane] >= 0 else ():
            banks[word % 32].add(word)
    return max((len(wanted) for wanted in banks.values()), default=0)


def pairs_share(words, lanes):
    """Every lane reads what its neighbour does, or what the one after that does."""
    return any(
        all(words[lane] == words[lane ^ other] or -1 in (words[lane], words[lane ^ other]) for lane in lanes)
        for other in (1, 2)
    )  # fmt: skip


def wavefronts(words, width, is_load):
    """128 bytes at a time: 32 lanes of 4 bytes, 16 of 8, 8 of 16. Of a load, two such groups go
    together where pairs of lanes share their words."""
    size = 32 // width
    groups = [list(LANES[first : first + size]) for first in range(0, 32, size)]
    if is_load and width > 1:
        halves, groups = groups, []
        for left, right in zip(halves[::2], halves[1::2]):
            groups += [left + right] if pairs_share(words, left + right) else [left, right]
    return max(1, sum(turns(words, width, group) for group in groups))


def sectors(words, width):
    return len({(first + i) // 8 for first in words if first >= 0 for i in range(width)})


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
