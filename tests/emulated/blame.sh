#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The report of a capacity abort names the set that overflowed, the blocks that filled it and where
# they were allocated.
#
#   usage: blame.sh BLAME_BLOCKS HOW [LIBRARY]       LIBRARY: an allocator to preload
set -euo pipefail

program=$1
how=$2
library=${3-}
size=1496
ways=8

if [[ -n $library && ! -e $library ]]; then
    echo "skipped: $library is not here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
set=$(MPLACE_HTM=emulated env ${library:+"LD_PRELOAD=$library"} valgrind --tool=rtmgrind \
    --l1d=64x$ways "--rtm-out=$work/report.json" "$program" "$how" $size $ways 2>"$work/text") || {
    cat "$work/text" >&2
    exit 1
}
/usr/bin/python3 - "$work/report.json" "$set" "$how" $size $ways <<'PROGRAM'
import json, sys
report, number, how, size, ways = json.load(open(sys.argv[1])), *sys.argv[2:]
# Not the only one: what is allocated in vain overflows a set as well.
found = [overflow for overflow in report["overflows"] if overflow["set"] == int(number)]
assert len(found) == 1, (report["overflows"], number)
worst = found[0]
most = worst["filled_by"][0]
assert worst["count"] >= 1, worst
assert most["lines"] == float(ways), worst
if how in ("freed", "allocated_in_vain", "left"):
    assert "size" not in most, worst
else:
    assert most["size"] == int(size), worst
    assert any("allocate" in frame for frame in most["allocated"]), worst
    assert any("main" in frame for frame in most["allocated"]), worst
PROGRAM
if [[ $how != freed && $how != allocated_in_vain && $how != left ]]; then
    grep -q "set $set of the first-level cache" "$work/text"
    grep -q "8.0 lines of blocks of $size bytes, allocated" "$work/text"
    echo "set $set: $ways lines of blocks of $size bytes"
else
    grep -q "8.0 lines of no known heap block" "$work/text"
    echo "set $set: $ways lines of no known heap block"
fi
