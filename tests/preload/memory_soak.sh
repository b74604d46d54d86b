#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs one load of malloc_bench for hours and watches the memory of its process from outside. Ends at the
# first limit that is violated.
set -euo pipefail

program=memory_soak.sh

usage()
{
    cat <<'END'
usage: memory_soak.sh BUILD LOAD [OPTION]...

BUILD is the build folder. LOAD is one of
  huge-resize   blocks of 5 to 25 MB are resized, some with special pages of their own
  many-threads  1,000 threads on 2 CPUs replace small blocks and hand some on
  phases        2 threads whose 300 MB of live blocks change their sizes from phase to phase
  server        peaks of 100 MB are freed, then a light traffic from the allocator's caches goes on

  --seconds N       how long (default 7200)
  --warm-up N       seconds that set no standard (default: a twelfth of --seconds, 1 at least). The next so
                    many seconds set it; nothing may grow beyond it later
  --size N          MB of phases and server, threads of many-threads (default: as above)
  --quiet N         seconds of traffic after each peak of the server (default 20)
  --library FILE    the allocator (default: libcia_malloc.so of BUILD; "none": libc's)
  --interval N      seconds from one sample to the next (default 1)
  --limit NAME=N    an absolute limit instead of the load's: resident, space (both in MiB), mappings,
                    subheaps, or returned (MiB: resident memory must come down to it after a peak
                    in each window)

Prints a line a minute, and the verdict. A later window may reach 1.1 of the most in the first one and a little
more: 16 MiB resident, 64 MiB of address space, 50 mappings, 2 sub-heaps (huge-resize, where chance decides
how long the blocks are: 150 MiB, 200 MiB, 150; many-threads: 100 KiB a thread and 16 MiB resident; phases: its
size and 16 MiB, twice its size and 64 MiB; server: its size and twice that).
Exit status: 0 all limits held, 1 one was violated or the load failed, 2 bad arguments.
END
}

die()
{
    printf '%s: %s\n' "$program" "$*" >&2
    exit 2
}

[[ ${1-} != --help ]] || { usage; exit 0; }
[[ $# -ge 2 ]] || die "BUILD and LOAD are needed (--help)"
build=$1 load=$2
shift 2
seconds=7200 warm_up='' size='' quiet=20 library=$build/lib/libcia_malloc.so interval=1
declare -A limit=([resident]='' [space]='' [mappings]='' [subheaps]=64 [returned]='')
given=()
while [[ $# -gt 0 ]]; do
    [[ $# -ge 2 ]] || die "option $1 needs a value"
    case $1 in
    --seconds) seconds=$2 ;;
    --warm-up) warm_up=$2 ;;
    --size) size=$2 ;;
    --quiet) quiet=$2 ;;
    --library) library=$2 ;;
    --interval) interval=$2 ;;
    --limit) given+=("$2") ;;
    *) die "unknown option '$1' (--help)" ;;
    esac
    shift 2
done
for number in "$seconds" "$quiet" ${warm_up:+"$warm_up"} ${size:+"$size"}; do
    [[ $number =~ ^[1-9][0-9]{0,6}$ ]] || die "'$number' is not a whole number from 1 to 9999999"
done
[[ $interval =~ ^[0-9]{1,4}(\.[0-9]{1,2})?$ && ! $interval =~ ^0+(\.0*)?$ ]] ||
    die "--interval '$interval' is not a number of seconds"
[[ $library == none || -r $library ]] || die "$library cannot be read"
[[ -x $build/bin/malloc_bench && -x $build/bin/mplace-stats-reader ]] || die "$build/bin lacks its programs; build them"
[[ -n $warm_up ]] || warm_up=$((seconds / 12 > 0 ? seconds / 12 : 1))

declare -A spare=([resident]=16 [space]=64 [mappings]=50 [subheaps]=2)

# --- the loads: their command, and what no run of them may exceed ---

# The first two CPUs that this process may use, for taskset.
two_cpus()
{
    local list part cpu cpus=()

    list=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
    for part in ${list//,/ }; do
        for ((cpu = ${part%-*}; cpu <= ${part#*-} && ${#cpus[@]} < 2; cpu++)); do
            cpus+=("$cpu")
        done
    done
    (IFS=, && echo "${cpus[*]}")
}

command=("$build/bin/malloc_bench" --seed 1)
start=()
case $load in
huge-resize)
    command+=(--workload huge-resize --seconds "$seconds")
    # 20 blocks of 24 MiB at most, and as much again that is kept.
    limit[resident]=1000 limit[space]=2048 limit[mappings]=2000
    # Chance decides which of their lengths the 20 have.
    spare[resident]=150 spare[space]=200 spare[mappings]=150
    ;;
many-threads)
    size=${size:-1000}
    start=(taskset -c "$(two_cpus)")
    command+=(--workload many-threads --size "$size" --seconds "$seconds")
    # 0.2 MiB live in each thread, and its stack of 8 MiB in two mappings.
    limit[resident]=$((size * 4 / 5 + 50)) limit[space]=$((size * 10 + 1024)) limit[mappings]=$((size * 3 + 1000))
    # Which sub-heap serves a thread depends on whom the kernel preempts: beside other work the runs of
    # each are emptier, and memory swings by half of what is live.
    spare[resident]=$((size / 10 + 16))
    ;;
phases)
    size=${size:-300}
    command+=(--workload phases --size "$size" --threads 2 --seconds "$seconds")
    # The benchmark's own table takes 0.4 of what is live; each of four sub-heaps, two of them spare,
    # may keep 32 MiB of free pages, whatever is live.
    limit[resident]=$((size * 4 + 160)) limit[space]=$((size * 8 + 400)) limit[mappings]=4000
    # How far the decay comes between two phases depends on how fast they follow each other: beside other
    # work that comes and goes, memory swings by as much as is live, and addresses by twice that.
    spare[resident]=$((size + 16)) spare[space]=$((size * 2 + 64))
    ;;
server)
    size=${size:-100}
    command+=(--workload peak-and-free/traffic --size "$size" --seconds "$quiet"
        --rounds $(((seconds + quiet - 1) / quiet)))
    # What a peak took goes back to the kernel while the traffic goes on.
    limit[resident]=$((size * 3 / 2 + 20)) limit[space]=$((size * 4 + 200)) limit[mappings]=2000
    limit[returned]=$((size / 4 + 10))
    # Samples see more or less of a peak.
    spare[resident]=$size spare[space]=$((size * 2))
    ;;
*) die "unknown load '$load': huge-resize, many-threads, phases or server" ;;
esac
for item in ${given[@]+"${given[@]}"}; do
    [[ $item =~ ^(resident|space|mappings|subheaps|returned)=([0-9]{1,9})$ ]] || die "--limit '$item' is not allowed (--help)"
    limit[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
done
if [[ $load == server && $((seconds / quiet)) -gt 1000 ]]; then
    die "more than 1000 peaks: --quiet $quiet is too short for --seconds $seconds"
fi

# --- watch ---

scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-soak.XXXXXX")
process=
end_load()
{
    if [[ -n $process ]]; then
        kill -KILL "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    fi
    rm -rf -- "$scratch"
}
trap end_load EXIT
trap 'exit 1' INT TERM

declare -A title=([resident]='resident memory' [space]='address space' [mappings]='mappings' [subheaps]='sub-heaps'
    [returned]='resident memory at its least')
declare -A unit=([resident]=' MiB' [space]=' MiB' [mappings]='' [subheaps]='' [returned]=' MiB')
declare -A now standard most
least=
watched=(resident space mappings subheaps)
page_kib=$(($(getconf PAGESIZE) / 1024))

# sample: sets now; false when the process has ended. There are no sub-heaps in another library.
sample()
{
    local pages

    read -r -a pages 2>/dev/null <"/proc/$process/statm" || return 1
    [[ ${pages[0]} -gt 0 ]] || return 1
    now[space]=$((pages[0] * page_kib / 1024))
    now[resident]=$((pages[1] * page_kib / 1024))
    # The process may end after statm was read: no message then either.
    now[mappings]=$(wc -l 2>/dev/null <"/proc/$process/maps") || return 1
    [[ ${now[mappings]} -gt 0 ]] || return 1
    now[subheaps]=$("$build/bin/mplace-stats-reader" --json "$process" 2>/dev/null |
        sed -n 's/^ *"subheaps": \([0-9]*\),.*/\1/p') || true
}

describe()
{
    printf '%5d s  resident %6d MiB  address space %7d MiB  mappings %6d  sub-heaps %s\n' "$1" "${now[resident]}" \
        "${now[space]}" "${now[mappings]}" "${now[subheaps]:--}"
}

# violated NAME VALUE LIMIT WHY
violated()
{
    describe "$elapsed"
    echo "$program: $load: violated after $elapsed s: ${title[$1]} $2${unit[$1]}, the limit is $3${unit[$1]} ($4)"
    exit 1
}

# Whether memory rose above what it must come down to, and came down, in this window.
has_returned()
{
    [[ -z ${limit[returned]} || ($risen == yes && $least -le ${limit[returned]}) ]]
}

preload=$library
[[ $library != none ]] || preload=
echo "$program: $load for $seconds s under $(basename -- "$library")"
SECONDS=0
# The library is the load's alone: taskset may not stand one that is to fail.
MPLACE_STATS_LIVE=1 "${start[@]}" env LD_PRELOAD="$preload" "${command[@]}" >"$scratch/out" 2>&1 </dev/null &
process=$!
# The window that sets the standard is the first one behind the warm-up in which a sample could be taken.
# A window with peaks ends when one is over, however long the load takes for that here: a peak is in each.
window=0 began=0 standard_window=0 printed=-60 risen=no
# Until it has become the program.
until [[ $(readlink "/proc/$process/exe") == */malloc_bench ]] || ! kill -0 "$process" 2>/dev/null; do sleep 0.02; done
while sample; do
    elapsed=$SECONDS
    if ((elapsed - began >= warm_up)) && has_returned; then
        window=$((window + 1)) began=$elapsed
        least='' risen=no
        [[ $standard_window != 0 ]] || standard_window=$window
    fi
    for name in "${watched[@]}"; do
        value=${now[$name]}
        [[ -n $value ]] || continue
        if ((value > ${most[$name]:-0})); then most[$name]=$value; fi
        if ((value > limit[$name])); then
            violated "$name" "$value" "${limit[$name]}" "of this load at any time"
        fi
        if ((window > 0 && window == standard_window && value > ${standard[$name]:-0})); then standard[$name]=$value; fi
        if ((standard_window > 0 && window > standard_window)); then
            bound=$((${standard[$name]:-value} * 11 / 10 + spare[$name]))
            if ((value > bound)); then
                violated "$name" "$value" "$bound" "1.1 of ${standard[$name]}${unit[$name]} in the first $warm_up s after the warm-up, and ${spare[$name]}"
            fi
        fi
    done
    if [[ -n ${limit[returned]} && $risen == no && ${now[resident]} -gt ${limit[returned]} ]]; then
        risen=yes least=${now[resident]}
    elif [[ -z $least || ${now[resident]} -lt $least ]]; then
        least=${now[resident]}
    fi
    if ((elapsed - printed >= 60)); then
        describe "$elapsed"
        printed=$elapsed
    fi
    sleep "$interval"
done
elapsed=$SECONDS
status=0
wait "$process" || status=$?
process=
if [[ $status != 0 ]]; then
    sed 's/^/  /' "$scratch/out"
    echo "$program: $load: failed after $elapsed s: the load ended with exit status $status"
    exit 1
fi
# Half a dozen peaks have come by then, or one that stayed.
if [[ $risen == yes ]] && ((elapsed - began >= 2 * warm_up)) && ! has_returned; then
    violated returned "$least" "${limit[returned]}" "in the last $((elapsed - began)) s"
fi
((standard_window > 0 && window > standard_window)) || { echo "$program: $load: failed: it ended after $elapsed s, before anything could be compared"; exit 1; }
describe "$elapsed"
echo "$program: $load: flat for $elapsed s: resident memory ${most[resident]:-0} MiB, address space ${most[space]:-0} MiB, mappings ${most[mappings]:-0}, sub-heaps ${most[subheaps]:--} at most"
