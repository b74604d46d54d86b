#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The evidence of docs/banks.md: traces the benchmarks of bench/bank with their memory placed by the policies of Chandru
# and Mueller, replays each trace on the simulated TILEPro64, and judges what the paper says by the rows. Interrupted, it
# goes on where it was.
set -euo pipefail
own_file=$(readlink -f -- "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=../common/mplace.bash
source "${own_file%/*}/../common/mplace.bash"
# shellcheck source-path=SCRIPTDIR source=rows.bash
source "${own_file%/*}/rows.bash"

usage()
{
    cat <<'END'
usage: scripts/evidence/banks.sh [OPTION]...

Writes banks.csv, a row for each workload, policy, variant of the machine and seed, banks.md, which judges them, and
the figure. Rows that are there are kept. All figures are simulated.

  --out FOLDER       where all of it goes (default: out/banks in the source tree)
  --workloads LIST   these only, comma-separated (default: all; --list names them)
  --policies LIST    these only (default: all)
  --seeds N          at most so many seeds (default: 15; of some workloads and policies, and of changed machines, fewer)
  --brief            small arrays of stream and is: shows that all of it works, and means nothing
  --jobs N           workloads side by side (default: one for each CPU)
  --list             name the workloads, each with its policies, and end

Exit status: 0 all rows are there; 1 some could not be made, which is said; 2 bad arguments, or something is missing.
END
}

source_folder=$(cd -- "${own_file%/*}/../.." && pwd)
out=$source_folder/out/banks
wanted_workloads=
wanted_policies=
seeds=15
brief=no
jobs=$(nproc)
list=no
read_options --out=out --workloads=wanted_workloads --policies=wanted_policies --seeds=seeds --jobs=jobs -- "$@"
check_number --jobs "$jobs" 1 1024
check_number --seeds "$seeds" 1 1000

# --- what there is ---

# A workload a line: its name (of composite with threads and pages of each), seeds at most, and its policies, some with
# seeds of their own.
workloads()
{
    echo "composite-32-2 15 colours-8 colours-4 colours-2 local local-5 opposite one-node two-nodes circular"
    echo "composite-32-10 5 colours-8:15 colours-4 colours-2 local:15 local-5:15 opposite one-node two-nodes circular" \
        "only-4:3 only-2:3"
    echo "composite-8-10 15 colours-8 local local-5 colours-4:3"
    echo "composite-48-10 15 colours-8 local local-5:5 colours-4:3"
    echo "stream-32-0 15 colours-8 colours-4 local local-5:3"
    echo "composite-16-10 5 colours-8 local local-5 colours-4:3"
    echo "composite-24-10 5 colours-8 local local-5 colours-4:3"
    echo "is-32-0 3 colours-8 colours-4 local local-5:1"
}

# A variant of the machine a line: its name, and the keys that it sets. composite-32-10 has all of them, composite-8-10
# the first and those of blocks of 16 bytes, others the first.
variants()
{
    echo "tilepro64"
    echo "wide core.width=3"
    echo "l2-8-ways l2.ways=8"
    echo "l2-8-ways-wide l2.ways=8 core.width=3"
    echo "closed memory.page=closed"
    echo "shared-l2 llc.size=4194304"
    echo "block-16 block=16"
    echo "block-16-l2-8-ways block=16 l2.ways=8"
}
variant_policies=' colours-8 colours-4 local local-5 '
variant_seeds=3

# has_variant WORKLOAD POLICY SEED VARIANT
has_variant()
{
    [[ $4 != tilepro64 ]] || return 0
    (($3 <= variant_seeds)) && [[ $variant_policies == *" $2 "* ]] || return
    [[ $1 == composite-32-10 || ($1 == composite-8-10 && $4 == block-16*) ]]
}

mapfile -t known < <(workloads | cut -d' ' -f1)
check_names --workloads "$wanted_workloads" "${known[@]}"
mapfile -t known < <(workloads | cut -d' ' -f3- | tr ' ' '\n' | sed 's/:.*//' | sort -u)
check_names --policies "$wanted_policies" "${known[@]}"

if [[ $list == yes ]]; then
    workloads | cut -d' ' -f1,3- | sed 's/:[0-9]*//g'
    exit
fi

# --- rows ---

# trace FILE WORKLOAD POLICY SEED: its first round is outside of the region of interest.
trace()
{
    local name threads pages size

    IFS=- read -r name threads pages <<<"$2"
    case $name in
    composite) size=$((pages * 8))K ;;
    stream) size=1M ;;
    is) size=4M ;;
    esac
    [[ $brief == no || $name == composite ]] || size=256K
    # A thread for each tile; those that do not work take no part. libgomp must not spin.
    env BANK_MAP=tilepro64 BANK_PHYSICAL=simulated BANK_POOL=64M OMP_WAIT_POLICY=passive \
        "$mplace" trace --out "$1" --malloc bank --cpus 56 --seed "$4" -- "$program" --workload "$name" --tiles 8x7 \
        --threads "$threads" --size "$size" --policy "$3" --seed "$4" --warm 1 --rounds 1 >"$1.said" 2>&1 || {
        note "$2, $3, seed $4: $(tail -n 1 "$1.said")"
        return 1
    }
}

# Whether the row is there: has_row WORKLOAD POLICY VARIANT SEED.
has_row()
{
    grep -q "^${1//-/,},$2,$3,$4," "$rows"
}

# make_rows WORKLOAD POLICY SEED VARIANT...: traces once, and adds a row for each variant, its name and keys.
make_rows()
{
    local workload=$1 policy=$2 seed=$3 file line variant settings

    shift 3
    file=$(mktemp "$scratch/trace.XXXXXX")
    trace "$file" "$workload" "$policy" "$seed" || return
    for line; do
        read -r variant settings <<<"$line"
        read -ra settings <<<"$settings"
        TIMEFORMAT=%U
        { time "$simulator" --parts "$mplace_machine_folder/parts" --machine "$machine" "${settings[@]/#/--set=}" \
            --json "$file.json" "$file" >/dev/null 2>"$file.said"; } 2>"$file.seconds" || {
            note "$workload, $policy, $variant, seed $seed: $(tail -n 1 "$file.said")"
            return 1
        }
        report banks-row "$workload" "$policy" "$variant" "$seed" "$(tail -n 1 "$file.seconds")" "$file.json" >>"$rows"
    done
    rm -f -- "$file"*
}

mplace=$mplace_parts/mplace
simulator=$(own_program mplace-chip) || exit
program=$(own_program bank_bench) || exit
machine=$(machine_file tilepro64) || exit
mkdir -p -- "$out" 2>/dev/null || die "cannot write to $out"
rows=$out/banks.csv
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-banks.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
# Rows of other arrays must not be mixed with these.
open_rows "$rows" "brief $brief" banks-row
# Settings of the library that the caller has are not those of the evidence.
unset "${!BANK_@}"

failed=0
for ((seed = 1; seed <= seeds; seed++)); do
    while read -r workload most policies; do
        [[ -z $wanted_workloads || ,$wanted_workloads, == *",$workload,"* ]] || continue
        for policy in $policies; do
            [[ $policy == *:* ]] || policy+=:$most
            ((seed <= ${policy#*:})) || continue
            policy=${policy%:*}
            [[ -z $wanted_policies || ,$wanted_policies, == *",$policy,"* ]] || continue
            missing=()
            while read -r line; do
                has_variant "$workload" "$policy" "$seed" "${line%% *}" || continue
                has_row "$workload" "$policy" "${line%% *}" "$seed" || missing+=("$line")
            done < <(variants)
            ((${#missing[@]} > 0)) || continue
            wait_for_less
            make_rows "$workload" "$policy" "$seed" "${missing[@]}" </dev/null &
        done
    done < <(workloads)
    note "seed $seed of $seeds"
done
wait_for_less 1

report banks "$rows" >"$out/banks.md"
if command -v gnuplot >/dev/null; then
    (cd -- "$out" && report banks-figure banks.csv | gnuplot)
else
    note "no figure: gnuplot is not installed"
fi
note "the rows: $rows; what they say: $out/banks.md"
exit "$failed"
