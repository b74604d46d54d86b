#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# CIA_STATS, CIA_DECAY_MS, CIA_HARDEN, CIA_HUGE_PAGES, MPLACE_L1D, MPLACE_NUMA: silent unless asked, one line for
# a bad value, statistics where they were asked for. usage: cia_settings_test.sh LIBCIA
set -euo pipefail

library=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# A program that allocates, writes to standard output and, like all of coreutils, closes both streams.
under() {
    env "$@" LD_PRELOAD="$library" sort "$work/words" >"$work/out" 2>"$work/err"
}
printf '%s\n' c a b >"$work/words"

under A=1
[[ ! -s $work/err ]] || fail "wrote unasked: $(<"$work/err")"
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "changed the output"

under CIA_STATS=1
[[ $(head -n 1 "$work/err") == *libcia_malloc* ]] || fail "CIA_STATS=1 wrote no report to stderr"
grep -q '^ *blocks\.served *[1-9]' "$work/err" || fail "CIA_STATS=1 counted no allocation"
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "CIA_STATS=1 wrote to standard output"

under CIA_STATS="$work/stats.%p"
[[ ! -s $work/err ]] || fail "CIA_STATS=FILE wrote to stderr: $(<"$work/err")"
grep -q '^ *blocks\.served *[1-9]' "$work"/stats.[0-9]* || fail "CIA_STATS=FILE wrote no report"

under CIA_STATS="$work/no/such/folder"
[[ $(wc -l <"$work/err") -eq 1 ]] || fail "an unwritable CIA_STATS must be one line"
grep -q 'CIA_STATS=.*/no/such/folder' "$work/err" || fail "the line does not name the setting"

under CIA_STATS=1 MPLACE_L1D=128x16
grep -q 'l1_colours  *128$' "$work/err" || fail "MPLACE_L1D=128x16 was not honoured"

under MPLACE_L1D=63x8
[[ $(wc -l <"$work/err") -eq 1 ]] || fail "a bad MPLACE_L1D must be one line"
grep -q 'MPLACE_L1D=63x8' "$work/err" || fail "the line does not name the setting"
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "a bad setting changed the output"

under MPLACE_NUMA=0/1
[[ ! -s $work/err ]] || fail "MPLACE_NUMA=0/1 wrote: $(<"$work/err")"
under MPLACE_NUMA=0-3/3
[[ $(wc -l <"$work/err") -eq 1 ]] || fail "a bad MPLACE_NUMA must be one line"
grep -q 'MPLACE_NUMA=0-3/3 is not allowed' "$work/err" || fail "the line does not name the setting"
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "a bad MPLACE_NUMA changed the output"

under CIA_HUGE_PAGES=1
[[ ! -s $work/err ]] || fail "CIA_HUGE_PAGES=1 wrote: $(<"$work/err")"
under CIA_HUGE_PAGES=yes
[[ $(<"$work/err") == "mplace: CIA_HUGE_PAGES=yes is not allowed (0|1|auto); using auto" ]] ||
    fail "a bad CIA_HUGE_PAGES got: $(<"$work/err")"
for value in -1 0 86400000; do
    under CIA_DECAY_MS=$value
    [[ ! -s $work/err ]] || fail "CIA_DECAY_MS=$value wrote: $(<"$work/err")"
done
for value in -2 86400001 - 1s 99999999999999999999; do
    under CIA_DECAY_MS=$value
    [[ $(<"$work/err") == "mplace: CIA_DECAY_MS=$value is not allowed (a whole number from -1 to 86400000); using 300" ]] ||
        fail "CIA_DECAY_MS=$value got: $(<"$work/err")"
done
under CIA_STATS=1
grep -q '^ *bytes\.anon_huge_page *[0-9]' "$work/err" || fail "CIA_STATS=1 names no huge pages"
under CIA_LINES=compact CIA_STATS=1
grep -q '^ *32 *[1-9]' "$work/err" || fail "CIA_LINES=compact served no block of 32 B: $(<"$work/err")"
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "CIA_LINES=compact changed the output"
for lines in '' CIA_LINES=auto CIA_LINES=exclusive; do
    under CIA_STATS=1 $lines
    ! grep -q '^ *\(32\|48\) *[1-9]' "$work/err" || fail "blocks of less than a line unasked, '$lines'"
done
under CIA_HARDEN=1 CIA_LINES=compact CIA_STATS=1
[[ $(tr '\n' ' ' <"$work/out") == "a b c " ]] || fail "CIA_HARDEN=1 changed the output"
! grep -q '^ *\(32\|48\) *[1-9]' "$work/err" || fail "blocks of less than a line in hardened mode"
under CIA_HARDEN=1
[[ ! -s $work/err ]] || fail "CIA_HARDEN=1 wrote: $(<"$work/err")"
under CIA_HARDEN=yes
[[ $(<"$work/err") == "mplace: CIA_HARDEN=yes is not allowed (0|1); using 0" ]] ||
    fail "a bad CIA_HARDEN got: $(<"$work/err")"
under CIA_LINES=packed
[[ $(<"$work/err") == "mplace: CIA_LINES=packed is not allowed (exclusive|compact|auto); using auto" ]] ||
    fail "a bad CIA_LINES got: $(<"$work/err")"
under CIA_TINY=1
[[ $(<"$work/err") == "mplace: CIA_TINY=1 is not a setting any more; CIA_LINES=compact packs blocks" ]] ||
    fail "CIA_TINY got: $(<"$work/err")"
# Where the kernel grants them on request, a chunk in use is backed by them.
if grep -q '\[madvise\]\|\[always\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
    huge_kib() {
        CIA_HUGE_PAGES=$1 LD_PRELOAD=$library awk '
            BEGIN { while ((getline line < "/proc/self/smaps_rollup") > 0)
                        if (line ~ /^AnonHugePages/) { split(line, field, " "); print field[2] } }'
    }
    [[ $(huge_kib 1) -gt 0 ]] || fail "CIA_HUGE_PAGES=1 gave no huge page"
    # A small program has none, even if the kernel gives them unasked.
    [[ $(huge_kib auto) -eq 0 ]] || fail "a small program has $(huge_kib auto) KiB of huge pages"
fi
