#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The lockpair benchmark: that it names the lock that is loaded, that the counts add up, and that a
# lock which does not exclude is found out. usage: lockpair_test.sh LOCKPAIR LIBRARIES PLUGINS CLAIM
set -euo pipefail

[[ $# == 4 ]] || { echo 'lockpair_test.sh: wants LOCKPAIR LIBRARIES PLUGINS CLAIM' >&2; exit 2; }
lockpair=$1 libraries=$2 plugins=$3 claim=$4
fail() { printf '%s: %s\n' "$claim" "$*" >&2; exit 1; }

# column NAME OPTION...: one field of a run.
column()
{
    local name=$1
    shift
    "$lockpair" --csv --header "$@" | awk -F, -v name="$name" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; names = NF }
        NR == 2 && NF == names && at { print $at; found = 1 }
        END { exit !found }'
}

the_loaded_lock_is_named()
{
    local lock
    [[ $(column lock --operations 10) == pthread ]] || fail 'libc is not named pthread'
    for lock in tts ttstle; do
        [[ $(LD_PRELOAD=$libraries/lib${lock}_lock.so column lock --operations 10) == "$lock" ]] ||
            fail "$lock is not named"
    done
}

every_section_is_counted()
{
    local type
    for type in normal recursive errorcheck adaptive read write mixed spin; do
        [[ $(column sections --threads 5 --idle 2 --operations 2000 --type "$type" --inside 3 \
            --outside 20 --waits) == 10000 ]] || fail "$type: 5 threads of 2000 sections are not 10000"
    done
}

a_lock_that_does_not_exclude_is_one_line_and_exit_1()
{
    local status=0 complaint
    complaint=$(LD_PRELOAD=$plugins/lockpair_no_lock.so "$lockpair" --threads 4 --inside 100000 --operations 1000 2>&1 \
        >/dev/null) || status=$?
    [[ $status == 1 ]] || fail "exit status $status"
    [[ $complaint == 'lockpair: no mutual exclusion: '*[0-9]' in the protected counter' ]] ||
        fail "said: $complaint"
}

every_bad_argument_is_one_line_and_exit_2()
{
    local options status complaint
    for options in '--threads 0' '--threads 4097' '--type loose' '--header' '--seconds 1 --operations 1' \
        '--inside -1' '--nonsense' '--operations'; do
        status=0
        read -ra arguments <<<"$options"
        complaint=$("$lockpair" "${arguments[@]}" 2>&1 >/dev/null) || status=$?
        [[ $status == 2 && $complaint == 'lockpair: '* && $complaint != *$'\n'* ]] ||
            fail "$options: exit status $status, said: $complaint"
    done
}

"$claim"
