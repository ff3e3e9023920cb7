#!/usr/bin/env python3
"""Options: every bad form is one line on stderr, nothing on stdout, exit 2; the good ones work."""

import os
import tempfile

from harness import CUDA, USAGE, equal, one_line, run
from tap import finish, ok

INTEGERS = ["-m", "-n", "-k", "-s", "--lda", "--ldb", "--ldc", "--repeats", "--seed", "--device",
            "--schedule", "--shared-base", "--line"]
NUMBERS = ["--alpha", "--beta"]
VALUED = INTEGERS + NUMBERS + ["--offset", "--sweep", "--csv", "--json", "--figure"]
FLAGS = ["--verify-only", "--no-verify", "--warm", "--power", "--list", "--help", "--version",
         "--emulate", "--lines"]


def joined(option, value):
    """--opt=value, or -oVALUE for the short ones."""
    return option + value if len(option) == 2 else f"{option}={value}"


def bad_forms():
    """Every bad command line that this test knows, with a word that its message must hold."""
    for option in VALUED:
        yield [option], option
    for option in INTEGERS:
        for value in ["", "x", "1x", "1 ", "1.5", "1e3", "-1", "--", "0x10", "9223372036854775808",
                      "99999999999999999999999", "nan", "inf", "1,2"]:
            yield [option, value], option
    for option in NUMBERS:
        for value in ["", "x", "1x", "1 ", "nan", "inf", "-inf", "1e39", "1e999", "1.1e26",
                      "-1e27", "1e-40", "0x1p-140", "1,5", "--"]:
            yield [option, value], option
    for value in ["", "1", "1,2", "1,2,3,4", "1,,3", "-1,0,0", "1,2,x", "1,2,3x", "1;2;3",
                  "0,0,99999999999999999999"]:
        yield ["--offset", value], "--offset"
    for value in ["", "1", "1:2", "1:2:3:4", "8:4:1", "1:8:0", "1:8:-1", "-1:8:1", "a:b:c", "1:8:1x",
                  "1::1", "1:99999999999999999999:1"]:
        yield ["--sweep", value], "--sweep"
    for option in ["-m", "-n", "-k", "-s"]:
        yield ["--sweep", "1:8:1", option, "8"], "--sweep"
        yield [option, "8", "--sweep", "1:8:1"], "--sweep"
    for flag in FLAGS:
        yield [flag + "=1"], flag
    yield ["--verify-only", "--no-verify"], "--no-verify"
    yield ["--no-verify", "--verify-only"], "--no-verify"
    yield ["--power", "--verify-only"], "--power"
    yield ["--figure", "build/figure.svg"], "--line"
    yield ["--line", "3"], "--figure"
    yield ["--line", "0", "--figure", "build/figure.svg"], "--line"
    for both in ("--csv", "--json"):
        yield [both, "build/x", "--line", "3", "--figure", "build/x"], "same file"
    yield ["--line", "3", "--figure", "build/figure"], ".svg"
    yield ["--line", "3", "--figure", ".svg"], ".svg"
    for emulated in (["--lines"], ["--figure", "build/figure.svg", "--line", "3"], ["--schedule", "1"],
                     ["--shared-base", "0"]):
        yield emulated, "--emulate"  # there is a GPU
    yield ["--repeats", "0"], "--repeats"
    yield ["--repeats", "1001"], "--repeats"
    yield ["--alpha", "1e-46"], "--alpha"
    yield ["-m", "4", "-n", "5", "-k", "6", "--lda", "5"], "6"
    yield ["-m", "4", "-n", "5", "-k", "6", "--ldb", "4"], "5"
    yield ["-m", "4", "-n", "5", "-k", "6", "--ldc", "4"], "5"
    yield ["-m", "4", "-n", "5", "-k", "0", "--lda", "0"], "1"
    yield ["--lda", "4095"], "4096"  # of the default sizes
    yield ["--sweep", "8:100:1", "--ldb", "99"], "100"
    yield ["--csv", "/nowhere/at/all.csv"], "/nowhere/at/all.csv"
    yield ["--json", "/nowhere/at/all.json"], "/nowhere/at/all.json"
    yield ["--csv", "/"], "/"
    for extra in ["8", "file", "-", "--"]:
        yield [extra], ""
    for unknown in ["--unknown", "--", "-x", "--Help", "---help", "-mm"]:
        yield [unknown, "1"], ""
    for near in ["--verify", "--no", "--re", "--lda2"]:  # no abbreviations
        yield [near, "8"], near


def check_bad_forms():
    for options, word in bad_forms():
        result = run("correct", *options)
        ok(result.code == USAGE and result.out == "" and one_line(result.err)
           and word in result.err, "bad: " + " ".join(repr(o) for o in options), result)


def check_without_device():
    """Help, version, list and bad usage answer on a machine without a GPU."""
    for options in (["--help"], ["--version"], ["--list"]):
        result = run("correct", *options, FAKE_DEVICES=0)
        ok(result.code == 0 and result.out and not result.err, f"{options[0]} without a device",
           result)
        ok(max(map(len, result.out.splitlines())) <= 100, f"{options[0]} fits 100 columns",
           result.out)
    result = run("correct", "--bad", FAKE_DEVICES=0)
    ok(result.code == USAGE and one_line(result.err), "bad usage without a device", result)
    result = run("correct", "-s", "8", FAKE_DEVICES=0)
    ok(result.code == CUDA and result.out == "" and one_line(result.err)
       and "cudaErrorNoDevice" in result.err, "no device is one line, exit 3", result)


def check_help():
    text = run("correct", "--help").out
    for option in VALUED + FLAGS:
        ok(option in text, f"--help names {option}", text)
    version = run("correct", "--version").out
    equal(version.count("\n"), 1, "--version is one line")


def check_list():
    text = run("correct", "--list").out
    for word in ["126", "32x32x8", "256 threads"]:
        ok(word in text, f"--list holds {word}", text)


def check_good_forms():
    """Both ways to give a value, and the order of options, make no difference."""
    for option, value in [("-m", "5"), ("-n", "6"), ("-k", "7"), ("--lda", "9"), ("--ldb", "9"),
                          ("--ldc", "9"), ("--alpha", "-2.5e-1"), ("--beta", "3"),
                          ("--offset", "1,2,3"), ("--seed", "1099511627776"),
                          ("--device", "0"), ("--repeats", "3")]:
        rest = [] if option == "-s" else ["-s", "8"]
        for form in ([option, value], [joined(option, value)]):
            if len(form) == 1 and len(option) == 2:
                continue
            result = run("correct", *rest, *form)
            ok(result.code == 0 and not result.err, "good: " + " ".join(form), result)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        result = run("correct", "-s", "8", f"--csv={file.name}")
        ok(result.code == 0, "good: --csv=FILE", result)
    equal(run("correct", "-s", "8", "-m", "5", "--verify-only").out,
          run("correct", "-m", "5", "-s", "8", "--verify-only").out, "-s and -m in either order")
    result = run("correct", "-s", "8", "--csv", "/dev/null", "--json", "/dev/null")
    ok(result.code == 0, "a device may be both files", result)
    result = run("correct", "-s", "8", "--device", "1")
    ok(result.code in (USAGE, CUDA) and result.out == "" and one_line(result.err),
       "a device that is not there is one line", result)


def check_same_file():
    """One file under two names: refused, and what it held is still there."""
    with tempfile.TemporaryDirectory() as folder:
        path, link = os.path.join(folder, "file"), os.path.join(folder, "link")
        os.symlink(path, link)
        for other in (path, os.path.join(folder, ".", "file"), link):
            result = run("correct", "-s", "8", "--csv", other, "--json", path)
            ok(result.code == USAGE and result.out == "" and one_line(result.err)
               and "same file" in result.err, f"--csv and --json are one new file: {other}", result)
            with open(path, "w", encoding="utf-8") as file:
                file.write("kept")
            run("correct", "-s", "8", "--csv", other, "--json", path)
            with open(path, encoding="utf-8") as file:
                equal(file.read(), "kept", "and it is refused before it is emptied")
            os.remove(path)


check_bad_forms()
check_same_file()
check_without_device()
check_help()
check_list()
check_good_forms()
finish()
