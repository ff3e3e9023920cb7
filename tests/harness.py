"""What the tests of the harness share: build/tests/mutants, run with options."""

import os
import subprocess

import steps
import tap

MUTANTS = os.path.join(steps.ROOT, "build", "tests", "mutants")

# Exit codes, as in common/check.h.
WRONG, USAGE, CUDA, SKIPPED, INTERRUPTED = 1, 2, 3, 77, 130


class Result:
    """The exit code and both outputs of one run of a program."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\nstdout:\n{self.out}stderr:\n{self.err}"


def environment(**settings):
    """The environment without settings of ours or of colour, and then these."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("FAKE_") and name != "NO_COLOR"}
    kept.update({name: str(value) for name, value in settings.items()})
    return kept


def run(mutant, *options, program=MUTANTS, stdout=subprocess.PIPE, **settings):
    """Runs a mutant to its end; FAKE_... and other environment variables by keyword."""
    done = subprocess.run([program, mutant, *map(str, options)], stdin=subprocess.DEVNULL,
                          stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=environment(**settings), check=False)
    return Result(done.returncode, done.stdout or "", done.stderr)


def one_line(text):
    """True where text is one line that names the program."""
    return text.count("\n") == 1 and text.endswith("\n") and text.startswith("step99: ")


def equal(got, wanted, name):
    return tap.ok(got == wanted, name, f"got    {got!r}\nwanted {wanted!r}")
