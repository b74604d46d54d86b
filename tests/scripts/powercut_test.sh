#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mplace powercut on programs whose files are safe, or known not to be.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

need_simulator
need_memtrace
program=$build_folder/tests/powercut_program
[[ -w /dev/shm ]] || skip "no /dev/shm: a region on a disk is written by msync"
# A library's region is flushed line by line where there is no disk.
quick=$(mktemp -d /dev/shm/mplace-test.XXXXXX)
trap 'rm -rf -- "$scratch" "$quick"' EXIT
export TMPDIR=$quick

# trace NAME [OPTION]...: makes NAME.mptrace of the program of that name.
trace()
{
    "$mplace" trace --out "$1.mptrace" "${@:2}" -- "$program" "$1" "$quick/file" 2>said || fail "$(cat said)"
}

a_region_of_libmplace_persist_is_whole_after_every_cut()
{
    trace bank --values
    run "$mplace" powercut --images 150 bank.mptrace -- "$program" check-bank
    expect "exit status" 0 "$status"
    expect "what it says" "150 images pass the check" "$(cat "$scratch/out")"
    expect "files that are left" "$quick/file" "$(find "$quick" -type f)"
}

what_is_stored_where_a_closed_region_was_mapped_is_not_in_its_file()
{
    trace reused --values
    run "$mplace" powercut --images 150 reused.mptrace -- "$program" check-bank
    expect "exit status" 0 "$status"
}

a_fence_that_is_missing_is_found_with_the_store_that_was_lost()
{
    local line

    trace careful --values
    run "$mplace" powercut --images 60 careful.mptrace -- "$program" check-flag
    expect "exit status of the careful one" 0 "$status"
    trace careless --values
    run "$mplace" powercut --images 60 --out found careless.mptrace -- "$program" check-flag
    expect "exit status of the careless one" 1 "$status"
    line=$(grep -n 'words\[AT\] = MESSAGE' "$source_folder/tests/scripts/powercut_program.c" | cut -d: -f1)
    grep -q "lost: 8 bytes at 0x100, stored at .*(powercut_program.c:$line)" "$scratch/out" ||
        fail "the lost store is not named"
    run "$program" check-flag found
    expect "the check of the file that is kept" 1 "$status"
}

# What a thread stores depends on what another one stored before: only the order of the capture has both right.
threads_store_in_the_order_in_which_they_did()
{
    local way

    for way in rounds spun-rounds; do
        rm -f -- "$quick/file"
        trace "$way" --values
        run "$mplace" powercut --images 200 "$way.mptrace" -- "$program" check-rounds
        expect "exit status of $way" 0 "$status"
    done
    rm -f -- "$quick/file"
    trace careless-rounds --values
    run "$mplace" powercut --images 200 --out found careless-rounds.mptrace -- "$program" check-rounds
    expect "exit status of careless-rounds" 1 "$status"
}

who_marks_another_file_is_told_that_it_is_not_cut()
{
    trace two-files --values
    run "$mplace" powercut --images 60 --out found two-files.mptrace -- "$program" check-flag
    expect "exit status of two files" 1 "$status"
    grep -q "ranges of several lengths; only the longest, 4096 bytes, is cut" "$scratch/err" || fail "$(cat "$scratch/err")"
    trace twins --values
    run "$mplace" powercut --images 60 --out found twins.mptrace -- "$program" check-flag
    grep -q "marks 4096 bytes at several addresses" "$scratch/err" || fail "$(cat "$scratch/err")"
    trace careless --values
    run "$mplace" powercut --images 60 --out found careless.mptrace -- "$program" check-flag
    expect "notes about one file" "" "$(cat "$scratch/err")"
}

# POSIX: whole pages.
an_msync_writes_the_whole_page_and_with_ms_async_nothing()
{
    trace synced --values
    run "$mplace" powercut --images 60 synced.mptrace -- "$program" check-flag
    expect "exit status of MS_SYNC" 0 "$status"
    trace not-synced --values
    run "$mplace" powercut --images 60 --out found not-synced.mptrace -- "$program" check-flag
    expect "exit status of MS_ASYNC" 1 "$status"
    grep -q "lost: 8 bytes at 0x100" "$scratch/out" || fail "the lost store is not named"
}

the_same_seed_cuts_the_same()
{
    trace careless --values
    run "$mplace" powercut --images 60 --seed 7 careless.mptrace -- "$program" check-flag
    mv "$scratch/out" first
    run "$mplace" powercut --images 60 --seed 7 careless.mptrace -- "$program" check-flag
    diff first "$scratch/out" || fail "another run cut otherwise"
}

what_the_file_held_before_is_in_every_image()
{
    trace careful --values
    head -c 4000 /dev/zero >before
    printf 'kept' >>before
    head -c 92 /dev/zero >>before
    # shellcheck disable=SC2016 # the check's shell expands it
    run "$mplace" powercut --images 20 --before before careful.mptrace -- \
        sh -c 'test "$(tail -c 96 "$0" | head -c 4)" = kept'
    expect "exit status" 0 "$status"
    head -c 4095 before >short
    run "$mplace" powercut --images 20 --before short careful.mptrace -- true
    expect_refusal "--before"
}

the_image_never_replaces_what_is_read()
{
    local arguments

    trace careless --values
    cp "$program" check
    head -c 4096 /dev/zero >powercut.image
    sha256sum careless.mptrace check powercut.image >sums
    for arguments in "--out careless.mptrace careless.mptrace -- ./check" "--out check careless.mptrace -- ./check" \
        "--before powercut.image careless.mptrace -- ./check"; do
        # shellcheck disable=SC2086 # words
        run "$mplace" powercut --images 60 $arguments check-flag
        expect_refusal "is what is read"
        sha256sum --quiet -c sums || fail "a file was replaced: $arguments"
    done
}

a_signal_that_ends_it_leaves_no_image()
{
    local signal

    trace careful --values
    mkdir images
    for signal in HUP INT TERM; do
        run env TMPDIR="$PWD/images" "$mplace" powercut --images 60 careful.mptrace -- sh -c "kill -$signal \$PPID"
        expect "exit status after $signal" $((128 + $(kill -l "$signal"))) "$status"
        expect "what is left after $signal" "" "$(ls images)"
    done
}

what_cannot_be_printed_is_one_line_and_exit_2()
{
    trace careful --values
    run bash -c '"$@" >/dev/full' - "$mplace" powercut --images 10 careful.mptrace -- "$program" check-flag
    expect_refusal "mplace powercut: standard output: it cannot be written"
}

what_cannot_be_done_is_one_line_and_exit_2()
{
    trace careful
    run "$mplace" powercut careful.mptrace -- true
    expect_refusal "mplace trace --values"
    "$mplace" trace --values --out true.mptrace -- /bin/true 2>said
    run "$mplace" powercut true.mptrace -- true
    expect_refusal "mplace_trace_persistent"
    trace careful --values
    head -c 1000 careful.mptrace >cut.mptrace
    run "$mplace" powercut cut.mptrace -- true
    expect_refusal "cut.mptrace: the file is cut at byte 1000"
    run "$mplace" powercut careful.mptrace -- "$scratch/none"
    expect_refusal "the check cannot be run"
    run "$mplace" powercut careful.mptrace true
    expect_refusal "which command checks a file"
    run "$mplace" powercut --images none careful.mptrace -- true
    expect_refusal "--images"
    run "$mplace" powercut none.mptrace -- true
    expect_refusal "none.mptrace"
}

run_claim
