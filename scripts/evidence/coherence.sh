#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The evidence of docs/coherence.md: traces workloads of three families, replays each on a simulated machine under
# three coherence protocols and directories of several sizes, and judges what FLASK's paper says by the rows.
# Interrupted, it goes on where it was.
# shellcheck disable=SC2317 # the table of workloads names the functions
set -euo pipefail
own_file=$(readlink -f -- "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=../common/mplace.bash
source "${own_file%/*}/../common/mplace.bash"
# shellcheck source-path=SCRIPTDIR source=rows.bash
source "${own_file%/*}/rows.bash"

usage()
{
    cat <<'END'
usage: scripts/evidence/coherence.sh [OPTION]...

Writes coherence.csv, a row for each workload and configuration, coherence.md, which judges them, and the figures.
Rows and traces that are there are kept. All figures are simulated.

  --out FOLDER       where all of it goes (default: out/coherence in the source tree)
  --workloads LIST   these only, comma-separated (default: all; --list names them)
  --configurations LIST   these only (default: all; --list names them)
  --brief            a fiftieth of the work: shows that all of it works, and means nothing
  --scale N          divide the caches of the machine by 1, 2, 4 or 8 (default 4)
  --jobs N           simulations side by side (default: one for each CPU)
  --list             name the workloads with their families, and the configurations, and end

Exit status: 0 all rows are there; 1 some could not be made, which is said; 2 bad arguments, or something is missing.
END
}

source_folder=$(cd -- "${own_file%/*}/../.." && pwd)
out=$source_folder/out/coherence
wanted=
wanted_configurations=
brief=no
scale=4
jobs=$(nproc)
list=no
read_options --out=out --workloads=wanted --configurations=wanted_configurations --scale=scale --jobs=jobs -- "$@"
check_number --jobs "$jobs" 1 1024
[[ $scale =~ ^[1248]$ ]] || die "--scale '$scale': 1, 2, 4 or 8"

# --- what there is ---

# A workload a line: its name, its family, the function that traces it, and that one's arguments.
workloads()
{
    local bench malloc cores accesses

    cat <<'END'
memcached server trace_memcached
sqlite server trace_sqlite
avltree-glibc server trace_avltree glibc
avltree-cia server trace_avltree cia
larson-glibc server trace_malloc_bench larson glibc 16
larson-cia server trace_malloc_bench larson cia 16
cg numerical trace_kernel cg
mg numerical trace_kernel mg
ft numerical trace_kernel ft
is numerical trace_kernel is
xz multi-programmed trace_xz
perl multi-programmed trace_perl
gcc multi-programmed trace_gcc
END
    for bench in larson producer-consumer thread-churn; do
        for malloc in glibc cia jemalloc tcmalloc mimalloc; do
            for cores in 16 64; do
                echo "$bench:$malloc:$cores allocators trace_calls $bench $malloc $cores"
            done
        done
    done
    for accesses in 1 2 4 8; do
        echo "speed:$accesses speed trace_speed $accesses"
    done
}

# A configuration a line: its name, and the keys that it sets. A directory of N percent has N / 2 * 64 / 100 bits
# of filter for each private block: 16 at 50, 32 at 100. Six hash functions are cbf's best at 8 counters a block.
configurations()
{
    local size

    echo "token coherence.protocol=token"
    for size in 160 80 40 25 20 10 5; do
        echo "sparse-$size coherence.protocol=sparse coherence.directory=$size"
    done
    for size in 160 80 50 40 25 20 10 5; do
        echo "flask-$size coherence.protocol=flask coherence.directory=$size"
    done
    for size in 100 50 20; do
        echo "flask-$size-cbf coherence.protocol=flask coherence.directory=$size filter.kind=cbf" \
            "filter.counter_bits=4 filter.hashes=6"
    done
    for size in 20 10 5; do
        echo "flask-$size-adaptive coherence.protocol=flask coherence.directory=$size coherence.partition=adaptive" \
            "coherence.epoch=256"
    done
}

mapfile -t known < <(workloads | cut -d' ' -f1)
check_names --workloads "$wanted" "${known[@]}"
mapfile -t known < <(configurations | cut -d' ' -f1)
check_names --configurations "$wanted_configurations" "${known[@]}"

if [[ $list == yes ]]; then
    workloads | cut -d' ' -f1,2
    configurations | cut -d' ' -f1
    exit
fi

# --- traces ---

copies=15
lessen=1
[[ $brief == no ]] || lessen=50

# trace NAME ACCESSES [OPTION]... -- PROGRAM [ARGUMENT]...: makes traces/NAME.mptrace. The program says nothing.
trace()
{
    local file=$out/traces/$1.mptrace accesses=$(($2 / lessen))

    shift 2
    "$mplace" trace --out "$file.part" --max-accesses "$accesses" "$@" >"$file.said" 2>&1 || {
        tail -n 1 "$file.said" >&2
        return 1
    }
    rm -f -- "$file.said"
    mv -- "$file.part" "$file"
}

trace_avltree()
{
    # The first thread fills the tree and waits for the others then.
    trace "avltree-$1" 9000000 --malloc "$1" -- "$programs/avltree" --size 64 --threads 15 --keys $((32768 / lessen)) \
        --operations 2000
}

# trace_malloc_bench WORKLOAD ALLOCATOR THREADS
trace_malloc_bench()
{
    trace "$1-$2" 8000000 --malloc "$2" -- "$programs/malloc_bench" --workload "$1" --threads "$3" --operations 2500 --rounds 1
}

# Longer runs of few operations, for what is counted by the call: as many calls on 64 cores as on 16.
trace_calls()
{
    local operations=$((25600 / $3))

    # The workloads go in steps of so many.
    case $1 in
    producer-consumer) operations=$((operations < 512 ? 512 : operations / 256 * 256)) ;;
    thread-churn) operations=4000 ;;
    esac
    trace "$1:$2:$3" 40000000 --cpus "$3" --malloc "$2" -- "$programs/malloc_bench" --workload "$1" --threads "$3" \
        --operations "$operations" --rounds 1
}

trace_kernel()
{
    local size=()

    if [[ $brief == yes ]]; then
        case $1 in
        cg) size=(--size 256) ;;
        mg) size=(--size 16) ;;
        ft) size=(--size 32) ;;
        is) size=(--size 2048) ;;
        esac
    fi
    trace "$1" 1000000000 -- "$programs/kernels" --kernel "$1" "${size[@]}"
}

# Threads of a server and connections of one client, which the server waits for in turn.
trace_memcached()
{
    local socket=$scratch/memcached tracing waited=0 status=0

    command -v memcached >/dev/null || die "memcached is missing"
    # Valgrind keeps 12 file descriptors for itself, and memcached wants the limit to be its number of connections.
    (
        ulimit -n 1024
        trace memcached 8000000 -- memcached -u "$(id -un)" -s "$socket" -t 16 -c 1012 -m 64 -U 0 -A
    ) &
    tracing=$!
    while [[ ! -S $socket ]]; do
        sleep 0.1
        if ! kill -0 "$tracing" 2>/dev/null || ((++waited > 600)); then
            note "memcached does not answer"
            return 1
        fi
    done
    python3 -I -B "$mplace_parts/programs/memcached_load.py" "$socket" 16 $((40000 / lessen)) 20000 1 >/dev/null || status=1
    wait "$tracing" || status=$?
    return "$status"
}

# trace_copies NAME ACCESSES COUNT: traces COUNT copies of the program that copy_of_NAME NUMBER ACCESSES starts.
trace_copies()
{
    local number

    for ((number = 1; number <= $3; number++)); do
        [[ ! -f $out/traces/$1.$number.mptrace ]] || continue
        wait_for_less
        "copy_of_$1" "$number" "$2" &
    done
    wait_for_less 1
    for ((number = 1; number <= $3; number++)); do
        [[ -f $out/traces/$1.$number.mptrace ]] || return
    done
}

trace_sqlite() { trace_copies sqlite 1200000 16; }
trace_perl() { trace_copies perl 800000 "$copies"; }
trace_gcc() { trace_copies gcc 500000 "$copies"; }

copy_of_sqlite()
{
    trace "sqlite.$1" "$2" -- sqlite3 :memory: "
create table t (k integer primary key, a integer, b text); create index i on t (a);
with recursive n (x) as (select 1 union all select x + 1 from n where x < 1500)
insert into t select x, x * (7919 + $1) % 5003, 'value ' || x * $1 from n;
select sum (a), count (b) from t where a between 1000 and 4000;
select count (*) from t u join t v on u.a = v.k;
update t set b = b || k where a % 3 = $1 % 3; delete from t where a < 1000;"
}

trace_xz()
{
    find "$source_folder/src" -name '*.c' -print0 | LC_ALL=C sort -z | xargs -0 cat >"$scratch/text"
    trace_copies xz 500000 "$copies"
}

copy_of_xz()
{
    tail -c +$((20000 * $1)) "$scratch/text" | head -c 100000 >"$scratch/text.$1" || true
    trace "xz.$1" "$2" -- xz -1 -k -c "$scratch/text.$1"
}

copy_of_perl()
{
    trace "perl.$1" "$2" -- perl "$mplace_parts/programs/hash.pl" 4000 "$1"
}

# The compiler itself: what gcc executes is not recorded.
copy_of_gcc()
{
    local files file

    mapfile -t files < <(find "$source_folder/src/cia_malloc" -name '*.c' | LC_ALL=C sort)
    file=${files[$1]}
    gcc -E -I "$source_folder/src" -I "$source_folder/include" -D_GNU_SOURCE "$file" >"$scratch/$1.i" 2>/dev/null || true
    trace "gcc.$1" "$2" -- "$(gcc -print-prog-name=cc1)" -quiet -O2 -w -fpreprocessed "$scratch/$1.i" -o /dev/null
}

# The same work, recorded longer.
trace_speed()
{
    trace "speed:$1" $(($1 * 1000000)) -- "$programs/avltree" --size 64 --threads 16 --operations 100000 --keys 4096
}

# --- rows ---

# Whether the row of a workload and a configuration is there.
has_row()
{
    grep -q "^$1,[^,]*,$2," "$rows"
}

# The mallocs and frees of a trace of malloc_bench while it is measured: those of its threads between the first and
# the last barrier, and those of the threads that they start. A trace that was cut ends before the last barrier.
calls_of()
{
    "$dump" "$1" | awk '
        /^# cut / { cut = 1 }
        $3 == "alloc" || $3 == "free" { calls[$1]++ }
        / barrier / { if (!($1 in first)) first[$1] = calls[$1]; last[$1] = calls[$1] }
        END {
            for (thread in calls)
                sum += (thread in first) ? (cut ? calls[thread] : last[thread]) - first[thread] : calls[thread]
            print sum + 0
        }'
}

# simulate WORKLOAD FAMILY CONFIGURATION KEY=VALUE...: adds a row.
simulate()
{
    local workload=$1 family=$2 configuration=$3 settings=() calls='' files json cores=16

    shift 3
    files=("$out/traces/$workload.mptrace")
    [[ -f ${files[0]} ]] || files=("$out/traces/$workload".*.mptrace)
    json=$(mktemp "$scratch/json.XXXXXX")
    if [[ $family == allocators ]]; then
        cores=${workload##*:}
        # The machine of the paper, and one of four times as many tiles.
        [[ $cores == 16 ]] || settings=(core.count=64 llc.banks=64 llc.size=$((64 << 20)) mesh.width=8 mesh.height=8
            memory.controllers=16)
        calls=$(calls_of "${files[0]}")
    else
        settings=(l1.size=$((32768 / scale)) l2.size=$((262144 / scale)) llc.size=$(((16 << 20) / scale)))
    fi
    settings+=("$@")
    TIMEFORMAT=%U
    { time "$simulator" --machine "$machine" "${settings[@]/#/--set=}" --json "$json" "${files[@]}" \
        >/dev/null 2>"$json.said"; } 2>"$json.seconds" || {
        note "$workload, $configuration: $(tail -n 1 "$json.said")"
        return 1
    }
    report coherence-row "$workload" "$family" "$configuration" "$calls" \
        "$(tail -n 1 "$json.seconds")" "$json" >>"$rows"
    rm -f -- "$json"*
}

mplace=$mplace_parts/mplace
simulator=$(own_program mplace-chip) || exit
dump=$(own_program mplace-trace-dump) || exit
programs=$mplace_program_folder
machine=$(machine_file flask16) || exit
mkdir -p -- "$out/traces" 2>/dev/null || die "cannot write to $out"
rows=$out/coherence.csv
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-coherence.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
# Rows of other traces or another machine must not be mixed with these.
open_rows "$rows" "scale $scale, brief $brief" coherence-row

failed=0
while read -r workload family tracer arguments; do
    [[ -z $wanted || ,$wanted, == *",$workload,"* ]] || continue
    missing=()
    while read -r configuration settings; do
        [[ -z $wanted_configurations || ,$wanted_configurations, == *",$configuration,"* ]] || continue
        [[ $family != allocators && $family != speed || $configuration == sparse-160 ]] || continue
        has_row "$workload" "$configuration" || missing+=("$configuration $settings")
    done < <(configurations)
    ((${#missing[@]} > 0)) || continue
    note "$workload: ${#missing[@]} rows"
    # shellcheck disable=SC2086 # arguments are words
    if [[ ! -f $out/traces/$workload.mptrace && ! -f $out/traces/$workload.done ]]; then
        "$tracer" $arguments </dev/null || {
            note "$workload: it could not be traced"
            failed=1
            continue
        }
        : >"$out/traces/$workload.done"
    fi
    for line in "${missing[@]}"; do
        wait_for_less
        # shellcheck disable=SC2086 # settings are words
        simulate "$workload" "$family" $line </dev/null &
    done
    wait_for_less 1
done < <(workloads)

report coherence "$rows" >"$out/coherence.md"
if command -v gnuplot >/dev/null; then
    for count in cycles edp; do
        (cd -- "$out" && report coherence-figure coherence.csv "$count" | gnuplot)
    done
else
    note "no figures: gnuplot is not installed"
fi
note "the rows: $rows; what they say: $out/coherence.md"
exit "$failed"
