#!/usr/bin/env bash
# What the image of the dev container lacks for building, testing and documenting the course.
set -euo pipefail

# Chromium, which looks at the website's pages, is left out: Ubuntu has it outside of its packages.
packages=(make gcc g++ clang clang-format clang-tidy perl python3 python3-venv gnuplot-nox diffutils
    shellcheck aspell aspell-en git)
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -qy --no-install-recommends "${packages[@]}"
