#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What scripts/evidence/banks.sh promises. Its judgements are tested in report/banks_test.py.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

banks=$source_folder/scripts/evidence/banks.sh

need_parts()
{
    need_simulator
    need_memtrace
    [[ -x $build_folder/bin/bank_bench ]] || skip "bank_bench is not built"
}

# A row of each of three policies.
make_rows()
{
    run "$banks" --jobs 2 --seeds 1 --out rows --workloads composite-32-2 --policies colours-8,local,circular
}

a_run_writes_rows_judges_them_and_keeps_what_is_there()
{
    need_parts
    make_rows
    expect "exit status: $(<"$scratch/err")" 0 "$status"
    expect "rows" 4 "$(wc -l <rows/banks.csv)"
    expect "rows that are simulated" 3 "$(grep -c '^composite,32,2,.*,yes,' rows/banks.csv)"
    grep -q 'controller-local is slightly slower.*\*\*\(holds\|differs\)\*\*' rows/banks.md ||
        fail "the statement is not judged"
    grep -q 'close to 20 % faster.*\*\*not simulated\*\*' rows/banks.md || fail "a statement without rows is judged"
    cp rows/banks.csv before.csv
    make_rows
    expect "exit status of the second run" 0 "$status"
    cmp before.csv rows/banks.csv || fail "a finished run was not left alone"
    # Interrupted in the middle of a row.
    head -n 3 before.csv >rows/banks.csv
    printf 'composite,32,2,lo' >>rows/banks.csv
    make_rows
    expect "exit status after an interruption" 0 "$status"
    # What was recorded anew differs a little.
    diff <(cut -d, -f1-6 before.csv | sort) <(cut -d, -f1-6 rows/banks.csv | sort) ||
        fail "the rows are not those of a run in one go"
}

rows_of_other_arrays_are_refused()
{
    need_parts
    mkdir rows
    echo "brief yes" >rows/banks.csv.settings
    make_rows
    expect_refusal "brief yes"
}

bad_options_are_one_line_and_exit_2()
{
    run "$banks" --jobs none
    expect_refusal "--jobs"
    run "$banks" --seeds 0
    expect_refusal "--seeds"
    run "$banks" --colour
    expect_refusal "--colour"
    run "$banks" --out rows --workloads composite-32-2,composite-1-1
    expect_refusal "there is no 'composite-1-1'"
    run "$banks" --out rows --policies local,nearest
    expect_refusal "there is no 'nearest'"
}

run_claim
