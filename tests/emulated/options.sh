#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The emulator's command line: what is out of range or no value at all is refused in one clear line
# that names the option, before the program starts; the ends of each range are accepted, and presets
# are what they are called after.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

die()
{
    echo "options.sh: $1" >&2
    exit 1
}

emulated()
{
    valgrind -q --tool=rtmgrind "$@"
}

# expect_refusal OPTION REASON: Valgrind's first line names the option, the second one says why.
expect_refusal()
{
    local status=0
    emulated "$1" /bin/echo started >"$work/out" 2>"$work/err" || status=$?
    [[ $status == 1 ]] || die "$1: exit status $status"
    [[ ! -s $work/out ]] || die "$1: the program was started"
    [[ $(sed -n 1p "$work/err") == "valgrind: "*" option: $1" ]] || die "$1: $(sed -n 1p "$work/err")"
    [[ $(sed -n 2p "$work/err") == "valgrind: "*"$2"* ]] || die "$1: $(sed -n 2p "$work/err")"
}

expect_accepted()
{
    [[ $(emulated "$@" /bin/echo started 2>&1) == started ]] || die "$* is refused"
}

for option in cpus:1:64 switch-inside:1:1048576 switch-outside:1:1048576 timeslice:1:1073741824 \
    interrupt-rate:0:1073741824 read-lines:0:1073741824; do
    IFS=: read -r name least most <<<"$option"
    expect_accepted "--$name=$least"
    expect_accepted "--$name=$most"
    expect_refusal "--$name=$((least - 1))" "between $least and $most"
    expect_refusal "--$name=$((most + 1))" "between $least and $most"
    expect_refusal "--$name=some" "'some'"
done
for option in l1d l2; do
    for geometry in '' 64 0x8 64x0 63x8 64x65 64x8x skylake 64x8x64x1; do
        expect_refusal "--$option=$geometry" "'$geometry' is not SETSxWAYS"
    done
    expect_refusal "--$option=64x8x32" 'lines have 64 bytes, not 32'
    expect_accepted "--$option=1x1"
    expect_accepted "--$option=128x4x64"
done
expect_refusal --replacement=fifo "'fifo' is not lru or tree"
expect_accepted --replacement=lru
expect_accepted --replacement=tree
for seed in '' some 9223372036854775808 -9223372036854775809 99999999999999999999; do
    expect_refusal "--seed=$seed" "'$seed'"
done
for seed in 0 -1 9223372036854775807 -9223372036854775808; do
    expect_accepted "--seed=$seed"
done
for option in rtm first-touch heap; do
    expect_refusal "--$option=perhaps" "'perhaps'"
done
expect_refusal --no-such-option=1 'Use --help'

# expect_reported TEXT OPTION...: the JSON report says so.
expect_reported()
{
    emulated "--rtm-out=$work/report.json" "${@:2}" /bin/true
    grep -qF -- "$1" "$work/report.json" || die "${*:2}: no $1 in $(head -n 1 "$work/report.json")"
}

expect_reported '"l1d": "64x8"' --l1d=haswell
expect_reported '"l1d": "64x12"' --l1d=icelake
expect_reported '"l1d": "32x4"' --l1d=haswell --l1d=32x4
expect_reported '"seed": 1,'
expect_reported '"seed": 77,' --seed=77
expect_reported '"cpus": 3,' --cpus=3
# The host's own geometry, where sysfs tells it.
cache=/sys/devices/system/cpu/cpu0/cache/index0
if [[ -r $cache/number_of_sets && $(<$cache/type) == Data ]]; then
    expect_reported "\"l1d\": \"$(<$cache/number_of_sets)x$(<$cache/ways_of_associativity)\""
fi
