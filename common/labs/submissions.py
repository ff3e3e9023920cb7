"""The submissions in a folder: who handed in what. Names and contents are whatever somebody has uploaded."""

import collections
import hashlib
import os
import stat
import urllib.parse

import labs

MOST_BYTES = 1 << 20

# `problem` says why there is nothing to judge; else `content` is the file.
Submission = collections.namedtuple("Submission", "student file content problem", defaults=(b"", ""))


def shown(name):
    """A name that can be printed, whatever its bytes."""
    text = os.fsencode(name).decode("utf-8", errors="replace")
    return "".join(character if character.isprintable() else "?" for character in text)


def file_name(student):
    """A name for a student's result: letters, digits and -_.~%, unique, and not too long."""
    name = urllib.parse.quote(os.fsencode(student), safe="")
    if len(name) > 150 or name.startswith("."):
        name = name[:100].lstrip(".") + "-" + hashlib.sha256(os.fsencode(student)).hexdigest()[:16]
    return name


def read(path):
    """The content of a regular file: (content, problem). No link is followed, no pipe waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return b"", "a link, where a file is wanted" if os.path.islink(path) else f"cannot be read: {error.strerror}"
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b"", "no regular file"
        content = file.read(MOST_BYTES + 1)
    if not content:
        return b"", "the file is empty"
    return (content, "") if len(content) <= MOST_BYTES else (b"", f"the file has more than {MOST_BYTES >> 20} MiB")


def _choose(folder, wanted):
    """Of a student's folder the file with the learner's name, or the only one of its kind: (name, problem)."""
    suffix = os.path.splitext(wanted)[1]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    fitting = [name for name in names if name.endswith(suffix)]
    if wanted in names:
        return wanted, ""
    if len(fitting) == 1:
        return fitting[0], ""
    return None, f"{len(fitting)} {suffix} files, none of them {wanted}" if fitting else f"no {wanted} in the folder"


def _submission(folder, name, wanted):
    path, suffix = os.path.join(folder, name), os.path.splitext(wanted)[1]
    if os.path.islink(path):
        return Submission(name, name, problem="a link, where a file or a folder is wanted")
    if os.path.isdir(path):
        chosen, problem = _choose(path, wanted)
        if problem:
            return Submission(name, name, problem=problem)
        return Submission(name, os.path.join(name, chosen), *read(os.path.join(path, chosen)))
    if not name.endswith(suffix):
        return Submission(name, name, problem=f"neither a {suffix} file nor a folder")
    return Submission(name[: -len(suffix)], name, *read(path))


def find(folder, lab):
    """One for each entry of the folder that does not begin with a dot, in the order of the students."""
    wanted = os.path.basename(labs.path_of(lab, ""))
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("."):
            continue
        one = _submission(folder, name, wanted)
        if one.student in found:
            one = Submission(name, one.file, problem=f"{shown(found[one.student].file)} is of the same student")
        found[one.student] = one
    return [found[student] for student in sorted(found)]
