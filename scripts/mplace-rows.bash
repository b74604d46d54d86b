# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The rows of results, read and checked: every subcommand that draws or judges rows takes them from
# here, so that all refuse the same files with the same words. Sourced; writes to the caller's scratch
# folder alone.
# shellcheck disable=SC2154 # scratch is the caller's

# One complaint, on standard output, and exit 1 for the first thing that is wrong.
# shellcheck disable=SC2016 # the dollars are awk's
read_result='
function wrong(text) { print FILENAME ", line " FNR ": " text; bad = 1; exit 1 }
function field(i) { return $i == "" ? "-" : $i }
FNR == 1 {
    if ($0 != header) wrong("not the header of a result")
    next
}
NF != 27 { wrong("a row of " NF " fields instead of 27") }
$1 !~ /^(ring|avltree)$/ { wrong("unknown benchmark: " $1) }
$2 !~ /^[A-Za-z0-9_+.-]+$/ { wrong("not an allocator name: " $2) }
$3 !~ /^[a-z]+$/ || $4 !~ /^(native|emulated|none)$/ { wrong("not a lock and its htm: " $3 ", " $4) }
$5 !~ /^[1-9][0-9]*$/ || $6 !~ /^[0-9]*$/ || $7 !~ /^[1-9][0-9]*$/ || $8 !~ /^[0-9]+$/ {
    wrong("size, nodes, threads or seed is not a number")
}
$9 !~ /^([0-9]+(\.[0-9]+)?)?$/ { wrong("the rate is not a number: " $9) }
$9 == "" && $4 != "emulated" { wrong("the rate is missing") }
$13 $14 $15 $16 $17 $18 $19 $20 !~ /^[0-9]*$/ { wrong("a count of the lock is not a number") }
$11 !~ /^[0-9]*$/ || $12 !~ /^[0-9]*$/ { wrong("sets_used or max_per_set is not a number") }
$27 !~ /^([^=;,]+=[0-9]+(;[^=;,]+=[0-9]+)*)?$/ { wrong("counters are not name=value;name=value: " $27) }
!seen[$0]++ {
    print field(1), field(22), field(6), field(7), field(2), field(3), field(4), field(5), field(9),
        field(10), field(11), field(12), field(21), field(24), field(25), field(26), field(8),
        field(13), field(14), field(15), field(16), field(17), field(18), field(19), field(20), field(27)
}
END { if (!bad && FNR < 2) { print FILENAME ": no rows"; exit 1 } }'

# emulated_caches FILE.csv: the cache that each host emulated, lines "host SETSxWAYS"; first a line that
# is no host's, so that there is one. The rows have no column for it.
emulated_caches()
{
    printf -- '-\t-\n'
    [[ ! -f $1.machine ]] || awk -F '=' '
        $1 == "host" {host = $2}
        $1 == "l1d" && $2 ~ /^[1-9][0-9]*x[1-9][0-9]*(x[1-9][0-9]*)?$/ {
            split($2, part, "x")
            print host "\t" part[1] "x" part[2]
        }' <"$1.machine"
}

# read_rows FILE.csv...: writes unique.tsv, each row once, blank fields as "-":
#  1 bench 2 cpu 3 nodes 4 threads 5 malloc 6 lock 7 htm 8 size 9 rate 10 unit 11 sets_used 12 max_per_set
# 13 host 14 policy 15 wait 16 pinned 17 seed 18 acquisitions 19 slow_path 20 tx_started 21 tx_committed
# 22 abort_conflict 23 abort_capacity 24 abort_explicit 25 abort_other 26 counters
# 27 the cache of an emulated run, where it is known
read_rows()
{
    local file path

    : >"$scratch/rows.tsv"
    for file; do
        [[ -f $file && -r $file ]] || die "$file is not a readable file"
        [[ -s $file ]] || die "$file is empty"
        [[ $(tail -c 1 -- "$file" | wc -l) -eq 1 ]] ||
            die "$file: the last row is incomplete (mplace sweep --resume completes it)"
        # The environment, not -v, and a ./ for names with a "=": awk must not interpret either.
        case $file in /*) path=$file ;; *) path=./$file ;; esac
        awk -F, -v OFS='\t' -v header="$(csv_header)" "$read_result" "$path" >"$scratch/one.tsv" ||
            die "$(tail -n 1 -- "$scratch/one.tsv")"
        emulated_caches "$file" >"$scratch/caches.tsv"
        awk -F '\t' -v OFS='\t' '
            NR == FNR {cache[$1] = $2; next}
            {print $0, ($7 == "emulated" && ($13 in cache) ? cache[$13] : "-")}
        ' "$scratch/caches.tsv" "$scratch/one.tsv" >>"$scratch/rows.tsv"
    done
    awk '!seen[$0]++' "$scratch/rows.tsv" >"$scratch/unique.tsv"
}
