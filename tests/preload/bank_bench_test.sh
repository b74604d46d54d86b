#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The benchmarks of banks: that each checks its result, and that each page lies where its policy says. Times decide
# nothing here.
# usage: bank_bench_test.sh BANK_BENCH LIBRARIES PLUGINS CLAIM
set -euo pipefail

[[ $# == 4 ]] || { echo 'bank_bench_test.sh: wants BANK_BENCH LIBRARIES PLUGINS CLAIM' >&2; exit 2; }
# shellcheck disable=SC2034 # plugins is benchmark_common's
benchmark=$1 libraries=$2 plugins=$3 claim=$4
short=(--workload composite --rounds 2)
# shellcheck source-path=SCRIPTDIR source=benchmark_common.bash
source "$(dirname -- "$0")/benchmark_common.bash"
unset "${!BANK_@}" "${!OMP_@}"

# banked OPTION...: a run on simulated frames of the TILEPro64: 4 controllers of 8 banks.
banked()
{
    BANK_MAP=tilepro64 BANK_PHYSICAL=simulated BANK_POOL=16M LD_PRELOAD=$libraries/libbank_malloc.so run "$@"
    expect "exit status of $*: $(<"$scratch/err")" 0 "$status"
}

each_workload_is_verified_with_any_number_of_threads()
{
    local workload size threads

    for workload in composite:16K stream:100000 is:256K; do
        size=${workload#*:}
        for threads in 1 3 8; do
            run --workload "${workload%:*}" --size "$size" --threads $threads --rounds 3 --warm 2
            expect "exit status of $workload with $threads threads" 0 "$status"
            expect "the result" "  result        right" "$(tail -n 1 "$scratch/out")"
        done
    done
    # To the end: all of the array is sorted then.
    run --workload composite --size 8K --rounds 2100 --threads 2
    expect "exit status of a whole sort" 0 "$status"
}

every_class_of_is_has_the_ranks_of_the_benchmark()
{
    local size

    for size in 256K 4M 32M; do
        run --workload is --size $size --threads 4 --rounds 10
        expect "exit status with $size of keys: $(<"$scratch/err")" 0 "$status"
    done
}

a_row_has_as_many_fields_as_the_header()
{
    local workload

    for workload in composite:16384 stream:65536 is:262144; do
        run --workload "${workload%:*}" --size "${workload#*:}" --threads 4 --rounds 2 --csv --header
        expect "the header" "$columns" "$(head -n 1 "$scratch/out")"
        expect "fields" 27 "$(tail -n 1 "$scratch/out" | awk -F, '{ print NF }')"
        expect "what was run" "${workload/:/ } 4" "$(tail -n 1 "$scratch/out" | awk -F, '{ print $1, $5, $7 }')"
    done
}

# Of each worker of 8: quadrant, index (k) in it, page; then what the policy says of controller and bank.
every_policy_puts_each_page_where_it_says()
{
    local policy rule

    while read -r policy rule; do
        banked --workload composite --size 80K --rounds 1 --tiles 8x7 --threads 8 --policy "$policy" --where
        expect "pages under $policy" 80 "$(grep -c '^[0-9]' "$scratch/out")"
        expect "pages elsewhere under $policy" "" \
            "$(awk '/^[0-9]/ { w = $1; q = $2; k = w % 2; p = $3; c = $4; b = $5; if (!('"$rule"')) print }' "$scratch/out")"
        grep -q "placement=$policy;pages=80;elsewhere=0" "$scratch/out" || fail "$policy: $(<"$scratch/out")"
    done <<'END'
colours-8 c == q && b == k
colours-4 c == q && b == k + 4 * (p % 2)
colours-2 c == q && b == k + 2 * (p % 4)
only-4 c == q && b == k
only-1 c == q && b == 0
local c == q
local-5 c == q && b < 5
opposite c == 3 - q && b == k
one-node c == 0 && b == w
two-nodes c == q % 2 && b == w
circular c == (q + p) % 4 && b == k
END
}

workers_are_a_quarter_in_each_quadrant()
{
    local threads

    for threads in 8 32 48; do
        banked --workload composite --size 8K --rounds 1 --tiles 8x7 --threads $threads --where
        expect "workers of quadrants" "$((threads / 4)) 0 $((threads / 4)) 1 $((threads / 4)) 2 $((threads / 4)) 3" \
            "$(awk '/^[0-9]/ { print $2 }' "$scratch/out" | sort | uniq -c | xargs)"
    done
}

the_seed_decides_where_local_pages_lie()
{
    local -a options=(--workload composite --rounds 1 --threads 8 --policy local --where)

    banked "${options[@]}" --seed 1
    grep '^[0-9]' "$scratch/out" >"$scratch/first"
    banked "${options[@]}" --seed 1
    grep '^[0-9]' "$scratch/out" | diff - "$scratch/first" || fail "one seed gives two placements"
    banked "${options[@]}" --seed 2
    ! grep '^[0-9]' "$scratch/out" | cmp -s - "$scratch/first" || fail "two seeds give one placement"
    expect "banks in use" 8 "$(awk '{ print $5 }' "$scratch/first" | sort -u | wc -l)"
}

# Not of stream: there all numbers of an array are equal.
pages_given_out_twice_are_one_line_and_exit_1()
{
    local workload

    for workload in composite:256K is:256K; do
        LD_PRELOAD=$plugins/bank_twice.so run --workload "${workload%:*}" --size "${workload#*:}" --threads 4 --rounds 2 \
            --policy local
        expect "exit status of $workload" 1 "$status"
        one_line "the result is wrong"
    done
}

a_page_that_is_elsewhere_is_counted()
{
    LD_PRELOAD=$plugins/bank_twice.so run --workload composite --size 8K --threads 8 --policy only-1 --rounds 1
    expect "exit status" 0 "$status"
    grep -q 'pages=8;elsewhere=6' "$scratch/out" || fail "two of eight are in bank 0 of controller 0: $(<"$scratch/out")"
}

a_bank_without_memory_is_one_line_and_exit_1()
{
    BANK_MAP=tilepro64 BANK_PHYSICAL=simulated BANK_POOL=2M LD_PRELOAD=$libraries/libbank_malloc.so \
        run --workload composite --size 4M --rounds 1 --threads 4 --policy only-1
    expect "exit status" 1 "$status"
    one_line "there is no memory of this bank left"
}

every_bad_argument_is_one_line_and_exit_2()
{
    local options

    while read -r options; do
        # shellcheck disable=SC2086 # words
        run $options
        expect "exit status of '$options'" 2 "$status"
        one_line "bank_bench: "
    done <<'END'

--workload sort
--workload is --size 1M
--workload is --rounds 11
--workload composite --size 10000
--workload composite --threads 0
--workload composite --threads 6 --tiles 4x4
--workload composite --threads 20 --tiles 4x4
--workload composite --tiles 8
--workload composite --tiles 300x300
--workload composite --policy colours
--workload composite --policy colours-x
--workload composite --policy opposite-2
--workload composite --policy colours-8
--workload composite --header
--workload composite --counters nothing
END
}

declare -F "$claim" >"$scratch/function" || { echo "bank_bench_test.sh: there is no claim $claim" >&2; exit 2; }
"$claim"
