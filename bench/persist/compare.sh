#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The logs of libmplace_persist against each other and against libpmemobj, in one command: each round runs all
# of them one after the other, and a ratio is of two runs of one round.
set -euo pipefail

usage()
{
    cat <<'END'
usage: bench/persist/compare.sh [OPTION]... [WORKLOAD]...

  --build DIR         where bin/persist_bench is (default build)
  --logs LIST         (default wal,eager,libpmemobj)
  --runs N            rounds (default 15)
  --transactions N    of each run (default 100000)
  --log-size BYTES    of wal and eager (default 4M: it is full every few ten thousand transactions, so that what
                      copying it to its places costs is in the figures)
  --out FILE          keep the single runs there, as CSV

WORKLOAD: sps, hash, graph, rbtree, btree, sqlite (default: all).

Medians of thousand transactions a second and of microseconds of processor time a transaction, with quartiles; the
processor time is what other load on the machine changes least. The ratio is of processor times: above 1, eager's
transactions take less. Exit status: 0 measured, 1 a run failed, 2 bad arguments.
END
}

die()
{
    printf 'compare.sh: %s\n' "$*" >&2
    exit 2
}

build=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)/build
logs=wal,eager,libpmemobj
runs=15
transactions=100000
log_size=4M
out=
while [[ $# -gt 0 ]]; do
    case $1 in
    --build | --logs | --runs | --transactions | --log-size | --out)
        [[ $# -ge 2 ]] || die "option $1 needs a value"
        name=${1#--}
        declare "${name//-/_}=$2"
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option '$1' (--help)" ;;
    *) break ;;
    esac
done
workloads=("$@")
[[ $# -gt 0 ]] || workloads=(sps hash graph rbtree btree sqlite)
[[ $runs =~ ^[1-9][0-9]{0,3}$ ]] || die "--runs $runs is not a number from 1 to 9999"
command -v datamash >/dev/null || die "datamash is missing: install Debian's package datamash"
[[ -x $build/bin/persist_bench ]] || die "no $build/bin/persist_bench"
read -ra compared <<<"${logs//,/ }"

rows=$(mktemp)
trap 'rm -f -- "$rows"' EXIT
header=--header
for workload in "${workloads[@]}"; do
    for ((run = 1; run <= runs; run++)); do
        for log in "${compared[@]}"; do
            "$build/bin/persist_bench" --workload "$workload" --log "$log" --transactions "$transactions" --csv \
                --log-size "$log_size" $header >>"$rows" || exit 1
            header=
        done
    done
done
[[ -z $out ]] || cp -- "$rows" "$out"

# Of each run: its workload and log, the rate in thousands, microseconds of processor time a transaction, and these
# over those of eager's run of the same round.
awk -F, -v OFS='\t' '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        name = $column["workload"] OFS $column["log"]
        round[name]++
        cpu = 1e6 * $column["cpu_seconds"] / $column["transactions"]
        all[NR] = $column["workload"]; log_[NR] = $column["log"]; rate[NR] = $column["rate"] / 1e3; spent[NR] = cpu
        at[NR] = round[name]
        if ($column["log"] == "eager")
            eager[$column["workload"], round[name]] = cpu
    }
    END {
        for (n = 2; n <= NR; n++) {
            key = all[n] SUBSEP at[n]
            print all[n], log_[n], rate[n], spent[n], key in eager ? spent[n] / eager[key] : "nan"
        }
    }' "$rows" >"$rows.runs"
echo '| workload | log | thousand transactions/s | processor time, µs a transaction | this one / eager, processor time |'
echo '|---|---|---|---|---|'
datamash --narm --group 1,2 --sort median 3 q1 3 q3 3 median 4 q1 4 q3 4 median 5 q1 5 q3 5 <"$rows.runs" |
    awk -F'\t' '{
        printf "| %s | %s | %.4g [%.4g, %.4g] | %.3g [%.3g, %.3g] | %.2f [%.2f, %.2f] |\n", $1, $2, $3, $4, $5, $6, $7,
            $8, $9, $10, $11
    }'
rm -f -- "$rows.runs"
