#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The placement rule in a real process: under libcia_malloc.so the 128 nodes of the ring cover all L1
# sets, at most 3 in any, at every node size. usage: cia_ring_test.sh RING LIBCIA SETSxWAYS
set -euo pipefail

ring=$1 library=$2 geometry=$3
sets=${geometry%%x*}
# With more sets than nodes / 2 the even share is one node: allow 3 in a set all the same.
nodes=$((sets > 64 ? 2 * sets : 128))
checked=0

for size in {16..8192..61} 500 504 512 1008 1016 1024 1528 1536 2040 2048 3064 3072 4080 4096 \
    16384 32768 65536; do
    row=$(MPLACE_L1D=$geometry LD_PRELOAD=$library \
        "$ring" --size "$size" --nodes "$nodes" --traversals 1 --csv)
    IFS=, read -r _ malloc _ _ _ _ _ _ _ _ sets_used max_per_set _ <<<"$row"
    if [[ $malloc != cia || $sets_used -ne $sets || $max_per_set -gt 3 ]]; then
        echo "size $size under $geometry: malloc $malloc, $sets_used of $sets sets," \
            "$max_per_set nodes in one" >&2
        exit 1
    fi
    checked=$((checked + 1))
done
echo "$checked sizes cover all $sets sets with at most 3 of $nodes nodes in any"
