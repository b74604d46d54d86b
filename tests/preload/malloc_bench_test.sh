#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The allocator benchmark: that every workload does its work, that the row says what was done, and
# that blocks which lose their content are found out. Times decide nothing here.
# usage: malloc_bench_test.sh MALLOC_BENCH LIBRARIES PLUGINS CLAIM
set -euo pipefail

[[ $# == 4 ]] || { echo 'malloc_bench_test.sh: wants MALLOC_BENCH LIBRARIES PLUGINS CLAIM' >&2; exit 2; }
benchmark=$1 libraries=$2 plugins=$3 claim=$4
# shellcheck source-path=SCRIPTDIR source=benchmark_common.bash
source "$(dirname -- "$0")/benchmark_common.bash"
unset SIZE_HISTOGRAM SIZE_HISTOGRAM_UNIT
columns=malloc,workload,size,threads,operations,seed,seconds,ns,peak_rss_kib

# A field of the only row of a run: value NAME OPTION...
value()
{
    local name=$1
    shift
    "$benchmark" --csv --header "$@" 2>"$scratch/err" |
        awk -F, -v name="$name" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
                                 NR == 2 { print at ? $at : "no such column" }'
}

# Each job of the list has a row, in the list's order, with a time and a peak: with 1 and 3 threads.
every_workload_runs_to_its_end()
{
    local threads
    for threads in 1 3; do
        LD_PRELOAD=$1 run --shorten 100 --threads $threads --csv
        expect "exit status with $threads threads" 0 "$status"
        expect "complaints with $threads threads" "" "$(cat "$scratch/err")"
        "$benchmark" --shorten 100 --list >"$scratch/list"
        expect "rows with $threads threads" "$(cut -d' ' -f1-3 "$scratch/list" | sed 's/ 0 / - /')" \
            "$(awk -F, -v malloc="$2" -v threads="$threads" '
                $1 == malloc && NF == 9 && $4 == threads && $7 > 0 && $8 > 0 && $9 > 0 {
                    print $2, $3 == "" ? "-" : $3, $5
                }' "$scratch/out")"
    done
    [[ $(wc -l <"$scratch/list") -ge 19 ]] || fail "the list is short"
}

every_workload_runs_to_its_end_under_glibc() { every_workload_runs_to_its_end "" glibc; }
every_workload_runs_to_its_end_under_cia() { every_workload_runs_to_its_end "$libraries/libcia_malloc.so" cia; }

# At small sizes; huge-resize by itself, because its sizes are fixed.
every_workload_of_memory_over_time_runs_to_its_end()
{
    local threads
    for threads in 1 3; do
        LD_PRELOAD=$1 run --workload peak-and-free,phases,many-threads --size 2 --seconds 1 --threads $threads --csv
        expect "exit status with $threads threads" 0 "$status"
        expect "complaints with $threads threads" "" "$(cat "$scratch/err")"
        expect "rows with $threads threads" \
            "peak-and-free/traffic $threads;peak-and-free/silence $threads;phases $threads;many-threads 2" \
            "$(awk -F, -v malloc="$2" '$1 == malloc && NF == 9 && $5 > 0 && $7 > 0 && $9 > 0 {print $2, $4}' \
                "$scratch/out" | paste -sd';')"
        LD_PRELOAD=$1 run --workload huge-resize --operations 60 --threads $threads --csv
        expect "exit status of huge-resize with $threads threads" 0 "$status"
        expect "rows of huge-resize" "huge-resize,,$threads,60" "$(cut -d, -f2-5 "$scratch/out")"
    done
}

every_workload_of_memory_over_time_runs_to_its_end_under_glibc()
{
    every_workload_of_memory_over_time_runs_to_its_end "" glibc
}

every_workload_of_memory_over_time_runs_to_its_end_under_cia()
{
    every_workload_of_memory_over_time_runs_to_its_end "$libraries/libcia_malloc.so" cia
}

# The resident memory at a moment: resident MOMENT
resident() { awk -F, -v moment="$1" '$2 == "peak-and-free" && $8 == moment {print $9}' "$scratch/memory.csv"; }

samples_are_of_the_blocks_at_that_moment()
{
    local file=$scratch/memory.csv
    run --workload peak-and-free/silence --size 50 --seconds 1 --memory "$file" --csv
    expect "exit status" 0 "$status"
    expect header malloc,workload,variant,size,threads,seed,second,moment,resident_kib,virtual_kib,mappings \
        "$(head -n 1 "$file")"
    expect "samples that are not whole" "" "$(tail -n +2 "$file" | awk -F, 'NF != 11')"
    (($(resident begun) < 4000)) || fail "$(resident begun) KiB before the first block"
    (($(resident built) > 48800 && $(resident built) < 56000)) || fail "$(resident built) KiB at the peak"
    (($(resident peak) >= $(resident built) - 600)) || fail "the peak is $(resident peak) KiB"
    (($(resident trimmed) < 8000)) || fail "$(resident trimmed) KiB after malloc_trim"

    # A second run goes behind the first one's samples. The row's peak is that of the samples: both leave
    # the benchmark's tables out.
    run --workload phases --size 1 --operations 2 --memory "$file" --csv
    expect "headers" 1 "$(grep -c '^malloc,' "$file")"
    expect "moments" "begun;phase 1: 32-128;phase 2: 200-1000;freed;peak" \
        "$(awk -F, '$2 == "phases" && $8 != "" {print $8}' "$file" | paste -sd';')"
    (($(cut -d, -f9 "$scratch/out") < 8000)) || fail "the peak of 1 MB is $(cut -d, -f9 "$scratch/out") KiB"

    run --workload larson --operations 1000 --memory -
    expect "exit status" 0 "$status"
    grep -q ' MiB resident .* mappings  peak$' "$scratch/out" || fail "no sample: $(cat "$scratch/out")"
    run --workload phases --memory /nowhere/file
    expect "exit status" 2 "$status"
    one_line "/nowhere/file cannot be written"
}

a_row_has_as_many_fields_as_the_header()
{
    run --workload pair,larson --operations 1000 --csv --header
    expect header "$columns" "$(head -n 1 "$scratch/out")"
    expect "headers" 1 "$(grep -c '^malloc,' "$scratch/out")"
    expect "rows" 3 "$(tail -n +2 "$scratch/out" | wc -l)"
    expect "rows of another length" "" "$(awk -F, 'NF != 9' "$scratch/out")"
}

the_loaded_allocator_is_named()
{
    expect "without any" glibc "$(value malloc --workload larson --operations 100)"
    expect "with cia" cia \
        "$(LD_PRELOAD=$libraries/libcia_malloc.so value malloc --workload larson --operations 100)"
}

a_list_tells_what_would_run()
{
    run --list --workload batch,realloc --operations 2999
    expect "the list" $'batch 64 2000 1\nbatch 500 2000 1\nrealloc 0 2999 1' "$(cat "$scratch/out")"
    run --list --workload peak-and-free,many-threads --threads 2
    expect "memory over time" "peak-and-free/traffic 400 1 2 over-time;peak-and-free/silence 400 1 2 over-time;\
many-threads 100 5000 100 over-time;many-threads 400 5000 400 over-time;many-threads 1500 5000 1500 over-time" \
        "$(paste -sd';' "$scratch/out")"
    run --list --workload batch --size 100 --shorten 1000000000
    expect "one size, the fewest operations" "batch 100 1000 1" "$(cat "$scratch/out")"
}

the_seed_decides_what_is_asked_for()
{
    local workload seed
    for workload in larson producer-consumer thread-churn trace-cc1 alloc-test realloc; do
        for seed in 1 2; do
            for try in a b; do
                LD_PRELOAD=$libraries/libsize_histogram.so SIZE_HISTOGRAM=$scratch/$seed$try \
                    SIZE_HISTOGRAM_UNIT=16 "$benchmark" --workload "$workload" --operations 20000 --seed $seed \
                    >/dev/null
            done
        done
        cmp -s "$scratch/1a" "$scratch/1b" || fail "$workload: seed 1 asks for other sizes the second time"
        cmp -s "$scratch/2a" "$scratch/2b" || fail "$workload: seed 2 asks for other sizes the second time"
        cmp -s "$scratch/1a" "$scratch/2a" && fail "$workload: seeds 1 and 2 ask for the same sizes"
    done
    return 0
}

# Counted outside, by a library between the benchmark and glibc.
operations_are_what_was_asked_for()
{
    local workload operations options expected few many
    for workload in pair batch larson producer-consumer thread-churn trace-python sh6 sh8 cache-thrash malloc-large; do
        # Multiples of what each of them does at a time.
        for operations in 768000 1536000; do
            [[ $workload != malloc-large ]] || operations=$((operations / 15360))
            options=(--workload "$workload" --operations "$operations")
            case $workload in pair | batch) options+=(--size 64) ;; esac
            LD_PRELOAD=$plugins/malloc_count.so "$benchmark" "${options[@]}" 2>"$scratch/count" >/dev/null
            expect "rest of $workload" "" "$(grep -v '^mallocs ' "$scratch/count" || true)"
            few=${many-0}
            many=$(sed -n 's/^mallocs //p' "$scratch/count")
        done
        expected=$(("$("$benchmark" --list "${options[@]}" | cut -d' ' -f3)"))
        # The second half of the operations, without what starting costs.
        if ((many - few < expected / 2 - 100 || many - few > expected / 2 + 100)); then
            fail "$workload: $((many - few)) mallocs for $((expected / 2)) operations"
        fi
    done
}

the_peak_is_that_of_the_blocks()
{
    local small large
    small=$(value peak_rss_kib --workload walk-buffers --operations 128 --size 65536)
    large=$(value peak_rss_kib --workload walk-buffers --operations 128 --size 1048576)
    # 128 buffers of 15/16 MiB more.
    ((large - small > 120000 && large - small < 130000)) || fail "$small KiB and $large KiB"
}

# One thread: others bring blocks of their own, the thread-local storage's.
the_first_block_is_the_first_of_the_heap()
{
    the_heap_is_fresh --workload pair --threads 1 --shorten 1000000
    the_heap_is_fresh --workload batch --threads 1 --shorten 1000000 --csv --header
}

# One thread that holds one block at a time, as in pair and cache-thrash, cannot see it.
a_block_given_out_twice_is_one_line_and_exit_1()
{
    local workload options
    for workload in batch larson producer-consumer thread-churn trace-cc1 trace-python alloc-test sh6 sh8 realloc \
        malloc-large cache-scratch walk-buffers hot-l1 hot-l2 peak-and-free/silence phases many-threads \
        huge-resize; do
        options=(--workload "$workload")
        case $workload in
        batch) options+=(--size 64 --operations 10000) ;;
        malloc-large | huge-resize) options+=(--operations 100) ;;
        peak-and-free/silence) options+=(--size 10 --seconds 1) ;;
        phases) options+=(--size 10 --operations 4) ;;
        many-threads) options+=(--size 20) ;;
        cache-scratch) options+=(--operations 1 --threads 20) ;;
        walk-buffers) options+=(--operations 128000 --size 65536) ;;
        *) options+=(--operations 100000) ;;
        esac
        LD_PRELOAD=$plugins/malloc_twice.so run "${options[@]}"
        expect "exit status of $workload" 1 "$status"
        one_line "malloc_bench: "
        grep -qE 'lost its content|do not add up' "$scratch/err" || fail "$workload: $(cat "$scratch/err")"
        expect "rows of $workload" "" "$(cat "$scratch/out")"
    done
}

memory_that_runs_out_is_one_line_and_exit_1()
{
    status=0
    (ulimit -v 1000000 && exec "$benchmark" --workload walk-buffers --size 67108864) >"$scratch/out" \
        2>"$scratch/err" || status=$?
    expect "exit status" 1 "$status"
    one_line "out of memory for a block of 67108864 B"
}

every_bad_argument_is_one_line_and_exit_2()
{
    local options
    for options in '--workload nothing' '--workload pair,' '--workload ,pair' '--workload pai' '--threads 0' \
        '--workload larson --seconds 1' '--workload phases --seconds 0' '--threads 2049' '--workload pair --size 0' '--workload pair --size 1048577' '--workload larson --size 64' \
        '--workload pair,larson --size 64' '--operations 0' '--shorten 0' '--rounds 0' '--seed x' '--nonsense' \
        '--workload all,pair' '--size'; do
        read -ra arguments <<<"$options"
        run "${arguments[@]}"
        expect "exit status of $options" 2 "$status"
        one_line "malloc_bench: "
        expect "output of $options" "" "$(cat "$scratch/out")"
    done
}

a_result_that_cannot_be_written_is_exit_2()
{
    status=0
    "$benchmark" --workload pair --size 64 --operations 1000 >/dev/full 2>"$scratch/err" || status=$?
    expect "exit status" 2 "$status"
    one_line "the result cannot be written"
}

"$claim"
