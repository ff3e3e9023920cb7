#!/usr/bin/env python3
"""Every word of the text is an English one, or stands in docs/words.txt."""

import glob
import os
import re
import shutil
import subprocess

import steps
import tap

# What is not prose: code, addresses, comments of HTML, and words with digits, dots or underlines.
NOT_PROSE = [
    r"```.*?```", r"<!--.*?-->", r"`[^`]*`", r"\]\([^)]*\)", r"^\[[^\]]*\]: .*$", r"^    .*$",
    r"https?://\S+", r"<[a-z/][^>]*>", r"\S*[0-9_./@]\S*\w",
]  # fmt: skip


def prose(text):
    for pattern in NOT_PROSE:
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE if "```" in pattern else re.MULTILINE)
    return text.replace("*", "")


def unknown(text):
    """The words that aspell does not know."""
    command = ["aspell", "list", "--lang=en_GB", "--encoding=utf-8", "--ignore-case"]
    result = subprocess.run(command, input=prose(text), stdout=subprocess.PIPE, text=True, check=True)
    return set(result.stdout.split())


if not shutil.which("aspell") or "en_GB" not in tap.run(["aspell", "dicts"]).stdout.split():
    tap.skip_all("aspell or its English words are missing (packages: aspell, aspell-en)")

words = set(steps.text(os.path.join(steps.ROOT, "docs", "words.txt")).lower().split())
tap.ok(unknown("This is a plaine mistake.") == {"plaine"}, "a misspelt word is found")
docs = os.path.join(steps.ROOT, "docs")
pages = glob.glob(os.path.join(docs, "*.md")) + glob.glob(os.path.join(docs, "labs", "*.md"))
for path in [os.path.join(steps.ROOT, "README.md"), *sorted(pages)]:
    found = unknown(steps.text(path))
    wrong = sorted(word for word in found if word.lower() not in words)
    tap.ok(not wrong, os.path.relpath(path, steps.ROOT), " ".join(wrong) + "\nneither English nor in docs/words.txt")
tap.finish()
