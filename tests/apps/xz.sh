#!/bin/bash
# SPDX-License-Identifier: MIT
#
# xz -T2 compresses to the same bytes, and xz -d gives the input back, with two worker threads that
# hand blocks to each other under mutexes and condition variables, and large buffers of their own.
#
# Proof: the one process of each run reports allocations and mutex acquisitions.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "-T2 of text, and back" xz-utils
need /usr/bin/xz xz-utils

seed=20240229
megabytes=$(quick_or_full 12 150)

# Words of a seeded vocabulary, in runs that repeat: text that compresses about as text does.
say "input: $megabytes MB of text, seed $seed"
awk -v seed="$seed" -v wanted="$((megabytes * 1000000))" '
    '"$awk_random"'
    BEGIN {
        for (i = 0; i < 5000; i++) {
            word[i] = ""
            for (j = random(9) + 2; j > 0; j--) word[i] = word[i] sprintf("%c", 97 + random(26))
        }
        while (written < wanted) {
            line = word[random(5000)]
            for (j = random(12); j > 0; j--) line = line " " word[random(70) * random(70)]
            print line
            written += length(line) + 1
        }
    }' >input

# Small blocks, so that the two workers trade many of them. To files of its own: an xz that only writes to its standard
# output gives up the right to open any file (Landlock, since 5.6), the one of its statistics too. -q -Q: it need not be
# able to give them the input's group.
pack() { "$@" /usr/bin/xz -T2 -2 --block-size=512KiB -q -Q -k -f input; }

pack plainly 2>reference.err || fail "xz -T2 failed without any library"
mv input.xz reference.xz
pack preloaded compress 2>compress.err || fail "xz -T2 failed under the library"
mv input.xz preloaded.xz
prove compress "$pid" 50 1000
same "the output of xz -T2" reference.xz preloaded.xz

preloaded decompress /usr/bin/xz -T2 -d -q -Q -k preloaded.xz 2>decompress.err || fail "xz -d failed under the library"
prove decompress "$pid" 10 100
same "what xz -T2 -d made" input preloaded
say "xz: $(stat -c %s input) bytes to $(stat -c %s preloaded.xz) and back, bytes as without"
