#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What scripts/evidence/persistence.sh promises. Its judgements are tested in report/persistence_test.py.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

persistence=$source_folder/scripts/evidence/persistence.sh

# Three rows of one workload, and three of a node size.
make_rows()
{
    run "$persistence" --brief --jobs 2 --out rows --workloads hash,rbtree:512:glibc --configurations none,h-wal,loc-wal
}

a_brief_run_writes_rows_judges_them_and_keeps_what_is_there()
{
    need_simulator
    need_memtrace
    make_rows
    expect "exit status" 0 "$status"
    expect "rows" "hash h-wal;hash loc-wal;hash none;rbtree:512:glibc h-wal;rbtree:512:glibc loc-wal;rbtree:512:glibc none" \
        "$(tail -n +2 rows/persistence.csv | cut -d, -f1,3 --output-delimiter=' ' | sort | paste -sd';')"
    grep -q 'H-WAL has 0.331.*\*\*\(holds\|differs\)\*\*' rows/persistence.md || fail "the statement is not judged"
    grep -q 'EC-WAL is 6.4 %.*\*\*not simulated\*\*' rows/persistence.md || fail "a statement without rows is judged"
    grep -q '^| rbtree | 512 | [0-9]' rows/persistence.md || fail "the overflows of the node size are not told"
    cp rows/persistence.csv before.csv
    # Interrupted in the middle of a row.
    head -n 3 before.csv >rows/persistence.csv
    printf 'hash,table' >>rows/persistence.csv
    make_rows
    expect "exit status after an interruption" 0 "$status"
    diff <(cut -d, -f1-3 before.csv | sort) <(cut -d, -f1-3 rows/persistence.csv | sort) ||
        fail "the rows are not those of a run in one go"
}

power_cuts_in_the_workloads_find_nothing()
{
    need_simulator
    need_memtrace
    run "$persistence" --brief --jobs 2 --out rows --workloads hash,sqlite --cuts 60
    expect "exit status" 0 "$status"
    # hash on one core and on four, and sqlite on one.
    expect "runs" 18 "$(grep -c '^\(hash,[14]\|sqlite,1\),[a-z-]*,20,0$' rows/power-cuts.csv)"
    expect "lines" 19 "$(wc -l <rows/power-cuts.csv)"
    [[ ! -e rows/persistence.csv ]] || fail "rows were made, too"
}

bad_options_are_one_line_and_exit_2()
{
    run "$persistence" --cuts 0
    expect_refusal "--cuts"
    run "$persistence" --brief --out cuts --cuts 10 --workloads hash-8
    expect_refusal "Table II"
    run "$persistence" --jobs none
    expect_refusal "--jobs"
    run "$persistence" --colour
    expect_refusal "--colour"
    run "$persistence" --brief --out rows --workloads hash,hush
    expect_refusal "hush"
    run "$persistence" --brief --out rows --configurations loc
    expect_refusal "loc"
    mkdir rows
    echo "brief no" >rows/persistence.csv.settings
    run "$persistence" --brief --out rows
    expect_refusal "brief no"
}

run_claim
