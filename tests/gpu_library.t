#!/usr/bin/env python3
"""On a GPU: build/libsgemm.a through its examples, its calls and many threads at once."""

import tap

if "emulated" in tap.run(["./step10", "--list"]).stdout:
    tap.skip_all("the library on a GPU: no CUDA device (library.t runs it on the emulator)")

for command in (
    "build/docs/examples/row_major",
    "build/docs/examples/column_major",
    "build/tests/library_calls",
    "build/tests/library_threads",
    "build/tests/library_threads 8 300 130",
    "build/tests/library_threads 16 60 1024",
    "build/tests/library_cost",
):
    result = tap.run(command.split())
    failed = [line for line in result.stdout.splitlines() if line.startswith(("not ok", "#", "Bail"))]
    tap.ok(result.returncode == 0, command, "\n".join(failed) + result.stderr)
    if command.endswith("library_cost"):
        print("#", result.stdout.strip().replace("\n", "\n# "))
tap.finish()
