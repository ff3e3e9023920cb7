#!/usr/bin/env python3
"""On the emulator: each step without one of its barriers, waits, predicates or clobbers is caught, or
its PTX is that of the step, or tests/mutations.tsv says why it is right all the same."""

import concurrent.futures
import os
import re
import shutil

import mutations
import steps
import tap

FOLDER = os.path.join(steps.ROOT, "build", "mutations")
AT_ONCE = os.cpu_count() or 2
PATIENCE = 60  # seconds: a mutant that does not come to an end is caught

# Those that catch most come first, long ones last. Between them they have every edge, every path of a
# step, both orders of warps, and blocks with several parts of tiles, or several tiles: of 34000 rows there
# are more than an H200 has multiprocessors, and many bands.
RUNS = [
    "-m 129 -n 257 -k 17",
    "-m 40 -n 72 -k 4 --lda 8 --ldb 76",
    "-m 64 -n 64 -k 64 --alpha 0",
    "-m 40 -n 72 -k 36 --ldb 75",
    "-m 128 -n 256 -k 8",
    "-m 40 -n 72 -k 36 --ldb 75 --offset 1,2,3 --schedule 7",
    "-m 40 -n 72 -k 36 --ldc 75",
    "-m 40 -n 70 -k 34 --ldb 72 --ldc 72",
    "-m 40 -n 72 -k 36 --offset 0,1,0",
    "-m 40 -n 72 -k 36 --offset 0,0,1",
    "-m 40 -n 72 -k 36 --offset 1,0,0",
    "-m 40 -n 71 -k 36 --ldb 72 --ldc 72",
    "-m 40 -n 72 -k 34 --lda 36",
    "-m 40 -n 70 -k 34 --lda 36 --ldb 72",
    "-m 40 -n 72 -k 36 --offset 1,1,1",
    "-m 64 -n 64 -k 0 --beta 1",
    "-m 130 -n 260 -k 20 --schedule 6",
    "-m 40 -n 72 -k 36 --lda 39",
    "-m 40 -n 72 -k 36 --lda 40 --ldb 76",
    "-m 200 -n 136 -k 72 --schedule 8",
    "-m 129 -n 257 -k 17 --beta 0.5 --schedule 5",
    "-m 40 -n 72 -k 164",
    "-m 34000 -n 20 -k 20",
    "-m 129 -n 257 -k 300 --schedule 9",
]
SHORT_RUNS = RUNS[:-3]  # enough for what is known to survive


def part_of(name):
    """What a mutant changes, 07-scalar-1: a step's kernels, its host code, or that of a step that has no
    kernels and chooses one."""
    if not steps.has_kernel(steps.sources()[name[:2]]):
        return "choice"
    return "host" if name[3:].rsplit("-", 1)[0] in mutations.HOST_KINDS else "kernel"


def path_of(name):
    """Where a mutant is, or a step, 07-unchanged."""
    return os.path.join(FOLDER, part_of(name), name)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def namespace(number):
    """All are as long, so that the names in them are, too."""
    return f"m{number:03}"


def kernels_together(step, texts):
    """One source with a namespace for each mutant: half of nvcc's time would be for CUDA's headers."""
    headers = re.findall(r"^#include .*\n", steps.text(steps.sources()[step]), re.MULTILINE)
    return "".join(headers) + "".join(
        f"namespace {namespace(i)} {{\n{text}}}\n" for i, text in enumerate(texts))


def hosts_together(step, texts):
    """One source with a step's kernels, and for each mutant the host code behind them, with a descriptor of
    its own, step07_scalar_1."""
    original = steps.text(steps.sources()[step])
    end = original.index("\n}\n", original.rindex("__global__")) + 3
    source = original[:end]
    for name, text in texts.items():
        if text[:end] != original[:end]:
            raise ValueError(f"{name} changes what is before the end of the last kernel")
        descriptor = f"step{name.replace('-', '_')}"
        source += (f"#define step{step} {descriptor}\nnamespace in_{descriptor} {{\n"
                   f'extern "C" const struct step step{step};\n{text[end:]}}}\n#undef step{step}\n')
    return source


def write_sources():
    """Writes the mutants of each step, and the step itself, which is one without a change; returns
    {mutant: line} and {part: {step: its mutants}}."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    lines = {}
    names = {"kernel": {}, "host": {}, "choice": {}}
    for part in names:
        os.makedirs(os.path.join(FOLDER, part))
    for step, path in steps.sources().items():
        found = mutations.mutants(step, path)
        lines.update({name: line for name, (line, _) in found.items()})
        texts = {f"{step}-unchanged": steps.text(path), **{name: text for name, (_, text) in found.items()}}
        for part in {part_of(name) for name in texts}:
            own = {name: text for name, text in texts.items() if part_of(name) == part}
            names[part][step] = list(own)
            together = os.path.join(FOLDER, part, step + ".cu")
            if part == "kernel":
                write(together, kernels_together(step, own.values()))
            elif part == "host":
                write(together, hosts_together(step, own))
            else:
                for name, text in own.items():
                    write(path_of(name) + ".cu", text)
    return lines, names


def ptx_in(path):
    """The PTX in a container."""
    with open(path, "rb") as file:
        return re.search(rb"\.version .*?(?=\x00)", file.read(), re.DOTALL).group().decode()


def started(step):
    """The kernels that a step's host code starts: {"step_sgemm": "_Z10step_sgemm5sgemm"}."""
    source = os.path.relpath(steps.sources()[step], steps.ROOT)
    with open(os.path.join(steps.ROOT, "build", source[:-3] + ".o"), "rb") as file:
        return entries(file.read().decode(errors="replace"))


def entries(text):
    """The kernels in PTX, by their names in the source."""
    found = {}
    for mangled in re.findall(r"\.entry (\w+)", text):
        length = re.match(r"_Z(?:N4m\d{3})?(\d+)", mangled)
        found[mangled[length.end() : length.end() + int(length[1])]] = mangled
    return found


def split(step, names):
    """{mutant: its PTX} of a step's mutants: the part of the whole that is in its namespace, and the kernels
    by the names that the step's host code starts them by."""
    whole = re.sub(r"//.*", "", ptx_in(os.path.join(FOLDER, "kernel", step + ".fatbin")))
    parts = {namespace(i): "" for i in range(len(names))}
    for piece in re.split(r"^(?=\.(?:extern|visible|weak|shared|global|const|func|entry)\b)", whole, flags=re.M):
        inside = re.search(r"4(m\d{3})\d", piece)
        for part in [inside[1]] if inside else parts:
            parts[part] += piece.replace("4" + part, "4" + namespace(0))
    wanted = started(step)
    found = {}
    for name, text in zip(names, parts.values()):
        if entries(text).keys() != wanted.keys():  # the step's host code would find none
            raise ValueError(f"{name} has kernels {entries(text)}, step {step} has {wanted}")
        for kernel, mangled in entries(text).items():
            text = text.replace(mangled, wanted[kernel])
        # Labels and frames have the number of their function among all.
        for new, old in enumerate(dict.fromkeys(re.findall(r"(?:L__BB|__local_depot)(\d+)", text))):
            text = re.sub(rf"(L__BB|__local_depot){old}(?!\d)", rf"\g<1>of{new}", text)
        found[name] = re.sub(r"\s*\n\s*", "\n", text)
    return found


def build(name, ptx):
    """Makes the program of a mutant: that of all of the step's kernels, with this PTX in their place."""
    together = os.path.join(FOLDER, "kernel", name[:2])
    room = ptx_in(together + ".fatbin").encode()
    with open(together, "rb") as file:
        program = file.read()
    if program.count(room) != 1:
        raise ValueError(f"{together} does not have its PTX once")
    content = path_of(name) + ".content"
    with open(content, "wb") as file:
        file.write(program.replace(room, ptx.encode().ljust(len(room), b"\0")))
    # No program can be started while a child of another thread still has it open for writing.
    tap.run(["install", content, path_of(name)])
    os.remove(content)


def check_counts(step, names):
    fewest = mutations.FEWEST_OF.get(step, mutations.FEWEST_WITH_TILES)
    counts = {kind: sum(f"{step}-{kind}-" in name for name in names) for kind in fewest}
    tap.ok(all(counts[kind] >= fewest[kind] for kind in fewest),
           f"step {step} has its mutants", f"{counts}, at least {fewest}")


def catch(name, runs):
    """How a mutant is caught, or ""."""
    for options in runs:
        command = ["timeout", str(PATIENCE), path_of(name), *options.split()]
        result = tap.run(command)
        if result.returncode in (126, 127):  # of timeout
            raise OSError(result.stderr)
        if result.returncode not in (0, 77):
            return f"{options}: exit {result.returncode}: {result.stderr.strip()}"
    return ""


def judge(name, ptx, runs=RUNS):
    """What became of a mutant: "caught: ...", "same PTX" or "survived"."""
    if part_of(name) != "kernel":
        caught = catch(name, runs)
    elif ptx[name] == ptx[name[:2] + "-unchanged"] and not name.endswith("-unchanged"):
        return "same PTX"
    else:
        build(name, ptx[name])
        caught = catch(name, runs)
        os.remove(path_of(name))
    return f"caught: {caught}" if caught else "survived"


def reasons():
    path = os.path.join(steps.ROOT, "tests", "mutations.tsv")
    rows = [line.split("\t") for line in steps.text(path).splitlines() if line[:1] not in ("#", "")]
    return dict(rows)


def main():
    lines, names = write_sources()
    hosts = " ".join(name for own in names["host"].values() for name in own)
    built = tap.make(f"-j{AT_ONCE}", "-k", "mutations", f"HOST_MUTANTS={hosts}")
    if built.returncode != 0:
        tap.ok(False, "the mutants build", built.stderr[-3000:])
        tap.finish()
    ptx = {}
    for step, own in names["kernel"].items():
        ptx.update(split(step, own))
    for step, path in steps.sources().items():
        if steps.has_kernel(path):
            check_counts(step, lines)
    recorded = reasons()
    runs = {name: SHORT_RUNS if name in recorded else RUNS for name in lines}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        themselves = pool.map(lambda step: judge(f"{step}-unchanged", ptx), steps.sources())
        verdicts = pool.map(lambda name: judge(name, ptx, runs[name]), lines)
        for step, verdict in zip(steps.sources(), themselves):
            tap.ok(verdict == "survived", f"step {step} itself passes", verdict)
        for (name, line), verdict in zip(lines.items(), verdicts):
            known = recorded.pop(name, None)
            tap.ok((verdict == "survived") == (known is not None),
                   f"{name} (line {line}): {known if known else verdict[:150]}", verdict)
    tap.ok(not recorded, "every recorded reason belongs to a mutant", "\n".join(recorded))
    tap.finish()


main()
