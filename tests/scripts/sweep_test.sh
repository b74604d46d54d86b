#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace sweep" promises: what it refuses, in which order it measures, and that no finished row
# is ever lost, repeated or cut. The times in the rows decide nothing here.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

# Short runs; three combinations and two sizes where a test does not say otherwise.
sweep()
{
    run "$mplace" sweep ring --traversals 100 --malloc glibc,cia --lock pthread --also cia:tts "$@"
}

expect_nothing_written()
{
    [[ -z $(find "$scratch" -name 'new*') ]] || fail "written: $(find "$scratch" -name 'new*')"
}

# Each planned row exactly once, whole, and nothing else: expect_complete FILE ROWS
expect_complete()
{
    expect "rows of $1" "$2" "$(($(wc -l <"$1") - 1))"
    expect "rows that are not whole" "" "$(awk -F, 'NF != 27' "$1")"
    expect "repeated rows" "" "$(cut -d, -f2,3,5,8 "$1" | sort | uniq -d)"
    expect "rows missing from the plan" "" \
        "$(comm -3 <(grep '^row' "$1.plan" | cut -f 2-5 | sort) \
            <(tail -n +2 "$1" | awk -F, -v OFS='\t' '{print $5, $2, $3, $8}' | sort))"
    expect "last byte" 1 "$(tail -c 1 "$1" | wc -l)"
}

bad_sizes_are_one_line_and_nothing_is_written()
{
    local sizes

    for sizes in 0 15 -5 abc 1e3 64.5 512:64:64 64:128 64:128:0 64:128:x 64:128:64:1 ',' 64,,128 '64,' ',64' '' \
        99999999999999999999 2000000000 0x40 '64 128' '*' 064; do
        sweep --sizes "$sizes" --out "$scratch/new.csv"
        expect_refusal "--sizes"
    done
    expect_nothing_written
}

other_bad_options_are_one_line_and_nothing_is_written()
{
    run "$mplace" sweep ring --malloc glibc,dlmalloc --out new.csv
    expect_refusal "unknown allocator 'dlmalloc'"
    run "$mplace" sweep ring --lock tts,mcs --out new.csv
    expect_refusal "unknown lock 'mcs'"
    sweep --also jemalloc --out new.csv
    expect_refusal "--also 'jemalloc' is not MALLOC:LOCK"
    sweep --also jemalloc:mcs --out new.csv
    expect_refusal "unknown lock 'mcs'"
    sweep --malloc '' --out new.csv
    expect_refusal "--malloc needs a value"
    sweep --malloc , --out new.csv
    expect_refusal "--malloc is empty"
    run "$mplace" sweep --quick=ring --out new.csv
    expect_refusal "unknown option '--quick=ring'"
    sweep --runs 0 --out new.csv
    expect_refusal "--runs '0'"
    sweep --traversals many --out new.csv
    expect_refusal "--traversals 'many'"
    sweep --seed -1 --out new.csv
    expect_refusal "--seed '-1'"
    sweep --pin x --out new.csv
    expect_refusal "--pin 'x'"
    sweep --quick --paper --out new.csv
    expect_refusal "exclude each other"
    sweep --threads 2 --out new.csv
    expect_refusal "--threads is for avltree"
    sweep --htm often --out new.csv
    expect_refusal "unknown --htm 'often'"
    for l1d in 64 64x 64x0 0x8 64x8x64 haswell 64X8; do
        sweep --htm emulated --l1d $l1d --out new.csv
        expect_refusal "--l1d '$l1d' is not SETSxWAYS"
    done
    sweep --l1d 64x12 --out new.csv
    expect_refusal "--l1d is for --htm emulated"
    sweep --htm emulated --counters page-faults --out new.csv
    expect_refusal "--counters is not for --htm emulated"
    sweep --hosts no-such-file --out new.csv
    expect_refusal "--hosts no-such-file"
    sweep
    expect_refusal "--out FILE.csv is missing"
    run "$mplace" sweep --out new.csv
    expect_refusal "which benchmark"
    run "$mplace" sweep tree --out new.csv
    expect_refusal "which benchmark"
    run "$mplace" sweep ring ring --out new.csv
    expect_refusal "one benchmark at a time"
    sweep --no-such-option --out new.csv
    expect_refusal "unknown option '--no-such-option'"
    sweep --sizes 64 --pin 4095 --out new.csv
    expect_refusal "a trial run"
    expect_nothing_written
}

a_missing_part_is_refused_before_anything_runs()
{
    private_build
    rm "$scratch/build/lib/libtts_lock.so"
    sweep --sizes 64 --out new.csv
    expect_refusal "libtts_lock.so is missing; build it with: cmake"
    private_build
    rm -f "$scratch/build/bin/avltree"
    run "$mplace" sweep avltree --out new.csv
    expect_refusal "avltree is missing"
    rm "$scratch/build/bin/ring"
    sweep --sizes 64 --out new.csv
    expect_refusal "ring is missing"
    expect_nothing_written
}

the_benchmarks_of_banks_are_swept()
{
    local bench

    [[ -x $build_folder/bin/bank_bench ]] || skip "bank_bench is not built"
    for bench in composite:16K stream:64K is:256K; do
        run "$mplace" sweep "${bench%:*}" --sizes "${bench#*:}" --malloc glibc,cia --operations 2 --runs 2 --out "${bench%:*}.csv"
        expect "exit status of ${bench%:*}: $(<"$scratch/err")" 0 "$status"
        expect "rows of ${bench%:*}" "4 ${bench%:*} pthread" "$(tail -n +2 "${bench%:*}.csv" | cut -d, -f1,3 | uniq -c | tr -s ' ,' ' ' | xargs)"
    done
    BANK_MAP=tilepro64 BANK_PHYSICAL=simulated BANK_POOL=16M run "$mplace" sweep composite --sizes 80K --malloc bank \
        --policy colours-8 --threads 8 --operations 2 --runs 1 --out policy.csv
    expect "exit status of a policy: $(<"$scratch/err")" 0 "$status"
    grep -q '^composite,bank,.*placement=colours-8;pages=80;elsewhere=0' policy.csv || fail "$(<policy.csv)"
    sweep --policy local --out new.csv
    expect_refusal "--policy is for composite"
    run "$mplace" sweep stream --traversals 3 --out new.csv
    expect_refusal "has --operations"
    run "$mplace" sweep stream --sizes 64K --policy local --malloc glibc --runs 1 --pin none --out new.csv
    expect_refusal "needs libbank_malloc.so"
}

a_size_may_have_a_suffix_and_a_bad_one_shows_the_form()
{
    local sizes

    sweep --sizes 500:1K:524,1k:2K:1K,64 --runs 1 --out a.csv
    expect "exit status" 0 "$status"
    expect "sizes" "64 500 1024 2048" "$(tail -n +2 a.csv | cut -d, -f5 | sort -nu | paste -sd' ')"
    for sizes in 64:128 64:128:64:1 128:64:64 ',' '64 128'; do
        sweep --sizes "$sizes" --out new.csv
        expect_refusal FIRST:LAST:STEP
    done
    for sizes in 1T K 1KB 64:1Q:64 2G; do
        sweep --sizes "$sizes" --out new.csv
        expect_refusal "is not a size from 16 to 1G bytes, for instance 1G"
    done
    expect_nothing_written
}

# Under another name than its own, so that two builds of one allocator can be told apart.
any_library_takes_part_under_the_name_that_it_is_given()
{
    # Without a blank in its name, which the dynamic linker would not take; global for the trap.
    library=$(mktemp /tmp/mplace-test.XXXXXX)
    trap 'rm -rf -- "$scratch" "$library"' EXIT
    cp "$build_folder/lib/libcia_malloc.so" "$library"
    run "$mplace" sweep ring --traversals 100 --sizes 64,1K --runs 1 --malloc glibc,mine="$library" --lock pthread \
        --also mine:tts --out a.csv
    expect "exit status" 0 "$status"
    expect_complete a.csv 6
    expect "rows" 4 "$(grep -c '^ring,mine,' a.csv)"
    expect "sets" "glibc mine" "$(cut -d, -f1 a.csv.sets | sort -u | paste -sd' ')"
    grep -q "^sweep_library=${library##*/}, SHA-256 " a.csv.machine || fail "the library is not described"
    run "$mplace" sweep ring --traversals 100 --sizes 64,1K --runs 1 --malloc glibc,mine="$build_folder/lib/librand_malloc.so" \
        --lock pthread --also mine:tts --resume --out a.csv
    expect_refusal "was begun with other options"
    run "$mplace" sweep ring --malloc mine="$build_folder/lib/libtts_lock.so" --lock pthread --sizes 64 --out new.csv
    expect_refusal "asked for mine and pthread, but loaded is: ring,glibc"
    run "$mplace" sweep ring --malloc mine=none.so --out new.csv
    expect_refusal "the library of mine is not a readable file: 'none.so'"
    expect_nothing_written
}

an_output_that_cannot_be_written_is_refused()
{
    sweep --sizes 64 --out "$scratch/no such folder/new.csv"
    expect_refusal "there is no folder"
    mkdir folder
    sweep --sizes 64 --out folder
    expect_refusal "it is a folder"
    sweep --sizes 64 --out /proc/new.csv
    expect_refusal "cannot write /proc/new.csv"
    expect_nothing_written
}

without_a_path_in_the_environment_it_measures_as_ever()
{
    run env -u PATH "$BASH" "$mplace" sweep ring --traversals 100 --sizes 64 --malloc cia --lock tts --runs 1 \
        --out "$scratch/new.csv"
    expect "exit status" 0 "$status"
    expect "lines" 2 "$(wc -l <new.csv)"
}

# It asks a child for what its libraries' reports must not be about.
a_benchmark_that_is_killed_as_it_begins_leaves_no_process()
{
    local i session left

    for ((i = 0; i < 60; i++)); do
        setsid "$build_folder/bin/ring" --size 64 --nodes 1 --traversals 100 --csv >/dev/null 2>&1 &
        session=$!
        sleep "0.00$((i % 9 + 1))"
        kill -KILL "$session" 2>/dev/null || true
        wait "$session" 2>/dev/null || true
        sleep 0.01
        left=$(pgrep -s "$session" -r D,R,S,T || true)
        # shellcheck disable=SC2086 # words
        [[ -z $left ]] || { kill -KILL $left; fail "left in try $i: $left"; }
    done
}

an_existing_result_is_never_overwritten()
{
    echo precious >old.csv
    sweep --sizes 64 --out old.csv
    expect_refusal "old.csv exists"
    sweep --sizes 64 --resume --out old.csv
    expect_refusal "old.csv.plan, the plan of the earlier sweep, is missing"
    expect "the file" precious "$(cat old.csv)"
}

every_combination_has_one_row_for_each_size_and_repetition()
{
    sweep --sizes 64:192:64,500,64 --runs 2 --out "a result.csv"
    expect "exit status" 0 "$status"
    expect_complete "a result.csv" $((3 * 4 * 2))
    expect "header" "$("$build_folder/bin/ring" --size 64 --traversals 1 --csv --header | head -n 1)" "$(head -n 1 "a result.csv")"
    expect "set pictures" $((2 * 4)) "$(wc -l <"a result.csv.sets")"
    expect "nodes in a picture" 128 "$(head -n 1 "a result.csv.sets" | cut -d, -f6 | tr ' ' '\n' | awk '{n += $1} END {print n}')"
    grep -q '^l1d=' "a result.csv.machine" || fail "the machine is not described"
    grep -q "^sweep_command=mplace sweep ring .* --runs 2 --out 'a result.csv'" "a result.csv.machine" || fail "the command is not recorded"
    expect "libraries that are recorded" "libcia_malloc.so libtts_lock.so" \
        "$(sed -n 's/^sweep_library=\([^,]*\),.*SHA-256 [0-9a-f]\{16\}$/\1/p' "a result.csv.machine" | sort | paste -sd ' ')"
}

repetitions_are_outermost_and_combinations_follow_each_other()
{
    sweep --sizes 64,128,192,256 --runs 3 --out a.csv
    expect "seeds and sizes in order" "$(for s in 1 2 3; do for b in 64 128 192 256; do echo "$s $b"; done; done)" \
        "$(tail -n +2 a.csv | awk -F, '{print $8, $5}' | uniq)"
    # Twelve times the same three: were the order never shuffled, one sequence would be all there is.
    [[ $(tail -n +2 a.csv | cut -d, -f2,3 | paste -d ' ' - - - | sort -u | wc -l) -gt 1 ]] ||
        fail "the combinations always come in the same order"
}

the_same_seed_gives_the_same_plan()
{
    sweep --sizes 64,128 --runs 3 --seed 7 --out a.csv
    sweep --sizes 64,128 --runs 3 --seed 7 --out b.csv
    sweep --sizes 64,128 --runs 3 --seed 8 --out c.csv
    cmp a.csv.plan b.csv.plan || fail "two plans of one seed differ"
    if cmp -s <(grep ^row a.csv.plan | cut -f 1-4) <(grep ^row c.csv.plan | cut -f 1-4); then
        fail "two seeds give the same order"
    fi
    expect "seeds" "7 8 9" "$(tail -n +2 a.csv | cut -d, -f8 | sort -un | paste -sd ' ')"
}

tree_sweep()
{
    run "$mplace" sweep avltree --malloc glibc,cia --lock pthread "$@"
}

an_avltree_sweep_has_one_row_for_each_size_and_repetition()
{
    tree_sweep --operations 100 --threads 3 --sizes 64,500 --runs 2 --out a.csv
    expect "exit status" 0 "$status"
    expect_complete a.csv $((2 * 2 * 2))
    expect "what is the same in all rows" "avltree,32767,3,operations/s" \
        "$(tail -n +2 a.csv | cut -d, -f1,6,7,10 | sort -u)"
    expect "set pictures, which are the ring's" 0 "$(wc -l <a.csv.sets)"
    sed -i '3d' a.csv
    tree_sweep --operations 100 --threads 3 --sizes 64,500 --runs 2 --resume --out a.csv
    expect_complete a.csv $((2 * 2 * 2))
}

# What the plan says each run of the benchmark is called with.
planned_arguments()
{
    tree_sweep --sizes 64 --runs 1 --pin none "$@" --out planned.csv
    expect "exit status with $*" 0 "$status"
    sed -n 's/^# program=//p' planned.csv.plan
    rm -f planned.csv*
}

avltree_takes_options_of_its_own()
{
    expect "quick" "avltree --threads 4 --operations 200000" "$(planned_arguments --quick)"
    expect "quick, by time" "avltree --threads 2 --seconds 1" "$(planned_arguments --quick --threads 2 --seconds 1)"
    expect "operations" "avltree --threads 4 --operations 77" "$(planned_arguments --operations 77)"
    tree_sweep --sizes 31 --out new.csv
    expect_refusal "--sizes '31' is not a size from 32"
    tree_sweep --traversals 5 --out new.csv
    expect_refusal "--traversals is for the ring"
    tree_sweep --seconds 1 --operations 1 --out new.csv
    expect_refusal "exclude each other"
    tree_sweep --operations 0 --out new.csv
    expect_refusal "--operations '0'"
    tree_sweep --pin 1 --out new.csv
    expect_refusal "--pin 1 is for the ring"
    tree_sweep --threads 0 --out new.csv
    expect_refusal "--threads '0'"
    sweep --operations 5 --out new.csv
    expect_refusal "--seconds and --operations are for avltree"
    expect_nothing_written
}

threads_are_pinned_or_one_line_says_why_not()
{
    tree_sweep --operations 10 --threads 1 --sizes 64 --runs 1 --out a.csv
    expect "lines without trouble" 1 "$(wc -l <"$scratch/err")"
    expect "rows of one thread that is not pinned" "" "$(tail -n +2 a.csv | awk -F, '$26 !~ /^[0-9]+$/')"
    tree_sweep --operations 10 --threads 4096 --sizes 64 --runs 2 --malloc glibc --out b.csv
    expect "lines about too few cores" 1 "$(grep -c 'the threads are not pinned: ' "$scratch/err")"
    expect "pinned" "" "$(tail -n +2 b.csv | cut -d, -f26 | tr -d '\n')"
    [[ ! -e b.csv.log ]] || fail "each run says it again: $(head -n 1 b.csv.log)"
}

# By a benchmark that writes rows without running: so many sizes take their time.
the_sizes_of_avltree_are_at_least_40_from_64_to_4096()
{
    private_build
    rm "$scratch/build/bin/avltree"
    cat >"$scratch/build/bin/avltree" <<END
#!/bin/sh
for last; do
    case \$last in --header) echo '$("$build_folder/bin/ring" --size 64 --traversals 1 --csv --header | head -n 1)' ;; esac
done
while [ \$# -ge 2 ]; do
    case \$1 in --size) size=\$2 ;; --seed) seed=\$2 ;; esac
    shift
done
echo "avltree,glibc,pthread,none,\$size,1,1,\${seed:-1},1.0,operations/s,1,1,,,,,,,,,here,Some CPU,2026-01-01T00:00:00Z,,,,"
END
    chmod +x "$scratch/build/bin/avltree"
    tree_sweep --operations 1 --malloc glibc --runs 1 --pin none --out a.csv
    expect "exit status" 0 "$status"
    tail -n +2 a.csv | cut -d, -f5 | sort -n -u >sizes
    expect "the least and the greatest" "64 4096" "$(sed -n '1p;$p' sizes | paste -sd ' ')"
    [[ $(wc -l <sizes) -ge 40 ]] || fail "$(wc -l <sizes) sizes"
    for size in 500 504 512 1008 1016 1024 2040 2048 4080 4096; do
        grep -qx $size sizes || fail "$size is not among them"
    done
}

rows_in_result()
{
    if [[ -f a.csv ]]; then wc -l <a.csv; else echo 0; fi
}

# Starts a sweep in the background, and ends it by this signal once it has written a few rows more.
interrupted_sweep()
{
    local signal=$1 before rows
    shift

    before=$(rows_in_result)
    # perl undoes the shell's "ignore SIGINT in the background".
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$mplace" sweep ring "$@" >out 2>err </dev/null &
    sweep_id=$!
    for ((i = 0; i < 600; i++)); do
        rows=$(rows_in_result)
        [[ $rows -lt $((before + 4)) ]] || break
        sleep 0.05
    done
    kill -"$signal" $sweep_id 2>/dev/null || true
    status=0
    wait $sweep_id 2>/dev/null || status=$?
}

an_interrupted_sweep_resumes_and_no_row_is_lost_or_repeated()
{
    local options=(--traversals 20000 --malloc 'glibc,cia' --lock tts --runs 2 --sizes 64:960:64 --out a.csv)

    interrupted_sweep KILL "${options[@]}"
    expect "exit status of the killed one" 137 "$status"
    cp a.csv before.csv
    interrupted_sweep TERM "${options[@]}" --resume
    expect "exit status of the ended one" 143 "$status"
    grep -q 'go on with the same options and --resume' err || fail "how to go on is not said"
    interrupted_sweep INT "${options[@]}" --resume
    expect "exit status of the interrupted one" 130 "$status"
    expect "rows that are not whole" "" "$(awk -F, 'NF != 27' a.csv)"
    [[ $(wc -l <a.csv) -lt 61 ]] || fail "it was complete before it was interrupted"
    run "$mplace" sweep ring "${options[@]}" --resume
    expect "exit status" 0 "$status"
    expect_complete a.csv 60
    expect "the rows of before the kill" "$(cat before.csv)" "$(head -n "$(wc -l <before.csv)" a.csv)"
    expect "set pictures" 30 "$(wc -l <a.csv.sets)"
}

a_signal_that_comes_before_the_first_job_ends_the_sweep_too()
{
    mkdir bin
    # GNU parallel as it begins: it heeds no signal yet, and then each.
    cat >bin/parallel <<'END'
#!/bin/bash
heeded=0
trap 'heeded=$((heeded + 1)); [ $heeded -lt 3 ] || exit 255' TERM
[[ $* != *--joblog* ]] || touch begun
while :; do sleep 0.1; done
END
    chmod +x bin/parallel
    PATH=$scratch/bin:$PATH signalled TERM "$mplace" sweep ring --traversals 100 --malloc glibc --lock pthread --sizes 64 --out a.csv
    expect "exit status" 143 "$status"
    expect "what is said" "mplace sweep: stopped: 0 of 5 rows are in a.csv; go on with the same options and --resume" "$(<err)"
}

how_to_draw_it_is_said_of_what_can_be_drawn()
{
    sweep --sizes 64 --runs 1 --out a.csv
    expect "of the ring" 1 "$(grep -c '(draw them: mplace plot a.csv --out FOLDER)$' err)"
    [[ -x $build_folder/bin/bank_bench ]] || skip "bank_bench is not built"
    run "$mplace" sweep is --sizes 256K --malloc glibc --operations 1 --runs 1 --out is.csv
    expect "of is" 1 "$(grep -cE '^mplace sweep: 1 rows in [0-9]+ s: is.csv$' err)"
}

the_rows_that_it_speaks_of_are_those_of_the_result()
{
    sweep --sizes 64,128 --runs 1 --out a.csv
    grep -q '^mplace sweep: 6 rows in [0-9]* s: a.csv' err || fail "another number of rows"
    sweep --sizes 64,128 --runs 1 --out a.csv --resume
    expect "what is said of a finished one" "mplace sweep: all 6 rows are there already: a.csv" "$(<err)"
}

a_finished_sweep_is_left_alone()
{
    sweep --sizes 64,128 --runs 2 --out a.csv
    cp a.csv before.csv
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect "exit status" 0 "$status"
    cmp a.csv before.csv || fail "the result has changed"
}

a_half_row_is_measured_again()
{
    sweep --sizes 64,128 --runs 2 --out a.csv
    truncate -s -20 a.csv
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect "exit status" 0 "$status"
    grep -q 'incomplete' "$scratch/err" || fail "nothing is said of it"
    expect_complete a.csv 12
}

a_result_without_a_whole_header_is_begun_anew()
{
    local left

    sweep --sizes 64 --runs 1 --out a.csv
    for left in '' bench,mal; do
        printf '%s' "$left" >a.csv
        sweep --sizes 64 --runs 1 --resume --out a.csv
        expect "exit status with '$left'" 0 "$status"
        expect "header" "$header" "$(head -n 1 a.csv)"
        expect_complete a.csv 3
    done
}

what_is_no_result_is_refused_and_stays_as_it_is()
{
    local file junk

    sweep --sizes 64 --runs 1 --out a.csv
    cp a.csv whole.csv
    cp a.csv.sets whole.csv.sets
    while IFS='|' read -r file junk said; do
        cp whole.csv a.csv
        cp whole.csv.sets a.csv.sets
        printf '%b' "$junk" >"$file"
        cp "$file" before
        sweep --sizes 64 --runs 1 --resume --out a.csv
        expect_refusal "$said"
        cmp -s "$file" before || fail "$file was changed: $(<"$file")"
    done <<'END'
a.csv|mine|cannot resume: the first line of a.csv is not the header
a.csv|my first\nand my last line|cannot resume: the first line of a.csv is not the header
a.csv.sets|junk\n|cannot resume: line 1 of a.csv.sets is not of this sweep
a.csv.sets|cia,64,2,8,64,1 2\ncia,64,3,8,64,1 2\nrest|cannot resume: line 2 of a.csv.sets is not of this sweep
a.csv.sets|rand,64,2,8,64,1 2\n|cannot resume: line 1 of a.csv.sets is not of this sweep
END
}

a_row_that_the_log_of_jobs_has_but_the_result_lacks_is_measured()
{
    sweep --sizes 64,128 --runs 2 --out a.csv
    sed -i '3,6d' a.csv
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect "exit status" 0 "$status"
    expect_complete a.csv 12
    rm a.csv.joblog
    sed -i '2d' a.csv
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect_complete a.csv 12
}

resuming_with_other_options_is_refused()
{
    local option

    sweep --sizes 64,128 --runs 2 --out a.csv
    cp a.csv before.csv
    for option in '--sizes 64' '--runs 3' '--seed 2' '--traversals 101' '--also cia:tts,glibc:tts'; do
        # shellcheck disable=SC2086 # an option and its value
        sweep --sizes 64,128 --runs 2 $option --resume --out a.csv
        expect_refusal "cannot resume: a.csv was begun with other options"
    done
    export TTS_WAIT=spin
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect_refusal "cannot resume: a.csv was begun with other options"
    cmp a.csv before.csv || fail "the result has changed"
}

a_foreign_row_in_the_result_is_refused()
{
    sweep --sizes 64,128 --runs 2 --out a.csv
    row=$(sed -n 2p a.csv)
    echo "$row" >>a.csv
    sweep --sizes 64,128 --runs 2 --resume --out a.csv
    expect_refusal "repeats an earlier row"
}

# A ring that fails with 512 B while the file "broken" is there.
breakable_ring()
{
    private_build
    rm "$scratch/build/bin/ring"
    cat >"$scratch/build/bin/ring" <<END
#!/bin/sh
case "\$*" in
*'--size 512'*) [ ! -e '$scratch/broken' ] || { $1; } ;;
esac
exec '$build_folder/bin/ring' "\$@"
END
    chmod +x "$scratch/build/bin/ring"
    touch broken
}

a_failed_run_is_reported_the_others_kept_and_resume_tries_again()
{
    breakable_ring 'echo "ring: it broke" >&2; exit 1'
    sweep --sizes 64,512 --runs 2 --out a.csv
    expect "exit status" 1 "$status"
    grep -q '8 of 16 runs failed' "$scratch/err" || fail "the count is not said"
    grep -q 'failed (exit 1, ring: it broke): .*--size 512' "$scratch/err" || fail "the command is not said"
    expect "rows" 6 "$(($(wc -l <a.csv) - 1))"
    expect "rows of the size that failed" 0 "$(cut -d, -f5 a.csv | grep -cx 512 || true)"
    rm broken
    sweep --sizes 64,512 --runs 2 --resume --out a.csv
    expect "exit status" 0 "$status"
    expect_complete a.csv 12
}

a_row_printed_by_a_run_that_failed_is_not_taken()
{
    breakable_ring "'$build_folder/bin/ring' \"\$@\"; exit 1"
    sweep --sizes 64,512 --runs 1 --out a.csv
    expect "exit status" 1 "$status"
    expect "rows of the size that failed" 0 "$(cut -d, -f5 a.csv | grep -cx 512 || true)"
}

a_row_of_something_else_is_not_taken()
{
    breakable_ring "LD_PRELOAD= exec '$build_folder/bin/ring' \"\$@\""
    sweep --sizes 64,512 --runs 1 --out a.csv
    expect "exit status" 1 "$status"
    grep -q 'a row of something else: ring,glibc,pthread' "$scratch/err" || fail "the row is not shown"
    expect "rows" "glibc,pthread" "$(awk -F, '$5 == 512 {print $2 "," $3}' a.csv)"
}

a_label_that_is_not_what_was_asked_for_ends_the_sweep()
{
    private_build
    rm "$scratch/build/lib/libcia_malloc.so"
    cp "$build_folder/lib/libtts_lock.so" "$scratch/build/lib/libcia_malloc.so"
    sweep --sizes 64 --out new.csv
    expect_refusal "asked for cia and"
    expect_nothing_written
}

two_sweeps_never_write_one_result()
{
    sweep --sizes 64 --runs 1 --out a.csv
    sed -i '2d' a.csv
    # Somebody holds the file as a running sweep does.
    exec 8>>a.csv.plan
    flock 8
    sweep --sizes 64 --runs 1 --resume --out a.csv
    expect_refusal "another sweep is writing a.csv"
    exec 8>&-
    sweep --sizes 64 --runs 1 --resume --out a.csv
    expect "exit status" 0 "$status"
}

a_full_disk_leaves_no_half_row()
{
    # The limit on a file's size stands for the disk: the write that crosses it is cut short. Only
    # the result is to meet it, hence the one function that writes the result, by itself.
    # shellcheck disable=SC2094 # the result is read when the subshell has ended
    (
        # shellcheck source-path=SCRIPTDIR/../../scripts source=common/mplace.bash
        source "$source_folder/scripts/common/mplace.bash"
        # shellcheck source-path=SCRIPTDIR/../../scripts source=common/sweep-plan.bash
        source "$source_folder/scripts/common/sweep-plan.bash"
        # What ends the sweep after a failed write.
        stop()
        {
            echo "stopped with $1"
        }
        row=$(seq -s, 27)
        length=0
        trap '' XFSZ
        ulimit -f 1
        exec 5>>result
        for ((i = 0; i < 100; i++)); do
            append 5 result "$length" "$row" || break
            length=$((length + ${#row} + 1))
        done
        echo "$i rows"
    ) >said 2>complaints || true
    grep -qx 'stopped with 1' said || fail "the sweep goes on: $(cat said)"
    grep -q 'cannot write result: is the disk full?' complaints || fail "nothing is said of it"
    expect "rows" "$(sed -n 's/ rows//p' said)" "$(wc -l <result)"
    expect "rows that are not whole" "" "$(awk -F, 'NF != 27' result)"
    expect "last byte" 1 "$(tail -c 1 result | wc -l)"
}

ttstle_that_cannot_elide_is_left_out_with_a_note()
{
    if transactions_commit; then
        skip "transactions commit here"
    fi
    run "$mplace" sweep ring --traversals 100 --malloc cia --sizes 64 --runs 1 --out a.csv
    expect "exit status" 0 "$status"
    expect "locks" tts "$(tail -n +2 a.csv | cut -d, -f3 | sort -u)"
    grep -q 'ttstle is left out' "$scratch/err" || fail "nothing is said of it"
    run "$mplace" sweep ring --traversals 100 --malloc cia --lock ttstle --sizes 64 --runs 1 --out new.csv
    expect "exit status with nothing left" 2 "$status"
    run "$mplace" sweep ring --traversals 100 --malloc cia --lock ttstle --htm native --sizes 64 --runs 1 --out new.csv
    expect_refusal "no transaction commits"
    expect_nothing_written
    run "$mplace" sweep ring --traversals 100 --malloc cia --htm none --sizes 64 --runs 1 --out b.csv
    expect "locks when asked for" "tts,none ttstle,none" "$(tail -n +2 b.csv | cut -d, -f3,4 | sort -u | paste -sd ' ')"
}

settings_of_the_caller_are_kept_and_the_papers_policy_is_the_default()
{
    run "$mplace" sweep ring --traversals 100 --malloc cia --lock ttstle --htm none --sizes 64 --runs 1 --out a.csv
    expect "policy and wait" "paper,park" "$(tail -n +2 a.csv | cut -d, -f24,25)"
    export TTSTLE_POLICY=adaptive TTS_WAIT=yield
    run "$mplace" sweep ring --traversals 100 --malloc cia --lock ttstle --htm none --sizes 64 --runs 1 --out b.csv
    expect "policy and wait" "adaptive,yield" "$(tail -n +2 b.csv | cut -d, -f24,25)"
    unset TTS_WAIT
    run "$mplace" sweep ring --paper --traversals 100 --malloc cia --lock tts --sizes 64 --out c.csv
    expect "wait and runs of --paper" "5 spin" "$(tail -n +2 c.csv | cut -d, -f25 | uniq -c | sed 's/^ *//')"
    run "$mplace" sweep ring --quick --traversals 100 --malloc cia --lock tts --sizes 64 --out d.csv
    expect "runs of --quick" "3" "$(tail -n +2 d.csv | wc -l)"
}

a_preloaded_library_of_the_caller_is_left_out()
{
    export LD_PRELOAD=$build_folder/lib/libcia_malloc.so
    sweep --sizes 64 --runs 1 --out a.csv
    expect "exit status" 0 "$status"
    grep -q 'LD_PRELOAD is left out' "$scratch/err" || fail "nothing is said of it"
    expect_complete a.csv 3
}

# A process and all that it started, the first one first, so that it starts nothing more.
kill_all()
{
    local pid children

    for pid; do
        kill -STOP "$pid" 2>/dev/null || continue
        mapfile -t children < <(pgrep -P "$pid")
        kill -KILL "$pid" 2>/dev/null || true
        kill_all "${children[@]}"
    done
}

stop_hosts()
{
    kill_all "${host_pid[@]}"
    rm -rf -- "$host_folder" "$scratch"
}

# As many hosts as asked for, all this machine: a sshd each, on a port of its own, with a name of its
# own where that may be given. The file "hosts" lists them. (No blank in the folder: sshd's
# settings and GNU parallel's list of hosts know no quoting.)
start_hosts()
{
    local host port tries own_name=() server

    server=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || skip "no sshd"
    for tool in ssh ssh-keygen rsync pgrep; do
        command -v $tool >/dev/null || skip "no $tool"
    done
    host_folder=$(mktemp -d /tmp/mplace-hosts.XXXXXX)
    host_pid=()
    host_port=()
    trap stop_hosts EXIT
    [[ $(id -u) -ne 0 ]] || mkdir -p /run/sshd
    ! unshare --uts true 2>/dev/null || own_name=(unshare --uts)
    ssh-keygen -q -t ed25519 -N '' -f "$host_folder/host_key"
    ssh-keygen -q -t ed25519 -N '' -f "$host_folder/user_key"
    : >hosts
    for ((host = 0; host < $1; host++)); do
        while :; do
            port=$((20000 + RANDOM % 10000))
            ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        done
        host_port[host]=$port
        printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $host_folder/host_key" \
            "AuthorizedKeysFile $host_folder/user_key.pub" 'PidFile none' 'StrictModes no' 'UsePAM no' \
            'PasswordAuthentication no' 'MaxStartups 100' >"$host_folder/$host.conf"
        "${own_name[@]}" sh -c "${own_name:+hostname node$host;} exec $server -D -e -f $host_folder/$host.conf" \
            2>"$host_folder/$host.log" &
        host_pid[host]=$!
        printf 'ssh -i %s -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR -p %s 127.0.0.1\n' \
            "$host_folder/user_key" "$port" >>hosts
    done
    for ((host = 0; host < $1; host++)); do
        for ((tries = 0; tries < 100; tries++)); do
            $(sed -n "$((host + 1))p" hosts) true </dev/null 2>"$scratch/err" && continue 2
            sleep 0.2
        done
        skip "sshd does not let this user in: $(tail -n 1 "$host_folder/$host.log")"
    done
    host_names_differ=${own_name:+yes}
}

# Few combinations: each is tried on each host first, and a login takes its time.
sweep_on_hosts()
{
    run "$mplace" sweep ring --traversals 100 --malloc glibc,cia --lock tts --hosts hosts --out a.csv "$@"
}

# The copies of sweeps that have ended; others may be running on this machine. There may be no folder of
# copies yet, and one of them may vanish while they are listed.
what_was_copied()
{
    local folder id

    for folder in ~/.cache/mplace/"sweep-$(uname -n)"-*; do
        id=${folder%-*}
        [[ ! -d $folder || -d /proc/${id##*-} ]] || printf '%s\n' "$folder"
    done
}

hosts_share_the_runs_and_nothing_stays_on_them()
{
    local before

    before=$(what_was_copied)
    start_hosts 2
    printf 'ssh -p 1 127.0.0.1 # nobody there\n' >>hosts
    TTS_WAIT=yield sweep_on_hosts --sizes 64,128 --runs 2
    expect "exit status" 0 "$status"
    expect_complete a.csv 8
    grep -q 'host ssh -p 1 127.0.0.1 is left out: it does not answer' "$scratch/err" || fail "the silent host is not named"
    expect "hosts in the log of jobs" 2 "$(tail -n +2 a.csv.joblog | cut -f 2 | sort -u | wc -l)"
    expect "hosts described" 2 "$(grep -c '^host=' a.csv.machine)"
    [[ -z $host_names_differ ]] || expect "hosts in the rows" "node0 node1" "$(tail -n +2 a.csv | cut -d, -f 21 | sort -u | paste -sd ' ')"
    expect "waits other than asked for here, of which the hosts' shells know nothing" "" \
        "$(tail -n +2 a.csv | awk -F, '$25 != "yield"')"
    expect "folders left on the hosts" "$before" "$(what_was_copied)"
}

# Death is not polite: the second host goes while its third job runs.
the_runs_of_a_host_that_dies_are_done_by_the_others()
{
    local finished

    start_hosts 3
    (
        until [[ $(cut -f 2 a.csv.joblog 2>/dev/null | grep -c -- "-p ${host_port[1]} ") -ge 2 ]]; do
            sleep 0.05
        done
        kill_all "${host_pid[1]}"
        tail -n +2 a.csv.joblog | wc -l >finished
    ) &
    host_pid+=($!)
    sweep_on_hosts --sizes 64:384:64 --runs 1
    expect "exit status" 0 "$status"
    expect_complete a.csv 12
    finished=$(<finished)
    ((finished < 24)) || skip "the sweep was over before the host was gone"
    grep -q 'no longer answers' "$scratch/err" || fail "it is not said which host is gone"
}

progress_is_shown_on_request_and_not_in_a_log()
{
    sweep --sizes 64 --runs 1 --out a.csv
    expect "lines without progress" 1 "$(wc -l <"$scratch/err")"
    sweep --sizes 64 --runs 1 --progress --out b.csv
    grep -q '] 5 of 5, 0 s left' <(tr '\r' '\n' <"$scratch/err") || fail "no progress"
}

# An emulator that emulates nothing, whose runs of 64 B end only when one of 128 B has begun: they need
# each other, and end in another order than they are planned in.
meeting_emulator()
{
    private_build
    mkdir -p "$scratch/build/lib/mplace/valgrind" "$scratch/bin"
    printf '#!/bin/sh\n' >"$scratch/build/lib/mplace/valgrind/rtmgrind-amd64-linux"
    cat >"$scratch/bin/valgrind" <<'END'
#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
case "$*" in
*'--traversals 77 '*'--size 128') touch "$MEETING" ;;
*'--traversals 77 '*'--size 64')
    tries=0
    until [ -e "$MEETING" ]; do
        sleep 0.1
        tries=$((tries + 1))
        if [ $tries -ge 600 ]; then echo 'no other run came within 60 s' >&2; exit 1; fi
    done
    sleep 0.5
    ;;
esac
exec "$@"
END
    chmod +x "$scratch/bin/valgrind" "$scratch/build/lib/mplace/valgrind/rtmgrind-amd64-linux"
    export MEETING=$scratch/meeting PATH=$scratch/bin:$PATH
}

emulated_sweep()
{
    run "$mplace" sweep ring --htm emulated --traversals 77 --malloc glibc --lock ttstle --runs 1 --sizes 64,128,192,256 "$@"
}

emulated_runs_use_all_cpus_and_their_rows_are_in_the_order_of_the_plan()
{
    [[ $(nproc) -ge 2 ]] || skip "one CPU"
    meeting_emulator
    emulated_sweep --out a.csv
    expect "exit status" 0 "$status"
    expect_complete a.csv 4
    expect "sizes in order" "64 128 192 256" "$(tail -n +2 a.csv | cut -d, -f5 | paste -sd ' ')"
    expect "CPUs that a run is bound to" "" "$(tail -n +2 a.csv | cut -d, -f26 | tr -d '\n')"
    cp a.csv before.csv
    sed -i '2d;4d' a.csv
    emulated_sweep --resume --out a.csv
    expect "exit status of the resumed one" 0 "$status"
    expect_complete a.csv 4
    # Counts of aborts differ by where the kernel puts the stack.
    expect "the rows except their dates and counts" "$(cut -d, -f1-8,10-12,21-22,24- before.csv)" \
        "$(cut -d, -f1-8,10-12,21-22,24- a.csv)"
    # As when it was killed before it put them in order.
    { head -n 1 a.csv && tail -n +2 a.csv | tac; } >c.csv
    cat c.csv >a.csv
    emulated_sweep --resume --out a.csv
    expect "sizes in order, of a complete result" "64 128 192 256" "$(tail -n +2 a.csv | cut -d, -f5 | paste -sd ' ')"
    emulated_sweep --pin 0 --out b.csv
    expect "CPUs of a run that is bound on request" 0 "$(tail -n +2 b.csv | cut -d, -f26 | sort -u)"
}

# Times are measured one at a time, whatever else might be done meanwhile.
native_runs_never_overlap()
{
    sweep --sizes 64,128 --runs 2 --traversals 20000 --out a.csv
    expect "exit status" 0 "$status"
    expect "runs that begin before the one before ends" "" \
        "$(tail -n +2 a.csv.joblog | sort -t $'\t' -k 3,3n | awk -F '\t' '$3 < end - 0.002 {print $1} {end = $3 + $4}')"
}

# 128 nodes of jemalloc at 512 bytes begin in 8 of 64 sets, 16 in each.
the_emulated_cache_is_the_one_asked_for()
{
    local l1d

    if [[ ! -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] || ! command -v valgrind >/dev/null; then
        skip "the emulator is not built"
    fi
    for l1d in 64x8 64x20; do
        MPLACE_L1D=32x2 run "$mplace" sweep ring --htm emulated --l1d $l1d --sizes 512 --malloc jemalloc --lock ttstle \
            --traversals 20 --runs 1 --out $l1d.csv
        expect "exit status" 0 "$status"
        expect_complete $l1d.csv 1
        grep -q "^# settings=.*MPLACE_L1D=$l1d" $l1d.csv.plan || fail "the plan does not name $l1d"
        grep -qx "l1d=${l1d}x64" $l1d.csv.machine || fail "the machine's description does not name $l1d"
    done
    # Columns 15 to 18: transactions started and committed, aborts by conflict and for capacity.
    expect "capacity aborts in 8 ways" "20,0,0,20" "$(tail -n 1 64x8.csv | cut -d, -f15-18)"
    expect "capacity aborts in 20 ways" "0" "$(tail -n 1 64x20.csv | cut -d, -f18)"
    [[ $(tail -n 1 64x20.csv | cut -d, -f16) -gt 0 ]] || fail "in 20 ways nothing commits"
    MPLACE_L1D=32x2 run "$mplace" sweep ring --htm emulated --l1d 64x20 --sizes 512 --malloc jemalloc --lock ttstle \
        --traversals 20 --runs 1 --resume --out 64x8.csv
    expect_refusal "64x8.csv was begun with other options"
}

run_claim
