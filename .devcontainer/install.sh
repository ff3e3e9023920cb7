#!/usr/bin/env bash
# What the image of the dev container lacks for building, testing and documenting the course.
set -euo pipefail

packages=(make gcc g++ clang clang-format clang-tidy perl python3 gnuplot-nox diffutils shellcheck git)
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -qy --no-install-recommends "${packages[@]}"
