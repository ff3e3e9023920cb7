"""What an access of a warp costs: wavefronts in shared memory, sectors in global memory.
tests/access_patterns.t holds these rules against what the hardware counted. `words` has for each lane the first
word that it asks for, -1 where it asks for none; `width` is in words."""

import collections

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
