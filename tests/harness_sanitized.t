#!/usr/bin/env python3
"""The harness under the compiler's own checks: memory errors, leaks and undefined behaviour."""

import os
import subprocess
import tempfile

import harness
import tap

OPTIONS = [
    ["--help"], ["--version"], ["--list"], ["-m"], ["-m", "x"], ["--sweep", "1:2:x"],
    ["--sweep", "8:100:1", "--ldb", "99"], ["-s", "8", "--ldc", "7"],
    ["-s", "1099511627776"], ["-s", "8", "--offset", "1099511627776,0,1"],
]
RUNS = [
    ["-s", "0"], ["-s", "1"], ["-m", "0", "-n", "5", "-k", "3"], ["-m", "5", "-n", "3", "-k", "0"],
    ["-m", "33", "-n", "65", "-k", "9", "--alpha", "0.3", "--beta", "1"],
    ["-m", "33", "-n", "65", "-k", "9", "--lda", "10", "--ldb", "70", "--ldc", "66", "--offset",
     "1,2,3"],
    ["-m", "7", "-n", "5", "-k", "3", "--alpha", "0", "--beta", "2"],
    ["-m", "3", "-n", "400000", "-k", "3", "--verify-only"],  # more than a staging buffer holds
    ["-s", "16", "--no-guards"], ["-s", "16", "--warm"],
    ["-s", "8", "--no-verify"], ["-s", "8", "--power"], ["--sweep", "1:41:20"],
    ["-s", "8", "--repeats", "1000"], ["-s", "8", "--seed", "1099511627776"],
]
MUTANTS = ["nan_everywhere", "one_wrong_element", "unwritten_tail", "writes_c_padding",
           "writes_before_c", "writes_after_c", "writes_a", "tf32", "wrong_when_timed",
           "clamps_infinity", "illegal_address", "prepare_fails"]


def can_sanitize():
    """False where the compiler comes without the libraries for it."""
    command = [os.environ.get("CC", "cc"), "-fsanitize=address,undefined", "-x", "c", "-", "-o",
               "/dev/null"]
    return subprocess.run(command, input=b"int main(void) { return 0; }\n", check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def check(codes, mutant, *options, **settings):
    result = harness.run(mutant, *options, program=harness.MUTANTS + "-sanitized",
                         **{"FAKE_STEP_MS": 50, "FAKE_CUBLAS_MS": 50, **settings})
    tap.ok(result.code in codes and "anitizer" not in result.err
           and "runtime error" not in result.err, " ".join([mutant, *options]), result)


if not can_sanitize():
    tap.skip_all("the C compiler has no -fsanitize=address,undefined (package: libasan, libubsan)")
built = tap.make("-j2", "build/tests/mutants-sanitized")
if tap.ok(built.returncode == 0, "it builds", built.stdout + built.stderr):
    for line in OPTIONS:
        check((0, harness.USAGE, harness.CUDA), "correct", *line)
    with tempfile.TemporaryDirectory() as folder:
        outputs = ["--csv", os.path.join(folder, "csv"), "--json", os.path.join(folder, "json")]
        for line in RUNS:
            check((0,), "correct_workspace", *line, *outputs)
    for name in MUTANTS:
        check((harness.WRONG, harness.CUDA), name, "-m", "33", "-n", "65", "-k", "9", "--ldc", "70")
    check((harness.CUDA,), "correct", "-s", "8", FAKE_DEVICES=0)
    check((harness.CUDA,), "correct", "-s", "8", FAKE_FAIL="cudaMalloc:3:2")
    check((harness.CUDA,), "correct", "-s", "8", FAKE_STEP_MS=0)
tap.finish()
