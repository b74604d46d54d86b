#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the AVL benchmark promises, end to end. Usage: avltree_test.sh AVLTREE PLUGIN_DIRECTORY CLAIM
# Exit status: 0 the claim holds, 1 it does not, 77 this machine cannot tell.
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: avltree_test.sh AVLTREE PLUGIN_DIRECTORY CLAIM" >&2
    exit 2
fi
benchmark=$1
plugins=$2
claim=$3
short=(--operations 100)
. "$(dirname -- "$0")/benchmark_common.bash"

# One of the numbers of the line "operations" in what a person reads: counted TEXT
counted() {
    sed -n "s/^  operations .*[ (]\([0-9][0-9]*\) $1.*/\1/p" "$scratch/out"
}

near() { # expected, got
    if [ $(($2 - $1)) -lt -200 ] || [ $(($2 - $1)) -gt 200 ]; then
        fail "$2 of some operation, about $1 expected"
    fi
}

cores() { # physical cores that this process may use
    lscpu --parse=CPU,CORE,SOCKET | awk -F, -v allowed=",$(taskset -cp $$ | sed 's/.*: //')," '
        BEGIN { n = split(allowed, part, ","); for (i = 1; i <= n; i++) {
            if (split(part[i], range, "-") < 2) range[2] = range[1]
            if (part[i] != "") for (c = range[1]; c <= range[2]; c++) may[c] = 1 } }
        !/^#/ && may[$1] && !seen[$2 "," $3]++ { cores++ } END { print cores }'
}

the_row_is_the_documented_one() {
    run --size 512 --operations 100 --csv --header
    expect status 0 "$status"
    expect header "$columns" "$(head -n 1 "$scratch/out")"
    expect fields "27 27" "$(awk -F, '{ print NF }' "$scratch/out" | xargs)"
    expect "standard error" "" "$(cat "$scratch/err")"
}

the_options_appear_in_the_row() {
    expect bench avltree "$(field bench)"
    expect size 512 "$(field size)"
    expect nodes 32767 "$(field nodes)"
    expect "nodes of 1000 keys" 499 "$(field nodes --keys 1000)"
    expect "default threads" 4 "$(field threads)"
    expect threads 3 "$(field threads --threads 3)"
    expect "default seed" 1 "$(field seed)"
    expect seed 99 "$(field seed --seed 99)"
    expect unit operations/s "$(field unit)"
    expect "not pinned" "" "$(field pinned)"
    expect malloc glibc "$(field malloc)"
    expect lock pthread "$(field lock)"
    field rate | grep -qxE '[0-9]+\.[0-9]' || fail "rate is $(field rate)"
}

# 2000 of the keys of each of 3 threads; the counts are near their share, and each is exact in sum.
the_mix_is_the_one_asked_for() {
    run --size 64 --threads 3 --operations 2000
    expect status 0 "$status"
    local inserted replaced removed looked_up
    expect operations 6000 "$(sed -n 's/^  operations  *\([0-9]*\):.*/\1/p' "$scratch/out")"
    inserted=$(counted "nodes inserted")
    replaced=$(counted "values replaced")
    removed=$(counted "nodes deleted")
    looked_up=$(counted look-ups)
    # 1800, 900 and 2400 are expected; a deviation of 200 is more than four times the usual one.
    near 1800 $((inserted + replaced))
    near 900 "$removed"
    near 2400 "$looked_up"
    expect "nodes at the end" $((32767 + inserted - removed)) \
        "$(sed -n 's/^  integrity .*: \([0-9]*\) nodes$/\1/p' "$scratch/out")"

    run --size 64 --threads 2 --operations 500 --mix 0/0/100
    expect "look-ups of 0/0/100" 1000 "$(counted look-ups)"
    run --size 64 --threads 1 --operations 500 --mix 0/100/0 --keys 100
    expect "deleted, all of them" 49 "$(counted "nodes deleted")"
    run --size 64 --threads 1 --operations 5000 --mix 100/0/0 --keys 100
    expect "inserted and replaced" 5000 $(($(counted "nodes inserted") + $(counted "values replaced")))
    expect "inserted, all that were missing" 51 "$(counted "nodes inserted")"
}

# What the watching library says of a run: watched ARGUMENT...
watched() {
    LD_PRELOAD=$plugins/avltree_watch.so run --size 777 "$@"
    expect status 0 "$status"
    cat "$scratch/err"
}

nodes_are_allocated_and_freed_in_the_locked_section() {
    local said inserted removed
    said=$(watched --threads 3 --operations 2000)
    inserted=$(counted "nodes inserted")
    removed=$(counted "nodes deleted")
    [ "$inserted" -gt 0 ] && [ "$removed" -gt 0 ] || fail "$inserted inserted, $removed deleted"
    expect "where nodes are allocated and freed" \
        "locked: $inserted allocated, $removed freed; elsewhere: 32767 allocated, 0 freed" "${said%%; writer*}"
}

# Writer 0 is the set-up, 1 the only thread. Of 8 keys 3 are there at first, and all come up.
an_insertion_of_a_key_that_is_there_replaces_its_value() {
    local said
    said=$(watched --threads 1 --operations 1000 --keys 8 --mix 0/0/100 | head -n 1)
    expect "who wrote the first value" 0 "${said#*; writer }"
    said=$(watched --threads 1 --operations 1000 --keys 8 --mix 100/0/0 | head -n 1)
    expect "who wrote it after insertions" 1 "${said#*; writer }"
}

# One thread's run depends on nothing but the seed; the first nodes do so with any threads.
a_seed_gives_the_same_run_again() {
    run --size 64 --threads 1 --operations 3000 --seed 7
    grep '^  operations' "$scratch/out" >"$scratch/seven"
    run --size 64 --threads 1 --operations 3000 --seed 7
    grep '^  operations' "$scratch/out" | cmp - "$scratch/seven" || fail "two runs of one seed differ"
    run --size 64 --threads 1 --operations 3000 --seed 8
    if grep '^  operations' "$scratch/out" | cmp -s - "$scratch/seven"; then
        fail "two seeds give the same run"
    fi
    expect "sets of two runs" "$(field max_per_set --seed 5)" "$(field max_per_set --seed 5)"
}

the_first_node_is_the_first_block_of_the_heap() {
    the_heap_is_fresh --threads 2 --operations 10 --counters page-faults
    the_heap_is_fresh --threads 1 --operations 10 --pin --csv
}

# Of 128 nodes, as the ring's: see ring_test.sh.
glibc_places_the_first_nodes_as_on_a_fresh_heap() {
    local size most used
    for size in 500:9 1008:5 2040:3; do
        most=${size#*:}
        run --size "${size%:*}" --threads 2 --operations 1 --keys 258 --csv
        used=$(cut -d, -f11 "$scratch/out")
        ((used == most || used == most - 1)) ||
            fail "nodes of ${size%:*} B are on $used sets, not $((most - 1)) or $most"
    done
}

seconds_end_a_run() {
    run --size 64 --seconds 1 --csv
    expect status 0 "$status"
    local rate
    rate=$(cut -d, -f9 "$scratch/out")
    awk -v r="$rate" 'BEGIN { exit !(r > 0) }' || fail "rate is $rate"
}

threads_are_pinned_one_a_core_where_there_are_enough() {
    local available pinned
    available=$(cores)
    pinned=$(field pinned --pin --threads 1)
    expect "standard error with one thread" "" "$(cat "$scratch/err")"
    grep -qxE '[0-9]+' <<<"$pinned" || fail "pinned is '$pinned'"
    pinned=$(field pinned --pin --threads "$available")
    expect "standard error" "" "$(cat "$scratch/err")"
    expect "different CPUs" "$available" "$(tr ';' '\n' <<<"$pinned" | sort -u | wc -l)"
    expect "pinned with a thread too many" "" "$(field pinned --pin --threads $((available + 1)))"
    one_line "the threads are not pinned: $available physical core"
    # And it is so, not only said.
    expect "where the threads may run" "$(tr ';' '\n' <<<"$pinned" | sort -n | sed 's/.*/CPU &: 1 threads/')
several CPUs: 0 threads" "$(watched --operations 100 --pin --threads "$available" | tail -n +2)"
    # What the caller was bound to is all there is.
    pinned=${pinned##*;}
    expect "bound to one CPU" "$pinned" "$(taskset -c "$pinned" "$benchmark" --size 64 --operations 10 --threads 1 --pin --csv | cut -d, -f26)"
    expect "bound to one CPU, two threads" "" "$(taskset -c "$pinned" "$benchmark" --size 64 --operations 10 --threads 2 --pin --csv 2>"$scratch/err" | cut -d, -f26)"
    one_line "1 physical core for 2 threads"
}

# Each operation locks once, whatever was locked before the interval began or after it.
a_lock_library_is_named_and_its_interval_counted() {
    export LD_PRELOAD=$plugins/ring_fake_lock.so
    expect lock ttstle "$(field lock)"
    expect acquisitions 100 "$(field acquisitions --threads 1)"
    expect tx_committed 5 "$(field tx_committed)"
    expect "abort_other, with nested and debug" 13 "$(field abort_other)"
}

every_bad_argument_is_one_line_and_exit_2() {
    local bad
    for bad in "--size 0" "--size 31" "--size abc" "--size -5" "--size" "" "--size 64 --threads 0" \
        "--size 64 --threads 4097" "--size 64 --seconds 0" "--size 64 --operations 0" \
        "--size 64 --seconds 1 --operations 1" "--size 64 --keys 3" "--size 64 --keys x" \
        "--size 64 --mix 30/30/41" "--size 64 --mix 30/70" "--size 64 --mix 50/50/0/0" \
        "--size 64 --mix a/b/c" "--size 64 --mix 101/-1/0" "--size 64 --mix /50/50" \
        "--size 64 --mix 0000000000000000000030/30/40" "--size 64 --pin 3" "--size 64 --header" \
        "--size 64 --traversals 5" "--size 64 --counters no-such-event" "--size 64 x"; do
        # shellcheck disable=SC2086 # the words are the arguments
        run $bad
        expect "status of '$bad'" 2 "$status"
        expect "standard output of '$bad'" "" "$(cat "$scratch/out")"
        one_line "avltree: "
    done
    run --size 31
    one_line "from 32 to "
}

help_names_every_option() {
    run --help
    expect status 0 "$status"
    expect "standard error" "" "$(cat "$scratch/err")"
    local option
    for option in size threads seconds operations keys mix seed pin counters csv header; do
        grep -q -- "^  --$option " "$scratch/out" || fail "--$option is not in the help"
    done
}

a_result_that_cannot_be_written_is_exit_2() {
    [ -c /dev/full ] || exit 77
    status=0
    "$benchmark" --size 64 --operations 10 >/dev/full 2>"$scratch/err" || status=$?
    expect status 2 "$status"
    one_line "cannot write the result"
}

the_smallest_nodes_and_trees_work() {
    local keys
    for keys in 4 5 6 7 8; do
        run --size 32 --keys "$keys" --operations 3000
        expect "status with $keys keys" 0 "$status"
    done
}

# What breaks_as does to the tree must be seen: breaks_as HOW TEXT ARGUMENT...
breaks_as() {
    local how=$1 text=$2
    shift 2
    AVLTREE_BREAK=$how LD_PRELOAD=$plugins/avltree_broken.so run --size 777 --operations 100 --csv --mix 0/0/100 "$@"
    expect "status of $how" 1 "$status"
    expect "standard output of $how" "" "$(cat "$scratch/out")"
    one_line "$text"
}

a_broken_tree_is_one_line_and_exit_1() {
    breaks_as parent "the tree is broken after the run: a parent link does not lead back, at key "
    breaks_as balance "the tree is broken after the run: a balance is wrong, at key "
    breaks_as key "the tree is broken after the run: "
    breaks_as value "the tree is broken after the run: the content of a node was refused, at key "
    breaks_as child "the tree is broken: a pointer in it leads nowhere"
    # A tree of one node, for any other key is then in order.
    breaks_as swap "its keys are not those that were put in" --keys 4
    # The same library does nothing to nodes of another size, nor if it is not asked to.
    AVLTREE_BREAK=value LD_PRELOAD=$plugins/avltree_broken.so run --size 778 --operations 100
    expect "status of a size that is not broken" 0 "$status"
    LD_PRELOAD=$plugins/avltree_broken.so run --size 777 --operations 100
    expect "status when nothing is broken" 0 "$status"
}

a_value_that_nobody_wrote_is_one_line_and_exit_1() {
    breaks_as glimpse "look-ups met a value that nobody wrote" --keys 8
}

memory_that_runs_out_is_one_line_and_exit_1() {
    run --size 1099511627776 --operations 10
    expect "status at the first node" 1 "$status"
    one_line "out of memory at node 1, of 1099511627776 bytes"
    breaks_as memory "out of memory at node 1, of 777 bytes" --mix 100/0/0
    export AVLTREE_BREAK_AT=20000
    breaks_as memory "out of memory at node 20000, of 777 bytes" --mix 100/0/0
    # Past the first nodes: a thread meets it, and all stop.
    export AVLTREE_BREAK_AT=32800
    breaks_as memory "out of memory at node 32800, of 777 bytes" --mix 100/0/0 --operations 100000000
}

an_emulated_run_has_no_rate() {
    export MPLACE_HTM=emulated
    expect htm emulated "$(field htm)"
    expect rate "" "$(field rate)"
}

if [ "$(type -t "$claim")" != function ]; then
    echo "avltree_test.sh: no such claim: $claim" >&2
    exit 2
fi
"$claim"
