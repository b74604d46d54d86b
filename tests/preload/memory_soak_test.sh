#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What memory_soak.sh promises, with libc's allocator or a program of known memory in malloc_bench's place.
# usage: memory_soak_test.sh MEMORY_SOAK BUILD CLAIM
set -euo pipefail

[[ $# == 3 ]] || { echo 'memory_soak_test.sh: wants MEMORY_SOAK BUILD CLAIM' >&2; exit 2; }
benchmark=$1 build=$2 claim=$3
# shellcheck source-path=SCRIPTDIR source=benchmark_common.bash
source "$(dirname -- "$0")/benchmark_common.bash"

short=(--library none --seconds 6 --warm-up 2 --interval 0.2)

verdict() { tail -n 1 "$scratch/out"; }

a_load_that_keeps_its_limits_passes()
{
    run "$build" many-threads --size 20 "${short[@]}"
    expect "exit status" 0 "$status"
    expect "complaints" "" "$(cat "$scratch/err")"
    [[ $(verdict) == 'memory_soak.sh: many-threads: flat for '*' s: resident memory '*' at most' ]] || fail "$(verdict)"
}

each_limit_is_watched_and_named()
{
    local limit text
    while read -r limit text; do
        run "$build" server --size 10 --quiet 1 "${short[@]}" --limit returned=1000 --limit "$limit=1"
        expect "exit status with $limit" 1 "$status"
        expect "complaints" "" "$(cat "$scratch/err")"
        [[ $(verdict) == "memory_soak.sh: server: violated after "*" s: $text "[0-9]*", the limit is 1"* ]] || fail "$(verdict)"
    done <<'END'
resident resident memory
space address space
mappings mappings
returned resident memory at its least
END
    run "$build" many-threads --size 5 "${short[@]}" --library "$build/lib/libcia_malloc.so" --limit subheaps=0
    expect "exit status with subheaps" 1 "$status"
    [[ $(verdict) == *': sub-heaps '*', the limit is 0 '* ]] || fail "$(verdict)"
}

growth_after_the_warm_up_is_a_violation()
{
    run "$build" many-threads --size 4 "${short[@]}" --seconds 30 --library "$build/tests/plugins/malloc_leak.so" \
        --limit resident=100000 --limit space=100000
    expect "exit status" 1 "$status"
    [[ $(verdict) == *': violated after '*' in the first 2 s after the warm-up, and '*')' ]] || fail "$(verdict)"
    [[ $(wc -l <"$scratch/out") -le 5 ]] || fail "it went on: $(cat "$scratch/out")"
}

a_load_that_fails_is_told_with_its_words()
{
    run "$build" many-threads --size 20 "${short[@]}" --library "$build/tests/plugins/malloc_twice.so"
    expect "exit status" 1 "$status"
    grep -q 'lost its content' "$scratch/out" || fail "its words are missing: $(cat "$scratch/out")"
    [[ $(verdict) == *': the load ended with exit status 1' ]] || fail "$(verdict)"
}

every_bad_argument_is_one_line_and_exit_2()
{
    local options
    for options in '' nothing 'phases --seconds' 'phases --seconds 0' 'phases --nonsense 1' 'phases --library none.so' \
        'phases --interval 0' 'phases --limit resident' 'phases --limit speed=1' 'server --quiet 1 --seconds 7200'; do
        read -ra arguments <<<"$options"
        run "$build" "${arguments[@]}"
        expect "exit status of $options" 2 "$status"
        one_line "memory_soak.sh: "
        expect "output of $options" "" "$(cat "$scratch/out")"
    done
}

"$claim"
