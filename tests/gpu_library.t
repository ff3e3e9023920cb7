#!/usr/bin/env python3
"""On a GPU: build/libsgemm.a through its examples, its calls and many threads at once."""

import tap

if "emulated" in tap.run(["./step18", "--list"]).stdout:
    tap.skip_all("the library on a GPU: no CUDA device (library.t runs it on the emulator)")

for command in (
    "build/docs/examples/row_major",
    "build/docs/examples/column_major",
    "build/tests/library_calls",
    "build/tests/library_threads",
    "build/tests/library_threads 8 300 130",
    "build/tests/library_threads 16 60 1024",
    "build/tests/gpu_calls",
):
    result = tap.run(command.split())
    failed = [line for line in result.stdout.splitlines() if line.startswith(("not ok", "#", "Bail"))]
    tap.ok(result.returncode == 0, command, "\n".join(failed) + result.stderr)
    if command.endswith("gpu_calls"):
        print("\n".join(line for line in result.stdout.splitlines() if line.startswith("# ")))
tap.finish()
