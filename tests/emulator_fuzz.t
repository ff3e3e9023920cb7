#!/usr/bin/env python3
"""Damaged PTX does not crash the emulator: see tests/emulator_fuzz.c, which prints the results."""

import glob
import os

import steps

TEXTS, SECONDS = 800, 25

os.chdir(steps.ROOT)
objects = sorted(glob.glob("build/tests/emulator/*.o") + glob.glob("build/steps/*.o"))
program = os.path.join("build", "tests", "emulator_fuzz")
os.execv(program, [program, "1", str(TEXTS), str(SECONDS), *objects])
