#!/bin/bash
# SPDX-License-Identifier: MIT
#
# xz with more threads than CPUs, several times over, compresses to the bytes that it makes without a
# library, and decompresses them to the input. Small blocks, so that the threads trade many of them
# under mutexes and condition variables.
#
# Proof: the process of each run reports mutex acquisitions.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
need /usr/bin/xz xz-utils

threads=$(($(nproc) * 4))
seq 1 4000000 >input

pack() { "$@" /usr/bin/xz -T"$threads" -1 --block-size=64KiB -c input; }

pack plainly >reference.xz 2>reference.err || fail "xz failed without any library"
for round in {1..12}; do
    pack preloaded compress >preloaded.xz 2>compress.err ||
        fail "xz failed under the library in round $round"
    prove compress "$pid" 50 1000
    same "the output of xz" reference.xz preloaded.xz
    preloaded decompress /usr/bin/xz -T"$threads" -dc preloaded.xz >output 2>decompress.err ||
        fail "xz -d failed under the library in round $round"
    prove decompress "$pid" 10 1000
    same "the output of xz -d" input output
done
say "xz, $threads threads: 12 times $(stat -c %s input) bytes to $(stat -c %s preloaded.xz) and back"
