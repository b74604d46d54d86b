#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A library has the tracepoints that docs/tracing.md promises, each with so many arguments and each a nop.
# usage: probes_test.sh LIBRARY NAME:ARGUMENTS...
set -euo pipefail

library=$1
shift

# Name, number of arguments and address of each note of the provider.
notes=$(readelf -nW "$library" | awk '
    /Provider:/ { ours = $NF == "mplace" }
    /Name:/ { name = $2 }
    /Location:/ { sub(",", "", $2); place = $2 }
    /Arguments:/ && ours { print name ":" NF - 1, place }')

diff <(printf '%s\n' "$@" | sort -u) <(cut -d' ' -f1 <<<"$notes" | sort -u) || {
    echo "left: promised; right: in $library" >&2
    exit 1
}
code=$(objdump -d --no-show-raw-insn "$library")
while read -r name place; do
    instruction=$(grep "^ *$(printf '%x' "$place"):" <<<"$code") || instruction='no instruction'
    [[ $instruction =~ :[[:space:]]+nop$ ]] || {
        echo "$name at $place is not a nop: $instruction" >&2
        exit 1
    }
done <<<"$notes"
