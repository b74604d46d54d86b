#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# libtm_runtime.so against libitm, in one command: tm_bench's workloads and cache_server. Each round runs all
# libraries one after the other, and a ratio is of two runs of one round.
set -euo pipefail

usage()
{
    cat <<'END'
usage: bench/transactions/compare.sh [OPTION]... [WORKLOAD]...

  --build DIR       where lib/libtm_runtime.so, bin/tm_bench and bin/cache_server are (default build)
  --libraries LIST  (default ml_wt,itm,eager,eager-alone,lazy,norec,htm)
  --threads LIST    (default 1,2)
  --runs N          rounds (default 15)
  --brief           few operations: shows that it works, and means little
  --out FILE        keep the single runs there, separated by tabs

LIBRARY: ml_wt: libitm with ITM_DEFAULT_METHOD=ml_wt, which the others are compared with; itm: as libitm chooses;
eager, lazy, norec, htm, serial: libtm_runtime.so with that TM_ALGORITHM and TM_ALONE=0, so that a thread that is
alone has barriers, too; with -alone behind it, TM_ALONE=1, the library's default.

WORKLOAD: counter, list, tree (of tm_bench); cache (cache_server --branch it-oncommit). Default: all.

Medians of the rate; medians and quartiles of the time over that of ml_wt's run of the same round, and of the
processor time over its, which is what other load on the machine changes least. Exit status: 0 measured, 1 a run failed, 2 bad
arguments.
END
}

die()
{
    printf 'compare.sh: %s\n' "$*" >&2
    exit 2
}

build=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)/build
libraries=ml_wt,itm,eager,eager-alone,lazy,norec,htm
threads=1,2
runs=15
out=
declare -A operations=([counter]=3000000 [list]=150000 [tree]=600000 [cache]=150000)
while [[ $# -gt 0 ]]; do
    case $1 in
    --build | --libraries | --threads | --runs | --out)
        [[ $# -ge 2 ]] || die "option $1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --brief) operations=([counter]=5000 [list]=500 [tree]=500 [cache]=500); shift ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option '$1' (--help)" ;;
    *) break ;;
    esac
done
workloads=("$@")
[[ $# -gt 0 ]] || workloads=(counter list tree cache)
for workload in "${workloads[@]}"; do
    [[ -v operations[$workload] ]] || die "unknown workload '$workload': counter, list, tree, cache"
done
[[ $runs =~ ^[1-9][0-9]{0,3}$ ]] || die "--runs $runs is not a number from 1 to 9999"
[[ $threads =~ ^[1-9][0-9]{0,2}(,[1-9][0-9]{0,2})*$ ]] || die "--threads $threads is not a list of numbers"
command -v datamash >/dev/null || die "datamash is missing: install Debian's package datamash"
build=$(readlink -f -- "$build") || die "no folder $build"
[[ $build != *[[:space:]:]* ]] || die "LD_PRELOAD cannot carry a path with a blank or a colon: $build"
[[ -x $build/bin/tm_bench ]] || die "no $build/bin/tm_bench: it needs GCC's -fgnu-tm"
[[ -r $build/lib/libtm_runtime.so ]] || die "no $build/lib/libtm_runtime.so"
IFS=, read -ra compared <<<"$libraries"
IFS=, read -ra counts <<<"$threads"
for library in "${compared[@]}"; do
    [[ $library =~ ^(ml_wt|itm|(eager|lazy|norec|serial|htm)(-alone)?)$ ]] || die "unknown library '$library' (--help)"
done
[[ " ${compared[*]} " == *" ml_wt "* ]] || die "--libraries: ml_wt is what the others are compared with"

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
# Settings that the caller has are not those of the comparison. A function's first call through the dynamic linker
# ends a hardware transaction, and its binding with it, so that each further call does, too.
unset "${!ITM_@}" "${!TM_@}"
export LD_BIND_NOW=1

# settings_of LIBRARY: what env takes. cache_server chooses ml_wt unless the variable is there.
settings_of()
{
    local alone=0

    case $1 in
    ml_wt) echo "ITM_DEFAULT_METHOD=ml_wt" ;;
    itm) [[ $2 != cache ]] || echo "ITM_DEFAULT_METHOD=" ;;
    *)
        [[ $1 != *-alone ]] || alone=1
        echo "LD_PRELOAD=$build/lib/libtm_runtime.so TM_ALGORITHM=${1%-alone} TM_ALONE=$alone"
        ;;
    esac
}

# measure WORKLOAD THREADS LIBRARY ROUND: appends "workload threads library round seconds cpu_seconds transactions".
measure()
{
    local settings program=("$build/bin/tm_bench" --workload "$1")

    [[ $1 != cache ]] || program=("$build/bin/cache_server" --branch it-oncommit)
    read -ra settings <<<"$(settings_of "$3" "$1")"
    {
        TIMEFORMAT='%U %S'
        time env "${settings[@]}" "${program[@]}" --threads "$2" --operations "${operations[$1]}" --seed "$4" --csv \
            --header >"$work/row" 2>"$work/said" || {
            printf 'compare.sh: %s with %s threads failed under %s: %s\n' "$1" "$2" "$3" "$(tail -n 1 "$work/said")" >&3
            exit 1
        }
    } 3>&2 2>"$work/time"
    # The label comes from the library that is loaded. The processor time of cache_server is that of all of it.
    awk -F, -v OFS='\t' -v workload="$1" -v threads="$2" -v library="$3" -v round="$4" -v cpu="$(<"$work/time")" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
        NR == 2 {
            wanted = library ~ /^(ml_wt|itm)$/ ? "itm" : "tm_runtime"
            if ($column["runtime"] != wanted) {
                print "compare.sh: asked for " wanted ", loaded was " $column["runtime"] >"/dev/stderr"
                exit 1
            }
            split(cpu, part, " ")
            transactions = threads * $column["operations"]
            print workload, threads, library, round, transactions / $column["rate"],
                ("cpu_seconds" in column ? $column["cpu_seconds"] : part[1] + part[2]), transactions
        }' "$work/row" >>"$work/runs"
}

for workload in "${workloads[@]}"; do
    for count in "${counts[@]}"; do
        for ((round = 1; round <= runs; round++)); do
            for library in "${compared[@]}"; do
                measure "$workload" "$count" "$library" "$round"
            done
        done
    done
done
[[ -z $out ]] || cp -- "$work/runs" "$out"

# table TITLE FIELD: the medians of that field's ratios to ml_wt's run of the same round, and their quartiles.
table()
{
    printf '\n%s\n\n| workload | threads |' "$1"
    printf ' %s |' "${compared[@]}"
    printf '\n|---|---|'
    printf -- '---|%.0s' "${compared[@]}"
    awk -F'\t' -v OFS='\t' -v field="$2" '
        { line[NR] = $0; if (!(($1, $2) in place)) place[$1, $2] = ++places }
        $3 == "ml_wt" { base[$1, $2, $4] = $field }
        END {
            for (i = 1; i <= NR; i++) {
                split(line[i], f, FS)
                print place[f[1], f[2]], f[1], f[2], f[3], f[field] / base[f[1], f[2], f[4]]
            }
        }' "$work/runs" |
        datamash --sort --group 1,2,3,4 median 5 q1 5 q3 5 | sort -s -n -k 1,1 |
        awk -F'\t' -v libraries="${compared[*]}" '
            { at[$1] = "| " $2 " | " $3 " |"; cell[$1, $4] = sprintf(" %.2f [%.2f, %.2f] |", $5, $6, $7); last = $1 }
            END {
                count = split(libraries, library, " ")
                for (row = 1; row <= last; row++) {
                    printf "\n%s", at[row]
                    for (i = 1; i <= count; i++)
                        printf "%s", cell[row, library[i]]
                }
                print ""
            }'
}

echo '| workload | threads | library | thousand operations/s |'
echo '|---|---|---|---|'
awk -F'\t' -v OFS='\t' '
    { if (!(($1, $2, $3) in place)) place[$1, $2, $3] = ++places; print place[$1, $2, $3], $1, $2, $3, $7 / $5 / 1000 }
' "$work/runs" | datamash --sort --group 1,2,3,4 median 5 | sort -n -k 1,1 |
    awk -F'\t' '{ printf "| %s | %s | %s | %.4g |\n", $2, $3, $4, $5 }'
table "Time over that of ml_wt:" 5
table "Processor time over that of ml_wt:" 6
