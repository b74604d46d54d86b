#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# persist_bench: whole structures, rows that count what the formats of the log cost, errors in one line.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

bench=$build_folder/bin/persist_bench

# Where msync takes no time, if there is such a place.
quick=$scratch
if [[ -w /dev/shm ]]; then
    quick=$(mktemp -d /dev/shm/mplace-test.XXXXXX)
    trap 'rm -rf -- "$scratch" "$quick"' EXIT
fi

# measure_in FOLDER OPTION...: one row, of which field NAME says the column NAME.
measure_in()
{
    local folder=$1

    shift
    run "$bench" --csv --header --keys 1000 --log-size 256K --folder "$folder" "$@"
    expect "exit status" 0 "$status"
    expect "files that are left" "" "$(find "$folder" -name 'persist_bench.*')"
}

measure()
{
    measure_in "$quick" --transactions 2000 "$@"
}

field()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 2 { print $column }' \
        "$scratch/out"
}

every_workload_is_whole_afterwards_with_each_log()
{
    local workload log

    for workload in btree graph hash rbtree sps; do
        for log in none wal eager; do
            measure --workload $workload --log $log --threads 2
            expect "row" "persist $workload $log 2" "$(field bench) $(field workload) $(field log) $(field threads)"
        done
    done
}

# More than one a commit where the log is copied to its places, at most three each time.
eager_waits_for_one_fence_a_commit_wal_for_two_and_a_batch_for_one()
{
    local log wanted batch beyond

    for log in "eager 1 2000" "wal 1 4000" "eager 20 100" "wal 20 4000"; do
        read -r log batch wanted <<<"$log"
        measure --workload hash --log "$log" --batch "$batch"
        beyond=$(($(field fences) - wanted))
        [[ $beyond -ge 0 && $beyond -le $((3 * $(field checkpoints))) ]] ||
            fail "$log, batch $batch: $(field fences) fences, $(field checkpoints) checkpoints"
    done
}

a_copy_of_the_file_as_it_was_recovers_what_the_log_held()
{
    measure --workload sps --log eager --log-size 8M
    [[ $(field recovered) -ge 2000 && $(field checkpoints) -eq 0 ]] || fail "recovered: $(field recovered)"
}

# On a disk this is msync.
the_medium_is_named()
{
    measure_in "$scratch" --transactions 200 --workload btree --log eager
    case $(stat -f -c %T "$scratch") in
    tmpfs | ramfs) [[ $(field medium) == "tmpfs "*SFENCE ]] || fail "medium: $(field medium)" ;;
    *) [[ $(field medium) == "DAX "*SFENCE || $(field medium) == "file msync" ]] || fail "medium: $(field medium)" ;;
    esac
}

what_cannot_be_done_is_one_line()
{
    run "$bench" --workload btree --log undo
    expect_refusal "--log"
    run "$bench" --workload tree --log wal
    expect_refusal "--workload"
    run "$bench" --workload btree --log wal --header
    expect_refusal "--header"
    run "$bench" --workload btree --log wal --folder "$scratch/none"
    expect "exit status without the folder" 1 "$status"
    expect "lines" 1 "$(wc -l <"$scratch/err")"
    run "$bench" --workload btree --log wal --folder "$quick" --keys 100000 --memory 64K
    expect "exit status without room" 1 "$status"
    grep -q 'no room for a block' "$scratch/err" || fail "it does not say why"
    expect "files that are left" "" "$(find "$quick" -name 'persist_bench.*')"
}

run_claim
