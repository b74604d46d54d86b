#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the options of the emulator's schedule promise. CLAIM is one of the functions below.
#
#   usage: schedule.sh CLAIM FOLDER_OF_PROGRAMS
set -euo pipefail

die()
{
    echo "schedule.sh: $claim: $1" >&2
    exit 1
}

[[ $# == 2 ]] || {
    echo 'usage: schedule.sh CLAIM FOLDER_OF_PROGRAMS' >&2
    exit 2
}
claim=$1 programs=$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export MPLACE_HTM=emulated

# What a program said last: last_line OPTION... PROGRAM [ARGUMENT...], PROGRAM in the folder.
last_line()
{
    local options=()
    while [[ $1 == --* ]]; do
        options+=("$1")
        shift
    done
    valgrind -q --tool=rtmgrind --heap=no --top=0 "--rtm-out=$work/report.json" "${options[@]}" \
        "$programs/emulated_$1" "${@:2}" | tail -n 1
}

# A number of the report of the last run: reported started, reported conflict
reported()
{
    sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$work/report.json" | head -n 1
}

the_same_seed_gives_the_same_interleaving()
{
    local threads
    for threads in 2 4 8; do
        [[ $(last_line transfers rtm "$threads" 200 5) == "$(last_line transfers rtm "$threads" 200 5)" ]] ||
            die "$threads threads"
    done
}

another_seed_gives_another_interleaving()
{
    [[ $(last_line transfers rtm 4 200 5) != "$(last_line transfers rtm 4 200 6)" ]] ||
        die 'seeds asked for by the program'
    [[ $(last_line --seed=5 alternate 4 20000) != "$(last_line --seed=6 alternate 4 20000)" ]] ||
        die 'seeds on the command line'
    [[ $(last_line --seed=5 alternate 4 20000) == "$(last_line --seed=5 alternate 4 20000)" ]] ||
        die 'the same seed on the command line'
}

# Once all code has run before, the last of many seeds are those of fewer, whatever --seed says.
what_was_before_a_seed_was_asked_for_leaves_no_trace()
{
    local many few
    many=$(last_line --seed=3 --cpus=3 transfers rtm 4 200 11 30)
    few=$(last_line --seed=4 --cpus=3 transfers rtm 4 200 21 20)
    [[ ${many##* } == "${few##* }" ]] || die "$many; fewer: $few"
}

# The rarer the changes while transactions are open, the fewer of them meet.
switch_inside_sets_how_often_transactions_meet()
{
    local rate conflicts last=
    for rate in 2 20 200 2000; do
        last_line "--switch-inside=$rate" transfers rtm 4 400 1 10 >/dev/null
        conflicts=$(reported conflict)
        [[ -z $last || $conflicts -lt $((last * 2 / 3)) ]] ||
            die "$conflicts conflicts with --switch-inside=$rate, $last with a tenth of that"
        last=$conflicts
    done
}

switch_outside_sets_how_often_plain_code_is_interleaved()
{
    local rate changes last=
    for rate in 50 500 5000; do
        changes=$(last_line "--switch-outside=$rate" --cpus=4 alternate 4 200000)
        [[ -z $last || $changes -lt $((last / 5)) ]] ||
            die "$changes changes with --switch-outside=$rate, $last with a tenth of that"
        last=$changes
    done
}

# On one processor a thread changes at the end of its slice only, whatever the other rates are.
threads_of_one_processor_take_turns_by_time_slice()
{
    local slice changes last=
    for slice in 500 5000 50000; do
        changes=$(last_line --cpus=1 --switch-outside=50 "--timeslice=$slice" alternate 4 200000)
        [[ -z $last || $changes -lt $((last / 5)) ]] ||
            die "$changes changes with --timeslice=$slice, $last with a tenth of that"
        last=$changes
    done
}

a_thread_that_leaves_its_processor_aborts_and_nothing_meets_on_one_processor()
{
    last_line --cpus=1 --timeslice=50 transfers rtm 4 400 1 10 >/dev/null
    [[ $(reported context_switch) -gt 100 ]] || die "$(reported context_switch) context switches"
    [[ $(reported conflict) == 0 ]] || die "$(reported conflict) conflicts on one processor"
    last_line --cpus=8 --timeslice=50 transfers rtm 4 400 1 10 >/dev/null
    [[ $(reported context_switch) == 0 ]] || die 'context switches on processors of their own'
}

# Hardware that loses and wins hardly ever, or nearly always, would be no model of one.
at_the_defaults_transactions_meet_now_and_then()
{
    last_line transfers rtm 4 400 1 20 >/dev/null
    local started conflicts
    started=$(reported started) conflicts=$(reported conflict)
    ((conflicts * 100 > started && conflicts * 2 < started)) || die "$conflicts conflicts of $started"
}

[[ $(type -t "$claim") == function && $claim == *_*_* ]] || {
    echo "schedule.sh: no claim '$claim'" >&2
    exit 2
}
"$claim"
