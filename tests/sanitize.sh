#!/bin/sh
# sanitize.sh PROGRAM FOLDER: runs a step under every tool of compute-sanitizer, at a shape that is
# a multiple of nothing. compute-sanitizer is looked for in PATH and in FOLDER.
set -eu

program=$1
PATH=$PATH:$2
set -- -m 129 -n 257 -k 17 --lda 19 --ldb 259 --ldc 261 --alpha 1.5 --beta 0.5 --verify-only

command -v compute-sanitizer >/dev/null || {
    echo "sanitize: compute-sanitizer is missing. It is a part of the CUDA Toolkit" \
        "(package cuda-sanitizer)." >&2
    exit 77
}
"$program" "$@" || {
    status=$?
    echo "sanitize: $program $* fails without compute-sanitizer already (exit $status)" >&2
    exit $status
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for tool in memcheck racecheck initcheck synccheck; do
    # memcheck watches everything; the others only the step, as cuBLAS is not ours to judge.
    only=--kernel-regex=kns=step_
    [ $tool = memcheck ] && only=
    if compute-sanitizer --tool $tool --error-exitcode 1 $only "$program" "$@" >"$log" 2>&1; then
        printf '%-10s nothing to report\n' $tool
    else
        status=1
        printf '%-10s REPORTS:\n' $tool
        cat "$log"
    fi
done
exit $status
