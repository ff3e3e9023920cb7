#!/usr/bin/env python3
"""The dev container: its file is what editors read, and it installs what the tests need."""

import json
import os
import re

import steps
import tap

FOLDER = os.path.join(steps.ROOT, ".devcontainer")
WITHOUT = {"chromium"}  # not a package of Ubuntu

settings = json.loads(steps.text(os.path.join(FOLDER, "devcontainer.json")))
release = re.fullmatch(r"nvidia/cuda:(\d+)\.(\d+)\.\d+-devel-ubuntu[\d.]+", settings["image"])
tap.ok(
    release and (12, 4) <= (int(release[1]), int(release[2])) < (14, 0),
    "the image has a toolkit that the course supports",
    settings["image"],
)
tap.ok(settings["hostRequirements"] == {"gpu": "optional"}, "a GPU is used where there is one")
script = settings["onCreateCommand"].split()[-1]
tap.ok(os.path.exists(os.path.join(steps.ROOT, script)), f"{script} exists")

installed = set(re.search(r"packages=\((.*?)\)", steps.text(os.path.join(steps.ROOT, script)), re.S)[1].split())
ci = steps.text(os.path.join(steps.ROOT, ".ci", "run"))
needed = set(re.findall(r"^need \S+ (\S+)", ci, re.M)) | set(re.findall(r"packages\+=\(([a-z][\w-]*)\)", ci))
tap.ok(len(needed) > 5 and needed - installed == WITHOUT, "it installs what CI does", needed - installed)
tap.finish()
