#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# cache_server: consistent in each branch, nothing done twice or lost, and transactions that run alone for the causes
# that their branch leaves. Without GCC's transactions only the branches with locks are there.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

bench=$build_folder/bin/cache_server
locks=(locks semaphores)
transactions=()
for name in "$bench"-i[pt]*; do
    [[ ! -x $name ]] || transactions+=("${name##*cache_server-}")
done

# measure BRANCH OPTION...: one row, of which field NAME says the column NAME.
measure()
{
    run "$bench" --branch "$1" --csv --header "${@:2}"
    expect "exit status of $1" 0 "$status"
}

field()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 2 { print $column }' \
        "$scratch/out"
}

# The program itself compares tables, lists, counts and values, and fails if they differ.
every_branch_is_consistent_after_evictions_moved_pages_and_additions()
{
    local branch

    for branch in "${locks[@]}" "${transactions[@]}"; do
        measure "$branch" --threads 3 --operations 3000 --sets 50 --adds 10 --keys 20000 --memory 8M --old 256
        expect "branch" "$branch" "$(field branch)"
        [[ $(field evicted) -gt 0 && $(field pages_moved) -gt 0 ]] ||
            fail "$branch: $(field evicted) items evicted, $(field pages_moved) pages moved"
    done
}

every_branch_is_consistent_after_the_table_has_grown()
{
    local branch

    for branch in "${locks[@]}" "${transactions[@]}"; do
        measure "$branch" --threads 2 --operations 4000 --sets 100 --value 64 --keys 12000 --hash-power 12
        [[ $(field expansions) -gt 0 ]] || fail "$branch: the table did not grow"
    done
}

no_addition_is_lost_or_made_twice()
{
    local branch

    for branch in "${locks[@]}" "${transactions[@]}"; do
        measure "$branch" --threads 4 --operations 1000 --sets 0 --adds 100 --keys 100
        expect "evictions of $branch" 0 "$(field evicted)"
    done
}

# A set is three or four transactions; how many of them run alone follows from the source.
each_step_leaves_no_more_unsafe_transactions_and_the_last_none()
{
    local items step before unsafe

    [[ ${#transactions[@]} -gt 0 ]] || skip "the compiler has no transactions"
    for items in ip it; do
        before=
        for step in '' -callable -max -lib -oncommit; do
            measure $items$step --threads 2 --operations 2000 --sets 100
            unsafe=$(($(field in_flight_switch) + $(field start_serial)))
            [[ -z $before || $unsafe -le $before ]] || fail "$items$step: $unsafe, and $before before"
            before=$unsafe
            [[ $step != '' || $unsafe -ge 8000 ]] || fail "$items: $unsafe of 4000 sets"
            [[ $(field transactions) -ge 12000 ]] || fail "$items$step: $(field transactions) transactions"
        done
        expect "unsafe transactions at last" 0 "$unsafe"
    done
}

# Output from transactions that abort or run twice would be there too often, or not at all.
output_from_commit_handlers_is_that_of_the_locks()
{
    local items

    [[ ${#transactions[@]} -gt 0 ]] || skip "the compiler has no transactions"
    measure locks --threads 1 --operations 500 --sets 50 --verbose 3
    sort "$scratch/err" >"$scratch/wanted"
    [[ $(wc -l <"$scratch/wanted") -gt 500 ]] || fail "the branch locks said too little"
    for items in ip it; do
        measure $items-oncommit --threads 1 --operations 500 --sets 50 --verbose 3
        sort "$scratch/err" | diff - "$scratch/wanted" >"$scratch/differences" ||
            fail "$items: $(head -n 5 "$scratch/differences")"
    done
}

what_cannot_be_done_is_one_line()
{
    run "$bench" --branch none
    expect_refusal "--branch"
    run "$bench" --sets 60 --adds 50
    expect_refusal "--adds"
    run "$bench" --value 9
    expect_refusal "--value"
    run "$bench" --header
    expect_refusal "--header"
}

run_claim
