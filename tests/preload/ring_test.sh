#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the ring benchmark promises, end to end. Usage: ring_test.sh RING PLUGIN_DIRECTORY CLAIM
# Exit status: 0 the claim holds, 1 it does not, 77 this machine cannot tell.
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: ring_test.sh RING PLUGIN_DIRECTORY CLAIM" >&2
    exit 2
fi
benchmark=$1
plugins=$2
claim=$3
short=(--traversals 100)
. "$(dirname -- "$0")/benchmark_common.bash"

can_preload() {
    ! LD_PRELOAD=$1 /bin/true 2>&1 | grep -q . || { echo "$1 is not installed" && exit 77; }
}

the_header_is_exactly_the_documented_one() {
    run --size 512 --traversals 100 --csv --header
    expect status 0 "$status"
    expect header "$columns" "$(head -n 1 "$scratch/out")"
    expect lines 2 "$(wc -l <"$scratch/out")"
    run --size 512 --traversals 100 --csv
    expect "lines without --header" 1 "$(wc -l <"$scratch/out")"
}

a_row_has_as_many_fields_as_the_header() {
    run --size 512 --traversals 100 --csv --header --pin "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
    expect status 0 "$status"
    expect "fields" "27 27" "$(awk -F, '{ print NF }' "$scratch/out" | xargs)"
}

the_options_appear_in_the_row() {
    local cpu
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    expect size 512 "$(field size)"
    expect "default nodes" 128 "$(field nodes)"
    expect nodes 77 "$(field nodes --nodes 77)"
    expect "default seed" 1 "$(field seed)"
    expect seed 99 "$(field seed --seed 99)"
    expect threads 1 "$(field threads)"
    expect unit traversals/s "$(field unit)"
    expect "not pinned" "" "$(field pinned)"
    expect pinned "$cpu" "$(field pinned --pin "$cpu")"
    field rate | grep -qxE '[0-9]+\.[0-9]' || fail "rate is $(field rate)"
    field date | grep -qxE '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z' || fail "date is $(field date)"
}

# The order of the nodes must not change where they are.
a_seed_gives_the_same_run_again() {
    expect "sets of two runs" "$(field sets_used --seed 5)" "$(field sets_used --seed 5)"
    expect "sets of another seed" "$(field sets_used --seed 5)" "$(field sets_used --seed 6)"
}

the_first_node_is_the_first_block_of_the_heap() {
    the_heap_is_fresh --traversals 100 --counters page-faults
    the_heap_is_fresh --traversals 100 --pin "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" --csv --header
}

# With its header of 8 B and its alignment to 16 B a block of 500 B begins 512 B after the one before:
# 8 of 64 sets. One set more is left to a first block that lies apart. Holes in the heap spread the nodes.
glibc_places_nodes_as_on_a_fresh_heap() {
    local size most used
    expect malloc glibc "$(field malloc)"
    for size in 500:9 1008:5 2040:3; do
        most=${size#*:}
        run --size "${size%:*}" --traversals 1 --csv
        used=$(cut -d, -f11 "$scratch/out")
        ((used == most || used == most - 1)) ||
            fail "nodes of ${size%:*} B are on $used sets, not $((most - 1)) or $most"
        run --size "${size%:*}" --traversals 1 --sets
        expect "sets in the drawing" "$used" "$(awk '/^ *[0-9]+ +[0-9]+/ && $2 > 0' "$scratch/out" | wc -l)"
    done
}

glibc_is_named_when_nobody_interposes() {
    expect malloc glibc "$(field malloc)"
    expect lock pthread "$(field lock)"
    expect htm none "$(field htm)"
    expect acquisitions "" "$(field acquisitions)"
}

names() { # soname, label
    can_preload "$1"
    expect malloc "$2" "$(LD_PRELOAD=$1 field malloc)"
    # A library that merely comes first is not the allocator.
    expect "malloc behind another library" "$2" "$(LD_PRELOAD="libm.so.6 $1" field malloc)"
}
jemalloc_is_named() { names libjemalloc.so.2 jemalloc; }
mimalloc_is_named() { names libmimalloc.so.2.0 mimalloc; }
tcmalloc_is_named() { names libtcmalloc_minimal.so.4 tcmalloc; }

# 100 traversals take the lock 100 times, whatever was locked before the interval began.
a_lock_library_is_named_and_its_interval_counted() {
    export LD_PRELOAD=$plugins/ring_fake_lock.so
    expect lock ttstle "$(field lock)"
    expect htm native "$(field htm)"
    expect acquisitions 100 "$(field acquisitions)"
    expect tx_committed 5 "$(field tx_committed)"
    expect abort_capacity 7 "$(field abort_capacity)"
    expect "abort_other, with nested and debug" 13 "$(field abort_other)"
}

settings_in_force_appear_in_the_row() {
    expect "wait without a lock library" "" "$(TTS_WAIT=spin field wait)"
    export LD_PRELOAD=$plugins/ring_fake_lock.so
    expect "default wait" park "$(field wait)"
    expect "default policy" adaptive "$(field policy)"
    expect wait spin "$(TTS_WAIT=spin field wait)"
    expect policy paper "$(TTSTLE_POLICY=paper field policy)"
    expect "a wait that no library takes" park "$(TTS_WAIT=nonsense field wait)"
}

every_bad_argument_is_one_line_and_exit_2() {
    local bad
    for bad in "--size 0" "--size 15" "--size abc" "--size -5" "--size 1e3" "--size" "--size=" \
        "--size 99999999999999999999" "" "--size 512 --nodes 0" "--size 512 --traversals 0" \
        "--size 512 --seed -1" "--size 512 --pin" "--size 512 --pin x" "--size 512 --pin 999999" \
        "--size 512 --counters no-such-event" "--size 512 --counters ," "--size 512 --threads 2" \
        "--size 512 --csv=yes" "--size 512 --header" "--size 512 --csv --sets" "--size 512 x"; do
        # shellcheck disable=SC2086 # the words are the arguments
        run $bad
        expect "status of '$bad'" 2 "$status"
        expect "standard output of '$bad'" "" "$(cat "$scratch/out")"
        one_line "ring: "
    done
    run --size 512 ""
    expect "status of an empty argument" 2 "$status"
}

help_goes_to_standard_output() {
    run --help
    expect status 0 "$status"
    expect "standard error" "" "$(cat "$scratch/err")"
    local option
    for option in size nodes traversals seed pin counters csv header sets; do
        grep -q -- "--$option " "$scratch/out" || fail "--$option is not in the help"
    done
}

a_result_that_cannot_be_written_is_exit_2() {
    [ -c /dev/full ] || exit 77
    status=0
    "$benchmark" --size 512 --traversals 100 >/dev/full 2>"$scratch/err" || status=$?
    expect status 2 "$status"
    one_line "cannot write the result"
}

a_broken_ring_is_one_line_and_exit_1() {
    export LD_PRELOAD=$plugins/ring_broken_malloc.so
    run --size 777 --traversals 100
    expect status 1 "$status"
    expect "standard output" "" "$(cat "$scratch/out")"
    one_line "the ring is broken"
    run --size 778 --traversals 100
    expect "status of a size that is not broken" 0 "$status"
}

memory_that_runs_out_is_one_line_and_exit_1() {
    run --size 1099511627776 --nodes 16777216
    expect status 1 "$status"
    expect "standard output" "" "$(cat "$scratch/out")"
    one_line "out of memory at node "
}

# Every machine lacks some event; where this one has cycles the row must have them.
an_event_that_cannot_be_counted_does_not_stop_the_run() {
    run --size 512 --traversals 100 --csv --counters cycles
    expect status 0 "$status"
    if [ -s "$scratch/err" ]; then
        one_line "counter cycles is not counted"
        expect counters "" "$(awk -F, '{ print $27 }' "$scratch/out")"
    else
        awk -F, '{ print $27 }' "$scratch/out" | grep -qxE 'cycles=[0-9]+' ||
            fail "neither a count nor a line: $(cat "$scratch/out")"
    fi
}

a_countable_event_appears_in_the_row() {
    local counters
    counters=$(field counters --counters page-faults,context-switches)
    if grep -q "not permitted\|no perf_event_open" "$scratch/err"; then
        cat "$scratch/err"
        exit 77
    fi
    grep -qxE 'page-faults=[0-9]+;context-switches=[0-9]+' <<<"$counters" ||
        fail "counters are '$counters'"
}

the_drawing_counts_every_node() {
    run --size 512 --traversals 100 --nodes 300 --sets
    expect status 0 "$status"
    expect "nodes in the drawing" 300 \
        "$(awk '/^ *[0-9]+ +[0-9]+/ { nodes += $2 } END { print nodes }' "$scratch/out")"
    local used
    used=$(awk '/^ *[0-9]+ +[0-9]+/ && $2 > 0 { used++ } END { print used }' "$scratch/out")
    expect "sets used" "$(field sets_used --nodes 300)" "$used"
    export MPLACE_L1D=256x4
    run --size 512 --traversals 100 --sets
    expect "lines of 256 sets" 256 "$(grep -cE '^ *[0-9]+ +[0-9]+' "$scratch/out")"
}

small_rings_work() {
    local nodes
    for nodes in 1 2 3; do
        run --size 16 --nodes "$nodes" --traversals 1
        expect "status of $nodes nodes" 0 "$status"
    done
}

an_emulated_run_has_no_rate() {
    export MPLACE_HTM=emulated
    expect htm emulated "$(field htm)"
    expect rate "" "$(field rate)"
    expect sets 512 "$(field size)"
}

if [ "$(type -t "$claim")" != function ]; then
    echo "ring_test.sh: no such claim: $claim" >&2
    exit 2
fi
"$claim"
