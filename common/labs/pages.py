"""The text of a handout: the course's pages without what would give a lab away, with links and commands
that lead somewhere."""

import os
import re
import textwrap

import labs
import steps

LEFT_OUT = "*(Not in this handout.)*"
TO_FIND = "*(The mistake that you are to find stands here in the course.)*"
SUBJECTS = (
    "cuda-basics", "gemm-anatomy", "ptx-primer", "shared-memory-banks", "benchmarking",
    "why-is-it-slower-here", "emulator", "emulator-instructions", "glossary", "reading",
)  # fmt: skip

BLOCK = re.compile(r"<!-- generated: (\w+)((?: \S+)*) -->\n(.*?)\n?<!-- end generated -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
COMMAND = re.compile(r"(?:make|\./|build/|python3 |tests/)")


def chapter(step):
    """docs/03-transposed-a.md"""
    name = os.path.basename(steps.all_sources()[step])[:-3].replace("_", "-")
    return f"docs/{name}.md"


class Pages:
    """Those of a plan; `files` is everything else that the handout has, by path."""

    def __init__(self, plan, files):
        self.plan = plan
        self.shown = {step: plan.shown(step) for step in steps.all_sources() if step <= plan.last}
        self.names = [chapter(step) for step in self.shown] + [f"docs/{name}.md" for name in SUBJECTS]
        self.sheets = sorted({labs.sheet(name) for name in [*plan.programs, *plan.predictions]})
        self.files = files

    def all(self):
        """{path: text} of the pages."""
        return {name: self.page(name) for name in [*self.sheets, *self.names]}

    def page(self, path):
        text = self.without_mistakes(steps.text(os.path.join(labs.ROOT, path)))
        text = BLOCK.sub(self.block, text)
        text = COMMENT.sub("", text)
        if path in self.sheets:
            text = self.sheet(text)
        pieces, end = [], 0
        for fence in FENCE.finditer(text):
            pieces += [self.linked(path, text[end : fence.start()]), self.fence(fence)]
            end = fence.end()
        text = "".join(pieces) + self.linked(path, text[end:])
        return re.sub(r"\n{3,}", "\n\n", text)

    def without_mistakes(self, text):
        """A chapter without what it says about a mistake that is to be found."""
        for name in self.plan.hunts:
            shown = rf"<!-- generated: attempt {labs.hunted(name)['variant']} -->"
            item = rf"^\*\*(?:(?!^\*\*|^## ).)*?{shown}.*?(?=^\*\*|^## |^```sh)"
            text = re.sub(item, TO_FIND + "\n\n", text, flags=re.DOTALL | re.MULTILINE)
        return text

    # ------------------------------------------------------------------------ blocks

    def block(self, match):
        """A generated block: what shows a step that is not here is made anew, or left out."""
        name, arguments, old = match[1], match[2].split(), match[3]
        if name == "nav":
            return self.nav(arguments[0])
        if name == "excerpt":
            return old if arguments[0] in self.plan.kept else self.excerpt(*arguments)
        if name == "listing":
            arguments = [re.search(r"\d\d|$", arguments[0])[0] or "00"]
        if name in ("hunks", "attempt", "draw", "emulator", "listing") and arguments[0][:2] not in self.plan.kept:
            return LEFT_OUT
        return old

    def nav(self, step):
        around = [(word, f"{int(step) + by:02}") for word, by in (("before", -1), ("next", 1))]
        source = self.source(step)
        parts = [f"[{os.path.basename(source)}](../{source})"] if source else []
        for word, other in around:
            if other in self.shown:
                parts.append(f"{word}: [{other}]({os.path.basename(chapter(other))})")
        return " · ".join([*parts, "[what is here](../README.md)"])

    def source(self, step):
        """The file that a learner has of a step."""
        if step in self.plan.kept:
            return os.path.relpath(steps.all_sources()[step], labs.ROOT)
        return next((labs.path_of(name, "labs") for name in self.plan.programs if name[:2] == step), "")

    def excerpt(self, step, name):
        """What is left of it in a step that is not here."""
        anchored = rf"^ *// \[{name}\]\n(.*?)^ *// \[/{name}\]\n"
        match = re.search(anchored, self.shown.get(step, ""), re.DOTALL | re.MULTILINE)
        if not match or self.plan.traces(match[1]):
            return LEFT_OUT
        source = self.source(step)
        return f"```c\n{textwrap.dedent(match[1])}```" + (f"\n[{source}](../{source})" if source else "")

    def fence(self, match):
        """A block of code, without commands that the handout lacks, and whole only where it tells nothing."""
        if self.plan.traces(match[0]):
            return LEFT_OUT + "\n"
        lines = [self.on_own_program(line) for line in match[2].splitlines(keepends=True)]
        kept = [line for line in lines if self.works(line)] if match[1] in ("sh", "console") else lines
        return match[0].replace(match[2], "".join(kept)) if kept else ""

    # ------------------------------------------------------------------------ commands

    def on_own_program(self, line):
        """A command that runs a step, for the learner's program in its place."""
        run = re.match(r"\./step(\d\d) --emulate\b", line)
        own = next((name for name in self.plan.programs if run and name[:2] == run[1]), None)
        return line.replace(run[0], f"build/labs/step{own}-emulated") if own else line

    def works(self, line):
        """Whether the handout has what a line of commands calls."""
        line = line.split(" #")[0]
        parts = [part.strip().lstrip("$! ") for part in line.split("&&")]
        return all(self.has(part.split()) for part in parts if COMMAND.match(part))

    def has(self, words):
        program = words[0]
        if program == "make":
            return all(self.can_make(word) for word in words[1:] if "=" not in word and not word.startswith("-"))
        if step := re.match(r"(?:\./step|build/step|build/variants/)(\d\d)", program):
            return step[1] in self.plan.kept
        if lab := re.match(r"build/labs/step(\d\d(?:-hunt)?)", program):
            return lab[1] in self.plan.programs
        return all(os.path.relpath(word) in self.files for word in words if word.startswith(("common/", "tests/")))

    def can_make(self, goal):
        match = re.fullmatch(r"([a-z]+)(\d\d.*)", goal)
        if not match:
            return goal in ("help", "all", "clean", "diffs", "tries")
        verb, name = match.groups()
        if verb in ("lab", "check", "hint"):
            return name in [*self.plan.programs, *self.plan.predictions]
        if verb in ("ptx", "sass") and name in self.plan.programs:
            return True
        return verb != "solution" and name[:2] in self.plan.kept

    def sheet(self, text):
        """Without the labs of the step that are not in the handout, or only a part of it."""
        there = [*self.plan.programs, *self.plan.predictions]
        kept = []
        if not self.plan.hunts:
            text = re.sub(r"\s+A hunt has no\s+points for speed\.", "", text)
        for paragraph in text.split("\n\n"):
            goals = re.findall(r"`make\s+(?:lab|check)(\d\d\S*?)`", paragraph)
            of_gaps = "gaps stand" in paragraph or "three gaps" in paragraph or paragraph.startswith("Speed")
            if all(goal in there for goal in goals) and (self.plan.gaps or not of_gaps):
                kept.append(paragraph)
        return "\n\n".join(kept)

    # ------------------------------------------------------------------------ links

    def linked(self, path, text):
        """The text with links to what the handout has, and plain words in place of the others."""

        def turn(match):
            picture, words, target = match.groups()
            name, hash_, anchor = target.partition("#")
            if not name or re.match(r"[a-z]+:", target):
                return match[0]
            full = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if full == "docs/README.md":
                full, hash_, anchor = "README.md", "", ""
            if match_step := re.match(r"steps/(\d\d)_", full):
                if match_step[1] not in self.plan.kept:
                    full, hash_, anchor = self.source(match_step[1]), "", ""
            if full not in self.files and full not in self.names + self.sheets + ["README.md"]:
                return LEFT_OUT if picture else words
            return f"{picture}[{words}]({os.path.relpath(full, os.path.dirname(path))}{hash_}{anchor})"

        return LINK.sub(turn, text)
