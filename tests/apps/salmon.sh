#!/bin/bash
# SPDX-License-Identifier: MIT
#
# salmon, a C++ program that is linked to jemalloc, indexes transcripts and counts which of them reads are
# from, with two threads, as without a library.
#
# Proof: both steps report allocations, those of the C libraries: operator new is jemalloc's, and its blocks
# go back to it. Their threads take mutexes.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "indexes transcripts and counts reads with two threads; linked to jemalloc" salmon libjemalloc2
need /usr/bin/salmon salmon

reads=$(quick_or_full 2000 100000)
awk -v seed=20170306 -v reads="$reads" '
    '"$awk_random"'
    BEGIN {
        for (t = 1; t <= 300; t++) {
            for (i = 0; i < 1500; i++) transcript[t] = transcript[t] substr("ACGT", 1 + random(4), 1)
            print ">t" t "\n" transcript[t] >"transcripts.fa"
        }
        quality = sprintf("%100s", "")
        gsub(" ", "I", quality)
        for (r = 1; r <= reads; r++)
            print "@r" r "\n" substr(transcript[1 + random(300)], 1 + random(1400), 100) "\n+\n" quality >"reads.fq"
    }'

index() { echo /usr/bin/salmon --no-version-check index -t transcripts.fa -i "$1.index" -p 2; }
count() { echo /usr/bin/salmon --no-version-check quant -i "$1.index" -l U -r reads.fq -o "$1.counts" -p 2; }

# shellcheck disable=SC2046 # words
for step in index count; do
    plainly $($step reference) >salmon.out 2>&1 || fail "salmon's $step failed without any library"
done
# shellcheck disable=SC2046
preloaded index $(index preloaded) >salmon.out 2>salmon.err || fail "salmon's index failed under the library"
prove index "$pid" 1000 1
# shellcheck disable=SC2046
preloaded count $(count preloaded) >salmon.out 2>salmon.err || fail "salmon's count failed under the library"
prove count "$pid" 100 1
[[ $(wc -l <reference.counts/quant.sf) == 301 ]] || fail "salmon counted for other than 300 transcripts"
same "salmon's counts" reference.counts/quant.sf preloaded.counts/quant.sf
say "salmon: $reads reads counted as without"
