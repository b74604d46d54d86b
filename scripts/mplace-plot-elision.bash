# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The figures and tables of a report about transactions: which share of the locked sections was
# elided, and why transactions aborted. From counts, not from times: emulated runs count as well.
# Sourced by mplace-plot; reads its scratch folder.
# shellcheck disable=SC2154 # scratch and so on are mplace-plot's

# elision.tsv: bench cpu nodes threads htm malloc size | elided conflict capacity explicit other
# (percent: the first of all acquisitions, the others of the transactions started) transactions runs.
# Runs of one point are added up, so that each transaction weighs the same.
read_elision()
{
    awk -F '\t' -v OFS='\t' '
        $6 != "ttstle" || $7 == "none" || $20 !~ /^[1-9]/ || $18 !~ /^[1-9]/ {next}
        {
            key = $1 FS $2 FS $3 FS $4 FS $7 FS $5 FS $8
            runs[key]++; acquired[key] += $18; slow[key] += $19; started[key] += $20
            conflict[key] += $22; capacity[key] += $23; explicit[key] += $24; other[key] += $25
        }
        END {
            for (key in runs)
                print key, 100 * (1 - slow[key] / acquired[key]), 100 * conflict[key] / started[key],
                    100 * capacity[key] / started[key], 100 * explicit[key] / started[key],
                    100 * other[key] / started[key], started[key], runs[key]
        }' "$scratch/unique.tsv" | sort
}

# begin_elision "bench cpu nodes threads htm" FOLDER: as begin_group; the series are allocators. In
# the files: malloc, a blank lock and htm, size, and the percentages from column 5 on.
begin_elision()
{
    local malloc order count=0

    mkdir -- "$2"
    printf '%s' "$1" >"$2/key"
    awk -F '\t' -v OFS='\t' -v key="$1" '$1 FS $2 FS $3 FS $4 FS $5 == key {
        print $6, "ttstle", $5, $7, $8, $9, $10, $11, $12, $13, $14}' "$scratch/elision.tsv" >"$2/medians.tsv"
    cut -f 1 -- "$2/medians.tsv" | sort -u | while IFS= read -r malloc; do
        count=$((count + 1))
        read -r order _ <<<"$(series_look "$malloc")"
        awk -F '\t' -v m="$malloc" '$1 == m' "$2/medians.tsv" | sort -n -k 4,4 >"$2/series$count.tsv"
        printf '%s\t%s\tttstle\t%s\n' "$order" "$malloc" "$2/series$count.tsv"
    done | sort -n >"$2/series"
}

# What was run, and on what: of an emulated run the host says nothing.
elision_text()
{
    local bench cpu nodes threads htm

    IFS=$'\t' read -r bench cpu nodes threads htm <"$1/key" || true
    [[ $bench == avltree ]] || threads=$nodes
    printf '%s, ' "$(bench_text "$bench" "$threads")"
    if [[ $htm == emulated ]]; then
        echo "emulated transactions"
    else
        echo "transactions of $cpu"
    fi
}

# The lock is the same for all: the allocator alone names a series.
elision_series()
{
    series_commands "$1" "4:$2" shrink | sed "s/, ttstle'/'/"
}

draw_elided()
{
    local low

    # All near 100 % is common: then the axis begins higher, in few fixed steps, and its ticks say so.
    low=$(cut -f 5 -- "$1/medians.tsv" | sort -g | awk 'NR == 1 {print ($1 >= 99 ? 98 : $1 >= 90 ? 88 : $1 >= 55 ? 50 : 0)}')
    draw "$2" 1000 460 <<END
$(head_of "$1" "Elided sections: $(elision_text "$1")" 460)
$(size_axis "$1")
    set yrange [$low:100 + (100 - $low) * 0.04]
    set ylabel 'Elided, % of all acquisitions'
$(elision_series "$1" 5)
END
}

# A panel a cause, all of one scale: what is rare must look rare.
draw_aborts()
{
    local most

    most=$(awk -F '\t' '{for (i = 6; i <= 9; i++) if ($i > most) most = $i} END {print (most > 1 ? most * 1.08 : 1)}' \
        "$1/medians.tsv")
    draw "$2" 1000 720 <<END
$(head_of "$1" "Aborts by cause: $(elision_text "$1")" 720)
    unset tmargin
    set multiplot layout 2,2 columnsfirst margins 0.075, 0.985, 0.085, 0.83 spacing 0.065, 0.13
$(size_axis "$1")
    set yrange [0:$most]
    set ylabel 'Aborts, % of transactions'
    set xlabel ''
    set title 'capacity: a written line left the L1 data cache' offset 0, -0.6
$(elision_series "$1" 7)
    unset key
    unset label 2
    set xlabel 'Node size in bytes'
    set title 'conflict: two threads touched one line'
$(elision_series "$1" 6)
    set ylabel ''
    set xlabel ''
    set title 'explicit: the lock was found taken'
$(elision_series "$1" 8)
    set xlabel 'Node size in bytes'
    set title 'other: page fault, system call, interrupt'
$(elision_series "$1" 9)
    unset multiplot
END
}

# What the counts show, an allocator a line.
elision_finding()
{
    awk -F '\t' '
        {
            name = $1; sizes[name]++
            if (!(name in least) || $5 < least[name]) {least[name] = $5; at[name] = $4}
            if ($7 >= 1) full[name]++
            if (!(name in most) || $7 > most[name]) {most[name] = $7; where[name] = $4}
        }
        END {
            for (name in sizes) {
                printf "%d\t<li><b>%s</b>: at least %.1f %% elided (%d B). ", full[name], name, least[name], at[name]
                if (full[name]) printf "Capacity aborts are 1 %% of the transactions or more at %d of %d sizes, %.1f %% at %d B.</li>\n", full[name], sizes[name], most[name], where[name]
                else printf "Capacity aborts are below 1 %% of the transactions at all %d sizes; the most is %.2f %%, at %d B.</li>\n", sizes[name], most[name], where[name]
            }
        }' "$1/medians.tsv" | sort -n -k 1,1 -s | cut -f 2-
}

# The section of the page: elision_section FOLDER NUMBER SUFFIX
elision_section()
{
    local of

    of=$(html "$(elision_text "$1")")
    echo "<h2>$of</h2><ul>"
    elision_finding "$1"
    echo '</ul>'
    inline_figure "figure$2-elided$3" "Figure $2, elision. The share of the lock acquisitions that were elided: run as a transaction that committed. The others took the lock."
    inline_figure "figure$2-aborts$3" "Figure $2, aborts. Of the transactions started, those that aborted, by what the processor gave as the cause. A good allocator has no capacity aborts at any size: they come from nodes that fall on too few cache sets. Conflicts are the workload's own, where no two nodes share a line."
}
