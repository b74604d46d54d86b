#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How fast the tool is: plain programs against Valgrind's tool that does nothing, the ring with one
# transaction a traversal, and plain code beside another thread's transaction. Processor time in
# user mode of many short runs that take turns, so that a busy machine slows all of them alike;
# medians and their quartiles. Prints figures and judges nothing.
set -euo pipefail

usage()
{
    cat <<'END'
usage: speed.sh [OPTION...] [WHAT...]

  --build FOLDER     has the benchmark ring, libttstle_lock.so and the tool (default: build)
  --against FOLDER   another folder with a tool, as lib/mplace/valgrind is one: measured in turn
                     with that of the build
  --runs N           how often each figure is taken; the median counts (default 7)
  WHAT               loop, perl, python3, sqlite3, xz, cc1, ring, beside (default: all that are here)
END
}

die()
{
    printf 'speed.sh: %s\n' "$*" >&2
    exit 2
}

build=build
against=
runs=7
while [[ $# -gt 0 ]]; do
    case $1 in
    --build | --against | --runs)
        [[ $# -ge 2 ]] || die "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option '$1' (speed.sh --help)" ;;
    *) break ;;
    esac
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "'$runs' is not a number of runs"
[[ -d $build ]] || die "no folder $build"
build=$(cd -- "$build" && pwd)
ring=$build/bin/ring
lock=$build/lib/libttstle_lock.so
declare -A folder=([none]=$build/lib/mplace/valgrind [tool]=$build/lib/mplace/valgrind)
tools=(none tool)
if [[ -n $against ]]; then
    [[ -d $against ]] || die "no folder $against"
    folder[other]=$(cd -- "$against" && pwd)
    tools+=(other)
fi
for file in "$ring" "$lock" "${folder[@]/%//rtmgrind-amd64-linux}"; do
    [[ -e $file ]] || die "$file is missing: build it first"
done
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# Runs a command under a tool: under TOOL [OPTION...] COMMAND...
under()
{
    local tool=$1 name=rtmgrind

    [[ $tool != none ]] || name=none
    shift
    VALGRIND_LIB=${folder[$tool]} valgrind -q "--tool=$name" "$@"
}

# Seconds of processor time in user mode: seconds COMMAND...
seconds()
{
    local TIMEFORMAT=%U

    { time "$@" >/dev/null 2>&1; } 2>&1
}

# The median of the numbers in a file and their quartiles: spread FORMAT FILE
spread()
{
    sort -g -- "$2" | awk -v format="$1 [$1, $1]" '
        { value[NR] = $1 }
        function at(part) { return value[1 + int((NR - 1) * part + 0.5)] }
        END { printf format, at(0.5), at(0.25), at(0.75) }'
}

# The program of a name, so that it takes about half a second under the tool that does nothing.
workload()
{
    # $i is perl's.
    # shellcheck disable=SC2016
    case $1 in
    loop) command=("$ring" --size 512 --nodes 4096 --traversals 6000) ;; # no lock but pthread's
    perl) command=(perl -e 'my %h; for my $i (1 .. 150000) { $h{$i % 997} .= "x$i"; }') ;;
    python3)
        command=(/usr/bin/python3 -S -c 'import json
rows = {str(i): [i, str(7 * i)] for i in range(500)}
for _ in range(5): rows = json.loads(json.dumps(rows))
print(sum(len(str(i)) for i in range(40000)))')
        ;;
    sqlite3)
        command=(sqlite3 :memory: 'create table t(a integer primary key, b text);
            with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
            insert into t select x, x * 7919 % 10007 from c; create index i on t(b);
            select count(*), sum(a) from t where b > 5000;')
        ;;
    xz) command=(xz -2 -c "$scratch/bytes") ;;
    cc1) command=("$(gcc -print-prog-name=cc1)" -quiet -O1 "$scratch/code.i" -o /dev/null) ;;
    esac
}

compare_plain()
{
    local what=$1 run tool command line
    local -A took

    workload "$what"
    type -P "${command[0]}" >/dev/null || { printf '%-8s not here\n' "$what"; return; }
    for ((run = 0; run < runs; run++)); do
        for tool in "${tools[@]}"; do
            took[$tool]=$(seconds under "$tool" "${command[@]}")
            printf '%s\n' "${took[$tool]}" >>"$scratch/$what.$tool"
            awk -v one="${took[$tool]}" -v none="${took[none]}" 'BEGIN { print one / none }' \
                >>"$scratch/$what.$tool.times"
        done
    done
    line=$(printf '%-8s none %s s' "$what" "$(spread %.2f "$scratch/$what.none")")
    for tool in "${tools[@]:1}"; do
        line+=", $tool $(spread %.2f "$scratch/$what.$tool.times") times"
    done
    printf '%s\n' "$line"
}

traverse()
{
    LD_PRELOAD=$lock TTSTLE_POLICY=paper under "$1" --l1d=haswell "$ring" --size 512 --nodes 128 \
        --traversals "$2"
}

# What the start of the program takes is the same for few and for many traversals.
compare_ring()
{
    local few=1000 many=81000 run tool first last

    for ((run = 0; run < runs; run++)); do
        for tool in "${tools[@]:1}"; do
            first=$(seconds traverse "$tool" $few)
            last=$(seconds traverse "$tool" $many)
            awk -v first="$first" -v last="$last" -v traversals=$((many - few)) \
                'BEGIN { print traversals / (last - first) }' >>"$scratch/ring.$tool"
        done
    done
    for tool in "${tools[@]:1}"; do
        printf 'ring     %s %s traversals/s, a transaction of 128 nodes each\n' "$tool" \
            "$(spread %.0f "$scratch/ring.$tool")"
    done
}

# A loop of loads and stores, alone and while another thread is in a transaction: how many times
# longer it takes. Of the thread's own processor time, the changes from thread to thread included.
compare_beside()
{
    local run tool

    cat >"$scratch/beside.c" <<'END'
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { WORDS = 8192 };
static volatile long words[WORDS];
static volatile int opened;
static double seconds(long passes)
{
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (long pass = 0; pass < passes; pass++)
        for (int i = 0; i < WORDS; i++)
            words[i]++;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) * 1e-9;
}
static void *open_transaction(void *unused)
{
    opened = 1;
    for (;;)
        if (_xbegin() == _XBEGIN_STARTED)
            for (;;)
                ;
    return unused;
}
int main(void)
{
    pthread_t thread;
    double alone = seconds(100) / 100, beside;
    pthread_create(&thread, NULL, open_transaction, NULL);
    while (!opened)
        ;
    beside = seconds(5) / 5;
    printf("%g\n", beside / alone);
    exit(0);
}
END
    gcc -O2 -mrtm -pthread "$scratch/beside.c" -o "$scratch/beside"
    for ((run = 0; run < runs; run++)); do
        for tool in "${tools[@]:1}"; do
            under "$tool" "$scratch/beside" >>"$scratch/beside.$tool"
            under "$tool" --switch-inside=5000 "$scratch/beside" >>"$scratch/seldom.$tool"
        done
    done
    for tool in "${tools[@]:1}"; do
        printf 'beside   %s %s times, with --switch-inside=5000 %s times\n' "$tool" \
            "$(spread %.0f "$scratch/beside.$tool")" "$(spread %.1f "$scratch/seldom.$tool")"
    done
}

head -c 200000 "${folder[none]}/rtmgrind-amd64-linux" >"$scratch/bytes"
printf '#include <stdio.h>\n#include <string.h>\nint main(int n, char **v)\n{ puts(strchr(v[n - 1], 1)); }\n' |
    gcc -E - >"$scratch/code.i"
for what in "${@:-loop perl python3 sqlite3 xz cc1 ring beside}"; do
    for one in $what; do
        case $one in
        ring | beside) "compare_$one" ;;
        loop | perl | python3 | sqlite3 | xz | cc1) compare_plain "$one" ;;
        *) die "what is '$one'? (speed.sh --help)" ;;
        esac
    done
done
