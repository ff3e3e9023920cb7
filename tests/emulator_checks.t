#!/usr/bin/env python3
"""The emulator's checks: each kernel of tests/emulator/ that is wrong is caught, with a message that
says what and where; and its right twins are not, whatever the schedule and the shared base."""

import os
import re

import steps
import tap

RIGHT = None  # a case that must pass

CASES = {
    "arithmetic": {
        "integers": RIGHT,
        "floats": RIGHT,
        "bits": RIGHT,
        "divergence": RIGHT,
    },
    "calls": {
        "recursion": RIGHT,
        "deep_recursion": RIGHT,
        "too_deep": r"call: 1024 calls deep, which is as deep as the emulator goes; at .*calls.cu:\d+",
        "structs": RIGHT,
        "pointers": RIGHT,
        "bad_pointer": r"call: 0x0 is the address of no function",
        "shared_in_function": RIGHT,
        "shared_pools": RIGHT,
        "variables": RIGHT,
        "switches": RIGHT,
        "indexed_parameter": RIGHT,
        "assertion_holds": RIGHT,
        "local_array": RIGHT,
        "local_array_unwritten": r"uninitialized: reads local memory .* local address 0x1c",
        "local_array_past_end": r"out of bounds: writes 4 bytes at local address 0x20 of 32",
    },
    "memory": {
        "in_bounds": RIGHT,
        "read_past_end": r"out of bounds: reads 4 bytes at 0x1000000000190, 0 bytes past the end of "
        r"the allocation of 400 bytes at 0x1000000000000; .*thread \(100,0,0\)",
        "read_before_start": r"out of bounds: .* 4 bytes before the allocation of 400 bytes",
        "read_far_away": r"out of bounds: .* 1073741424 bytes past the end",
        "read_null": r"out of bounds: reads 4 bytes at 0x0",
        "within_limit": RIGHT,
        "outside_limit": r"out of bounds: .* past the end of the middle, 200 bytes",
        "aligned_global": RIGHT,
        "misaligned_global": r"misaligned: an access to 16 bytes at 0x1000000000004",
        "shared_in_bounds": RIGHT,
        "shared_past_end": r"out of bounds: reads 4 bytes at shared address 0x500, 0 bytes past",
        "shared_before_start": r"out of bounds: .* shared address 0x3fc, 4 bytes before",
        "aligned_shared": RIGHT,
        "misaligned_shared": r"misaligned: an access to 16 bytes at 0x408",
        "use_after_free": r"use after free: .* in the allocation of 128 bytes",
        "written_shared": RIGHT,
        "unwritten_shared": r"uninitialized: reads shared memory .* 252 bytes into tile",
        "written_local": RIGHT,
        "dynamic_shared": RIGHT,
        "no_dynamic_shared": r"out of bounds: writes 4 bytes at .* \(the launch asked for no dynamic shared memory",
        "local_in_bounds": RIGHT,
        "local_past_end": r"out of bounds: writes 4 bytes at local address 0x14 of 20",
        "unwritten_local": r"uninitialized: reads local memory .* local address 0x3c",
        "written_global": RIGHT,
        "unwritten_global": r"uninitialized: reads global memory",
        "copy_of_written": RIGHT,
        "copy_of_unwritten": r"uninitialized: .* 12 bytes into",
        "written_byte": RIGHT,
        "unwritten_bytes": r"uninitialized: .* 0 bytes into the allocation of 8 bytes",
    },
    "races": {
        "barrier_between": RIGHT,
        "no_barrier": r"(uninitialized|race): ",
        "two_barriers": RIGHT,
        "one_barrier": r"race: .* thread \(\d+,0,0\) (wrote|read) at tests/emulator/races.cu:\d+ "
        r"\(no barrier lies between\): shared address 0x[0-9a-f]+, \d+ bytes into tile",
        "read_by_all_lanes": r"race: writes over what other lanes of this warp read at \S*races.cu:\d+ \(no barrier",
        "count_without_atomic": r"race: writes over what thread \(0,0,0\) read .*\(several threads change the "
        r"same place, which takes an atomic\).*thread \(1,0,0\)",
        "sync_in_warp": RIGHT,
        "sync_in_halves": RIGHT,
        "no_sync_in_warp": r"race: ",
        "same_value": RIGHT,
        "different_values": r"race: lanes 0 and 1 store different values to the same address",
        "separate_bytes": RIGHT,
        "global_barrier": RIGHT,
        "global_no_barrier": r"race: .* in block \(0,0,0\)",
        "blocks_apart": RIGHT,
        "blocks_overlap": r"race: writes over what .* wrote in block .*blocks of one launch",
        "own_block": RIGHT,
        "other_block": r"race: .*blocks of one launch have no order",
        "two_launches": RIGHT,
    },
    "barriers": {
        "all_wait": RIGHT,
        "no_one_waits": RIGHT,
        "half_warp_waits": r"barrier: waits for thread \(16,0,0\), which has ended",
        "whole_warps_wait": r"barrier: waits for thread \(64,0,0\), which has ended",
        "some_end": r"barrier: waits for thread \(96,0,0\), which has ended",
        "none_end": RIGHT,
        "different_barriers": r"barrier: waits for thread \(64,0,0\), which is at another barrier at "
        r"tests/emulator/barriers.cu:\d+; at tests/emulator/barriers.cu:\d+ \(PTX line \d+: bar.sync",
        "same_barrier": RIGHT,
        "diverged_lanes_meet": RIGHT,
        "mask_that_fits": RIGHT,
        "mask_lacks_caller": r"barrier: a lane calls __syncwarp with the mask 0x000000ff",
        "pairs_apart": RIGHT,
        "pairs_mixed": r"(uninitialized|race): ",
        "producers": RIGHT,
        "full_too_early": r"(uninitialized|race): ",
        "empty_too_early": r"race: ",
        "never_empty": r"race: ",
        "counts_that_differ": r"barrier: number 3 ",
        "warp_missing": r"barrier: number 3 waits for 96 threads, of which 32 never come",
        "no_whole_warps": r"barrier: 40 threads are no whole number of warps",
        "combinations": RIGHT,
        "halves_apart": RIGHT,
        "halves_mixed": r"(uninitialized|race): ",
        "halves_together": RIGHT,
        "rounds_apart": RIGHT,
        "rounds_mixed": r"race: ",
    },
    "warps": {
        "shuffles": RIGHT,
        "votes": RIGHT,
        "meeting": RIGHT,
        "tiles": RIGHT,
        "few_lanes": RIGHT,
        "others_have_ended": RIGHT,
        "others_never_come": r"barrier: lanes 0x0000ffff wait in an instruction of the whole mask for "
        r"lanes 0xffff0000, which never come; .*shfl",
        "mask_lacks_caller": r"barrier: a lane calls this with the mask 0x0000ffff",
        "tensor_cores": RIGHT,
        "tensor_lanes_ended": r"tensor core: mma takes all 32 lanes of a warp, and 0x80000000 are not there",
        "tensor_lanes_elsewhere": r"tensor core: mma takes all 32 lanes of a warp, and 0xffff0000 are not there",
        "specials": RIGHT,
    },
    "atomics": {
        "all_operations": RIGHT,
        "old_values": RIGHT,
        "compare_and_swap": RIGHT,
        "shared_counts": RIGHT,
        "generic_counts": RIGHT,
        "unwritten": r"uninitialized: reads global memory .*atom.global.add.u32",
        "past_end": r"out of bounds: .* 0 bytes past the end",
        "unwritten_shared": r"uninitialized: reads shared memory .* 0 bytes into counter",
        "atomics_alone": RIGHT,
        "plain_among_atomics": r"race: ",
        "cleared_before": RIGHT,
        "cleared_meanwhile": r"(uninitialized|race): ",
    },
    "order": {
        "last_block": RIGHT,
        "last_block_no_fence_before": r"race: reads what .* wrote in block .* \(no fence with a flag or "
        r"an atomic puts these blocks in order\)",
        "last_block_no_fence_after": r"race: reads what .* \(this thread has seen what that one "
        r"published, but no fence follows\)",
        "last_block_fence_of_block": r"race: reads what ",
        "volatile_parts": RIGHT,
        "volatile_parts_no_fence": r"race: reads what ",
        "volatile_parts_reset_early": r"race: writes over what .*no fence",
        "chain": RIGHT,
        "long_chain": RIGHT,
        "chain_no_fence_before": r"race: reads what ",
        "chain_no_fence_after": r"race: reads what ",
        "chain_fence_of_block": r"race: reads what ",
        "chain_too_long": r"deadlock: waits for what no thread does any more; 36 blocks have not begun, "
        r"because the GPU has room for 264 at a time; at .*ld.volatile",
        "acquire_and_release": RIGHT,
        "no_release": r"race: reads what ",
        "warps": RIGHT,
        "warps_no_fence_before": r"race: reads what thread \(37,0,0\)",
        "warps_no_fence_after": r"race: reads what thread \(37,0,0\)",
        "no_flag": r"race: ",
        "locked": RIGHT,
        "locked_no_fence_before": r"race: ",
        "locked_no_fence_after": r"race: ",
        "grid_barrier": RIGHT,
        "grid_barrier_no_fence_before": r"race: ",
        "grid_barrier_no_fence_after": r"race: ",
        "work_queue": RIGHT,
        "flag_never_set": r"deadlock: .*wait_for_nobody",
        "neither_flag_set": r"deadlock: .*look_at_both",
        "shared_flag_never_set": r"deadlock: .*shared_flag",
        "endless_loop": r"deadlock: .*bra again",
        "bounded_wait": RIGHT,
        "block_scope": RIGHT,
        "block_scope_between_blocks": r"race: changes what .* changed in block ",
    },
    "async": {
        "wait_and_barrier": RIGHT,
        "no_wait": r"cp.async: reads the destination of a copy that thread \(\d+,0,0\) started at "
        r"tests/emulator/async.cu:\d+ and has not waited for",
        "no_barrier": r"(uninitialized|race|cp.async): ",
        "own_wait": RIGHT,
        "own_no_wait": r"cp.async: reads the destination of a copy that thread \(0,0,0\)",
        "two_stages": RIGHT,
        "one_group_too_few": r"cp.async: ",
        "copy_after_barrier": RIGHT,
        "copy_over_reads": r"(race|cp.async): ",
        "zero_fill": RIGHT,
        "source_past_end": r"out of bounds: cp.async reads 16 bytes .* 0 bytes past the end",
        "aligned_source": RIGHT,
        "misaligned_source": r"misaligned: a cp.async of 16 bytes",
        "unwritten_source": r"uninitialized: reads shared memory",
        "source_overwritten": r"cp.async: the source of a copy of 4 bytes has changed before the wait for it: ",
        "source_overwritten_after_wait": RIGHT,
    },
    "bulk": {
        "all_arrive": RIGHT,
        "arrive_without_order": r"race: reads what thread \(\d+,0,0\) wrote at tests/emulator/bulk.cu:\d+",
        "one_never_arrives": r"deadlock: waits for phase 0 of the mbarrier at shared address 0x400, 0 bytes into "
        r"full, which lacks 1 of 65 arrivals and 0 bytes; at tests/emulator/bulk.cu:\d+ \(PTX line \d+: .*"
        r"mbarrier.try_wait",
        "half_arrives": r"(uninitialized|race): ",
        "arrival_states": RIGHT,
        "copied": RIGHT,
        "no_init": r"mbarrier: none has been made \(mbarrier.init\) at shared address 0x400, 0 bytes into full",
        "no_fence": r"mbarrier: no fence \(fence.mbarrier_init or fence.proxy.async\) has shown copies the one "
        r"at shared address 0x400",
        "no_barrier_after_init": r"race: uses the mbarrier that thread \(0,0,0\) has made \(no barrier lies "
        r"between\): shared address 0x400",
        "init_twice": r"mbarrier: there is one already \(no mbarrier.inval has ended it\) at shared address 0x400",
        "init_for_nobody": r"mbarrier: a phase of 0 arrivals, of 1 to 1048575",
        "used_after_inval": r"mbarrier: none has been made",
        "made_anew": RIGHT,
        "store_over_mbarrier": r"mbarrier: writes to what holds an mbarrier: shared address 0x400",
        "load_of_mbarrier": r"mbarrier: reads what holds an mbarrier: shared address 0x400",
        "copy_over_mbarrier": r"mbarrier: writes to what holds an mbarrier: .*cp.async.bulk",
        "misplaced_mbarrier": r"misaligned: an mbarrier at 0x404, which is no multiple of 8",
        "mbarrier_outside": r"out of bounds: an mbarrier at shared address 0x100400, \d+ bytes past the end",
        "no_wait": r"bulk copy: reads the destination of the one at tests/emulator/bulk.cu:\d+, for which this "
        r"thread has not waited by its mbarrier: shared address 0x[0-9a-f]+, 252 bytes into tile",
        "one_waits": RIGHT,
        "wrong_parity": r"deadlock: waits for phase 1 of the mbarrier at .*, which lacks 1 of 1 arrivals and 0 bytes",
        "strange_parity": r"mbarrier: a parity of 2, which is 0 or 1",
        "expect_more": r"deadlock: waits for phase 0 of the mbarrier at .*, which lacks 0 of 1 arrivals and 16 bytes",
        "expect_less": r"mbarrier: 16 bytes more than phase 0 expects have come to shared address 0x400",
        "expect_one_of_two": r"bulk copy: reads the destination of the one at \S+:\d+, which is still on its way: ",
        "expect_too_much": r"mbarrier: phase 0 is to wait for 1048576 bytes, of at most 1048575",
        "expect_later": RIGHT,
        "no_arrival": r"deadlock: waits for phase 0 of the mbarrier at .*, which lacks 1 of 1 arrivals and 0 bytes",
        "arrive_twice": r"mbarrier: 1 more arrival, and phase 0 lacks 0 and 256 bytes: ",
        "store_to_destination": r"bulk copy: writes to the destination of the one at .* has not waited",
        "two_to_destination": r"bulk copy: writes to the destination of the one at .* still on its way: .*cp.async.bulk",
        "no_end": r"bulk copy: the block ends before a thread has waited for this one",
        "change_source": r"bulk copy: the source of the one at \S+:\d+ has changed before this first wait for it: 0x1",
        "change_source_after_wait": RIGHT,
        "misaligned_source": r"misaligned: a bulk copy .* whose source is no multiple of 16",
        "misaligned_destination": r"misaligned: a bulk copy .* whose destination is no multiple of 16",
        "misaligned_size": r"misaligned: a bulk copy of 24 bytes .* whose size is no multiple of 16",
        "source_past_end": r"out of bounds: a bulk copy reads 256 bytes at 0x\w+, 0 bytes past the end",
        "destination_past_end": r"out of bounds: a bulk copy of 256 bytes to shared address 0x810 ends at shared "
        r"address 0x910, \d+ bytes past the end",
        "destination_before_start": r"out of bounds: a bulk copy of 256 bytes to shared address 0x10 .* before",
        "written_source": RIGHT,
        "unwritten_source": r"uninitialized: reads shared memory .* 252 bytes into tile",
        "source_freed": r"use after free: a bulk copy reads 256 bytes",
        "ring": RIGHT,
        "ring_empty_ignored": r"(bulk copy: writes to the destination|race: writes over what) .*cp.async.bulk",
        "ring_empty_too_early": r"race: writes over what thread \(63,0,0\) read at tests/emulator/bulk.cu:\d+ "
        r"\(no barrier lies between\): .*cp.async.bulk",
        "ring_one_lane_says": r"race: writes over what thread .*cp.async.bulk",
        "ring_warp_says": RIGHT,
        "ring_always_first": r"bulk copy: reads the destination of the one at .* has not waited",
        "ring_parity_kept": r"deadlock: waits for phase \d of the mbarrier at ",
        "ring_one_round_more": r"deadlock: waits for phase 3 of the mbarrier at .*, 512 bytes into ring, which lacks "
        r"1 of 1 arrivals",
        "ring_source_in_flight": r"race: reads what thread .*cp.async.bulk",
        "registers_of_warps": RIGHT,
        "registers_of_lanes": r"warpgroup: setmaxnreg takes all 32 lanes of a warp, and 0xff000000 are not there",
    },
    "wgmma": {
        "multiplied": RIGHT,
        "no_fence": r"wgmma: no wgmma.fence has come before this first one",
        "fence_too_early": r"wgmma: another instruction has read or written one of its registers since the last "
        r"wgmma.fence; at tests/emulator/wgmma.cu:\d+ \(PTX line \d+: wgmma.mma_async",
        "read_early": r"wgmma: reads a register of the one at tests/emulator/wgmma.cu:\d+, for which no "
        r"wgmma.wait_group has waited; .*: st.global",
        "write_early": r"wgmma: writes a register of the one at .*: mov.f32",
        "no_commit": r"wgmma: reads a register of the one at .* no wgmma.wait_group has waited",
        "last_group_left": r"wgmma: reads a register of the one at .* no wgmma.wait_group has waited",
        "no_end": r"wgmma: the block ends before a wgmma.wait_group has waited for this one",
        "store_early": r"race: writes over an operand of the wgmma at tests/emulator/wgmma.cu:\d+, which may not be "
        r"over \(no wgmma.wait_group puts this thread behind it\): shared address 0x[0-9a-f]+, 0 bytes into tiles",
        "store_late": RIGHT,
        "no_mbarrier": r"bulk copy: reads the destination of the one at .*: wgmma.mma_async",
        "swizzled": r"unknown instruction: the emulator has no wgmma with swizzled operands \(A's descriptor 0x4",
        "strange_bits": r"wgmma: B's descriptor 0x\w+ has bits that mean nothing: 0x8000",
        "outside": r"out of bounds: wgmma reads 128 bytes of B at shared address 0x\w+, \d+ bytes past the end",
        "warp_missing": r"deadlock: waits for warp 3, which has come to 0 products of the warpgroup, and warp \d to 2",
        "lanes_missing": r"warpgroup: wgmma takes all 32 lanes of a warp, and 0xffff0000 are not there",
        "other_descriptor": r"warpgroup: warp 2 has other descriptors than warp 0 of the same warpgroup",
        "other_place": r"warpgroup: warp 1 is here with its product number 1, and warp 0 has been at \S+wgmma.cu:\d+",
        "three_warps": r"warpgroup: wgmma takes warps 0 to 3, and the block has 3 warps",
        "stored_and_shown": RIGHT,
        "stored_not_shown": r"proxy: reads what thread \(0,0,0\) wrote at tests/emulator/wgmma.cu:\d+, and no "
        r"fence.proxy.async has come after that: shared address 0x400",
        "stored_no_barrier": r"(uninitialized|race): .*: wgmma.mma_async",
        "a_in_registers": RIGHT,
        "a_changed_early": r"wgmma: writes a register of the one at ",
        "ring": RIGHT,
        "ring_one_warp_says": RIGHT,
        "ring_empty_before_wait": r"race: writes over an operand of the wgmma at .*cp.async.bulk",
        "ring_staging_not_shown": r"proxy: writes over what thread .*cp.async.bulk",
        "ring_staging_shown": RIGHT,
    },
    "objects": {
        "texture_edges": RIGHT,
        "texture_destroyed": r"use after free: the texture object has been destroyed",
        "texture_memory_freed": r"use after free: reads 16 bytes",
        "texture_leak": r"leak: 1 texture object",
        "memory_leak": r"leak: 1 allocation of 400 bytes",
        "unknown_executed": r"unknown instruction: .*objects.cu:\d+ \(PTX line \d+: vadd.u32.u32.u32.sat ",
        "unknown_stepped_over": RIGHT,
        "poison": RIGHT,
    },
}

SCHEDULES = ("0", "1", "2025")
BASES = ("-1", "0", "0x400")


def run_case(program, case, schedule, base, *further):
    path = os.path.join(steps.ROOT, "build", "tests", "emulator", program)
    return tap.run([path, case, schedule, base, *further])


def said(result):
    return f"exit {result.returncode}\n{result.stdout}{result.stderr}"


for program, cases in CASES.items():
    for case, message in cases.items():
        if message is RIGHT:
            results = [run_case(program, case, s, b) for s in SCHEDULES for b in BASES]
            bad = [r for r in results if r.returncode != 0 or r.stdout != "ok\n"]
            tap.ok(not bad, f"{program}: {case} passes", "\n".join(map(said, bad)))
            continue
        result = run_case(program, case, "0", "-1")
        tap.ok(
            result.returncode == 4
            and re.search("^case: emulator: " + message, result.stderr)
            and result.stderr.count("\n") == 1,
            f"{program}: {case} is caught",
            f"wanted: {message}\n" + said(result),
        )
        others = [run_case(program, case, s, "-1") for s in SCHEDULES[1:]]
        tap.ok(
            all(r.returncode == 4 for r in others),
            f"{program}: {case} is caught in other schedules",
            "\n".join(map(said, others)),
        )

# The outcome does not depend on how many threads run the blocks. (Of two blocks that race, the one
# that comes second tells it.)
for program, case in (("memory", "read_past_end"), ("races", "one_barrier"), ("async", "no_wait")):
    results = {run_case(program, case, "0", "-1", workers).stderr for workers in "12345"}
    tap.ok(len(results) == 1, f"{program}: {case} has one message", "\n".join(results))

# What kernels print comes on stdout, thread by thread; a failed assertion ends the launch only.
LINE = "{0}|{1:5}|7    |000ff|{2:+.2f}|1.000000e+10|{3}|{4}|-5000000000|10000000000|%|{0:4}\n"
ZERO, ONE = LINE.format(0, 0, 0, "a", "zero"), LINE.format(1, -1, 0.25, "b", "one")
for case, printed in (("printing", ZERO + ONE + "no arguments\n"), ("printing_blocks", 3 * ZERO)):
    result = run_case("calls", case, "0", "-1")
    tap.ok(result.stdout == printed + "ok\n", f"calls: {case}", said(result))
result = run_case("calls", "assertion_fails", "0", "-1")
tap.ok(
    result.returncode == 5
    and re.match(r'case: emulator: assert: "data\[threadIdx.x\] < limit" does not hold in void check\('
                 r".*calls.cu:\d+ .*thread \(50,0,0\)\n$", result.stderr),
    "calls: assertion_fails is an error of the launch", said(result))

result = run_case("warps", "lanes_not_there", "0", "-1")
tap.ok(result.returncode == 6, "warps: a lane that is not there gives a NaN", said(result))

# Sums of float32 come out the same whatever runs the blocks.
sums = {run_case("atomics", "float_order", "0", "-1", workers).stderr for workers in "1234"}
tap.ok(len(sums) == 1, "atomics: float_order is the same for any number of threads", sums)

# The code for any CPU gives the same as the code for this one.
for case in CASES["arithmetic"]:
    for bits in ("128", "256"):
        result = run_case("arithmetic", case, "0", "-1", "0", bits)
        tap.ok(result.returncode == 0, f"arithmetic: {case} in vectors of {bits} bits", said(result))

for base, code in (("0", 0), ("8192", 0), ("0x400", 4), ("-1", 4)):
    result = run_case("objects", "buffer_switch", "0", base)
    tap.ok(result.returncode == code, f"the exclusive-or trap at shared base {base}", said(result))

tap.finish()
