"""The Test Anything Protocol, which prove reads: one line a test."""

import os
import signal
import subprocess
import sys

import steps

# A shell starts what it leaves in the background with Ctrl-C ignored, and a program that is tested would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

_count = 0
_failures = 0


def ok(passed, name, detail=""):
    """Reports one test and returns `passed`; `detail` is shown where it failed."""
    global _count, _failures
    _count += 1
    print(f"{'ok' if passed else 'not ok'} {_count} - {name}", flush=True)
    if not passed:
        _failures += 1
        for line in str(detail).splitlines():
            print(f"#   {line}", flush=True)
    return passed


def skip(name, reason):
    global _count
    _count += 1
    print(f"ok {_count} - {name} # SKIP {reason}", flush=True)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def finish():
    """Prints the plan and ends the program."""
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failures else 0)


def run(command, folder=steps.ROOT, environment=None):
    """Runs a command to its end, with this environment or with ours."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def make(*arguments, folder=steps.ROOT):
    """Runs make as a person would, whatever make the test itself runs under."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return run(["make", *arguments], folder, outer)
