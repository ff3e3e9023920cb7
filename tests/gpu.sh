#!/bin/sh
# gpu.sh FOLDER TOOLS [VARIANT...]: all the work that needs a GPU, results as files in FOLDER. TOOLS is
# where the toolkit's programs are, each VARIANT a program made of docs/variants. PHASES chooses among
# "verify basics sanitize profile benchmark variants patterns facts". Goes on after a failure, and exits 1
# if there was one. What docs/results keeps of it is ladder.csv, counters.csv, variants.csv,
# variant_counters.csv, access_patterns.csv, device_facts.csv, occupancy.csv, accuracy.csv,
# tensor_cores.csv, wgmma.csv, runtime_errors.txt and step00-*.txt.
set -u

out=$1
tools=$2
shift 2
phases=${PHASES:-verify basics sanitize profile benchmark variants patterns facts}
mkdir -p "$out" || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

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
    *) word="FAILED (exit $status)" ;;
    esac
    printf '%-24s %s, %s s\n' "$name" "$word" $(($(date +%s) - started)) | tee -a "$log"
}

# benchmark NAME PROGRAM OPTION...: its table, and everything it measured as CSV.
benchmark()
{
    run "$@" --csv "$out/$1.csv"
}

# collect NAME FILE...: the CSV files as one, under one header.
collect()
{
    name=$1
    shift
    [ -e "$1" ] && awk 'FNR > 1 || NR == 1' "$@" >"$out/$name.csv"
}

# variants PROGRAM...: the times of all and of their steps, under their names, in one file; the counters.
variants()
{
    bases=$(printf '%s\n' "$@" | sed 's|.*/\([0-9][0-9]\)-.*|step\1|' | sort -u)
    for program in $bases "$@"; do
        variant=$(basename "$program" | sed 's/^step//')
        benchmark "variant-$variant" "./$program"
        [ -e "$out/variant-$variant.csv" ] &&
            awk -v "variant=$variant" '{ print (NR == 1 ? "variant" : variant) "," $0 }' \
                "$out/variant-$variant.csv" >"$out/named-variant-$variant.csv"
    done
    collect variants "$out"/named-variant-*.csv
    for program in "$@"; do
        variant=$(basename "$program")
        run "counters-$variant" python3 tests/counters.py "./$program" 4096 "$tools" \
            "$out/counters-$variant.csv"
    done
    collect variant_counters "$out"/counters-*.csv
}

# Where there is no GPU, a step starts its emulated twin.
if ./step01 --list 2>&1 | grep -q "no CUDA device\|the GPU is emulated"; then
    echo "gpu: no CUDA device" >&2
    exit 1
fi
run machine sh -c "date -u +%FT%TZ; nvidia-smi; '$tools/nvcc' --version"
programs=$(echo step[0-9][0-9] | sed 's/step00 *//') # step 00 multiplies no matrices
experiments=$(./step00 --list | awk '{ print $1 }')
for phase in $phases; do
    [ "$phase" = variants ] && variants "$@"
    [ "$phase" = verify ] && run verify prove --verbose tests/gpu_steps.t tests/gpu_library.t
    [ "$phase" = patterns ] && "$tools/nvcc" -o build/access_patterns tests/access_patterns.cu &&
        run patterns python3 tests/access_patterns.py build/access_patterns \
            "$out/access_patterns.csv" "$tools"
    [ "$phase" = facts ] && "$tools/nvcc" -arch=native -o build/device_facts tests/device_facts.cu && {
        run device_facts build/device_facts && mv "$out/device_facts.txt" "$out/device_facts.csv"
        run occupancy build/device_facts occupancy && mv "$out/occupancy.txt" "$out/occupancy.csv"
    }
    [ "$phase" = facts ] &&
        "$tools/nvcc" -arch=native -o build/errors tests/emulator/programs/errors.cu &&
        run runtime_errors sh -c 'build/errors 2>/dev/null' # an assertion's message has a path in it
    [ "$phase" = facts ] &&
        "$tools/nvcc" -arch=native -o build/tensor_cores tests/emulator/programs/tensor_cores.cu &&
        run tensor_cores build/tensor_cores && mv "$out/tensor_cores.txt" "$out/tensor_cores.csv"
    [ "$phase" = facts ] && ! ./step19 --list | grep -q "none that this device can run" &&
        "$tools/nvcc" -gencode arch=compute_90a,code=sm_90a -o build/wgmma tests/emulator/programs/wgmma.cu &&
        run wgmma build/wgmma && mv "$out/wgmma.txt" "$out/wgmma.csv"
    [ "$phase" = facts ] &&
        "$tools/nvcc" -arch=native -Icommon -o build/accuracy tests/accuracy.cu \
            build/steps/15_tensor_cores.o build/steps/19_wgmma.o -lcublas &&
        run accuracy build/accuracy && mv "$out/accuracy.txt" "$out/accuracy.csv"
    [ "$phase" = basics ] && for experiment in $experiments; do
        run "step00-$experiment" ./step00 "$experiment"
    done
    for step in $programs; do
        case $phase in
        sanitize) run "$step-sanitize" tests/sanitize.sh "./$step" "$tools" & ;;
        profile)
            run "$step-profile" python3 tests/counters.py "./$step" 4096 "$tools" \
                "$out/$step-profile.csv"
            ;;
        benchmark)
            benchmark "$step-12288" "./$step" -s 12288
            benchmark "$step-power" "./$step" -s 4096 --power
            ;;
        esac
    done
    # What differs from process to process does not show within one: several of them, far apart.
    for process in 1 2 3; do
        for step in $programs; do
            [ "$phase" = benchmark ] || continue
            benchmark "$step-squares-$process" "./$step"
            benchmark "$step-k128-$process" "./$step" -m 4096 -n 4096 -k 128 # the store matters
        done
    done
    wait # the sanitizers run side by side: they time nothing
    case $phase in
    profile) collect counters "$out"/step*-profile.csv ;;
    benchmark) collect ladder "$out"/step*-[!p]*.csv "$out"/step*-power.csv ;;
    esac
done

! grep -q FAILED "$log" || { echo "see their files in $out" >&2 && exit 1; }
