"""Mutants of the steps: each lacks one barrier, one wait, one predicate or one clobber."""

import re

import steps

# What is deleted, and what is left of it: a kind, a pattern, a replacement. Of a condition with two
# parts one goes at a time.
DELETIONS = [
    ("barrier", r"__syncthreads\(\);", ";"),
    ("sync", r"__syncwarp\(\);", ";"),
    ("wait", r"cp\.async\.wait_all;", ""),
    ("wait", r"cp\.async\.wait_group %0;", ""),
    ("wait", r"wait_for\(&ring->empty[^;]*;", ";"),
    ("wait", r"(if \([^;{]*!come\)\s*)?wait_for\(&ring->full[^;]*;", ";"),
    ("wait", r"wgmma\.wait_group\.sync\.aligned 0;", ""),
    ("fence", r"(fence\.proxy\.async\.shared::cta|wgmma\.fence\.sync\.aligned);", ""),
    ("arrival", r"(if \([^;{]*\)\s*)?release_tiles\(ring, \w+\);", ";"),
    ("arrival", r"arrive_and_expect\(&[^;]*;", ";"),
    ("clobber", r': "memory"\)', ")"),
    ("predicate", r"@inside ", ""),
    ("k-bound", r"inside_k && ", ""),
    ("k-bound", r"inside_k \?", "true ?"),
    ("k-bound", r"\w+ < (problem\.k|k_left|k_here)(?=[ ,)])", "true"),
    ("k-bound", r"p < problem\.k", "p <= problem.k"),
    ("k-bound", r"\binside && ", ""),
    ("k-bound", r"\w+ < terms", "true"),
    ("k-bound", r"copied < (problem\.k(?=;)|end)", "true"),
    ("row-bound", r"(?<=inside_k) && (A_APART \* )?i < rows_left", ""),
    ("column-bound", r"(?<=inside_k) && B_APART \* i < cols_left", ""),
    ("column-bound", r"max\(0, (cols_left - B_APART \* i)\)", r"(\1)"),
    ("column-bound", r"min\((4|1), left\)", r"\1"),
    ("row-bound", r"row >= problem\.m \|\| ", ""),
    ("column-bound", r" \|\| col >= problem\.n", ""),
    ("row-bound", r"(?<=if \()[^()&]*(\([^()]*\))?[^()&]* < (c_rows|rows|problem\.m) && ", ""),
    ("column-bound", r" && [^()&]*(\([^()]*\))?[^()&]* < (c_cols|cols|problem\.n)(?=\)\n)", ""),
    ("row-bound", r"min\((tile_row [^;]*), last_row\)", r"(\1)"),
    ("row-bound", r"c_row < (problem\.m|rows)(?=\)\n)", "true"),
    ("k-bound", r"\bi < rows \?", "true ?"),  # of A's rows, of B's terms
    ("k-bound", r"min\(left, (\(int64_t\)TILE_K)\)", r"\1"),
    ("row-bound", r"\(int\)min\(problem\.m - tile_row, \(int64_t\)TILE_M\)", "TILE_M"),
    ("column-bound", r"\w+ < (cols|problem\.n) \?", "true ?"),
    ("k-bound", r"\(int\)min\(problem\.k - first, \(int64_t\)PACK_TERMS\)", "PACK_TERMS"),
    ("row-bound", r"i \+ PACK_APART \* x < rows \?", "true ?"),
    ("column-bound", r"min\((tile_col [^;]*), last_col\)", r"(\1)"),
    ("column-bound", r"aligned && cols > 0", "aligned"),
    ("product", r"mma\(sum\[i\], \w+\[p\]\[i\], \w+\);", ";"),
    ("product", r"wgmma\(sum, \w+\[p\], descriptor[^;]*\);", ";"),
    ("beta", r"beta == 0 \? (alpha \* [\w\[\]]+|make_float4\(0, 0, 0, 0\)) : ", ""),
    ("scalar", r"p\.alpha == 0 \|\| ", ""),
    ("scalar", r"p\.alpha == 0 \|\| p\.k == 0", "p.alpha == 0"),
    ("alignment", r"\(uintptr_t\)\w+(\.B)? % \w+ [!=]= 0 (&&|\|\|) ", ""),
    ("alignment", r" \|\| cols % 4 != 0", ""),
    ("alignment", r"\(uintptr_t\)p\.[AB] \| ", ""),
    ("alignment", r"( \| )?\(uintptr_t\)p\.C( % \d+ == 0 && (?=\(p\.ldc))?", ""),
    ("alignment", r"(p\.lda|p\.ldb|p\.ldc|p\.k) \| ", ""),
    ("alignment", r" \| p\.n(?=\))", ""),
    ("alignment", r" (&&|\|\|) (p\.ldb|p\.n|ld) % 4 [!=]= 0", ""),
]

# How many of a kind each step has at least: a step that is written in another way must not lose its
# mutants unseen. From step 02 on there are tiles, which have bounds where they are read and stored.
FEWEST = {"k-bound": 1, "row-bound": 1, "column-bound": 1, "beta": 1, "scalar": 2}
FEWEST_WITH_TILES = {"barrier": 2, "k-bound": 4, "row-bound": 2, "column-bound": 2, "beta": 1, "scalar": 2}

# 15 copies and waits in one place. 13 and 19 pack, with a barrier, and multiply without.
PACKED = {**FEWEST_WITH_TILES, "k-bound": 3, "wait": 2, "fence": 1, "arrival": 2}
FEWEST_OF = {
    "01": FEWEST,
    "13": PACKED,
    "15": {**FEWEST_WITH_TILES, "barrier": 1, "product": 3},
    "19": {**PACKED, "wait": 3, "fence": 2, "product": 3},
}

HOST_KINDS = ("scalar", "alignment")  # these change no kernel


def without_comments(text):
    """The text with comments blanked out, every character in its place."""
    def blank(match):
        piece = match.group()
        return piece if piece.startswith('"') else re.sub(r"[^\n]", " ", piece)
    return steps.COMMENT_OR_STRING.sub(blank, text)


def mutants(step, path):
    """{"07-barrier-1": (line, text of the mutant), ...}"""
    text = steps.text(path)
    code = without_comments(text)
    counts = {}
    found = {}
    for kind, pattern, replacement in DELETIONS:
        for match in re.finditer(pattern, code):
            counts[kind] = counts.get(kind, 0) + 1
            line = text.count("\n", 0, match.start()) + 1
            found[f"{step}-{kind}-{counts[kind]}"] = (
                line, text[:match.start()] + match.expand(replacement) + text[match.end():])
    return found
