#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace stats" promises.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

here=$(dirname -- "$(readlink -f -- "$0")")
server=$build_folder/tests/stats_server

# Starts the server with these settings and arguments, "--" between the two; it waits until its standard input is
# closed. Leaves server_id, and child_id where it has a child.
start_server()
{
    local settings=()

    while [[ $1 != -- ]]; do
        settings+=("$1")
        shift
    done
    shift
    mkfifo "$scratch/in" "$scratch/said"
    env "${settings[@]}" "$server" "$@" <"$scratch/in" >"$scratch/said" 2>"$scratch/server_err" &
    server_id=$!
    trap 'kill -KILL "$server_id" 2>/dev/null || true; rm -rf -- "$scratch"' EXIT
    exec {input}>"$scratch/in" {said}<"$scratch/said"
    read -r -t 50 _ child_id <&"$said" || fail "the server did not become ready: $(cat "$scratch/server_err")"
}

# Its standard input ends, so it does, and writes its reports.
end_server()
{
    exec {input}>&-
    wait "$server_id" || fail "the server ended with $?"
}

preload()
{
    local library names=

    for library; do
        names+=${names:+:}$build_folder/lib/lib$library.so
    done
    echo "LD_PRELOAD=$names"
}

# Compares what does not depend on when a report is written: same_facts LIVE PART=REPORT... An empty REPORT: the part
# must be null.
same_facts()
{
    /usr/bin/python3 -c '
import json, sys

def facts(report):
    names = "process allocations live_blocks live_bytes huge_blocks huge_bytes library htm wait totals locks others locks_seen"
    found = {name: report[name] for name in names.split() if name in report}
    found["classes"] = [(size["block_bytes"], size["served"], size["live"]) for size in report.get("classes", [])]
    return found

def load(name):
    with open(name) as file:
        return json.load(file)

live = load(sys.argv[1])
for argument in sys.argv[2:]:
    part, name = argument.split("=", 1)
    left, right = facts(live[part] or {}), facts(load(name) if name else {})
    for key in left.keys() | right.keys():
        if left.get(key) != right.get(key):
            sys.exit(f"{part}, {key}: {left.get(key)} while it ran, {right.get(key)} at its end")
if live["locks"] and live["locks"]["totals"]["acquisitions"] != 1500:
    sys.exit("1500 acquisitions were not counted")
if live["malloc"] and live["malloc"]["live_blocks"] < 3500:
    sys.exit("half of the 7000 blocks are not live")' "$@"
}

# While it runs and when it ends, the same: with these settings.
expect_same()
{
    rm -f "$scratch/in" "$scratch/said" "$scratch/malloc.json" "$scratch/locks.json"
    start_server "$@" MPLACE_STATS_LIVE=1 CIA_STATS="$scratch/malloc.json" TTS_STATS="$scratch/locks.json" \
        TTSTLE_STATS="$scratch/locks.json" --
    run "$mplace" stats --json "$server_id"
    expect "exit status" 0 "$status"
    cp "$scratch/out" "$scratch/live.json"
    end_server
    [[ ! -s $scratch/server_err ]] || fail "the server wrote: $(cat "$scratch/server_err")"
    same_facts "$scratch/live.json" "malloc=$(find "$scratch" -name malloc.json)" "locks=$(find "$scratch" -name locks.json)" ||
        fail "with $*"
}

a_process_that_runs_shows_what_it_reports_at_its_end()
{
    expect_same "$(preload cia_malloc tts_lock)"
    expect_same "$(preload cia_malloc ttstle_lock)" CIA_RSEQ=0
    expect_same "$(preload ttstle_lock cia_malloc)" CIA_LINES=compact
    expect_same "$(preload cia_malloc)" CIA_HARDEN=1
    expect_same "$(preload cia_malloc)" CIA_LINES=compact CIA_RSEQ=0
}

a_stopped_process_is_read_and_stays_stopped()
{
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 -- wait
    kill -STOP "$server_id"
    until [[ $(ps -o state= -p "$server_id" || true) == T ]]; do
        kill -0 "$server_id" 2>/dev/null || fail "the server ended: $(cat "$scratch/server_err")"
        sleep 0.05
    done
    run "$mplace" stats --json "$server_id"
    expect "exit status" 0 "$status"
    # What the kernel does with its pages meanwhile is the kernel's affair.
    grep -v anon_huge_page_bytes "$scratch/out" >"$scratch/first"
    run "$mplace" stats --json "$server_id"
    cmp -s "$scratch/first" <(grep -v anon_huge_page_bytes "$scratch/out") || fail "two looks at a stopped process differ"
    expect "state" T "$(ps -o state= -p "$server_id")"
    kill -CONT "$server_id"
    end_server
}

the_child_of_a_fork_shows_its_own_counts()
{
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 -- fork
    run "$mplace" stats "$child_id"
    expect "exit status" 0 "$status"
    expect "the child's id" "$child_id" "$(sed -n 's/^mplace: locks of process \([0-9]*\) .*/\1/p' "$scratch/out")"
    expect "the child's acquisitions" 123 "$(awk '$1 == "acquisitions" { print $2 }' "$scratch/out")"
    run "$mplace" stats "$server_id"
    [[ $(awk '$1 == "acquisitions" { print $2 }' "$scratch/out") -ge 1500 ]] ||
        fail "the parent's counts changed: $(cat "$scratch/out")"
    end_server
}

each_number_of_the_json_is_a_figure_of_that_name()
{
    mkfifo "$scratch/in" "$scratch/said"
    env "$(preload cia_malloc)" MPLACE_STATS_LIVE=1 "$build_folder/tests/cia_values" read \
        <"$scratch/in" >"$scratch/said" &
    server_id=$!
    trap 'kill -KILL "$server_id" 2>/dev/null || true; rm -rf -- "$scratch"' EXIT
    exec {input}>"$scratch/in" {said}<"$scratch/said"
    echo l1_colours >&"$input"
    read -r -t 50 _ <&"$said" || fail "it does not answer"
    run "$mplace" stats --json "$server_id"
    expect "exit status" 0 "$status"
    /usr/bin/python3 -c '
import json, sys
malloc = json.load(open(sys.argv[1]))["malloc"]
for key, value in malloc.items():
    # The kernel may join pages at any time.
    if isinstance(value, int) and key not in ("version", "process", "anon_huge_page_bytes"):
        print(key, value)' "$scratch/out" >"$scratch/numbers"
    [[ $(wc -l <"$scratch/numbers") -ge 13 ]] || fail "few numbers: $(cat "$scratch/numbers")"
    cut -d' ' -f1 "$scratch/numbers" >&"$input"
    exec {input}>&-
    diff "$scratch/numbers" - <&"$said" >&2 || fail "the process says other figures than the JSON"
    wait "$server_id" || fail "it ended with $?"
}

functions_of_the_process_are_named()
{
    start_server "$(preload tts_lock)" MPLACE_STATS_LIVE=1 --
    run "$mplace" stats "$server_id"
    grep -q ' lock+0x[0-9a-f]* (stats_server)$' "$scratch/out" || fail "no lock's caller: $(cat "$scratch/out")"
    run "$mplace" stats --locks 0 "$server_id"
    ! grep -q stats_server "$scratch/out" || fail "--locks 0 shows locks"
    end_server
}

watching_shows_it_again_and_ends_with_the_process()
{
    local looks

    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 -- wait
    "$mplace" stats --watch 0.1 "$server_id" >"$scratch/looks" 2>"$scratch/err" {input}>&- &
    looks=$!
    until [[ $(grep -c '^malloc  [^-].*/s allocations ' "$scratch/looks") -ge 2 &&
        $(grep -c '^locks   [^-].*/s locked .*/s waits ' "$scratch/looks") -ge 2 ]]; do
        kill -0 "$looks" || fail "it ended before the process"
        sleep 0.1
    done
    end_server
    wait "$looks" || fail "it ended with $?"
    expect "its last words" "mplace stats: process $server_id has ended" "$(cat "$scratch/err")"
    grep -qE '^mplace stats  process .*  [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}, ' "$scratch/looks" || fail "no time stamp"
    ! grep -q $'[\033\r]' "$scratch/looks" || fail "a file gets what a terminal obeys"
}

# On a pseudo-terminal: what stats/watch_terminal.py says of a server that does nothing, or has these arguments.
on_a_terminal()
{
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 -- "${@:2}"
    /usr/bin/python3 -B "$here/stats/watch_terminal.py" "$mplace" "$server_id" "$build_folder/lib/libcia_malloc.so" "$1" ||
        fail "on a terminal"
    end_server
}

on_a_terminal_it_fits_and_follows_the_size()
{
    on_a_terminal it_fits_and_follows_the_size
}

on_a_terminal_forty_columns_have_the_process_and_how_to_quit()
{
    on_a_terminal forty_columns_have_the_process_and_how_to_quit
}

on_a_terminal_keys_are_those_of_top()
{
    on_a_terminal keys_are_those_of_top
}

on_a_terminal_top_limits_both_tables_and_locks_its_own()
{
    on_a_terminal top_limits_both_tables_and_locks_its_own
}

on_a_terminal_of_locks_that_nobody_waits_for_the_one_in_use_is_first()
{
    on_a_terminal of_locks_that_nobody_waits_for_the_one_in_use_is_first since
}

on_a_terminal_of_classes_that_do_not_grow_the_one_in_use_is_first()
{
    on_a_terminal of_classes_that_do_not_grow_the_one_in_use_is_first since
}

on_a_terminal_the_terminal_is_restored_on_every_way_out()
{
    on_a_terminal the_terminal_is_restored_on_every_way_out
}

on_a_terminal_while_it_is_stopped_the_terminal_is_as_before()
{
    on_a_terminal while_it_is_stopped_the_terminal_is_as_before
}

on_a_terminal_the_end_of_the_process_is_said_on_the_terminal_as_it_was()
{
    on_a_terminal the_end_of_the_process_is_said_on_the_terminal_as_it_was
}

on_a_terminal_a_process_that_ended_and_was_not_waited_for_has_ended()
{
    on_a_terminal a_process_that_ended_and_was_not_waited_for_has_ended
}

on_a_terminal_a_process_that_becomes_a_program_without_statistics_has_not_ended()
{
    on_a_terminal a_process_that_becomes_a_program_without_statistics_has_not_ended
}

on_a_terminal_the_first_look_at_another_program_of_a_process_has_no_rates()
{
    on_a_terminal the_first_look_at_another_program_of_a_process_has_no_rates
}

for_prometheus_it_is_well_formed_and_says_what_the_json_says()
{
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 --
    run "$mplace" stats --json --locks 5 "$server_id"
    cp "$scratch/out" "$scratch/live.json"
    run "$mplace" stats --prometheus --locks 5 "$server_id"
    expect "exit status" 0 "$status"
    /usr/bin/python3 -B "$here/stats/prometheus_text.py" "$scratch/out" "$server_id" "$scratch/live.json" ||
        fail "the text: $(head -n 20 "$scratch/out")"
    # Locks have no lines of their own unless they are asked for: each line is a series for ever.
    run "$mplace" stats --prometheus "$server_id"
    ! grep -q single_lock "$scratch/out" || fail "single locks are shown"
    end_server
}

for_prometheus_without_a_process_all_are_shown_with_escaped_names()
{
    local name='a"b\c'

    cp "$server" "$TMPDIR/$name"
    server=$TMPDIR/$name
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 -- fork
    run "$mplace" stats --prometheus --locks 3
    expect "exit status" 0 "$status"
    for process in "$server_id" "$child_id"; do
        /usr/bin/python3 -B "$here/stats/prometheus_text.py" "$scratch/out" "$process" "$name" || fail "process $process"
    done
    [[ $(sed -n 's/^mplace_processes //p' "$scratch/out") -ge 2 ]] || fail "fewer than 2: $(grep processes "$scratch/out")"
    end_server
}

what_cannot_be_written_is_an_error()
{
    local options

    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 --
    for options in --prometheus "" --json "--watch 0.1" "--json --watch 0.1"; do
        status=0
        # shellcheck disable=SC2086 # words
        timeout 20 "$mplace" stats $options "$server_id" >/dev/full 2>"$scratch/err" || status=$?
        expect "exit status with '$options'" 2 "$status"
        expect "what it says with '$options'" "mplace stats: cannot write: No space left on device" \
            "$(cat "$scratch/err")"
    done
    status=0
    "$build_folder/bin/mplace-stats-reader" --list >/dev/full 2>"$scratch/err" || status=$?
    expect "exit status of the list" 2 "$status"
    run bash -c '"$0" stats >/dev/full' "$mplace"
    expect_refusal "mplace stats: standard output cannot be written"
    end_server
}

a_process_that_keeps_none_is_one_line_that_says_how_to_start_it()
{
    start_server "$(preload cia_malloc tts_lock)" --
    run "$mplace" stats "$server_id"
    expect_refusal "process $server_id (stats_server) keeps no statistics for others: start it with 'mplace run"
    run "$mplace" stats
    ! grep -qw "$server_id" "$scratch/out" || fail "it is in the list"
    end_server
    run "$mplace" stats "$server_id"
    expect_refusal "there is no process $server_id"
}

one_that_has_ended_and_that_nobody_has_waited_for_is_not_told_to_start_otherwise()
{
    local zombie
    # Not a shell's child: a shell may wait for it before it becomes another program.
    /usr/bin/python3 -c 'import os, time
child = os.fork()
if child:
    print(child, flush=True)
    time.sleep(60)' >"$scratch/child" &
    until [ -s "$scratch/child" ] && zombie=$(<"$scratch/child") &&
        grep -qs '^State:[[:space:]]*Z' "/proc/$zombie/status"; do sleep 0.05; done
    run "$mplace" stats "$zombie"
    kill "$!"
    expect_refusal "process $zombie ("
    grep -q "has no memory: it has ended" "$scratch/err" || fail "$(cat "$scratch/err")"
}

# The library's number for its headers is changed.
a_library_built_from_other_headers_is_refused_in_one_line()
{
    /usr/bin/python3 -c '
import pathlib, re, sys
number = int(re.search(r"0x(\w+)", pathlib.Path(sys.argv[1]).read_text())[1], 16)
library = pathlib.Path(sys.argv[2]).read_bytes()
changed = library.replace(number.to_bytes(8, "little"), (number ^ 1).to_bytes(8, "little"))
assert changed != library
pathlib.Path(sys.argv[3]).write_bytes(changed)' \
        "$build_folder/generated/live_layout.h" "$build_folder/lib/libcia_malloc.so" "$scratch/libcia_malloc.so"
    start_server LD_PRELOAD=./libcia_malloc.so MPLACE_STATS_LIVE=1 --
    run "$mplace" stats "$server_id"
    expect_refusal "process $server_id runs libcia_malloc of another version of mplace: use that version's mplace stats"
    run "$mplace" stats --prometheus
    grep -qx "mplace stats: left out process $server_id: libcia_malloc of another version of mplace" "$scratch/err" ||
        fail "not left out by name: $(cat "$scratch/err")"
    end_server
}

the_processes_that_can_be_shown_are_listed()
{
    start_server "$(preload cia_malloc tts_lock)" MPLACE_STATS_LIVE=1 --
    run "$mplace" stats
    grep -q "^ *$server_id  stats_server *libtts_lock libcia_malloc$\|^ *$server_id  stats_server *libcia_malloc libtts_lock$" \
        "$scratch/out" || fail "not in the list: $(cat "$scratch/out")"
    end_server
}

# Other processes of this machine may keep statistics: a reader that finds none stands for it.
without_a_process_it_says_how_to_get_one()
{
    local arguments

    private_build
    rm "$scratch/build/bin/mplace-stats-reader"
    printf '#!/bin/sh\n' >"$scratch/build/bin/mplace-stats-reader"
    chmod +x "$scratch/build/bin/mplace-stats-reader"
    for arguments in '' --json '--watch'; do
        # shellcheck disable=SC2086 # none, or one
        run "$mplace" stats $arguments
        expect_refusal "no process keeps statistics for others; start one with: mplace run --malloc cia --lock tts --live -- PROGRAM"
    done
    printf '#!/bin/sh\necho "   4711  redis-server     libcia_malloc"\n' >"$scratch/build/bin/mplace-stats-reader"
    run "$mplace" stats --json
    expect_refusal "which process? mplace stats lists those that can be shown; start one with: mplace run"
}

another_users_process_is_refused_in_one_line()
{
    [[ $(id -u) -eq 0 ]] || skip "needs root to be another user"
    command -v setpriv >/dev/null || skip "no setpriv"
    start_server "$(preload cia_malloc)" MPLACE_STATS_LIVE=1 --
    # Its parts may lie where that user must not look.
    cp "$build_folder/bin/mplace-stats-reader" "$TMPDIR/reader"
    chmod 755 "$scratch" "$TMPDIR/reader"
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$TMPDIR/reader" "$server_id"
    expect_refusal "the kernel does not let you read process $server_id"
    end_server
}

the_program_notices_nothing()
{
    local library

    for library in cia_malloc tts_lock ttstle_lock; do
        expect "descriptors under $library" "$(env "$(preload $library)" sh -c 'ls /proc/self/fd')" \
            "$(env "$(preload $library)" MPLACE_STATS_LIVE=1 sh -c 'ls /proc/self/fd' 2>&1)"
        expect "a bad value" "mplace: MPLACE_STATS_LIVE=yes is not allowed (0|1); using 0" \
            "$(env "$(preload $library)" MPLACE_STATS_LIVE=yes true 2>&1)"
        expect "pages when not asked" 0 \
            "$(env "$(preload $library)" MPLACE_STATS_LIVE=0 grep -c mplace-statistics /proc/self/maps || true)"
        expect "pages when asked" 1 \
            "$(env "$(preload $library)" MPLACE_STATS_LIVE=1 grep -c mplace-statistics /proc/self/maps || true)"
    done
}

every_bad_option_is_one_line_and_exit_2()
{
    run "$mplace" stats --fast 1
    expect_refusal "unknown option '--fast'"
    run "$mplace" stats 1 2
    expect_refusal "one process at a time"
    run "$mplace" stats one
    expect_refusal "process 'one' is not a whole number"
    run "$mplace" stats --watch 0 1
    expect_refusal "--watch '0' is not a number of seconds"
    run "$mplace" stats --watch soon 1
    expect_refusal "--watch 'soon' is not a number of seconds"
    run "$mplace" stats --locks 101 1
    expect_refusal "--locks '101' is not a whole number from 0 to 100"
    run "$mplace" stats --top 5 1
    expect_refusal "--top belongs to --watch"
    run "$mplace" stats --watch --top 5 --json 1
    expect_refusal "--top belongs to --watch"
    run "$mplace" stats --watch 1 --top many 1
    expect_refusal "--top 'many' is not a whole number from 0 to 100"
    run "$mplace" stats --json # whether or not others' processes can be shown
    expect_refusal "start one with: mplace run"
    run "$mplace" stats --json --prometheus 1
    expect_refusal "--json or --prometheus?"
    run "$mplace" stats --prometheus --watch 1 1
    expect_refusal "--prometheus is one look"
}

run_claim
