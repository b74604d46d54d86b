#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The evidence of docs/persistence.md: traces the workloads of persist_bench without a log, replays each on a simulated
# machine under the protocols of persistence.protocol, and judges what the paper on loose-ordering consistency says by
# the rows. An interrupted run is continued by the next. With --cuts it cuts the power instead.
set -euo pipefail
own_file=$(readlink -f -- "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=../common/mplace.bash
source "${own_file%/*}/../common/mplace.bash"
# shellcheck source-path=SCRIPTDIR source=rows.bash
source "${own_file%/*}/rows.bash"

usage()
{
    cat <<'END'
usage: scripts/evidence/persistence.sh [OPTION]...

Writes persistence.csv, a row for each workload and configuration, persistence.md, which judges them, and the figures.
Rows and traces that are there are kept. All figures are simulated.

  --out FOLDER       where all of it goes (default: out/persistence in the source tree)
  --workloads LIST   these only, comma-separated (default: all; --list names them)
  --configurations LIST   these only (default: all; --list names them)
  --cuts N           instead: N power cuts under each protocol but none, divided among the workloads of Table II on one
                     core and, except sqlite, on four; a line for each run in power-cuts.csv, and no rows
  --brief            a fiftieth of the work: shows that all of it works, and means nothing
  --jobs N           workloads side by side (default: one for each CPU)
  --list             name the workloads with their families, and the configurations, and end

Exit status: 0 all rows are there, or no power cut has a finding; 1 otherwise, which is said; 2 bad arguments, or something is missing.
END
}

source_folder=$(cd -- "${own_file%/*}/../.." && pwd)
out=$source_folder/out/persistence
wanted=
wanted_configurations=
cuts=
brief=no
jobs=$(nproc)
list=no
read_options --out=out --workloads=wanted --configurations=wanted_configurations --jobs=jobs --cuts=cuts -- "$@"
check_number --jobs "$jobs" 1 1024
[[ -z $cuts ]] || check_number --cuts "$cuts" 1 1000000000

# --- what there is ---

# A workload a line: its name, and its family. Those of node sizes are WORKLOAD:BYTES:ALLOCATOR, those whose
# transactions have eight operations WORKLOAD-8.
workloads()
{
    local name size malloc

    for name in btree hash rbtree sps graph sqlite; do
        echo "$name table-2"
    done
    for name in btree hash rbtree sps graph; do
        echo "$name-8 operations"
    done
    for size in 64 96 128 192 256 320 384 512 640 768 1008 1024 1280 1536 1792 2048 2560 3072 4080 4096; do
        for malloc in glibc jemalloc cia; do
            echo "rbtree:$size:$malloc sizes"
        done
    done
}

# A configuration a line: its name, and the keys that it sets beside the machine's. After "-" comes a speculation degree,
# after "@" a latency of memory, and after "/" another reading of the paper. Node sizes have four protocols, transactions
# of eight operations the protocols and degrees.
configurations()
{
    local protocol number

    for protocol in none s-wal h-wal ec-wal loc-wal kiln loc-kiln; do
        echo "$protocol persistence.protocol=$protocol"
    done
    for number in 1 2 4 8 32; do
        echo "loc-wal-$number persistence.protocol=loc-wal persistence.speculation=$number"
    done
    for number in 35 95 1000; do
        for protocol in none h-wal loc-wal; do
            echo "$protocol@$number persistence.protocol=$protocol memory.latency=$number"
        done
    done
    for protocol in s-wal h-wal; do
        echo "$protocol/keep persistence.protocol=$protocol persistence.flush=keep"
    done
    for protocol in h-wal ec-wal loc-wal kiln loc-kiln; do
        echo "$protocol/evict persistence.protocol=$protocol persistence.flush=evict"
    done
    for protocol in h-wal ec-wal loc-wal; do
        echo "$protocol/home persistence.protocol=$protocol persistence.order=home"
    done
    echo "loc-wal-32/evict persistence.protocol=loc-wal persistence.speculation=32 persistence.flush=evict"
    echo "loc-wal/commit persistence.protocol=loc-wal persistence.logging=commit"
    echo "loc-wal-32/commit persistence.protocol=loc-wal persistence.speculation=32 persistence.logging=commit"
}

mapfile -t known < <(workloads | cut -d' ' -f1)
check_names --workloads "$wanted" "${known[@]}"
mapfile -t known < <(configurations | cut -d' ' -f1)
check_names --configurations "$wanted_configurations" "${known[@]}"

if [[ $list == yes ]]; then
    workloads
    configurations | cut -d' ' -f1
    exit
fi

# --- rows ---

# trace FILE WORKLOAD: as many operations as there are keys, or more, come before those that are counted.
trace()
{
    local name size malloc keys=32768 warm=32768 transactions=10000 options=()

    IFS=: read -r name size malloc <<<"$2"
    if [[ $name == *-8 ]]; then
        name=${name%-8} warm=4096 transactions=2000 options=(--operations 8)
    fi
    # SQLite takes far longer for one.
    [[ $name != sqlite ]] || keys=4096 warm=4096 transactions=2000
    if [[ -n $size ]]; then
        # The more a window writes, the more ways it needs.
        keys=4096 warm=1024 transactions=500 options=(--operations 8 --size "$size")
    fi
    [[ $brief == no ]] || keys=$((keys / 64)) warm=$((warm / 64)) transactions=$((transactions / 50))
    "$mplace" trace --out "$1" ${malloc:+--malloc "$malloc"} -- "$program" --workload "$name" --log none --seed 1 \
        --keys "$keys" --warm "$warm" --transactions "$transactions" "${options[@]}" >"$1.said" 2>&1 || {
        note "$2: $(tail -n 1 "$1.said")"
        return 1
    }
}

# Whether the row of a workload and a configuration is there.
has_row()
{
    grep -q "^$1,[^,]*,$2," "$rows"
}

# simulate TRACE WORKLOAD FAMILY CONFIGURATION KEY=VALUE...: adds a row.
simulate()
{
    local trace=$1 json=$1.json settings=("${@:5}")

    TIMEFORMAT=%U
    { time "$simulator" --machine "$machine" --set core.count=1 "${settings[@]/#/--set=}" --json "$json" "$trace" >/dev/null \
        2>"$json.said"; } 2>"$json.seconds" || {
        note "$2, $4: $(tail -n 1 "$json.said")"
        return 1
    }
    report persistence-row "$2" "$3" "$4" "$(tail -n 1 "$json.seconds")" "$json" >>"$rows"
    rm -f -- "$json"*
}

# make_rows WORKLOAD FAMILY: those that are missing, from a trace that is made for them.
make_rows()
{
    local trace=$scratch/$1.mptrace configuration settings missing=() line failed=0

    while read -r configuration settings; do
        [[ -z $wanted_configurations || ,$wanted_configurations, == *",$configuration,"* ]] || continue
        [[ $2 != sizes || $configuration =~ ^(none|h-wal|ec-wal|loc-wal)$ ]] || continue
        [[ $2 != operations || $configuration != *[@/]* ]] || continue
        has_row "$1" "$configuration" || missing+=("$configuration $settings")
    done < <(configurations)
    ((${#missing[@]} > 0)) || return 0
    note "$1: ${#missing[@]} rows"
    trace "$trace" "$1" </dev/null || return
    for line in "${missing[@]}"; do
        # shellcheck disable=SC2086 # settings are words
        simulate "$trace" "$1" "$2" $line </dev/null || failed=1
    done
    rm -f -- "$trace" "$trace.said"
    return "$failed"
}

# cut WORKLOAD CORES NUMBER: cuts of each protocol, a line each. The fewer transactions, the less a cut takes.
cut()
{
    local trace=$scratch/$1-$2.mptrace protocol settings json findings transactions=200

    [[ $brief == no ]] || transactions=20
    "$mplace" trace --out "$trace" -- "$program" --workload "$1" --log none --seed 1 --threads "$2" --keys 128 --warm 32 \
        --transactions "$transactions" >"$trace.said" 2>&1 </dev/null || {
        note "$1: $(tail -n 1 "$trace.said")"
        return 1
    }
    for protocol in s-wal h-wal ec-wal loc-wal kiln loc-kiln; do
        json=$trace.$protocol.json settings=(--set core.count="$2" --set persistence.protocol="$protocol")
        # A finding is exit status 1, and in the file.
        "$simulator" --machine "$machine" "${settings[@]}" --power-cuts "$3" --json "$json" "$trace" >/dev/null \
            2>"$json.said" </dev/null || note "$1, $2 cores, $protocol: $(tail -n 1 "$json.said")"
        findings=$(sed -n 's/.*"power_cut_findings": \([0-9]*\).*/\1/p' "$json")
        echo "$1,$2,$protocol,$3,$findings" >>"$out/power-cuts.csv"
        [[ $findings == 0 ]] || return 1
    done
}

# cut_all: power cuts in each workload of Table II.
cut_all()
{
    local workload family run number runs=()

    # Threads of SQLite store to the same blocks in transactions that are open together.
    while read -r workload family; do
        [[ $family == table-2 ]] || continue
        [[ -z $wanted || ,$wanted, == *",$workload,"* ]] || continue
        runs+=("$workload 1")
        [[ $workload == sqlite ]] || runs+=("$workload 4")
    done < <(workloads)
    ((${#runs[@]} > 0)) || die "--cuts: --workloads has none of Table II"
    echo "workload,cores,protocol,cuts,findings" >"$out/power-cuts.csv"
    number=$(((cuts + ${#runs[@]} - 1) / ${#runs[@]}))
    for run in "${runs[@]}"; do
        wait_for_less
        # shellcheck disable=SC2086 # a workload and its cores
        cut $run "$number" &
    done
    wait_for_less 1
    note "$((number * ${#runs[@]})) power cuts for each protocol: $out/power-cuts.csv"
}

mplace=$mplace_parts/mplace
simulator=$(own_program mplace-chip) || exit
program=$mplace_program_folder/persist_bench
machine=$(machine_file loc) || exit
mkdir -p -- "$out" 2>/dev/null || die "cannot write to $out"
rows=$out/persistence.csv
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-persistence.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
failed=0
if [[ -n $cuts ]]; then
    cut_all
    exit "$failed"
fi
# Rows of other traces must not be mixed with these.
open_rows "$rows" "brief $brief" persistence-row

while read -r workload family; do
    [[ -z $wanted || ,$wanted, == *",$workload,"* ]] || continue
    wait_for_less
    make_rows "$workload" "$family" &
done < <(workloads)
wait_for_less 1

report persistence "$rows" >"$out/persistence.md"
if command -v gnuplot >/dev/null; then
    for figure in protocols sizes; do
        (cd -- "$out" && report persistence-figure persistence.csv "$figure" | gnuplot)
    done
else
    note "no figures: gnuplot is not installed"
fi
note "the rows: $rows; what they say: $out/persistence.md"
exit "$failed"
