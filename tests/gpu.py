"""The GPU that the programs of the steps run on."""

import re
import subprocess

DEVICE = re.compile(r"^device   (.+), sm_\d+, \d+ SMs, driver (.+), CUDA \S+, cuBLAS \S+$", re.M)


def found_by(program):
    """(name, driver) as a program's records have them, or None where there is no GPU: the emulator
    measures nothing."""
    listing = subprocess.run([program, "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    match = DEVICE.search(listing.stdout)
    return match.groups() if match else None
