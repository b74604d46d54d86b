# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the benchmarks that write the CSV row share. Sourced after
#   benchmark=PROGRAM    short=(OPTION...)    what makes a run of it short    claim=NAME
#   plugins=FOLDER    of the libraries that the tests preload
# and gives columns (the row's, in order), $scratch, and the functions below.
# shellcheck disable=SC2154 # benchmark, short, claim and plugins are the sourcing test's

# shellcheck disable=SC2034 # for the tests
columns=bench,malloc,lock,htm,size,nodes,threads,seed,rate,unit,sets_used,max_per_set
columns+=,acquisitions,slow_path,tx_started,tx_committed,abort_conflict,abort_capacity
columns+=,abort_explicit,abort_other,host,cpu,date,policy,wait,pinned,counters

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset LD_PRELOAD TTS_WAIT TTSTLE_POLICY MPLACE_HTM MPLACE_L1D

fail() {
    echo "$claim: $*" >&2
    exit 1
}

# Runs the benchmark with these arguments; leaves status, $scratch/out and $scratch/err.
run() {
    status=0
    "$benchmark" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
}

# The field of that name in a fresh CSV row of a short run; arguments after it are added.
field() {
    local name=$1
    shift
    "$benchmark" --size 512 "${short[@]}" --csv --header "$@" 2>"$scratch/err" |
        awk -F, -v name="$name" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
                                 NR == 2 { print at ? $at : "no such column" }'
}

expect() { # what, expected, got
    [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

one_line() { # of standard error, with this text in it
    expect "lines on standard error" 1 "$(wc -l <"$scratch/err")"
    grep -qF -- "$1" "$scratch/err" || fail "'$1' is not in: $(cat "$scratch/err")"
}

# No block is allocated before the first node: what has been freed again would leave holes, which the
# nodes of some allocators fill. Runs the benchmark with nodes of 777 B and these arguments.
the_heap_is_fresh() {
    FRESH_HEAP_SIZE=777 LD_PRELOAD=$plugins/fresh_heap.so run --size 777 "$@"
    expect status 0 "$status"
    expect "said at the first node" "0 allocations before the first block" \
        "$(grep ' before the first block' "$scratch/err")"
}
