#!/usr/bin/env python3
"""lab.py start LAB [--force] | hint LAB | solution LAB, and [--folder FOLDER], labs/ if left out.

start writes the learner's file, never over another: with --force that one is kept under a new name. hint
prints the next of three hints. solution prints what the learner's file and the course's differ in. Exit
code 2: the call made no sense, and one line says why.
"""

import difflib
import os
import re

import labs


def backup_of(path):
    """The first of path.1, path.2, ... that is free."""
    number = 1
    while os.path.lexists(f"{path}.{number}"):
        number += 1
    return f"{path}.{number}"


def start(name, folder, force):
    path = labs.path_of(name, folder)
    full = os.path.join(labs.ROOT, path)
    labs.make_folder(os.path.dirname(full))
    if os.path.lexists(full) and (force or os.path.islink(full) or labs.text_of(path) != labs.unsolved(name)):
        if not force:
            raise labs.Refusal(f"{path} is there already: FORCE=1 begins anew and keeps a copy of it")
        kept = backup_of(full)
        os.rename(full, kept)
        print(f"what was there is now {os.path.relpath(kept, labs.ROOT)}")
    labs.write_file(full, labs.unsolved(name))
    print(f"{path} is yours.   Sheet: {labs.sheet(name)}   Check: make check{name}")


def refuse_predictions(name):
    if labs.is_prediction(name):
        raise labs.Refusal(f"make check{name} explains each number that is not right")


def hints_given(path):
    """How many; none where the file is not there or holds no number."""
    text = labs.text_of(path).strip() if os.path.exists(path) else ""
    return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else 0


def hint(name, folder):
    """Which hint is next stands in a file beside the learner's."""
    refuse_predictions(name)
    count_path = os.path.join(labs.ROOT, folder, f".hints{name}")
    hints = labs.hints(name)
    number = min(hints_given(count_path) + 1, len(hints))
    print(f"Hint {number} of {len(hints)}\n\n{hints[number - 1]}\n")
    if number < len(hints):
        print(f"More: make hint{name}")
    elif os.path.isdir(labs.HANDED):
        print("That was the last.")
    else:
        print(f"That was the last. make solution{name} shows what is missing, line by line.")
    labs.make_folder(os.path.dirname(count_path))
    labs.write_file(count_path, str(number))


def show_solution(name, folder):
    path = labs.path_of(name, folder)
    refuse_predictions(name)
    if not os.path.exists(os.path.join(labs.ROOT, path)):
        raise labs.Refusal(f"{path} is not there: make lab{name} writes it")
    mine = labs.text_of(path).splitlines()
    theirs = labs.solution(name).splitlines()
    lines = list(difflib.unified_diff(mine, theirs, path, "the course's", lineterm=""))
    print("\n".join(lines) if lines else f"{path} is the course's own")


def main(arguments):
    parser = labs.Parser(description="Begins a lab, gives a hint, shows a solution.")
    parser.add_argument("what", choices=("start", "hint", "solution"))
    parser.add_argument("lab")
    parser.add_argument("--folder", default="labs")
    parser.add_argument("--force", action="store_true")
    given = parser.parse_args(arguments)
    name = labs.known(given.lab)
    if given.what == "start":
        start(name, given.folder, given.force)
    elif given.what == "hint":
        hint(name, given.folder)
    else:
        show_solution(name, given.folder)


if __name__ == "__main__":
    labs.run(main)
