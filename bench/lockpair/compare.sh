#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The lock libraries against libc's locks, in one command: lock and unlock pairs (lockpair) and
# programs that live by their locks. The runs of one round follow each other directly; each is
# compared with libc's run of its own round, so that what else the machine does hits all alike. The
# tables give medians and quartiles of these ratios.
set -euo pipefail

usage()
{
    cat <<'END'
usage: bench/lockpair/compare.sh [OPTION]... [WORKLOAD]...

  --build DIR    where lib/libtts_lock.so, lib/libttstle_lock.so and bin/lockpair are (default build)
  --locks LIST   of tts, ttstle: what is compared with libc (default tts,ttstle)
  --runs N       rounds (default 7)
  --out FILE     keep the single runs there, separated by tabs

WORKLOAD, default all of these but the last two:
  THREADS/IDLE/INSIDE/OUTSIDE   lockpair with these options, threads pinned, a second a run; with
                   TYPE: before them, its --type
  queue            python3, 2 threads that put and 2 that get on one queue.Queue(16)
  rocksdb2         db_bench readrandom, 2 threads; rocksdb8: 8 threads
  sysbench-mutex   8 threads; sysbench-threads: 8 threads that yield while they hold a lock
  stress-ng        --mutex with 8 threads
  pairs, programs  all of one sort
  kinds            pairs of rwlocks and spin locks
  waits            how evenly threads are served, and how long the unluckiest had to wait

What is not installed is left out by name. Settings such as TTS_WAIT come from the environment. A
quiet machine gives the narrowest spread. Exit status: 0 measured, 1 a run failed, 2 bad arguments.
END
}

die()
{
    printf 'compare.sh: %s\n' "$*" >&2
    exit 2
}

pairs=(1/0/0/0 1/1/0/0 2/0/0/0 2/0/100/400 2/0/1000/1000 2/0/5000/5000
    4/0/0/0 4/0/100/400 4/0/1000/1000 4/0/5000/5000
    8/0/0/0 8/0/100/400 8/0/1000/1000 8/0/5000/5000)
kinds=(read:1/1/0/0 write:1/1/0/0 mixed:1/1/0/0 spin:1/1/0/0 read:2/0/0/0 mixed:2/0/0/0
    read:2/0/100/400 write:2/0/100/400 mixed:2/0/100/400 spin:2/0/100/400)
programs=(queue rocksdb2 rocksdb8 sysbench-mutex sysbench-threads stress-ng)
# Threads, inside, outside.
waits=(2/0/0/0 8/0/0/0 8/0/100/400 8/0/1000/1000 8/0/20000/2000)

build=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)/build
locks=tts,ttstle
runs=7
out=
workloads=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --build | --locks | --runs | --out)
        [[ $# -ge 2 ]] || die "option $1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option '$1' (--help)" ;;
    pairs) workloads+=("${pairs[@]}"); shift ;;
    kinds) workloads+=("${kinds[@]}"); shift ;;
    programs) workloads+=("${programs[@]}"); shift ;;
    waits) workloads+=("${waits[@]/#/wait:}"); shift ;;
    *)
        [[ $1 =~ ^((read|write|mixed|spin|normal|recursive|errorcheck|adaptive):)?[0-9]+/[0-9]+/[0-9]+/[0-9]+$ || " ${programs[*]} " == *" $1 "* ]] ||
            die "unknown workload '$1' (--help)"
        workloads+=("$1")
        shift
        ;;
    esac
done
[[ ${#workloads[@]} -gt 0 ]] || workloads=("${pairs[@]}" "${programs[@]}")
[[ $runs =~ ^[1-9][0-9]{0,3}$ ]] || die "--runs $runs is not a number from 1 to 9999"
command -v datamash >/dev/null || die "datamash is missing: install Debian's package datamash"
build=$(readlink -f -- "$build") || die "no folder $build"
[[ $build != *[[:space:]:]* ]] || die "LD_PRELOAD cannot carry a path with a blank or a colon: $build"
[[ -x $build/bin/lockpair ]] || die "no $build/bin/lockpair"
read -ra compared <<<"${locks//,/ }"
for lock in "${compared[@]}"; do
    [[ $lock == tts || $lock == ttstle ]] || die "unknown lock '$lock': tts, ttstle"
    [[ -r $build/lib/lib${lock}_lock.so ]] || die "no $build/lib/lib${lock}_lock.so"
done

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
raw=$work/raw.tsv
: >"$raw"

# ---- programs: each does the same amount of work every time ----

cat >"$work/traffic.py" <<'END'
import queue
import threading

ITEMS = 60000
channel = queue.Queue(16)


def produce():
    for item in range(ITEMS):
        channel.put(item)


def consume(sums, number):
    total = 0
    for _ in range(ITEMS):
        total += channel.get()
    sums[number] = total


sums = [0, 0]
threads = [threading.Thread(target=produce) for _ in sums]
threads += [threading.Thread(target=consume, args=(sums, number)) for number in range(len(sums))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sum(sums) == ITEMS * (ITEMS - 1), "an item was lost"
END

executable()
{
    case $1 in
    queue) echo /usr/bin/python3 ;;
    rocksdb*) echo /usr/bin/db_bench ;;
    sysbench-*) echo /usr/bin/sysbench ;;
    stress-ng) echo /usr/bin/stress-ng ;;
    esac
}

database=(--db="$work/db" --num=100000 --compression_type=none)
prepare()
{
    if [[ $1 == rocksdb* && ! -d $work/db ]]; then
        /usr/bin/db_bench "${database[@]}" --benchmarks=fillrandom,compact >/dev/null 2>&1
    fi
}

# The reads of all threads together are the same in number.
read_at_random()
{
    /usr/bin/db_bench "${database[@]}" --benchmarks=readrandom --use_existing_db=1 \
        --threads="$1" --reads=$((600000 / $1))
}

run_program()
{
    case $1 in
    queue) /usr/bin/python3 "$work/traffic.py" ;;
    rocksdb*) read_at_random "${1#rocksdb}" ;;
    sysbench-mutex)
        /usr/bin/sysbench mutex --threads=8 --mutex-num=4 --mutex-locks=600000 --mutex-loops=200 run
        ;;
    sysbench-threads)
        /usr/bin/sysbench threads --threads=8 --thread-locks=4 --thread-yields=100 --events=6000 \
            --time=0 run
        ;;
    stress-ng) /usr/bin/stress-ng --quiet --mutex 1 --mutex-procs 8 --mutex-ops 200000 ;;
    esac
}

# Where a program times an interval between its start and its end, that one counts.
rate_of()
{
    sed -nE 's/^readrandom .* ([0-9]+) ops\/sec.*/\1/p' "$work/output"
}

# ---- one run: appends "workload lock rate cpu fairness longest_wait" ----

measure_pair()
{
    local threads idle inside outside options=(--pin)
    IFS=/ read -r threads idle inside outside <<<"${1#*:}"
    case $1 in
    wait:*) options+=(--waits) ;;
    *:*) options+=(--type "${1%%:*}") ;;
    esac
    LD_PRELOAD=$3 "$build/bin/lockpair" --csv "${options[@]}" --threads "$threads" --idle "$idle" \
        --inside "$inside" --outside "$outside" >"$work/output" || exit 1
    # By name where there are names: the label comes from the library that is loaded.
    awk -F, -v OFS='\t' -v workload="$1" -v lock="$2" '
        $2 != lock { print "compare.sh: asked for " lock ", loaded was " $2 >"/dev/stderr"; exit 1 }
        { print workload, lock, $13, $15, $17, $20 + 0 }' "$work/output" >>"$raw"
}

measure_program()
{
    local real user system rate
    TIMEFORMAT='%R %U %S'
    {
        time (
            export LD_PRELOAD=$3
            run_program "$1" >"$work/output" 2>"$work/messages"
        )
    } 2>"$work/times" || {
        printf 'compare.sh: %s failed under %s\n' "$1" "$2" >&2
        cat -- "$work/output" "$work/messages" >&2
        exit 1
    }
    read -r real user system <"$work/times"
    rate=$(rate_of)
    awk -v OFS='\t' -v workload="$1" -v lock="$2" -v rate="${rate:-0}" -v real="$real" \
        -v user="$user" -v system_time="$system" 'BEGIN {
            print workload, lock, (rate > 0 ? rate : 1 / real), user + system_time, 0, 0
        }' >>"$raw"
}

for workload in "${workloads[@]}"; do
    measure=measure_pair
    if [[ $workload != */* ]]; then
        measure=measure_program
        if [[ ! -x $(executable "$workload") ]]; then
            printf 'compare.sh: %s is left out: no %s\n' "$workload" "$(executable "$workload")" >&2
            continue
        fi
        prepare "$workload"
    fi
    for ((run = 1; run <= runs; run++)); do
        "$measure" "$workload" pthread ''
        for lock in "${compared[@]}"; do
            "$measure" "$workload" "$lock" "$build/lib/lib${lock}_lock.so"
        done
    done
done
[[ -z $out ]] || cp -- "$raw" "$out"

# ---- tables ----

# Of each run: its rate and CPU time over those of libc's run of the same round. Sections and not
# seconds are what CPU time is counted for: a lock that does more in a second may use more of it.
ratios()
{
    awk -F'\t' -v OFS='\t' '
        { n = ++round[$1, $2] }
        $2 == "pthread" { rate[$1, n] = $3; cpu[$1, n] = $4 }
        !($1 in order) { order[$1] = ++workloads }
        { line[NR] = $0; at[NR] = n }
        END {
            for (n = 1; n <= NR; n++) {
                split(line[n], f, "\t")
                print order[f[1]], f[1], f[2], f[3], f[3] / rate[f[1], at[n]],
                    (cpu[f[1], at[n]] > 0 ? f[4] / cpu[f[1], at[n]] : 1), f[5], f[6], f[4]
            }
        }' "$raw" | sort -s -n -k1,1 | sort -s -n -k1,1 -k3,3
}

ratios | grep -v $'\twait:' >"$work/rates" || true
if [[ -s $work/rates ]]; then
    # The least of the CPU times is the one that other load has disturbed least.
    echo '| workload | lock | rate, 1/s | least CPU (ns a section, s a program) | rate / libc (quartiles) | CPU time / libc (quartiles) |'
    echo '|---|---|---|---|---|---|'
    datamash --sort --group 1,2,3 median 4 median 5 q1 5 q3 5 median 6 q1 6 q3 6 min 9 <"$work/rates" |
        sort -s -n -k1,1 |
        awk -F'\t' '{
            printf "| %s | %s | %.4g | %.3g | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) |\n", $2, $3, $4,
                $11, $5, $6, $7, $8, $9, $10
        }'
fi

ratios | grep $'\twait:' >"$work/waits" || true
if [[ -s $work/waits ]]; then
    echo '| workload | lock | least share / greatest | longest wait of all runs, ms |'
    echo '|---|---|---|---|'
    datamash --sort --group 1,2,3 median 7 max 8 <"$work/waits" | sort -s -n -k1,1 |
        awk -F'\t' '{ sub("wait:", "", $2); printf "| %s | %s | %.2f | %.1f |\n", $2, $3, $4, $5 / 1e3 }'
fi
