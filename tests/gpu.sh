#!/bin/sh
# gpu.sh FOLDER TOOLS: all the work that needs a GPU, results as files in FOLDER. TOOLS is where the
# toolkit's programs are. PHASES chooses among "verify sanitize profile benchmark". Goes on after a
# failure, and exits 1 if there was one.
set -u

out=$1
tools=$2
phases=${PHASES:-verify sanitize profile benchmark}
mkdir -p "$out" || exit 1
failures=0

# run NAME COMMAND...: leaves what the command prints in NAME.txt.
run()
{
    name=$1
    shift
    started=$(date +%s)
    "$@" >"$out/$name.txt" 2>&1
    status=$?
    case $status in
    0) word=ok ;;
    77) word=skipped ;;
    *) word="FAILED (exit $status)" failures=$((failures + 1)) ;;
    esac
    printf '%-24s %s, %s s\n' "$name" "$word" $(($(date +%s) - started))
}

# benchmark NAME PROGRAM OPTION...: its table, and everything it measured as CSV and JSON.
benchmark()
{
    run "$@" --csv "$out/$1.csv" --json "$out/$1.json"
}

run machine sh -c "date -u +%FT%TZ; nvidia-smi; '$tools/nvcc' --version"
for phase in $phases; do
    [ "$phase" = verify ] && run verify prove --verbose tests/gpu_steps.t
    for step in step[0-9][0-9]; do
        case $phase in
        sanitize) run "$step-sanitize" tests/sanitize.sh "./$step" "$tools" ;;
        profile) run "$step-profile" python3 tests/counters.py "./$step" 4096 "$tools" ;;
        benchmark)
            benchmark "$step" "./$step"
            benchmark "$step-12288" "./$step" -s 12288
            benchmark "$step-k128" "./$step" -m 4096 -n 4096 -k 128 # where the store matters
            benchmark "$step-power" "./$step" -s 4096 --power
            ;;
        esac
    done
done

[ $failures -eq 0 ] || echo "$failures failed: see their files in $out" >&2
[ $failures -eq 0 ]
