#!/usr/bin/env python3
"""`make banksNN`: a listing counted by hand, and the machine code of a step."""

import csv
import os
import stat
import sys
import tempfile

import banks
import sass
import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "docs"))
import listings  # noqa: E402

# A loop over tiles around the main loop, as cuobjdump prints them. By hand, for the six FFMA of the
# main loop, the registers read from (even, odd) banks:
#   R8: all of R2, R3 and R8                                                          (2, 1)
#   R9: R2 is at hand, as it is in its place again; R5 and R9                         (0, 2)
#   R10: R2, which was at hand once and was not marked again; R6 and R10              (3, 0)
#   R11: R2 and R6 are at hand; R11                                                   (0, 1)
#   R12: R14 and R15; a constant is no register                                       (1, 1)
#   R13: R16; R6 is still at hand, as R15 is of the other bank; RZ is no register     (1, 0)
LISTING = """
code for sm_90
        Function : _ZN37_INTERNAL_d2_01_naive_cu_1a10step_sgemmE5sgemm
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   FFMA R1, R1, R1, R1 ;
        /*0020*/                   LDS.128 R4, [R0] ;
        /*0030*/                   FFMA R8, R2.reuse, R3.reuse, R8 ;
        /*0040*/                   LDS.U.128 R20, [R0+0x10] ;
        /*0050*/                   FFMA R9, R2, R5, R9 ;
        /*0060*/               @P0 FFMA R10, R2.reuse, R6.reuse, R10 ;
        /*0070*/                   FFMA R11, R2, R6.reuse, R11 ;
        /*0080*/                   FFMA R12, R14, R15, c[0x0][0x160] ;
        /*0090*/                   FFMA R13, -R16, R6, RZ ;
        /*00a0*/              @!P1 BRA 0x20 ;
        /*00b0*/                   FFMA R17, R17, R18, RZ ;
        /*00c0*/               @P2 BRA 0x10 ;
        /*00d0*/                   EXIT ;
"""
READS = [(2, 1), (0, 2), (3, 0), (0, 1), (1, 1), (1, 0)]


def equal(got, wanted, name):
    return tap.ok(got == wanted, name, f"got    {got!r}\nwanted {wanted!r}")


def check_by_hand():
    [(kernel, instructions)] = sass.kernels(LISTING).items()
    loop = sass.main_loop(instructions)
    equal(kernel, "step_sgemm", "the kernel's name")
    equal([operation for operation, _ in loop], ["LDS.128", "FFMA", "LDS.U.128"] + 5 * ["FFMA"] + ["BRA"],
          "the main loop is the inner one, from the branch's target to the branch")  # fmt: skip
    equal(banks.reads(loop), READS, "what each FFMA reads from the banks")
    wanted = {"architecture": 90, "instructions": 9, "ffma": 6, "source_operands": 18, "reuse_operands": 5,
              "even_reads": 7, "odd_reads": 5, "least_bank_cycles": 1.1667, "most_bank_cycles": 1.6667}  # fmt: skip
    equal(banks.examine(loop, 90), wanted, "bank cycles: the larger of 7 and 5 of 6, and 2 + 2 + 3 + 1 + 1 + 1 of 6")
    wanted.update(architecture=80, least_bank_cycles=2, most_bank_cycles=2.1667)
    equal(banks.examine(loop, 80), wanted, "where an FFMA takes two cycles, only three of one bank cost more")
    equal(sass.main_loop([each for each in instructions if each[0] != 0xA0])[0][0], "FFMA", "without the inner loop it is the outer")
    equal(sass.main_loop(instructions[:2]), [], "a kernel without a loop has none")


def run(printed, folder):
    """banks.py, with a stand-in for cuobjdump that prints this."""
    for name, text in (("cuobjdump", f"cat <<'END'\n{printed}\nEND\n"), ("nvdisasm", "")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    command = ["python3", "tests/banks.py", folder, os.path.join(folder, "banks.csv"), "loops/01.cubin"]
    return tap.run(command, environment={"PATH": "/usr/bin:/bin", "CUOBJDUMP": os.path.join(folder, "cuobjdump")})


def check_program():
    with tempfile.TemporaryDirectory() as folder:
        result = run(LISTING, folder)
        lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
        wanted = ["01 step_sgemm, sm_90: 9 instructions in the main loop, 6 of them FFMA",
                  "operands marked .reuse 5 of 18, 28 %",
                  "registers read, an FFMA 2.00: 1.17 even, 0.83 odd",
                  "bank cycles, an FFMA 1.17 if reads even out, 1.67 if they do not",
                  "other instructions 0.500 an FFMA: LDS.128 2, BRA 1"]  # fmt: skip
        equal(lines, wanted, "what is printed")
        with open(os.path.join(folder, "banks.csv"), encoding="utf-8", newline="") as file:
            [row] = csv.DictReader(file)
        equal((row["step"], row["kernel"], row["even_reads"]), ("01", "step_sgemm", "7"), "and written")
        result = run("code for sm_90\nFunction : step_none\n/*0000*/ EXIT ;", folder)
        tap.ok(result.returncode == 1 and result.stderr.count("\n") == 1 and "no kernel with an FFMA in a loop" in result.stderr,
               "a file without a loop is refused in a line", result.stderr)  # fmt: skip


def same_release():
    """Whether this nvcc is the one whose machine code the documents show."""
    try:
        return listings.release() == steps.text(os.path.join(listings.FOLDER, "release")).strip()
    except listings.Missing:
        return False


def check_step():
    """The rule accounts for every mark: a .reuse is a read that need not be made."""
    result = tap.make("-s", "banks07")
    if result.returncode and "cuobjdump" in result.stderr:
        tap.skip("the main loop of step 07", "cuobjdump is missing")
        return
    tap.ok(result.returncode == 0 and "07 step_sgemm, sm_90" in result.stdout, "make banks07", result.stderr)
    with open(os.path.join(steps.ROOT, "build", "banks.csv"), encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    saved = int(row["source_operands"]) - int(row["even_reads"]) - int(row["odd_reads"])
    equal((int(row["ffma"]), saved), (512, int(row["reuse_operands"])), "in step 07 each .reuse saves one read")
    if not same_release():
        tap.skip("docs/results has these figures", "they are another nvcc's")
        return
    committed = os.path.join(steps.ROOT, "docs", "results", "nvidia-h200", "banks.csv")
    with open(committed, encoding="utf-8", newline="") as file:
        equal(next(each for each in csv.DictReader(file) if each["step"] == "07"), row, "docs/results has these figures")


def check_message():
    result = tap.make("banks10")
    tap.ok(result.returncode == 2 and "no step or experiment" in result.stderr, "make banks10: it has no kernel of its own", result.stderr)


check_by_hand()
check_program()
check_step()
check_message()
tensor = [(0, "MOV", "R0, R1"), (16, "HMMA.1688.F32.TF32", "R0, R4, R8, R0"), (32, "BRA", "0x10")]
tap.ok(sass.main_loop(tensor) == [each[1:] for each in tensor[1:]], "a loop of tensor cores is a main loop")
tap.finish()
