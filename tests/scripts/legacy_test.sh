#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What scripts/evidence/legacy.sh promises. Its judgements are tested in report/legacy_test.py.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

legacy=$source_folder/scripts/evidence/legacy.sh

# make_rows OPTION...
make_rows()
{
    run "$legacy" --brief --seeds 1 --out rows "$@"
    expect "exit status: $(<"$scratch/err")" 0 "$status"
}

branches_get_rows_that_are_kept_and_judged()
{
    [[ -x $build_folder/bin/cache_server-it ]] || skip "the compiler has no transactions"
    make_rows --branches it,it-callable,ip,ip-callable --runtimes itm --algorithms - --policies -
    expect "rows" 5 "$(wc -l <rows/cache.csv)"
    grep -q 'callable attribute changes nothing.*\*\*holds\*\*' rows/legacy.md || fail "a statement is not judged"
    grep -q 'onCommit: none runs alone.*\*\*not measured\*\*' rows/legacy.md || fail "a statement without rows is judged"
    cp rows/cache.csv before.csv
    # Interrupted in the middle of a row.
    head -n 3 before.csv >rows/cache.csv
    printf 'cache,it,it' >>rows/cache.csv
    make_rows --branches it,it-callable,ip,ip-callable --runtimes itm --algorithms - --policies -
    diff <(head -n 3 before.csv) <(head -n 3 rows/cache.csv) || fail "finished rows were not left alone"
    diff <(cut -d, -f1-8 before.csv | sort) <(cut -d, -f1-8 rows/cache.csv | sort) ||
        fail "the rows are not those of a run in one go"
}

algorithms_get_timed_and_counted_rows_that_are_kept_and_judged()
{
    local names=locks,ip-libitm,ip-eager-none,ip-lazy-none,ip-norec-none

    [[ -x $build_folder/bin/cache_server-ip-oncommit ]] || skip "the compiler has no transactions"
    make_rows --branches - --policies - --algorithms "$names" --rounds 2
    # Each of two rounds with 1 and 2 threads; those of the library that counts, with 8.
    expect "timed rows" 20 "$(grep -c ',timed,' rows/algorithms.csv)"
    expect "counted rows" 3 "$(grep -c ',counted,[^,]*,tm_runtime,8,' rows/algorithms.csv)"
    expect "rows of libitm" 4 "$(grep -c '^ip-libitm,timed,ip-oncommit,itm,' rows/algorithms.csv)"
    grep -q 'NOrec aborts least.*\*\*\(holds\|differs\)\*\*' rows/legacy.md || fail "a statement is not judged"
    grep -q 'Without the readers/writer lock.*\*\*not measured\*\*' rows/legacy.md ||
        fail "a statement without rows is judged"
    cp rows/algorithms.csv before.csv
    make_rows --branches - --policies - --algorithms "$names" --rounds 2
    cmp before.csv rows/algorithms.csv || fail "finished runs were not left alone"
}

memcached_gets_rows_by_lock_that_are_kept()
{
    [[ -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] || skip "rtmgrind is not built"
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    command -v memcached >/dev/null || skip "memcached is not installed"
    make_rows --branches - --algorithms - --policies TTSTLE_POLICY=paper
    expect "rows of all locks" 1 "$(grep -c '^paper,4,1,400,all,[0-9]*,emulated,' rows/memcached.csv)"
    expect "rows of others" 1 "$(grep -c '^paper,4,1,400,others,' rows/memcached.csv)"
    # All acquisitions are those of some lock.
    expect "acquisitions by lock, less all" 0 \
        "$(awk -F, 'NR > 1 { sum += $5 == "all" ? -$8 : $8 } END { print sum }' rows/memcached.csv)"
    grep -q 'All counts are emulated' rows/legacy.md || fail "it is not said that the counts are emulated"
    cp rows/memcached.csv before.csv
    make_rows --branches - --algorithms - --policies TTSTLE_POLICY=paper
    cmp before.csv rows/memcached.csv || fail "a finished run was not left alone"
}

what_cannot_be_done_is_one_line()
{
    run "$legacy" --branches nix
    expect_refusal "--branches"
    run "$legacy" --policies nix
    expect_refusal "--policies"
    run "$legacy" --runtimes nix
    expect_refusal "--runtimes"
    run "$legacy" --algorithms ip-eager
    expect_refusal "--algorithms"
    run "$legacy" --rounds x
    expect_refusal "--rounds"
    run "$legacy" --seeds 0
    expect_refusal "--seeds"
}

run_claim
