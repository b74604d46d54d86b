#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The settings of a lock library: a bad value gets one line on standard error and the default; the
# report is written where it was asked for and nowhere else, also when a thread calls exit; without
# settings not a byte is written.
# lock_settings_test.sh LIBRARY tts|ttstle QUIET_PROGRAM FORKING_PROGRAM
set -euo pipefail

if [ $# -ne 4 ]; then
    echo "usage: lock_settings_test.sh LIBRARY tts|ttstle QUIET_PROGRAM FORKING_PROGRAM" >&2
    exit 2
fi
library=$1 name=$2 quiet=$3 forking=$4
stats=${name^^}_STATS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "lock_settings_test.sh: $*" >&2
    sed 's/^/  stderr: /' "$scratch/err" >&2
    exit 1
}

# run [NAME=VALUE...] PROGRAM: under the library; leaves $scratch/out and $scratch/err.
run() {
    env LD_PRELOAD="$library" "$@" >"$scratch/out" 2>"$scratch/err" || fail "$*: exit $?"
    [ ! -s "$scratch/out" ] || fail "$*: wrote to standard output"
}

silent() {
    run "$@"
    [ ! -s "$scratch/err" ] || fail "$*: wrote to standard error"
}

# complains NAME VALUE DEFAULT: one line that names all three.
complains() {
    run "$1=$2" "$quiet"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "$1=$2: not one line"
    grep -q -F "$1=$2 is not allowed" "$scratch/err" || fail "$1=$2: not named"
    grep -q -F "using $3" "$scratch/err" || fail "$1=$2: the default $3 is not named"
}

# reports PATTERN NAME=VALUE...: the report on standard error has a line that matches.
reports() {
    local pattern=$1
    shift
    run "$@" "$stats=1" "$quiet"
    grep -q -E "$pattern" "$scratch/err" || fail "$*: no line matches '$pattern'"
}

silent "$quiet"
silent "$stats=" TTS_WAIT= "$quiet"
silent "$stats=0" "$quiet"
for wait in spin yield park; do
    silent TTS_WAIT=$wait "$quiet"
    reports "^ +wait +$wait\$" TTS_WAIT=$wait
done
complains TTS_WAIT sleepy park
complains TTS_WAIT SPIN park
complains TTS_WAIT 1 park
reports '^ +wait +park$' TTS_WAIT=sleepy
reports "under lib${name}_lock\$" TTS_WAIT=park
reports '^ +acquisitions +[1-9][0-9]*$' TTS_WAIT=park

if [ "$name" = ttstle ]; then
    complains TTSTLE_POLICY papers adaptive
    complains TTSTLE_HTM emulated auto
    complains TTSTLE_DEFER yes 0
    silent TTSTLE_DEFER=1 "$quiet"
    reports '^ +policy +adaptive$' TTSTLE_HTM=auto
    for policy in paper backoff hourglass serialise; do
        reports "^ +policy +$policy\$" TTSTLE_POLICY=$policy
    done
    reports '^ +htm +none \(TTSTLE_HTM=none\)$' TTSTLE_HTM=none
    reports '^ +tx started +0$' TTSTLE_HTM=none
    reports '^ +htm +(native|none \(.+\))$' TTSTLE_HTM=auto
    for malformed in name :main name: ,a:b a:b,c a:b,,c:d; do
        complains TTSTLE_SKIP "$malformed" "the default"
    done
    # What is not loaded is no mistake; a function that a loaded file has not is one.
    silent TTSTLE_SKIP=not_loaded:main "$quiet"
    silent "TTSTLE_SKIP=${quiet##*/}:main,libc.so.6:qsort,$(readlink -f "$quiet"):main," "$quiet"
    run "TTSTLE_SKIP=${quiet##*/}:main,${quiet##*/}:no_such_function,libc.so.6:no_such" "$quiet"
    [ "$(wc -l <"$scratch/err")" -eq 2 ] || fail "two functions that are not there: not two lines"
    grep -q -F "${quiet##*/} has no function no_such_function in" "$scratch/err" ||
        fail "the function that is not there is not named"
    # The C start-up code has this one, without a length.
    run "TTSTLE_SKIP=${quiet##*/}:_init" "$quiet"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "a function without a length: not one line"
else
    reports '^ +htm +none$' TTS_WAIT=park
fi

# To a file, with the process id in its name, for nobody else to read.
silent "$stats=$scratch/report.%p" "$quiet"
files=("$scratch"/report.*)
[ ${#files[@]} -eq 1 ] || fail "expected one report, found ${files[*]}"
[[ ${files[0]} =~ report\.[0-9]+$ ]] || fail "no process id in ${files[0]}"
grep -q -F "locks of process ${files[0]##*.} under" "${files[0]}" || fail "wrong process in the report"
[ "$(stat -c %a "${files[0]}")" = 600 ] || fail "the report's mode is $(stat -c %a "${files[0]}")"

# A file that cannot be written, and a name that is too long: one line, and the program goes on.
run "$stats=$scratch/no/such/folder" "$quiet"
[ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "an unwritable file: not one line"
run "$stats=$scratch/$(printf 'x%.0s' {1..600})" "$quiet"
[ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "a name too long: not one line"

# Children that leave by _exit report nothing; the one in which a thread called exit does.
mkdir "$scratch/forks"
silent "$stats=$scratch/forks/%p" "$forking"
reporting=$(find "$scratch/forks" -type f | wc -l)
[ "$reporting" -eq 2 ] || fail "$reporting reports from the forking program, expected 2"
