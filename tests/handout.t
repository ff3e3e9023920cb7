#!/usr/bin/env python3
"""Handouts: a student can work with one on its own, nothing in it gives away what its labs ask for, its
links and commands lead somewhere, and the same course gives the same bytes. The template for GitHub
Classroom is a handout with a workflow."""

import json
import os
import re
import shutil
import sys
import tempfile

import steps
import tap

sys.path.insert(0, os.path.join(steps.ROOT, "common", "labs"))
import handout  # noqa: E402
import labs  # noqa: E402
import measured  # noqa: E402

OUT = os.path.join(steps.ROOT, "build", "handout")
SHORTEST = 12  # characters of a line that is looked for
TRIVIAL = re.compile(r"(?:for|if|else)\b|__sync\w+\(\);$")  # the head of a loop or a test, a barrier
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def make_handout(goal, wanted, name="test"):
    return tap.make(goal, f"LABS={wanted}", f"NAME={name}")


def unpack(wanted, folder):
    """Makes a handout and returns where it has been unpacked."""
    result = make_handout("handout", wanted)
    tap.ok(result.returncode == 0, f"make handout LABS='{wanted}'", result.stdout + result.stderr)
    shutil.unpack_archive(os.path.join(OUT, "test.tar.gz"), folder)
    return os.path.join(folder, "test")


def files_of(root):
    """{path: text} of everything in a folder."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    return {os.path.relpath(path, root): steps.text(path) for path in paths}


def plain(line):
    return " ".join(re.sub(r"//.*", "", line).split())


def removed_lines(name, files):
    """The lines that a lab asks for, without those that the student has anyway."""
    if name.endswith("-hunt"):
        mistake = {plain(line) for line in files[f"labs/step{name}.cu"].splitlines()}
        bodies = [line for line in labs.solution(name).splitlines() if plain(line) not in mistake]
    else:
        bodies = [line for _, body in labs.regions(labs.solution(name)) for line in body.splitlines()]
    seen = " ".join(" ".join(map(plain, text.splitlines())) for path, text in files.items() if path.startswith("steps/"))
    seen += " ".join(map(plain, labs.unsolved(name).splitlines()))
    return [
        line for line in map(plain, bodies) if len(line) >= SHORTEST and not TRIVIAL.match(line) and line not in seen
    ]  # fmt: skip


def traces(names, files):
    """Which file has which line."""
    flat = {path: " ".join(text.split()) for path, text in files.items()}
    lines = [line for name in names for line in removed_lines(name, files)]
    return len(lines), [f"{path}: {line}" for line in lines for path, text in flat.items() if line in text]


def check_traces(names, files):
    number, found = traces(names, files)
    tap.ok(not found, f"no trace of {number} lines of {' '.join(names)} in {len(files)} files", "\n".join(found))
    return number


def check_links(files, root):
    dead = []
    for path, text in files.items():
        if path.endswith(".md"):
            for link in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
                target = os.path.join(root, os.path.dirname(path), link.partition("#")[0])
                if not re.match(r"[a-z]+:", link) and not os.path.exists(target):
                    dead.append(f"{path}: {link}")
    tap.ok(not dead, "no dead link", "\n".join(dead))


def check_commands(files, root):
    """Every goal that a page names in a block of commands is there."""
    blocks = "".join(body for path, text in files.items() if path.endswith(".md") for body in FENCE.findall(text))
    goals = set(re.findall(r"\bmake ([a-z]+\d\d[\w-]*)", re.sub(r" #.*", "", blocks)))
    result = tap.make("-n", *sorted(goals), folder=root)
    tap.ok(len(goals) > 5 and result.returncode == 0, f"{len(goals)} goals that the pages name", result.stderr)


def check_contents(files, kept):
    steps_here = sorted(path[6:8] for path in files if path.startswith("steps/"))
    tap.ok(steps_here == kept, f"steps {' '.join(kept) or 'none'}", steps_here)
    later = [path for path in files if re.match(r"docs/variants/\d", path) and path[14:16] not in kept]
    tap.ok(not later, "changes of these steps only", later)
    secret = [path for path in files if re.search(r"teacher|worklog|hunts\.tsv|grade|\.git/|handout|listings", path)]
    tap.ok(not secret, "nothing of the teacher's", secret)
    left = [path for path, text in files.items() if path.endswith(".md") and "<!--" in text]
    tap.ok(not left, "no mark of a generator", left)


def lend_objects(root):
    """What has been built here of the harness and the emulator: sources and flags are the same."""
    os.makedirs(os.path.join(root, "build"))
    shutil.copytree(os.path.join(steps.ROOT, "build", "common"), os.path.join(root, "build", "common"))
    for stamp in ("host-flags", "nvcc-flags", "architectures"):
        shutil.copy2(os.path.join(steps.ROOT, "build", stamp), os.path.join(root, "build"))


def check_lab(name, root):
    """As handed out it fails; with the solution it has every point."""
    result = tap.make(f"check{name}", "LAB_PTX=1", folder=root)
    said = result.stdout + result.stderr
    failed = result.returncode != 0 and re.search(r"FAIL  \w+ +0 of", said)
    tap.ok(failed, f"lab {name}, as it is handed out, fails", said)
    tap.ok(name.endswith("-hunt") or f"labs/step{name}.cu:" in said, "and a place to begin is named", said)
    if name == "05":
        tap.ok("as in lab 03" in said and "A hint: make hint03" in said, "with the hint of the lab that asks for it", said)
    with open(os.path.join(root, labs.path_of(name, "labs")), "w", encoding="utf-8") as file:
        file.write(labs.solution(name))
    result = tap.make(f"check{name}", "LAB_PTX=1", folder=root)
    said = result.stdout + result.stderr
    tap.ok(re.search(r"^  (\d+) of \1 points$", said, re.M) or "FAIL  speed" in said, f"lab {name}, solved, passes", said)


def check_makes(root):
    result = tap.make(folder=root)
    listed = re.findall(r"^ +make (\w+) +\S", result.stdout, re.M)
    asked = tap.make("-n", *(goal for goal in listed if goal != "clean"), folder=root)
    tap.ok("check03" in listed and asked.returncode == 0, f"make lists {len(listed)} goals, and has them", asked.stderr)
    result = tap.make("step02", "ARCH=80", folder=root)
    tap.ok(result.returncode == 0, "make step02 builds", result.stderr)
    result = tap.run(["./step02", "-s", "32", "--emulate"], folder=root)
    tap.ok(result.returncode == 0 and "exact" in result.stdout, "and step02 runs", result.stdout + result.stderr)
    tap.ok("Hint 1 of 3" in tap.make("hint03", folder=root).stdout, "make hint03")
    result = tap.make("ptx03", folder=root)
    tap.ok(result.returncode == 0 and ".entry" in result.stdout, "make ptx03: the learner's kernel", result.stderr)
    for goal, words in (
        ("solution03", "has no solutions"), ("step03", "yours to write"), ("diff05", "yours to write"),
        ("step07", "not in this handout"), ("test", "not in this handout"), ("handout", "not in this handout"),
    ):  # fmt: skip
        result = tap.make(goal, folder=root)
        one_line = result.stderr.count("\n") == 1 and words in result.stderr
        tap.ok(result.returncode != 0 and one_line, f"make {goal} says in one line why not", result.stderr)
    result = tap.make("lab04", folder=root)
    tap.ok("there is no lab 04 in this handout: 03 05" in result.stderr, "make lab04", result.stderr)


def check_files(root):
    """make lab03 is content with a file that nobody has changed, and keeps one that has been."""
    path = os.path.join(root, "labs", "step03.cu")
    fresh = steps.text(path)
    tap.ok(tap.make("lab03", folder=root).returncode == 0 and steps.text(path) == fresh, "make lab03: it is there")
    with open(path, "a", encoding="utf-8") as file:
        file.write("// mine\n")
    tap.ok(tap.make("lab03", folder=root).returncode != 0 and "// mine" in steps.text(path), "but never over work")
    tap.ok(tap.make("lab03", "FORCE=1", folder=root).returncode == 0 and steps.text(path) == fresh, "FORCE=1 begins anew")
    with open(os.path.join(root, "labs", "step05-predict.txt"), "w", encoding="utf-8") as file:
        file.write("wavefronts_per_load = 2\nsectors_per_store = 16\n")
    result = tap.make("check05-predict", folder=root)
    tap.ok(result.returncode == 0 and "2 of 2 numbers" in result.stdout, "predictions, without the step", result.stdout)
    script = "import sys; sys.path.insert(0, 'common/labs'); import check; print(*check.ratio_of_course('03'))"
    said = tap.run(["python3", "-c", script], folder=root).stdout
    ratio = measured.median(measured.runs("03", "4096"), "ratio")
    tap.ok(said.startswith(f"{ratio:.6f}"[:7]) and "on an NVIDIA H200" in said, "and the ratio that the step reached", said)


def check_pair(folder):
    """Two labs, of which the later has much of what the earlier asks for."""
    root = unpack("03 05", folder)
    first = open(os.path.join(OUT, "test.tar.gz"), "rb").read()
    os.utime(os.path.join(steps.ROOT, "LICENSE"))
    make_handout("handout", "05 03")
    tap.ok(open(os.path.join(OUT, "test.tar.gz"), "rb").read() == first, "made again it has the same bytes")
    files = files_of(root)
    check_traces(["03", "05"], files)
    tap.ok("as in lab 03" in files["labs/step05.cu"], "lab 05 has gaps where lab 03 has been", files["labs/step05.cu"])
    own = "build/labs/step03-emulated --lines -s 128\n"
    tap.ok(own in files["docs/03-transposed-a.md"], "chapters run the learner's program in place of the step")
    tap.ok("make check03-predict" in files["README.md"], "the sheets of numbers have a command")
    check_contents(files, ["00", "01", "02"])
    check_links(files, root)
    lend_objects(root)
    check_commands(files, root)
    check_makes(root)
    check_files(root)
    check_lab("05", root)


def check_hunted(files):
    """A hunt's pages speak of no gaps, and its chapter not of the mistake that is to be found."""
    chapter, sheet = files["docs/06-coalesced-store.md"], files["docs/labs/06-coalesced-store.md"]
    left = handout.pages.TO_FIND in chapter and "**Lanes do not wait" in chapter and "still being read" not in chapter
    tap.ok(left, "the chapter is without the mistake, and with the others", chapter[chapter.index("## What goes") :])
    tap.ok("Speed" not in sheet and "gap" not in sheet, "the sheet is that of the hunt", sheet)
    tap.ok("Write between" not in files["README.md"], "and the README knows no gaps", files["README.md"])


def check_one(name, kept, folder):
    root = unpack(name, folder)
    files = files_of(root)
    if name.endswith("-hunt"):
        check_hunted(files)
    check_traces([name], files)
    check_contents(files, kept)
    check_links(files, root)
    lend_objects(root)
    check_lab(name, root)


def check_all(folder):
    """Every lab in one archive: each file has gaps for all that were before."""
    names = [name for name in labs.names() if len(name) == 2]
    root = unpack(" ".join(names), folder)
    files = files_of(root)
    number = check_traces(names, files)
    tap.ok(number > 40, "which are many lines", number)
    check_contents(files, [])
    check_links(files, root)
    lend_objects(root)
    result = tap.make("-j2", "LAB_PTX=1", *(f"build/labs/step{name}-emulated" for name in names), folder=root)
    tap.ok(result.returncode == 0, "all of them compile", result.stderr[-3000:])


def check_traces_are_found():
    """The searches of this test and of the tool, with something to find."""
    line = next(iter(handout.plan.Plan(["03"]).secrets["03"]))
    files = {"labs/step03.cu": labs.unsolved("03"), "docs/x.md": f"so that\n\n    {line}\n"}
    tap.ok(traces(["03"], files)[1], "a line that is there is found", line)
    try:
        handout.refuse_traces(handout.plan.Plan(["03"]), files)
        tap.ok(False, "and refused")
    except labs.Refusal as refusal:
        tap.ok("docs/x.md would give away lab 03" in str(refusal), "and refused", refusal)


def check_refusals():
    for arguments in (
        [], ["99"], ["3"], ["03", "03-hunt"], ["--name", "a/b", "03"], ["--classroom", "03-predict"],
        ["--classroom", "00"], ["--name"],
    ):  # fmt: skip
        result = tap.run(["python3", "common/labs/handout.py", *arguments])
        said = result.stderr
        tap.ok(result.returncode == 2 and said.count("\n") == 1, f"refused in one line: {' '.join(arguments)}", said)


def yaml(path):
    """A file of YAML, by perl's own reader."""
    script = "local $/; print JSON::PP->new->encode(CPAN::Meta::YAML->read_string(<STDIN>)->[0])"
    result = tap.run(["sh", "-c", f"perl -MCPAN::Meta::YAML -MJSON::PP -e '{script}' <'{path}'"])
    return json.loads(result.stdout) if result.returncode == 0 else {}


def check_classroom():
    root = os.path.join(OUT, "test")
    shutil.rmtree(root, ignore_errors=True)
    result = make_handout("classroom", "01 02")
    tap.ok(result.returncode == 0, "make classroom", result.stdout + result.stderr)
    files = files_of(root)
    check_traces(["01", "02"], files)
    check_links(files, root)
    tap.ok("labs" not in files[".gitignore"] and "labs/step01.cu" in files, "labs/ is tracked", files[".gitignore"])
    job = yaml(os.path.join(root, ".github", "workflows", "classroom.yml")).get("jobs", {}).get("judge", {})
    image = json.loads(steps.text(os.path.join(steps.ROOT, ".devcontainer", "devcontainer.json")))["image"]
    tap.ok(job.get("container") == image, "the workflow runs in the dev container's image", job)
    judged = {step["id"]: step["run"] for step in job.get("steps", []) if "id" in step}
    tap.ok(list(judged) == ["lab01", "lab02"], "a step a lab", judged)
    for name, command in judged.items():
        script = re.match(r'python3 (\S+) (\d\d) >>"\$GITHUB_OUTPUT"$', command)
        tap.ok(script and "lab" + script[2] == name, f"{name}: its command", command)
        if os.path.exists(os.path.join(steps.ROOT, "common", "labs", "classroom.py")):
            tap.ok(script[1] in files, "which is there", command)
    report = job["steps"][-1]
    wanted = {f"{name.upper()}_RESULTS": f"${{{{ steps.{name}.outputs.result }}}}" for name in judged}
    right = report["env"] == wanted and report["with"]["runners"] == "lab01,lab02"
    tap.ok(right, "and one that reports them all", report)
    result = make_handout("classroom", "01 02")
    tap.ok("is there already" in result.stderr, "never over a folder", result.stderr)
    shutil.rmtree(root)


check_traces_are_found()
check_refusals()
UNPACKED = (
    (check_pair,),
    (check_one, "00", []),
    (check_one, "06-hunt", ["00", "01", "02", "03", "04", "05"]),
    (check_all,),
)
for check, *arguments in UNPACKED:
    with tempfile.TemporaryDirectory(prefix="hand out ") as place:
        check(*arguments, place)
check_classroom()
tap.finish()
