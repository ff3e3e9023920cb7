#!/usr/bin/env python3
"""The documents hold together: links lead somewhere, chapters have one shape, code comes from the steps,
measured rates from docs/results, and every command that needs no GPU works.

A command is a line of a block that begins with ```sh; those of ```sh gpu and ```sh slow are left out."""

import glob
import os
import re
import subprocess

import steps
import tap

DOCS = os.path.join(steps.ROOT, "docs")
SECTIONS = [
    "What was slow", "The idea", "The code", "What it gained", "What goes wrong", "Exercises",
    "Further reading",
]  # fmt: skip
SECONDS = 60  # for one command
LAST_WITH_CHAPTER = "10"

GENERATED = re.compile(r"<!-- generated: .*?<!-- end generated -->|<!--=.*?<!--/-->", re.DOTALL)
FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
RATE = re.compile(r"\d[\d.,]*\s*TFLOP/s")


def pages():
    return [os.path.join(steps.ROOT, "README.md"), *sorted(glob.glob(os.path.join(DOCS, "*.md")) + glob.glob(os.path.join(DOCS, "labs", "*.md")))]


def without_code(text):
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", text))


def anchors(text):
    """What GitHub makes of the headings."""
    found = []
    for heading in re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower().strip()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(slug + (f"-{found.count(slug)}" if slug in found else ""))
    return found


def dead(path, link):
    """Why a link of a page leads nowhere, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not os.path.exists(target):
        return "no such file"
    if anchor and target.endswith(".md") and anchor not in anchors(steps.text(target)):
        return "no such heading"
    if anchor and not target.endswith(".md"):
        lines = steps.text(target).count("\n")
        if not re.fullmatch(r"L\d+", anchor) or not 1 <= int(anchor[1:]) <= lines:
            return "no such line"
    return None


def check_links(path, text):
    links = sorted(set(LINK.findall(without_code(text))))
    found = [f"{link}: {why}" for link in links if (why := dead(path, link))]
    tap.ok(not found, f"{os.path.relpath(path, steps.ROOT)}: {len(links)} links", "\n".join(found))


def check_rates(path, text):
    found = RATE.findall(without_code(GENERATED.sub("", text)))
    tap.ok(not found, f"{os.path.relpath(path, steps.ROOT)}: no rate that is typed", found)


def check_markers(path, text):
    rest = GENERATED.sub("", text)
    found = re.findall(r"<!-- (?:generated:|end generated).*?-->|<!--[=/].*?-->", rest)
    # A line that begins with a comment is HTML to Markdown, all of it, and ends the paragraph before.
    found += re.findall(r"^<!--=.*", text, re.MULTILINE)
    tap.ok(not found, f"{os.path.relpath(path, steps.ROOT)}: what is generated begins and ends", found)


def chapter_of(step):
    return os.path.basename(steps.all_sources()[step])[:-3].replace("_", "-") + ".md"


def check_chapter(step):
    name = chapter_of(step)
    path = os.path.join(DOCS, name)
    if step > LAST_WITH_CHAPTER and not os.path.exists(path):
        tap.skip(f"step {step} has its chapter, docs/{name}", "it has none yet")
        return
    if not tap.ok(os.path.exists(path), f"step {step} has its chapter, docs/{name}"):
        return
    text = steps.text(path)
    title = steps.title(step)
    tap.ok(
        text.splitlines()[0].lower() == f"# {step} {title}".lower(),
        f"docs/{name}: its title is the step's",
        f"# {step} {title}",
    )
    found = re.findall(r"^## (.*)$", FENCE.sub("", text), re.MULTILINE)
    tap.ok(found == SECTIONS, f"docs/{name} has the sections of a chapter, in order", found)
    pasted = [kind for kind, _ in FENCE.findall(GENERATED.sub("", text)) if kind.split()[:1] in (["c"], ["cuda"])]
    tap.ok(not pasted, f"docs/{name}: its code is quoted from the step", pasted)
    words = len(re.findall(r"\w+", without_code(GENERATED.sub("", text))))
    tap.ok(700 <= words <= 2400, f"docs/{name}: {words} words")


def commands():
    """{command: the page that has it first}"""
    found = {}
    for path in pages():
        for kind, body in FENCE.findall(steps.text(path)):
            if kind == "sh":
                for line in body.splitlines():
                    found.setdefault(line.split(" #")[0].strip(), os.path.relpath(path, steps.ROOT))
    return {command: page for command, page in found.items() if command}


def check_command(command, page):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    name = f"{page}: {command}"
    try:
        result = subprocess.run(
            ["bash", "-c", command],
            cwd=steps.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        tap.ok(False, name, f"it takes more than {SECONDS} s")
        return
    if result.returncode and "Error 77" in result.stdout:
        tap.skip(name, result.stdout.splitlines()[0])
        return
    tap.ok(result.returncode == 0, name, "\n".join(result.stdout.splitlines()[-10:]))


for path in pages():
    text = steps.text(path)
    check_links(path, text)
    check_rates(path, text)
    check_markers(path, text)
for step in steps.all_sources():
    check_chapter(step)
for command, page in commands().items():
    check_command(command, page)
tap.finish()
