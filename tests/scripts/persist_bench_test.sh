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

has_libpmemobj()
{
    run "$bench" --workload sps --log libpmemobj --transactions 1 --folder "$quick"
    ! grep -q 'built without' "$scratch/err"
}

has_sqlite()
{
    run "$bench" --workload sqlite --log none --transactions 1
    ! grep -q 'built without' "$scratch/err"
}

field()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 2 { print $column }' \
        "$scratch/out"
}

every_workload_is_whole_afterwards_with_each_log()
{
    local workload log logs=(none wal eager) workloads=(btree graph hash rbtree sps)

    ! has_libpmemobj || logs+=(libpmemobj)
    ! has_sqlite || workloads+=(sqlite)
    for workload in "${workloads[@]}"; do
        for log in "${logs[@]}"; do
            measure --workload "$workload" --log "$log" --threads 2
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
        measure --workload hash --log "$log" --batch "$batch" --warm 300
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

libpmemobj_flushes_on_tmpfs_unless_told_otherwise_and_its_row_says_it()
{
    has_libpmemobj || skip "persist_bench is built without libpmemobj"
    [[ $(stat -f -c %T "$quick") == tmpfs ]] || skip "no tmpfs"
    measure --workload hash --log libpmemobj
    expect "medium" "libpmem flushes" "$(field medium)"
    expect "counts" "" "$(field flushes)$(field fences)$(field recovered)"
    PMEM_IS_PMEM_FORCE=0 measure_in "$quick" --transactions 20 --workload hash --log libpmemobj
    expect "medium when told so" "libpmem msync" "$(field medium)"
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

# Thread 1 runs the transactions; thread 0 made the table before, in blocks of other sizes.
without_a_log_a_trace_has_each_transaction_and_each_persistent_block()
{
    local marks

    need_memtrace
    run "$mplace" trace --out "$scratch/trace" -- \
        "$bench" --workload hash --log none --transactions 30 --warm 10 --keys 64 --size 500
    expect "exit status" 0 "$status"
    run "$mplace" trace --dump "$scratch/trace"
    expect "regions of interest" "region_begin region_end" \
        "$(awk '$4 ~ /^region_/ { print $4 }' "$scratch/out" | xargs)"
    marks=$(awk '$1 == 1 && $3 == "mark" { print $4, $4 == "persistent" ? $6 : "" }' "$scratch/out" | xargs)
    expect "transactions" 40 "$(grep -oE 'tx_begin (persistent 500 )?tx_commit' <<<"$marks" | wc -l)"
    expect "other marks" "" "$(sed -E 's/tx_begin (persistent 500 )?tx_commit ?//g' <<<"$marks")"
    grep -q persistent <<<"$marks" || fail "no block is persistent"
}

compare_has_a_line_for_each_workload_and_log()
{
    run "$source_folder/bench/persist/compare.sh" --build "$build_folder" --logs wal,eager --runs 2 --transactions 500 \
        --out "$scratch/rows" sps hash
    expect "exit status" 0 "$status"
    expect "lines" "hash eager hash wal sps eager sps wal" \
        "$(awk -F ' *[|] *' 'NR > 2 { print $2, $3 }' "$scratch/out" | xargs)"
    expect "rows" 9 "$(wc -l <"$scratch/rows")"
    run "$source_folder/bench/persist/compare.sh" --runs none
    expect_refusal "--runs none"
}

what_cannot_be_done_is_one_line()
{
    run "$bench" --workload btree --log undo
    expect_refusal "--log"
    run "$bench" --workload tree --log wal
    expect_refusal "--workload"
    run "$bench" --workload btree --log wal --size 100
    expect_refusal "--size"
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
