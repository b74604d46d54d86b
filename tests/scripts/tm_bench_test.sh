#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tm_bench: no transaction lost under libitm and under libtm_runtime.so, rows that name what ran, errors in one line.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

bench=$build_folder/bin/tm_bench
[[ -x $bench ]] || skip "the compiler has no transactions"
unset "${!ITM_@}" "${!TM_@}"

# measure SETTING... -- OPTION...: one row, of which field NAME says the column NAME.
measure()
{
    local settings=()

    while [[ $1 != -- ]]; do
        settings+=("$1")
        shift
    done
    run env "${settings[@]}" "$bench" --csv --header "${@:2}"
    expect "exit status under ${settings[*]}" 0 "$status"
}

field()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 2 { print $column }' \
        "$scratch/out"
}

# The program itself looks for lost nodes and additions, and fails if there are any.
no_transaction_is_lost_under_either_library()
{
    local workload settings preload

    for workload in counter list tree; do
        for settings in ITM_DEFAULT_METHOD=ml_wt TM_ALGORITHM=eager TM_ALGORITHM=lazy TM_ALGORITHM=norec \
            TM_ALGORITHM=serial TM_ALGORITHM=htm; do
            preload=
            [[ $settings == ITM_* ]] || preload=$build_folder/lib/libtm_runtime.so
            measure "$settings" LD_PRELOAD="$preload" -- --workload "$workload" --threads 3 --operations 3000
        done
    done
}

a_row_names_the_library_that_is_loaded_and_its_settings()
{
    measure ITM_DEFAULT_METHOD=ml_wt -- --workload counter --operations 10
    expect "runtime" itm "$(field runtime)"
    expect "settings" ITM_DEFAULT_METHOD=ml_wt "$(field settings)"
    measure LD_PRELOAD="$build_folder/lib/libtm_runtime.so" -- --workload tree --operations 10
    expect "runtime" tm_runtime "$(field runtime)"
    expect "settings" '' "$(field settings)"
}

compare_has_a_line_for_each_workload_library_and_number_of_threads()
{
    local workload threads library

    run "$source_folder/bench/transactions/compare.sh" --build "$build_folder" --brief --runs 2 \
        --libraries ml_wt,eager,eager-alone
    expect "exit status" 0 "$status"
    for workload in counter list tree cache; do
        for threads in 1 2; do
            # Of the two tables of ratios; those of ml_wt to itself are 1.
            expect "lines of $workload, $threads threads" 2 \
                "$(grep -cE "^\| $workload \| $threads \| 1\.00 \[1\.00, 1\.00\]( \| [0-9.]+ \[[0-9.]+, [0-9.]+\]){2} \|$" "$scratch/out")"
            for library in ml_wt eager eager-alone; do
                expect "lines of $workload, $threads threads, $library" 1 \
                    "$(grep -c "^| $workload | $threads | $library | [0-9]" "$scratch/out")"
            done
        done
    done
}

what_cannot_be_done_is_one_line()
{
    run "$bench" --workload queue
    expect_refusal "--workload queue"
    run "$bench" --workload list --header
    expect_refusal "--header"
    run "$bench" --workload list --threads 0
    expect_refusal "--threads"
    run "$source_folder/bench/transactions/compare.sh" --libraries eager
    expect_refusal "--libraries"
    run "$source_folder/bench/transactions/compare.sh" queue
    expect_refusal "queue"
}

run_claim
