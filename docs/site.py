#!/usr/bin/env python3
"""site.py ZENSICAL: builds the text as a website in build/site/html, with that generator.

The pages are those of docs/. A link to a file of the repository leads to a page that shows the file,
and a link to a folder to a page that lists it.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
SITE = os.path.join(ROOT, "build", "site")
PAGES = os.path.join(SITE, "pages")

sys.path.insert(0, os.path.join(ROOT, "tests"))
import steps  # noqa: E402
import tool  # noqa: E402
import topics  # noqa: E402

LINK = re.compile(r"(\]\()(?!https?:|#)([^)\s]+)(\))|^(\[[^\]]+\]: )(?!https?:)(\S+)()$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LANGUAGES = {".cu": "cuda", ".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".json": "json"}
PICTURES = (".svg", ".png")
MOST_SHOWN = 200_000  # characters of a file
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"  # files would drown the text


def toggle(icon, other):
    return {"icon": "lucide/" + icon, "name": f"Switch to {other}"}


CONFIG = {
    "site_name": "SGEMM in CUDA C, one step at a time",
    "docs_dir": "pages",
    "site_dir": "html",
    "use_directory_urls": False,  # pages open from a folder, without a server
    "theme": {
        "font": False,  # nothing is loaded from elsewhere
        "features": ["content.code.copy", "navigation.footer", "navigation.top", "toc.follow"],
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default", "toggle": toggle("sun", "dark")},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "toggle": toggle("moon", "light")},
        ],
    },
    "plugins": ["search"],
    "markdown_extensions": [
        "tables", {"toc": {"permalink": True}},
        {"pymdownx.highlight": {"anchor_linenums": True, "line_anchors": "line"}},
        "pymdownx.superfences",
    ],
}  # fmt: skip


def language(path):
    return "make" if os.path.basename(path) == "Makefile" else LANGUAGES.get(os.path.splitext(path)[1], "text")


def page_of(path):
    """The page that stands for a file or folder of the repository, both as paths from its root."""
    inside = os.path.relpath(path, "docs")
    if path == "docs/README.md":
        return "index.md"
    if not inside.startswith("..") and inside.endswith((".md", *PICTURES)):
        return inside
    return os.path.join("repository", path.lstrip(".").replace("/", "-") + ".md")


class Site:
    """The pages made so far, and the files that links asked for."""

    def __init__(self):
        self.wanted = set()

    def write(self, page, text):
        path = os.path.join(PAGES, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def link(self, source, page, target):
        """Where a link of the document `source`, shown as `page`, leads on the site."""
        name, _, anchor = target.partition("#")
        if not name:
            return target
        path = os.path.normpath(os.path.join(os.path.dirname(source), name))
        shown = page_of(path)
        if shown.startswith("repository/"):
            self.wanted.add(path)
            anchor = re.sub(r"^L(\d+)$", r"line-0-\1", anchor)
        return os.path.relpath(shown, os.path.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

    def add_document(self, source):
        """A page of docs/, its links turned to the site's."""
        page = page_of(source)

        def turned(text):
            def turn(match):
                start, target, end = (part for part in match.groups() if part is not None)
                return start + self.link(source, page, target) + end

            return LINK.sub(turn, text)

        text = steps.text(os.path.join(ROOT, source)).replace("```sh gpu\n", "```sh\n")
        pieces, end = [], 0
        for fence in FENCE.finditer(text):
            pieces += [turned(text[end : fence.start()]), fence[0]]
            end = fence.end()
        self.write(page, "".join(pieces) + turned(text[end:]))

    def add_file(self, path):
        """A page that shows a file, or the names in a folder."""
        full = os.path.join(ROOT, path)
        if os.path.isdir(full):
            entries = sorted(name for name in os.listdir(full) if not name.startswith((".", "__")))
            lines = []
            for name in entries:
                inner = os.path.join(path, name)
                if os.path.isfile(os.path.join(ROOT, inner)):
                    self.wanted.add(inner)
                    lines.append(f"- [{name}]({self.link(inner, page_of(path), name)})")
            body = "\n".join(lines)
        else:
            body = f"````{language(path)}\n{steps.text(full)[:MOST_SHOWN].rstrip()}\n````"
        self.write(page_of(path), f"{UNSEARCHED}# {path}\n\n{body}\n")


def documents():
    found = glob.glob(os.path.join(DOCS, "*.md")) + glob.glob(os.path.join(DOCS, "labs", "*.md"))
    return sorted(os.path.relpath(path, ROOT) for path in found)


def navigation(found):
    """Chapters in their order, then subjects; other pages are reached by links."""
    subjects = [name + ".md" for name in topics.TOPICS if f"docs/{name}.md" in found]
    return [
        {"Contents": "index.md"},
        *({"Steps": names} for names in [topics.chapters_found()] if names),
        {"Subjects": subjects},
    ]


def main(arguments):
    if len(arguments) != 1:
        print("usage: docs/site.py ZENSICAL", file=sys.stderr)
        return 2
    shutil.rmtree(PAGES, ignore_errors=True)
    site, found, done = Site(), documents(), set()
    for source in found:
        site.add_document(source)
    while site.wanted - done:
        path = min(site.wanted - done)
        site.add_file(path)
        done.add(path)
    for pictures in ("figures", "charts"):
        shutil.copytree(os.path.join(DOCS, pictures), os.path.join(PAGES, pictures))
    # JSON is YAML, and mkdocs.yml is the name that the generator took over from its predecessor.
    with open(os.path.join(SITE, "mkdocs.yml"), "w", encoding="utf-8") as file:
        json.dump({**CONFIG, "nav": navigation(found)}, file, indent=2)
    return subprocess.run([arguments[0], "build", "--strict", "-f", "mkdocs.yml"], cwd=SITE).returncode


if __name__ == "__main__":
    tool.run(main, sys.argv[1:])
