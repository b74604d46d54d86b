#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How fast the tool is: plain code against Valgrind's tool that does nothing, and the ring with one
# transaction a traversal. Processor time of runs that take turns, so that a busy machine slows all
# of them alike; medians. Prints figures and judges nothing.
set -euo pipefail

usage()
{
    cat <<'END'
usage: speed.sh [BUILD_FOLDER] [RUNS]

Needs the benchmark ring, libttstle_lock.so and the tool in BUILD_FOLDER (default: build).
RUNS (default 5): how often each figure is taken; the median counts.
END
}

die()
{
    printf 'speed.sh: %s\n' "$*" >&2
    exit 2
}

if [[ ${1-} == --help || ${1-} == -h ]]; then
    usage
    exit 0
fi
build=${1:-build}
runs=${2:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "'$runs' is not a number of runs"
[[ -d $build ]] || die "no folder $build"
build=$(cd -- "$build" && pwd)
ring=$build/bin/ring
lock=$build/lib/libttstle_lock.so
export VALGRIND_LIB=$build/lib/mplace/valgrind
for file in "$ring" "$lock" "$VALGRIND_LIB/rtmgrind-amd64-linux"; do
    [[ -e $file ]] || die "$file is missing: build it first"
done

# Seconds of processor time in user mode: seconds COMMAND...
seconds()
{
    local TIMEFORMAT=%U

    { time "$@" >/dev/null 2>&1; } 2>&1
}

median()
{
    sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

plain_workload()
{
    # $i is perl's
    # shellcheck disable=SC2016
    valgrind -q --tool="$1" perl -e 'my %h; for my $i (1 .. 400000) { $h{$i % 997} .= "x$i"; }
        my $n = 0; $n += length for values %h; print "$n\n"'
}

ring_workload()
{
    LD_PRELOAD=$lock TTSTLE_POLICY=paper valgrind -q --tool=rtmgrind --l1d=haswell "$ring" \
        --size 512 --nodes 128 --traversals "$1"
}

few=1000
many=201000
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
for ((run = 0; run < runs; run++)); do
    seconds plain_workload none >>"$scratch/none"
    seconds plain_workload rtmgrind >>"$scratch/tool"
    seconds ring_workload $few >>"$scratch/few"
    seconds ring_workload $many >>"$scratch/many"
done
none=$(median <"$scratch/none")
tool=$(median <"$scratch/tool")
awk -v none="$none" -v tool="$tool" 'BEGIN {
    printf "plain code (perl): %.2f s, with --tool=none %.2f s: %.2f times\n", tool, none, tool / none }'
awk -v few="$(median <"$scratch/few")" -v many="$(median <"$scratch/many")" -v traversals=$((many - few)) 'BEGIN {
    printf "ring of 128 nodes, a transaction a traversal: %.0f traversals/s\n", traversals / (many - few) }'
