"""What a handout may show: which steps are in it as they are, and what is cut out of the others.

A lab's regions are secret. A later step has most of what an earlier one asks for, so that its file, where
it is handed out as well, gets more gaps: "as in lab 03: ...".
"""

import difflib
import html
import re

import labs
import steps
import variants

SIMILAR = 0.8  # of two lines of code, by difflib's measure
SHORTEST = 8  # letters and signs of a line that gives something away
STATEMENT_ENDS = (";", "{", "}")


def bare(line):
    """A line of code without its comment and with single spaces; "" where nothing is left."""
    return " ".join(re.sub(r"(^|\s)//.*", "", line).split())


def code_of(text):
    return [code for line in text.splitlines() if (code := bare(line))]


def is_trivial(code):
    """Whether it is the head of a loop or a test, or a barrier: alone it gives nothing away."""
    return re.match(r"(?:for|if|while|else)\b|__sync\w+\(\);$", code) is not None


class Plan:
    """Of some labs: gaps and hunts, `programs`, and predictions."""

    def __init__(self, names):
        self.programs = sorted({name for name in names if not labs.is_prediction(name)})
        self.gaps = [name for name in self.programs if len(name) == 2]
        self.hunts = [name for name in self.programs if name.endswith("-hunt")]
        asked = {name for name in names if labs.is_prediction(name)}
        self.predictions = sorted(asked | {gap + "-predict" for gap in self.gaps})
        sources = steps.all_sources()
        first = min(name[:2] for name in self.programs) if self.programs else f"{int(max(self.predictions)[:2]) + 1:02}"
        self.kept = [step for step in sources if step < first]
        self.last = max(name[:2] for name in [*self.programs, *self.predictions])
        self.public = {code for step in self.kept for code in code_of(steps.text(sources[step]))}
        self.secrets = {name: self.secrets_of(name) for name in self.programs}

    def secrets_of(self, name):
        """{line of code: hint of its region}: what would give a lab away, and is seen nowhere else."""
        if name.endswith("-hunt"):
            hunks = variants.load(labs.hunted(name)["variant"]).hunks
            regions = [("", "\n".join(line[1:] for hunk in hunks for line in hunk if line.startswith("-")))]
        else:
            regions = labs.regions(labs.solution(name))
        seen = "\n".join([*self.public, *code_of(labs.unsolved(name))])
        return {
            code: hint for hint, body in regions for code in code_of(body)
            if code not in seen and len(code.replace(" ", "")) >= SHORTEST
        }  # fmt: skip

    def file_of(self, name):
        """The file of a lab to begin with."""
        return self.with_gaps(labs.unsolved(name), name) if len(name) == 2 else labs.unsolved(name)

    def shown(self, step):
        """What chapters may quote of a step."""
        if step in self.gaps:
            return self.file_of(step)
        text = steps.text(steps.all_sources()[step])
        if step in self.kept:
            return text
        return self.with_gaps(re.sub(r"^ *// (?:lab: .*|end lab)\n", "", text, flags=re.MULTILINE), step)

    def with_gaps(self, text, step):
        """The text without what earlier labs ask for."""
        for lab in (gap for gap in self.gaps if gap < step):
            text = labs.cut(marked(text, lab, self.secrets[lab], self.public | set(code_of(labs.unsolved(lab)))))
        return text

    def traces(self, text):
        """The secret lines that a text has."""
        flat = " ".join(html.unescape(text).split())
        return [
            f"lab {name}: {code}" for name, secrets in self.secrets.items() for code in secrets
            if code in flat and not is_trivial(code)
        ]  # fmt: skip


def alike(lines, secrets, seen):
    """{number of a line: hint} of the lines that are like one of the secrets."""
    found = {}
    for index, line in enumerate(lines):
        code = bare(line)
        if code and code not in seen:
            near = difflib.get_close_matches(code, secrets, 1, SIMILAR)
            if near:
                found[index] = secrets[near[0]]
    return found


def marked(text, lab, secrets, seen):
    """The text with marks around each statement that is like one of the secrets. That of a loop or a test
    is only where there is one of them in it."""
    lines = text.splitlines(keepends=True)
    found, hints = alike(lines, secrets, seen), {}
    told = {index for index in found if not is_trivial(bare(lines[index]))}
    for index, hint in found.items():
        statement = statement_at(lines, index)
        if told & set(statement):
            hints.update(dict.fromkeys(statement, hint))
    for index, hint in found.items():  # barriers beside them
        if bare(lines[index]).endswith(";") and {index - 1, index + 1} & set(hints):
            hints.setdefault(index, hint)
    out, known = [], {*secrets, *seen}
    for index, line in enumerate(lines):
        if index in hints and index - 1 not in hints:
            last = next(i for i in range(index, len(lines) + 1) if i not in hints)
            code = line if not line.startswith("#") else lines[index + 1]  # a pragma has no indent
            indent = " " * (len(code) - len(code.lstrip()))
            out.append(f"{indent}// lab: {told_again(code_of(''.join(lines[index:last])), lab, known, hints[index])}\n")
        out.append(line)
        if index in hints and index + 1 not in hints:
            out.append(f"{indent}// end lab\n")
    return "".join(out)


def told_again(codes, lab, known, hint):
    """What a gap asks for that an earlier lab has asked for: the same, or with a change, or a part of it."""
    same = all(code in known or not re.search(r"\w{2}", code) for code in codes)
    what, before = re.fullmatch(r"(.*) \(about (\d+) lines?\)", hint).groups()
    part = ", one part of it" if len(codes) < int(before) else ""
    number = f"about {len(codes)} line{'s' * (len(codes) > 1)}"
    return f"{'as' if same else 'much as'} in lab {lab}{part}: {what} ({number})"


def statement_at(lines, index):
    """The numbers of the lines that the statement of a line has, with the loop or test that governs it."""
    first = last = index
    while is_continued(lines[first - 1]):
        first -= 1
    while bare(lines[last]) == "" or not bare(lines[last]).endswith(STATEMENT_ENDS):
        last += 1
    if bare(lines[last]).endswith("{"):
        indent = len(lines[last]) - len(lines[last].lstrip())
        while not lines[last].startswith(" " * indent + "}"):
            last += 1
    if lines[first - 1].startswith("#pragma"):
        first -= 1
    return range(first, last + 1)


def is_continued(line):
    """Whether the next line goes on with what this one begins."""
    code = bare(line)
    return code != "" and not code.endswith((*STATEMENT_ENDS, ":")) and not code.startswith("#")
