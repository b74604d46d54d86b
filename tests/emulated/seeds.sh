#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program under the emulator with one interleaving after another: those of the seeds FIRST to
# LAST, many of them in a process. A run counts only if the program did in transactions what it was
# to do, if transactions did meet, and if hardly any two interleavings were the same: COMMITS and
# CONFLICTS are the least numbers a seed, on average. A failure names the command that repeats it.
#
#   usage: seeds.sh FIRST LAST COMMITS CONFLICTS VALGRIND_OPTION... -- PROGRAM [ARGUMENT...]
#
# The program gets three more arguments, the first seed, how many seeds, and the seed of the work
# that it does for each; its last line begins with "N seeds, M different interleavings". PRELOAD, if
# set, is preloaded into the program alone.
set -euo pipefail

seeds_a_process=250

die()
{
    echo "seeds.sh: $1" >&2
    exit "${2:-1}"
}

[[ $# -ge 6 ]] || die 'usage: seeds.sh FIRST LAST COMMITS CONFLICTS OPTION... -- PROGRAM [ARGUMENT...]' 2
first=$1 last=$2 least_commits=$3 least_conflicts=$4
shift 4
options=()
while [[ $# -gt 0 && $1 != -- ]]; do
    options+=("$1")
    shift
done
[[ $# -ge 2 ]] || die 'the program is missing' 2
shift

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# The number behind the first "NAME": of the report, which is that of the whole run.
reported()
{
    sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$work/report.json" | head -n 1
}

different=0 commits=0 conflicts=0
for ((from = first; from <= last; from += count)); do
    count=$((last - from + 1 < seeds_a_process ? last - from + 1 : seeds_a_process))
    command=(valgrind -q --tool=rtmgrind --heap=no --top=0 "${options[@]}" "$@" "$from" "$count" "$from")
    status=0
    MPLACE_HTM=emulated env ${PRELOAD:+"LD_PRELOAD=$PRELOAD"} "${command[@]:0:3}" \
        "--rtm-out=$work/report.json" "${command[@]:3}" >"$work/out" || status=$?
    [[ $status == 0 ]] || die "exit status $status from: ${PRELOAD:+LD_PRELOAD=$PRELOAD }${command[*]}"
    line=$(tail -n 1 "$work/out")
    [[ $line =~ ^$count\ seeds,\ ([0-9]+)\ different\ interleavings ]] || die "what is '$line'?"
    different=$((different + BASH_REMATCH[1]))
    commits=$((commits + $(reported committed)))
    conflicts=$((conflicts + $(reported conflict)))
done
seeds=$((last - first + 1))
echo "seeds $first to $last: $different different interleavings," \
    "$commits transactions committed, $conflicts conflicts"
((commits >= seeds * least_commits)) || die "fewer than $least_commits commits a seed"
((conflicts >= seeds * least_conflicts)) || die "fewer than $least_conflicts conflicts a seed"
((different * 10 >= seeds * 9)) || die 'fewer than nine of ten interleavings differ'
