# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The figures and tables of a report about transactions: which share of the locked sections was
# elided, and why transactions aborted. From counts, not from times: emulated runs count as well.
# Sourced by mplace-plot; reads its scratch folder.
# shellcheck disable=SC2154 # scratch and so on are mplace-plot's

# elision.tsv: bench cpu nodes threads htm malloc size | elided conflict capacity explicit other
# (percent: the first of all acquisitions, the others of the transactions started) transactions runs.
# Behind an emulated htm stands the cache where it is known: "emulated:64x12", one word, for gnuplot
# divides lines at blanks. Runs of one point are added up, so that each transaction weighs the same.
read_elision()
{
    awk -F '\t' -v OFS='\t' '
        $6 != "ttstle" || $7 == "none" || $20 !~ /^[1-9]/ || $18 !~ /^[1-9]/ {next}
        {
            key = $1 FS $2 FS $3 FS $4 FS $7 ($27 == "-" ? "" : ":" $27) FS $5 FS $8
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
    if [[ $htm == emulated:* ]]; then
        htm=${htm#*:}
        echo "emulated transactions, L1D of ${htm%x*} sets × ${htm#*x} ways"
    elif [[ $htm == emulated ]]; then
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

# With one thread a size is elided or it is not, for all allocators alike: points would lie on each
# other. A row an allocator, a bar a size, as high as the share that was elided; a cross below it where that
# is less than half, for bars of close sizes hide a gap.
draw_elided_rows()
{
    local malloc file colour ticks='' plots='' row=0

    while IFS=$'\t' read -r _ malloc _ file; do
        read -r _ colour _ <<<"$(series_look "$malloc")"
        ticks+="${ticks:+, }$(quoted "$malloc") $row + 0.4"
        plots+="${plots:+, }$(quoted "$file") using 4:($row):(0):(0.0075 * \$5) with vectors nohead linewidth 2 linecolor rgb '$colour' notitle"
        plots+=", '' using 4:(\$5 < 50 ? $row - 0.1 : NaN) with points pointtype 2 pointsize 0.45 linewidth 1.5 linecolor rgb '$colour' notitle"
        row=$((row + 1))
    done <<<"$(sort -n -r -- "$1/series")"
    draw "$2" 1000 $((140 + 56 * row)) <<END
    set label 2 $(quoted "Elided sections: $(elision_text "$1")") at screen 0.5, screen 1 - 26.0 / $((140 + 56 * row)) center noenhanced font ',16'
    set tmargin at screen 1 - 50.0 / $((140 + 56 * row))
    unset key
$(size_axis "$1")
    set yrange [-0.2:$row - 0.1]
    set ytics ($ticks) noenhanced scale 0
    set grid noytics
    plot $plots
END
}

draw_elided()
{
    local low

    if [[ $(<"$1/key") == ring* ]]; then
        draw_elided_rows "$@"
        return
    fi
    # All near 100 % is common: then the axis begins higher, in few fixed steps, and its ticks say so.
    low=$(cut -f 5 -- "$1/medians.tsv" | sort -g | awk 'NR == 1 {print ($1 >= 99 ? 98 : $1 >= 90 ? 88 : $1 >= 55 ? 50 : 0)}')
    draw "$2" 1000 460 <<END
$(head_of "$1" "Elided sections: $(elision_text "$1")" 460 4)
$(size_axis "$1")
    set yrange [$low:100 + (100 - $low) * 0.04]
    set ylabel 'Elided, % of all acquisitions'
$(elision_series "$1" 5)
END
}

# panel FOLDER COLUMN LEFT TOP TITLE: one of four, its margins as fractions of the drawing. Only the
# left ones name the y axis, only the lower ones the x axis. Each has a scale of its own, to 1 % at
# the least, for causes differ by far more than allocators do.
panel()
{
    local folder=$1 column=$2 left=$3 top=$4 most y='' x='Node size in bytes'

    most=$(cut -f "$column" -- "$folder/medians.tsv" | sort -g | tail -n 1 | awk '{print ($1 > 1 ? $1 * 1.08 : 1.04)}')
    [[ $left != 0.085 ]] || y='Aborts, % of transactions'
    [[ $top == 0.405 ]] || x=
    cat <<END
    set lmargin at screen $left
    set rmargin at screen $left + 0.405
    set tmargin at screen $top
    set bmargin at screen $top - 0.31
    set yrange [0:$most]
    set title $(quoted "$5") offset 0, -0.6 noenhanced
    set xlabel '$x'
    set ylabel '$y' offset 1.2
$(elision_series "$folder" "$column")
END
}

# A panel a cause. The legend is a plot of its own, for a legend takes no more room than its panel is
# wide.
draw_aborts()
{
    local top

    # Below title and legend.
    top=$(awk -v rows=$((($(wc -l <"$1/series") + 3) / 4)) 'BEGIN {print 1 - (90 + 21 * rows) / 760}')
    draw "$2" 1000 760 <<END
$(head_of "$1" "Aborts by cause: $(elision_text "$1")" 760 4)
$(size_axis "$1")
    set yrange [0:1]
    set multiplot
    set lmargin at screen 0
    set rmargin at screen 1
    set bmargin at screen 0
    unset border
    unset tics
    unset grid
    unset xlabel
    unset ylabel
    unset title
$(elision_series "$1" '(NaN)')
    unset key
    unset label 2
    set border 31 linecolor rgb '#444444'
    set tics nomirror out scale 0.6 textcolor rgb '#222222'
    set grid linecolor rgb '#dddddd' linewidth 1
$(size_axis "$1")
    set xtics nomirror
    set ytics nomirror autofreq
$(panel "$1" 7 0.085 "$top" 'capacity: a written line left the L1 data cache')
$(panel "$1" 6 0.585 "$top" 'conflict: two threads touched one line')
$(panel "$1" 8 0.085 0.405 'explicit: the lock was found taken')
$(panel "$1" 9 0.585 0.405 'other: page fault, system call, interrupt')
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
    inline_figure "figure$2-elided$3" "Figure $2, elision. The share of the lock acquisitions that were elided: run as a transaction that committed. The others took the lock. $([[ $(<"$1/key") == ring* ]] && echo "A full bar is a size at which all are, a cross one at which less than half are.") An allocator with pthread mutexes of its own is counted with them."
    inline_figure "figure$2-aborts$3" "Figure $2, aborts. Of the transactions started, those that aborted, by what the processor gave as the cause. A good allocator has no capacity aborts at any size: they come from nodes that fall on too few cache sets. Conflicts are the workload's own, where no two nodes share a line."
}
