#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The evidence of docs/persistence.md: traces the workloads of persist_bench without a log, replays each on a simulated
# machine under the protocols of persistence.protocol, and judges what the paper on loose-ordering consistency says by
# the rows. Interrupted, it goes on where it was.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=mplace-common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/mplace-common.bash"
# shellcheck source-path=SCRIPTDIR source=evidence/rows.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/evidence/rows.bash"

usage()
{
    cat <<'END'
usage: scripts/persistence.sh [OPTION]...

Writes persistence.csv, a row for each workload and configuration, persistence.md, which judges them, and the figures.
Rows and traces that are there are kept. All figures are simulated.

  --out FOLDER       where all of it goes (default: out/persistence in the source tree)
  --workloads LIST   these only, comma-separated (default: all; --list names them)
  --configurations LIST   these only (default: all; --list names them)
  --brief            a fiftieth of the work: shows that all of it works, and means nothing
  --jobs N           workloads side by side (default: one for each CPU)
  --list             name the workloads with their families, and the configurations, and end

Exit status: 0 all rows are there; 1 some could not be made, which is said; 2 bad arguments, or something is missing.
END
}

source_folder=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
out=$source_folder/out/persistence
wanted=
wanted_configurations=
brief=no
jobs=$(nproc)
list=no
while [[ $# -gt 0 ]]; do
    case $1 in
    --out | --workloads | --configurations | --jobs)
        value=$(value_of "$@") || exit
        case $1 in
        --out) out=$value ;;
        --workloads) wanted=$value ;;
        --configurations) wanted_configurations=$value ;;
        --jobs) jobs=$value ;;
        esac
        shift 2
        ;;
    --out=* | --workloads=* | --configurations=* | --jobs=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --brief) brief=yes; shift ;;
    --list) list=yes; shift ;;
    --help | -h) usage; exit 0 ;;
    *) unknown_option "$1" ;;
    esac
done
check_number --jobs "$jobs" 1 1024

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

# A configuration a line: its name, and the keys that it sets beside the machine's. Node sizes have the first and the
# one of LOC-WAL alone, transactions of eight operations the protocols.
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
    grep -q "^$1,[a-z0-9-]*,$2," "$rows"
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
        [[ $2 != sizes || $configuration == none || $configuration == loc-wal ]] || continue
        [[ $2 != operations || $configuration != *[0-9] ]] || continue
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

mplace=$mplace_parts/mplace
simulator=$(own_program mplace-chip) || exit
program=$mplace_program_folder/persist_bench
machine=$(machine_file loc) || exit
mkdir -p -- "$out" 2>/dev/null || die "cannot write to $out"
rows=$out/persistence.csv
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-persistence.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
# Rows of other traces must not be mixed with these.
open_rows "$rows" "brief $brief" persistence-row

failed=0
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
