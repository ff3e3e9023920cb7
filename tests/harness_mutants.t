#!/usr/bin/env python3
"""Verification must be able to fail: every mutant is rejected, and gets no rate; right steps pass."""

import os
import re

from harness import CUDA, MUTANTS, USAGE, WRONG, equal, one_line, run
from steps import ROOT
from tap import finish, make, ok

# Larger than a tile of 32x32 in m and n, no multiple of it, with leading dimensions of its own.
SIZE = ["-m", "45", "-n", "70", "-k", "13"]
LOOSE = SIZE + ["--lda", "17", "--ldb", "75", "--ldc", "78"]

# Mutant, options that bring it out, and what the report must say.
WRONG_STEPS = [
    ("nan_everywhere", SIZE, ["C[0][0]", "nan", "3150 of 3150"]),
    ("nan_everywhere", ["-s", "1"], ["C[0][0]", "nan", "1 of 1"]),
    ("one_wrong_element", SIZE, ["C[44][69]", "1 of 3150", "1 of 6 tiles", "(1, 2)"]),
    ("one_wrong_element", ["-s", "1"], ["C[0][0]", "1 of 1"]),
    ("one_wrong_element", ["-m", "4", "-n", "4", "-k", "5000"], ["C[3][3]"]),
    ("one_wrong_element", ["-m", "400000", "-n", "3", "-k", "2"],
     ["C[399999][2]", "1 of 1200000", "1 of 12500 tiles", "(12499, 0)"]),
    ("unwritten_tail", SIZE, ["C[44][0]", "70 of 3150", "3 of 6 tiles", "not written"]),
    ("unwritten_tail", SIZE + ["--beta", "1"], ["C[44][0]"]),
    ("dropped_last_k", SIZE, ["3150 of 3150", "C[0][0]"]),
    ("dropped_last_k", ["-m", "3", "-n", "3", "-k", "4096"], ["C[0][0]"]),
    ("doubled_product", SIZE, ["C[44][69]", "1 of 3150"]),
    ("doubled_product", ["-m", "3", "-n", "3", "-k", "4096"], ["C[2][2]", "1 of 9"]),
    ("swapped_m_n", ["-m", "33", "-n", "32", "-k", "9"], []),
    ("swapped_m_n", ["-m", "32", "-n", "33", "-k", "9"], []),
    ("swapped_columns", SIZE, ["C[0][0]", "exact pass"]),
    ("swapped_rows", SIZE, ["C[0][0]", "exact pass"]),
    ("lda_is_k", LOOSE, ["C[1][0]"]),
    ("ldb_is_n", LOOSE, ["C[0][0]"]),
    ("ldc_is_n", LOOSE, []),
    ("alpha_ignored", SIZE + ["--alpha", "2"], ["C[0][0]"]),
    ("alpha_ignored", SIZE + ["--alpha", "0.3"], ["C[0][0]"]),
    ("alpha_ignored", SIZE + ["--alpha", "0"], ["C[0][0]"]),
    ("beta_ignored", SIZE + ["--beta", "1"], ["C[0][0]"]),
    ("beta_ignored", SIZE + ["--beta", "1e-3"], ["C[0][0]"]),
    ("beta_zero_reads_c", SIZE, ["C[0][0]", "nan"]),
    ("beta_zero_reads_c", SIZE + ["--alpha", "0"], ["C[0][0]", "nan"]),
    ("alpha_zero_reads_a", SIZE + ["--alpha", "0"], ["C[0][0]", "nan", "1 of 3150"]),
    ("alpha_zero_reads_a", SIZE + ["--alpha", "0", "--beta", "2"], ["C[0][0]", "nan"]),
    ("tf32", ["-m", "32", "-n", "32", "-k", "2048"], ["rounding"]),
    ("tf32", ["-s", "64"], ["rounding"]),
    ("two_of_three_tf32", ["-s", "64"], ["rounding"]),
    ("two_of_three_tf32", ["-m", "32", "-n", "32", "-k", "2048"], ["rounding"]),
    ("three_tf32_as_float32", SIZE, ["special", "nan, wanted"]),
    ("nan_leaks_in_three_tf32", SIZE, ["special", "nan"]),
    ("infinity_clamped_in_three_tf32", SIZE, ["special", "inf"]),
    ("masked_by_zero", SIZE, ["nan"]),
    ("masked_by_zero", LOOSE, ["nan", "C[0][0]"]),
    ("skips_zeros_of_a", SIZE, ["special"]),
    ("skips_zeros_of_b", SIZE, ["special"]),
    ("nan_leaks", SIZE, ["special", "nan"]),
    ("clamps_infinity", SIZE, ["special", "inf"]),
    ("nan_becomes_zero", SIZE, ["special", "nan"]),
    ("writes_c_padding", LOOSE, ["row 0, column 70 of C", "between two rows"]),
    ("writes_before_c", SIZE, ["of C", "before the first row"]),
    ("writes_before_c", SIZE + ["--offset", "1,2,3"], ["of C", "before the first row"]),
    ("writes_after_c", SIZE, ["of C", "behind the last element"]),
    ("writes_after_c", LOOSE, ["of C", "behind the last element"]),
    ("writes_a", LOOSE, ["row 44, column 12 of A", "an input"]),
    ("writes_b_padding", LOOSE, ["row 0, column 70 of B", "between two rows"]),
    ("right_only_once", SIZE, ["C[44][69]"]),
    ("launches_nothing", SIZE, ["C[0][0]", "nan", "3150 of 3150"]),
    ("launches_nothing", SIZE + ["--beta", "1"], ["C[0][0]"]),
]

# Right while it is verified, wrong when it is timed: only the check of the last timed run sees it.
WRONG_WHEN_TIMED = [
    ("repeats_first_result", SIZE),
    ("repeats_first_result", LOOSE + ["--beta", "0.5", "--repeats", "1"]),
    ("wrong_when_timed", SIZE),
    ("wrong_when_timed", SIZE + ["--beta", "0.5"]),
    ("wrong_when_timed", SIZE + ["--warm"]),
    ("wrong_when_timed", SIZE + ["--repeats", "1"]),
    ("wrong_when_timed", ["--sweep", "40:40:1", "--repeats", "4"]),
]


def rates(text):
    """Numbers with a point in the table's rows: a rate, a ratio or a time."""
    return [line for line in text.splitlines() if re.match(r"^[\s\d]+\S*\s.*\d\.\d", line)]


def check_rejected(mutant, options, words, name):
    result = run(mutant, *options)
    report = result.out + result.err
    missing = [word for word in words if word not in report]
    ok(result.code == WRONG and "WRONG" in report and not missing and not rates(result.out),
       name, f"missing {missing}\n{result!r}")


def check_wrong_steps():
    for mutant, options, words in WRONG_STEPS:
        for mode in ([], ["--verify-only"]):
            check_rejected(mutant, options + mode, words, " ".join([mutant, *options, *mode]))


def check_wrong_when_timed():
    for mutant, options in WRONG_WHEN_TIMED:
        check_rejected(mutant, options, ["C[", "timed"], " ".join([mutant, *options]))
    result = run("wrong_when_timed", *SIZE, "--verify-only")
    equal(result.code, 0, "wrong_when_timed passes where nothing is timed")


def check_later_sizes():
    """A sweep goes on after a size that is wrong."""
    result = run("tf32", "--sweep", "1:9:4", "--repeats", "1")
    ok(result.code == WRONG and result.out.count("WRONG") == 3 and result.err.count("WRONG") == 3,
       "a sweep goes on after a wrong size", result)


def check_launch_errors():
    for mutant, error in [("invalid_configuration", "cudaErrorInvalidConfiguration"),
                          ("illegal_address", "cudaErrorIllegalAddress"),
                          ("prepare_fails", "cudaErrorMemoryAllocation"),
                          ("release_fails", "cudaErrorInvalidValue")]:
        for mode in ([], ["--verify-only"], ["--no-verify"]):
            result = run(mutant, *SIZE, *mode)
            ok(result.code == CUDA and one_line(result.err) and error in result.err
               and not rates(result.out), " ".join([mutant, *mode]), result)


def check_no_verify():
    result = run("nan_everywhere", *SIZE, "--no-verify")
    ok(result.code == 0 and "not verified" in result.out and rates(result.out),
       "--no-verify prints a rate, and says what it is worth", result)


def check_debug_build():
    built = make("build/tests/mutants-debug")
    if not ok(built.returncode == 0, "a debug build", built.stdout + built.stderr):
        return
    result = run("correct", *SIZE, program=MUTANTS + "-debug")
    ok(result.code == 0 and "exact" in result.out and "debug build" in result.out
       and not rates(result.out), "a debug build verifies and prints no rate", result)
    result = run("one_wrong_element", *SIZE, program=MUTANTS + "-debug")
    ok(result.code == WRONG, "a debug build rejects what is wrong", result)
    for option in ("--no-verify", "--power"):
        result = run("correct", *SIZE, option, program=MUTANTS + "-debug")
        ok(result.code == USAGE and one_line(result.err), f"a debug build refuses {option}", result)


def shapes():
    with open(os.path.join(ROOT, "tests", "shapes.tsv"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def check_shapes():
    names = ["-m", "-n", "-k", "--lda", "--ldb", "--ldc", "--alpha", "--beta"]
    for *values, why in shapes():
        options = [word for pair in zip(names, values) for word in pair]
        result = run("correct", *options, "--verify-only")
        ok(result.code == 0 and "exact" in result.out and not result.err, f"correct: {why}", result)


def check_correct():
    """Scalars, offsets and leading dimensions; other orders of summation."""
    for alpha, beta in [(1, 0), (1, 1), (0, 0), (0, 1), (-1.5, 0.5), (0.3, 0.7), (1e-3, 1e3),
                        (1e26, 0), (-1e26, 1e26), (1.2e-38, 0), (1, 1.2e-38), (-0.0, -0.0), (16777217, 0)]:
        result = run("correct", *LOOSE, "--alpha", alpha, "--beta", beta, "--verify-only")
        ok(result.code == 0, f"correct: alpha {alpha}, beta {beta}", result)
    for offset in ["0,0,0", "1,2,3", "3,1,0", "31,33,65", "100000,0,1"]:
        result = run("correct", *LOOSE, "--offset", offset, "--verify-only")
        ok(result.code == 0, f"correct: offset {offset}", result)
    for mutant in ["correct_backwards", "correct_negative_zero", "correct_workspace", "correct_three_tf32"]:
        for options in (SIZE, LOOSE + ["--beta", "0.5"], ["-s", "128"], ["-s", "0"], ["-k", "0"],
                        ["-m", "2", "-n", "2", "-k", "20000"]):
            result = run(mutant, *(options + (["-m", "8", "-n", "8"] if options[0] == "-k" else [])),
                         "--verify-only")
            ok(result.code == 0, " ".join([mutant, *options]), result)
    result = run("correct_backwards", "-m", "40", "-n", "40", "-k", "2", "--alpha", "1.2e-38",
                 "--verify-only")
    ok(result.code == 0, "correct: results below the normal range", result)
    for seed in range(1, 9):
        result = run("correct", *LOOSE, "--seed", seed, "--alpha", "0.3", "--beta", "1",
                     "--verify-only")
        ok(result.code == 0, f"correct: seed {seed}", result)
    result = run("correct", *LOOSE, "--beta", "0.5", "--repeats", "30")
    ok(result.code == 0 and rates(result.out), "beta over 30 timed runs: C is restored", result)


check_wrong_steps()
check_wrong_when_timed()
check_later_sizes()
check_launch_errors()
check_no_verify()
check_debug_build()
check_shapes()
check_correct()
finish()
