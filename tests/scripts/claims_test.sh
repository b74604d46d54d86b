#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace claims" promises: that every verdict is reached by the rows that call for it and by no
# others, and that nothing is concluded from rows that are missing. The rows are made up here: they test
# the judgement, and are no measurements.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

# ring MALLOC LOCK HTM SIZE RATE [NODES_IN_ONE_SET [COUNTERS [SEED]]], 1000 traversals
ring()
{
    echo "ring,$1,$2,$3,$4,128,1,${8:-1},$5,traversals/s,64,${6:-2},1000,,,,,,,,somewhere,Some CPU,2026-01-01T00:00:00Z,,park,1,${7-}"
}

# tree MALLOC LOCK HTM SIZE RATE
tree()
{
    echo "avltree,$1,$2,$3,$4,32767,4,1,$5,operations/s,64,512,1000,,,,,,,,somewhere,Some CPU,2026-01-01T00:00:00Z,,park,,"
}

# transactions BENCH MALLOC HTM SIZE SLOW CAPACITY [RATE [COUNTERS]]: 1000 sections, 1000 transactions
transactions()
{
    local nodes=128 threads=1

    [[ $1 == ring ]] || nodes=32767 threads=4
    echo "$1,$2,ttstle,$3,$4,$nodes,$threads,1,${7-},runs/s,64,2,1000,$5,1000,$((1000 - $6)),0,$6,0,0,somewhere,Some CPU,2026-01-01T00:00:00Z,paper,park,,${8-}"
}

# glibc at every size that the paper names, by its header below it
bad_sizes='500 1008 1528 2040 2544 3064 4080'
good_sizes='64 256 1024'

# Measured rows count three times, with seeds of their own: as often as a verdict needs them.
claims()
{
    { echo "$header"; awk -F, -v OFS=, '{print} $4 != "emulated" {for (i = 1; i <= 2; i++) {$8 = $8 "0" i; print}}'; } >a.csv
    run "$mplace" claims a.csv
    expect "exit status" 0 "$status"
    expect "standard error" "" "$(cat err)"
}

# The verdicts of a claim by its title, in the order of the table, with ";" between.
verdicts()
{
    awk -F ' [|] ' -v title="$1" '
        /^[|] [0-9]+ [|]/ {here = $2 == title}
        /^[|] [|] [|] / && here {sub(/ [|]$/, ""); print $NF; next}
        /^[|] [0-9]+ [|]/ && here {sub(/ [|]$/, ""); print $NF}
        /^## 1[.]/ {exit}' out | paste -sd ';'
}

expect_verdict()
{
    expect "verdict on '$1'" "$2" "$(verdicts "$1")"
}

expect_text()
{
    grep -qF -- "$1" out || fail "'$1' is not said: $(grep -F "${1:0:12}" out || true)"
}

degradation='glibc is degraded at certain sizes (ring)'
misses='the loss goes with misses of the L1 data cache'
futile='at these sizes TTSTLE is below TTS (glibc, ring)'
bands='elsewhere TTSTLE is a little below TTS (ring)'
order='CIA ≥ RAND ≥ GLIBC'
clean='no pathological size under CIA'
knee='the knee at about 2000 B (ring)'
tlb='the knee is the first-level data TLB (ring)'
capacity='capacity aborts at the pathological sizes (ring)'
concurrency='TTSTLE is above TTS with 4 threads (AVL tree)'
same='the same pathological sizes with 4 threads (glibc, AVL tree)'
worse='at about 2000 B TTSTLE with glibc is below the best TTS (AVL tree)'
tsx='not measured: needs TSX hardware'
untried='not measured: no size just below'
pmu='not measured: needs hardware counters'

# ring_under_tts GLIBC_RATE_AT_BAD_SIZES
ring_under_tts()
{
    local size

    for size in $good_sizes; do ring glibc tts none "$size" 5000000; ring cia tts none "$size" 5000000; done
    for size in $bad_sizes; do ring glibc tts none "$size" "$1" 30; ring cia tts none "$size" 5000000; done
}

glibc_is_judged_at_the_sizes_that_the_paper_names()
{
    ring_under_tts 2000000 | claims
    expect_verdict "$degradation" holds
    expect_text 'glibc is degraded at 7 of 10 sizes; it has 0.40 of the best allocator'\''s rate at 500 B, its least.'
    expect_text '| 1008 | 2.00 | 5.00 (cia) | 0.40 | 30 |'
    ring_under_tts 3600000 | claims
    expect_verdict "$degradation" differs
    expect_text 'Not near 512, 1024, 1536, 2048, 2560, 3072 and 4096 B.'
    # One of them good is a difference, one that was not tried is none, one elsewhere is told.
    ring_under_tts 2000000 | sed '/,glibc,.*,1008,/s/,2000000,/,5000000,/' | claims
    expect_verdict "$degradation" differs
    expect_text 'Not near 1024 B.'
    { ring_under_tts 2000000 | grep -v ,2544,; ring glibc tts none 700 1000000; ring cia tts none 700 5000000; } | claims
    expect_verdict "$degradation" "$untried 2560 B"
    expect_text 'Just below 2560 B no size was tried.'
    expect_text 'Near none of the sizes that the paper names: 700 B.'
    ring_under_tts 2000000 | grep ,glibc, | claims
    expect_verdict "$degradation" 'not measured'
    ring_under_tts 2000000 | sed 's/,tts,/,pthread,/' | claims
    expect_verdict "$degradation" 'not measured'
}

a_slow_median_with_a_fast_run_decides_nothing()
{
    # Of 5, 2 and 2 the median is 2, but one run shows that the size is not to blame.
    { ring_under_tts 2000000; ring glibc tts none 1008 5000000 30 '' 2; ring glibc tts none 1008 2000000 30 '' 3; } | claims
    expect_verdict "$degradation" 'not decided: runs disagree'
    expect_text 'At 1 more the median is below 0.7 and a run is not: other load.'
    expect_text 'Near 1024 B the runs disagree.'
    { ring_under_tts 2000000; ring glibc tts none 1008 3400000 30 '' 2; ring glibc tts none 1008 2000000 30 '' 3; } | claims
    expect_verdict "$degradation" holds
}

# counted MALLOC: rates and misses of a ring whose time goes with its misses, or with --contrary does not
counted()
{
    local size

    for size in $good_sizes; do ring "$1" tts none "$size" 5000000 2 'l1d-misses@SOME_EVENT=3000'; done
    for size in 500 1008; do ring "$1" tts none "$size" 2000000 30 "l1d-misses@SOME_EVENT=${2:-120000}"; done
}

sizes_that_were_run_too_seldom_are_not_judged()
{
    ring_under_tts 2000000 | claims
    # Of one size one run of three is missing.
    cp a.csv few.csv
    sed -i '0,/^ring,glibc,tts,none,1008,/{/^ring,glibc,tts,none,1008,/d}' few.csv
    run "$mplace" claims few.csv
    expect "exit status" 0 "$status"
    expect_verdict "$degradation" 'not measured: fewer than 3 runs of a size'
    expect_text 'Fewer than 3 runs at 1008 B.'
}

misses_are_judged_by_counters_alone()
{
    { counted glibc; ring cia tts none 500 5000000; ring cia tts none 1008 5000000; } | claims
    expect_verdict "$misses" holds
    expect_text 'its misses (SOME_EVENT) have a correlation of 1.00 over 5 sizes'
    expect_text '| 500 | 2.00 | 5.00 (cia) | 0.40 | 30 | 120.0 |'
    # Fewer misses where it is slow.
    counted glibc 0 | claims
    expect_verdict "$misses" differs
    ring_under_tts 2000000 | claims
    expect_verdict "$misses" "$pmu"
    expect_text 'in the fullest set begin 30 nodes at the sizes that are degraded, 2 at the others'
    tree glibc tts none 64 1 | claims
    expect_verdict "$misses" "$pmu"
}

futile_transactions_need_a_processor_that_has_them()
{
    local size

    { ring_under_tts 2000000; for size in $bad_sizes; do ring glibc ttstle native "$size" 1500000; done; } | claims
    expect_verdict "$futile" holds
    expect_text 'ttstle is below tts at 7 of 7 sizes at which glibc is degraded; the least is 0.75 of it, at 500 B.'
    { ring_under_tts 2000000; for size in $bad_sizes; do ring glibc ttstle native "$size" $((size == 500 ? 2100000 : 1500000)); done; } | claims
    expect_verdict "$futile" differs
    { ring_under_tts 5000000; for size in $bad_sizes; do ring glibc ttstle native "$size" 1500000; done; } | claims
    expect_verdict "$futile" 'not measured'
    # ttstle without transactions is tts: neither verdict is drawn from it.
    { ring_under_tts 2000000; for size in $bad_sizes; do ring glibc ttstle none "$size" 1500000; done; } | claims
    expect_verdict "$futile" "$tsx"
    expect_text 'Left out: 21 rows of ttstle'
    { ring_under_tts 2000000; transactions ring glibc emulated 500 1000 1000; transactions ring glibc emulated 512 0 0; } | claims
    expect_verdict "$futile" "$tsx"
    expect_text 'at 1 of 2 sizes the transactions of glibc abort for capacity'
}

the_two_bands_need_a_processor_with_transactions()
{
    { ring cia tts none 64 5000000; ring cia ttstle native 64 4800000; } | claims
    expect_verdict "$bands" holds
    { ring cia tts none 64 5000000; ring cia ttstle native 64 5100000; } | claims
    expect_verdict "$bands" differs
    { ring cia tts none 2048 5000000; ring cia ttstle native 2048 4800000; } | claims
    expect_verdict "$bands" 'not measured'
    { ring cia tts none 64 5000000; ring cia ttstle none 64 4800000; } | claims
    expect_verdict "$bands" "$tsx"
}

# ordered CIA RAND GLIBC: ten sizes, these rates at the first two
ordered()
{
    local size malloc value

    for size in 64 128 192 256 320 384 448 512 576 640; do
        for malloc in cia:$1 rand:$2 glibc:$3; do
            value=${malloc#*:}
            ((size <= 128)) || value=5000000
            ring "${malloc%:*}" tts none "$size" "$value"
        done
    done
}

the_order_of_the_allocators_is_judged_in_general_and_a_lock_at_a_time()
{
    ordered 5000000 5000000 5000000 | claims
    expect_verdict "$order" holds
    ordered 5000000 4000000 3000000 | claims
    expect_verdict "$order" holds
    # Two of ten sizes are more than noise, one is not "in general".
    ordered 4000000 5000000 5000000 | claims
    expect_verdict "$order" differs
    expect_text 'cia is not below rand at 8 of 10 sizes; the ratio of their rates is 1.00 in the median, 0.80 at 64 B, its least. Below at 64 and 128 B.'
    ordered 5000000 4000000 5000000 | claims
    expect_verdict "$order" differs
    grep -v '^ring,[a-z]*,tts,none,128,' <(ordered 4000000 5000000 5000000) >nine
    { cat nine; for malloc in cia rand glibc; do ring $malloc tts none 128 5000000; done; } | claims
    expect_verdict "$order" holds
    ordered 5000000 5000000 5000000 | sed 's/rand,tts,none/rand,pthread,none/' | claims
    expect_verdict "$order" 'not measured'
    { ordered 5000000 5000000 5000000; ordered 4000000 5000000 5000000 | sed 's/,tts,none,/,ttstle,native,/'; } | claims
    expect_verdict "$order" 'holds;differs'
}

cia_is_judged_by_rates_and_by_capacity_aborts_apart()
{
    ring_under_tts 2000000 | claims
    expect_verdict "$clean" holds
    ring_under_tts 2000000 | sed '/,cia,.*,1024,/s/,5000000,/,3400000,/' | claims
    expect_verdict "$clean" differs
    expect_text 'Degraded at 1024 B.'
    ring cia tts none 64 5000000 | claims
    expect_verdict "$clean" 'not measured'
    ring glibc tts none 64 5000000 | claims
    expect_verdict "$clean" 'not measured'
    { transactions avltree cia emulated 64 0 9; transactions avltree cia emulated 500 0 0; } | claims
    expect_verdict "$clean" holds
    expect_text "cia's capacity aborts are below 1 % of the transactions at all 2 sizes, the most 0.9 % at 64 B."
    { transactions avltree cia emulated 64 0 10; transactions avltree cia emulated 500 0 0; } | claims
    expect_verdict "$clean" differs
    expect_text "cia's capacity aborts are 1 % of the transactions or more at 64 B, the most 1 % at 64 B."
    { ring_under_tts 2000000; transactions ring cia emulated 64 1000 1000; transactions ring cia native 64 0 0 5000000; ring glibc ttstle native 64 5000000; } | claims
    expect "verdicts, measured before emulated" 'holds;holds;holds;differs' "$(verdicts "$clean")"
    expect_text 'cia has no capacity abort at any of 1 sizes.'
}

# bent SIZE LAST: the main band, lower from SIZE on
bent()
{
    local size

    for size in 64 512 1024 1280 1536 1856 2048 2304 2560 4096; do
        ((size <= $2)) || break
        ring cia tts none "$size" $((size < $1 ? 5000000 : 4000000)) 2 "${3:+dtlb-l2-hits@HITS=$((size < $1 ? 1000 : $3)),l1d-misses@L1=1000}" | sed 's/,l1d-/;l1d-/'
    done
}

the_knee_is_where_the_best_rate_stays_below_its_level()
{
    bent 2048 4096 | claims
    expect_verdict "$knee" holds
    expect_text 'is at 5.00 M/s up to 1 KiB (median) and below 0.9 of that from 2048 B on'
    bent 1280 4096 | claims
    expect_verdict "$knee" differs
    bent 2560 4096 | claims
    expect_verdict "$knee" differs
    bent 9999 4096 | claims
    expect_verdict "$knee" differs
    expect_text 'No knee: the best rate is at its level to 4096 B.'
    bent 2048 2304 | claims
    expect_verdict "$knee" 'not measured'
    ring cia tts none 4096 5000000 | claims
    expect_verdict "$knee" 'not measured'
    # Another allocator that stays up is the main band.
    { bent 2048 4096; ring rand tts none 4096 5000000; } | claims
    expect_verdict "$knee" differs
}

the_tlb_is_judged_by_counters_alone()
{
    bent 2048 4096 60000 | claims
    expect_verdict "$tlb" holds
    expect_text "cia's misses of the L1 data TLB are 1.0 a traversal up to 1 KiB and 60.0 from 2500 B on"
    expect_text '| 2560 | 4.00 | 60.0 | 1.0 |'
    # A rise by less than a node in eight is no cause.
    bent 2048 4096 16000 | claims
    expect_verdict "$tlb" differs
    bent 2048 4096 60000 | sed '/,4096,\|,2560,/s/l1d-misses@L1=1000/l1d-misses@L1=120000/' | claims
    expect_verdict "$tlb" differs
    # Walks are misses as well as hits in the second level.
    bent 2048 4096 9000 | sed 's/;l1d/;dtlb-walks@WALKS=9500;l1d/' | sed '/none,64,\|,512,\|,1024,/s/WALKS=9500/WALKS=0/' | claims
    expect_verdict "$tlb" holds
    bent 2048 4096 | claims
    expect_verdict "$tlb" "$pmu"
}

# aborting MALLOC HTM COUNT [COUNTERS]: COUNT of 1000 transactions at the bad sizes, none at the good ones
aborting()
{
    local size

    for size in $good_sizes; do transactions ring "$1" "$2" "$size" 0 0; done
    for size in $bad_sizes; do transactions ring "$1" "$2" "$size" 1000 "$3" '' "${4-}"; done
}

capacity_aborts_are_judged_by_counts()
{
    aborting glibc emulated 1000 | claims
    expect_verdict "$capacity" holds
    expect_text 'With glibc nothing is elided at 7 of 10 sizes.'
    { aborting glibc emulated 1000; aborting mimalloc emulated 20; } | claims
    expect_text '| mimalloc | 10 | none | 7: 500 to 1008, 1528 to 4080 | 2 % at 500 B |'
    aborting glibc emulated 20 | claims
    expect_verdict "$capacity" differs
    aborting glibc emulated 1000 | sed '/,2040,/s/,1000,1000,1000,0,0,1000,/,1000,0,1000,1000,0,0,/' | claims
    expect_verdict "$capacity" differs
    expect_text 'Not near 2048 B.'
    ring_under_tts 2000000 | claims
    expect_verdict "$capacity" "$tsx"
    # The cache is the description's, and two caches are judged apart.
    { echo "$header"; aborting glibc emulated 1000; } >eight.csv
    { echo "$header"; aborting glibc emulated 0; } >twelve.csv
    printf '%s\n' host=somewhere l1d=64x8x64 >eight.csv.machine
    printf '%s\n' host=somewhere l1d=64x12x64 >twelve.csv.machine
    run "$mplace" claims eight.csv twelve.csv
    expect_verdict "$capacity" 'holds;differs'
    expect_text 'Emulated: L1D of 64 sets × 8 ways, 128 nodes. **Holds.**'
    expect_text 'Emulated: L1D of 64 sets × 12 ways, 128 nodes. **Differs.**'
}

the_processors_own_counts_of_aborts_get_a_column()
{
    aborting glibc native 1000 | sed 's/,traversals/&/; s/,1,,runs/,1,5000000,runs/' >rows
    claims <rows
    if grep -q RTM_RETIRED out; then
        fail "a column of counts that nobody took"
    fi
    # Under the emulator they would be those of the emulator.
    aborting glibc emulated 1000 'rtm-started@A=1000;rtm-aborted@B=1000;rtm-aborted-memory@C=990' | claims
    if grep -q RTM_RETIRED out; then
        fail "a column of emulated runs"
    fi
    aborting glibc native 1000 'rtm-started@A=1000;rtm-aborted@B=1000;rtm-aborted-memory@C=990' | sed 's/,1,,runs/,1,5000000,runs/' | claims
    expect_text 'RTM_RETIRED where nothing is elided: aborted by memory accesses, by anything |'
    expect_text '| 100 % at 500 B | 99 %, 100 % |'
    expect_verdict "$capacity" holds
}

the_tree_with_four_threads_is_judged_by_rates_of_a_processor_with_transactions()
{
    { tree cia tts none 64 1000; tree cia ttstle native 64 2000; tree glibc tts none 64 1000; tree glibc ttstle native 64 2000; } | claims
    expect_verdict "$concurrency" holds
    expect_text 'cia is ahead under ttstle at 1 of 1 sizes, by a factor of 2.00 in the median.'
    expect_verdict "$same" "$untried 512, 1024, 1536, 2048, 2560, 3072 and 4096 B"
    { tree cia tts none 64 1000; tree cia ttstle native 64 900; } | claims
    expect_verdict "$concurrency" differs
    { tree glibc tts none 64 1000; tree glibc ttstle native 64 900; } | claims
    expect_verdict "$concurrency" 'not measured'
    { tree cia tts none 64 1000; tree cia ttstle none 64 900; transactions avltree cia emulated 64 50 0; } | claims
    expect_verdict "$concurrency" "$tsx"
    expect_text 'cia: 95.0 % in the median, 95.0 % at 64 B.'
    { tree cia ttstle native 2040 2000; tree glibc ttstle native 2040 900; tree rand tts none 2040 1000; } | claims
    expect_verdict "$same" "$untried 512, 1024, 1536, 2560, 3072 and 4096 B"
    expect_verdict "$worse" holds
    expect_text 'Under ttstle glibc has 0.90 of the best rate under tts at 2040 B.'
    { tree cia ttstle native 2040 3000; tree cia ttstle native 1008 3000; tree glibc ttstle native 2040 1100; tree glibc ttstle native 1008 3000; tree rand tts none 2040 1000; } | claims
    expect_verdict "$same" differs
    expect_text 'Under ttstle glibc is degraded at 1 of 2 sizes; it has 0.37 of the best allocator'\''s rate at 2040 B, its least. Not near 1024 B.'
    expect_verdict "$worse" differs
    { tree glibc ttstle native 64 900; tree rand tts none 64 1000; } | claims
    expect_verdict "$worse" 'not measured'
    { tree glibc tts none 64 900; tree cia tts none 64 1000; } | claims
    expect_verdict "$same" "$tsx"
    expect_verdict "$worse" "$tsx"
    expect_text 'Under tts, of which the paper does not say it, glibc is degraded at 0 of 1 sizes; it has 0.90'
    { transactions avltree glibc emulated 500 50 50; transactions avltree glibc emulated 700 0 0; } | claims
    expect_verdict "$same" "$untried 1024, 1536, 2048, 2560, 3072 and 4096 B"
    for size in $bad_sizes; do transactions avltree glibc emulated "$size" 50 50; done | claims
    expect_verdict "$same" 'holds for aborts; the rate needs TSX hardware'
    { transactions avltree glibc emulated 500 50 50; transactions avltree glibc emulated 1008 0 0; } | claims
    expect_verdict "$same" differs
    expect_text "glibc's capacity aborts are 1 % of the transactions or more at 1 of 2 sizes. Not near 1024 B."
    { transactions avltree glibc emulated 500 0 0; } | claims
    expect_verdict "$same" differs
}

# shellcheck disable=SC2016 # the backquotes are Markdown's
each_finding_names_its_rows_files_and_command()
{
    { echo "$header"; ring_under_tts 2000000; } >'a|b.csv'
    printf '%s\n' 'sweep_command=mplace sweep ring `x` --out /some/folder/a.csv ' host=somewhere 'warning=It is | loaded.' >'a|b.csv.machine'
    { echo "$header"; ring_under_tts 2000000; ring glibc tts none 128 5000000; } >c.csv
    run "$mplace" claims 'a|b.csv' c.csv
    expect "exit status" 0 "$status"
    expect_text '| 1: a\|b.csv | 20 | somewhere | mplace sweep ring \`x\` --out a.csv |'
    expect_text '| 2: c.csv | 21 | somewhere | not known: no c.csv.machine |'
    expect_text '* It is \| loaded.'
    # A row that both files have counts once, as the first one's.
    expect_text 'Rows: 11 of ring, glibc under tts; file 1, 2.'
    expect_text 'To measure it: `mplace sweep ring '
    expect "claims without a command" 12 "$(grep -c '^To measure it: `mplace sweep ' out)"
}

processors_and_threads_are_never_mixed()
{
    { ring_under_tts 2000000 | sed 's/Some CPU/Other CPU/'; ring_under_tts 5000000; } | claims
    expect_verdict "$degradation" 'holds;differs'
    { tree cia tts none 64 1000; tree cia ttstle native 64 2000 | sed 's/,32767,4,/,32767,2,/'; } | claims
    expect_verdict "$concurrency" "$tsx"
}

a_judgement_that_cannot_be_written_is_one_line_and_exit_2()
{
    { echo "$header"; ring_under_tts 1; } >a.csv
    run bash -c '"$0" claims a.csv >/dev/full' "$mplace"
    expect_refusal "mplace claims: /dev/full cannot be written: No space left on device"
    run bash -c '"$0" claims a.csv >&-' "$mplace"
    expect_refusal "mplace claims: standard output cannot be written: Bad file descriptor"
}

a_bad_file_is_one_line_and_exit_2()
{
    run "$mplace" claims
    expect_refusal "which result?"
    run "$mplace" claims --strict
    expect_refusal "unknown option '--strict'"
    run "$mplace" claims missing.csv
    expect_refusal "missing.csv is not a readable file"
    : >empty.csv
    run "$mplace" claims empty.csv
    expect_refusal "empty.csv is empty"
    echo "$header" >header.csv
    run "$mplace" claims header.csv
    expect_refusal "header.csv: no rows"
    { echo "${header/,max_per_set/}"; ring_under_tts 1; } >column.csv
    run "$mplace" claims column.csv
    expect_refusal "column.csv, line 1: not the header of a result"
    { echo "$header"; ring_under_tts 1; echo 'ring,cia,tts'; } >short.csv
    run "$mplace" claims short.csv
    expect_refusal "short.csv, line 22: a row of 3 fields instead of 27"
    { echo "$header"; ring_under_tts 1; } | head -c -5 >half.csv
    run "$mplace" claims half.csv
    expect_refusal "half.csv: the last row is incomplete"
    { echo "$header"; ring cia tts none 64 fast; } >text.csv
    run "$mplace" claims text.csv
    expect_refusal "text.csv, line 2: the rate is not a number: fast"
    { echo "$header"; ring cia tts none 64 1 2 'l1d-misses=many'; } >counts.csv
    run "$mplace" claims counts.csv
    expect_refusal "counts.csv, line 2: counters are not name=value;name=value: l1d-misses=many"
    { echo "$header"; ring_under_tts 2000000; } >good.csv
    run "$mplace" claims good.csv short.csv
    expect_refusal "short.csv, line 22"
    [[ -z $(find "$scratch" -name 'mplace-claims*') ]] || fail "a scratch folder was left"
}

the_page_links_it_when_asked_to()
{
    { echo "$header"; ring_under_tts 2000000; } >a.csv
    run "$mplace" plot a.csv --out page
    expect "exit status" 0 "$status"
    [[ ! -e page/claims.md && ! -e page/claims.html ]] || fail "it was written unasked"
    if grep -q claims page/index.html; then
        fail "what is not there is linked"
    fi
    run "$mplace" plot a.csv --claims --out page
    expect "exit status" 0 "$status"
    grep -q '<a href="claims.html">' page/index.html || fail "the page has no link"
    grep -q '<td class="open">not measured' page/claims.html || fail "the page of the claims has no verdict"
    expect "links to the claims, each with its heading" "$(seq 12 | paste -sd ' ')" \
        "$(for n in $(seq 12); do ! grep -q "href=\"#claim-$n\"" page/claims.html || sed -n "s/^<h2 id=\"claim-$n\">\($n\)\. .*/\1/p" page/claims.html; done | paste -sd ' ')"
    "$mplace" claims a.csv | cmp - page/claims.md >&2 || fail "it is not what mplace claims says"
}

run_claim
