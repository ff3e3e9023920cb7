#!/bin/sh
# sanitize.sh PROGRAM FOLDER: runs a step under every tool of compute-sanitizer, at a small shape that
# is a multiple of nothing: once with rows that start at 16 bytes, once with rows that do not, as a
# step may have a kernel for each. compute-sanitizer is looked for in PATH and in FOLDER.
set -eu

program=$1
PATH=$PATH:$2
aligned="--lda 20 --ldb 260 --ldc 260"
unaligned="--lda 19 --ldb 259 --ldc 261"
# Without guards the first word past an end is not ours to read.
set -- -m 129 -n 257 -k 17 --alpha 1.5 --beta 0.5 --verify-only --no-guards

command -v compute-sanitizer >/dev/null || {
    echo "sanitize: compute-sanitizer is missing. It is a part of the CUDA Toolkit" \
        "(package cuda-sanitizer)." >&2
    exit 77
}
if "$program" --list 2>&1 | grep -q "the GPU is emulated"; then
    echo "sanitize: no CUDA device" >&2
    exit 77
fi
"$program" "$@" || {
    status=$?
    echo "sanitize: $program $* fails without compute-sanitizer already (exit $status)" >&2
    exit $status
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# sanitize TOOL OPTION...: one line, or all that the tool reports.
sanitize()
{
    tool=$1
    shift
    # memcheck watches everything; the others only the step, as cuBLAS is not ours to judge.
    only=--kernel-regex=kns=step_
    [ "$tool" = memcheck ] && only=
    if compute-sanitizer --tool "$tool" --error-exitcode 1 $only "$program" "$@" >"$log" 2>&1; then
        printf '%-10s nothing to report\n' "$tool"
    else
        printf '%-10s REPORTS:\n' "$tool"
        cat "$log"
        return 1
    fi
}

status=0
for rows in "$aligned" "$unaligned"; do
    echo "$program $* $rows"
    for tool in memcheck racecheck initcheck synccheck; do
        # shellcheck disable=SC2086 # the options are words
        sanitize $tool "$@" $rows || status=1
    done
done
exit $status
