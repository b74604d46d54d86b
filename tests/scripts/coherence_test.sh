#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What scripts/evidence/coherence.sh promises. Its judgements are tested in report/coherence_test.py.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

coherence=$source_folder/scripts/evidence/coherence.sh

# Three rows of a small kernel.
make_rows()
{
    run "$coherence" --brief --jobs 2 --out rows --workloads cg --configurations token,sparse-160,flask-40
}

a_brief_run_writes_rows_and_judges_them()
{
    need_simulator
    need_memtrace
    make_rows
    expect "exit status" 0 "$status"
    expect "rows" 4 "$(wc -l <rows/coherence.csv)"
    expect "rows that are simulated" 3 "$(grep -c '^cg,numerical,.*,yes,' rows/coherence.csv)"
    grep -q 'FLASK at 40 % is 10 % faster than token.*\*\*\(holds\|differs\)\*\*' rows/coherence.md ||
        fail "the statement is not judged"
    grep -q 'at most 8 % slower.*\*\*not simulated\*\*' rows/coherence.md || fail "a statement without rows is judged"
}

a_row_that_is_there_is_kept_and_only_what_is_missing_is_made()
{
    need_simulator
    need_memtrace
    make_rows
    expect "exit status" 0 "$status"
    cp rows/coherence.csv before.csv
    make_rows
    expect "exit status of the second run" 0 "$status"
    cmp before.csv rows/coherence.csv || fail "a finished run was not left alone"
    # Interrupted in the middle of a row.
    head -n 2 before.csv >rows/coherence.csv
    printf 'cg,numerical,tok' >>rows/coherence.csv
    make_rows
    expect "exit status after an interruption" 0 "$status"
    # The simulator's own seconds differ.
    diff <(cut -d, -f5 --complement before.csv | sort) <(cut -d, -f5 --complement rows/coherence.csv | sort) ||
        fail "the rows are not those of a run in one go"
}

rows_of_another_machine_are_refused()
{
    mkdir rows
    echo "scale 2, brief no" >rows/coherence.csv.settings
    make_rows
    expect_refusal "scale 2, brief no"
}

a_second_run_to_the_same_folder_is_refused()
{
    mkdir rows
    exec {held}>>rows/coherence.csv.settings
    flock "$held"
    make_rows
    expect_refusal "another run is writing to rows"
}

bad_options_are_one_line_and_exit_2()
{
    run "$coherence" --scale 3
    expect_refusal "1, 2, 4 or 8"
    run "$coherence" --jobs none
    expect_refusal "--jobs"
    run "$coherence" --colour
    expect_refusal "--colour"
    run "$coherence" --brief --out rows --workloads cg,cgg
    expect_refusal "cgg"
    run "$coherence" --brief --out rows --configurations flask
    expect_refusal "flask"
}

run_claim
