# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The figures of a report: which series there are, how each looks, and the gnuplot that draws them.
# Sourced by mplace-plot; reads its scratch folder.
# shellcheck disable=SC2154,SC2034 # scratch, files and sets_sizes are mplace-plot's

# A series is an allocator on a lock. The colour and the shape say the allocator, so that either is
# enough (the colours are Okabe and Ito's, which all kinds of colour vision tell apart); the lock
# says whether the shape is filled: the last of pthread, tts and ttstle that is there is, the one
# before it is open, the one before that open and small. "order colour open filled" in gnuplot's
# point types.
series_look()
{
    case $1 in
    glibc) echo '1 #D55E00 6 7' ;;
    jemalloc) echo '2 #E69F00 4 5' ;;
    mimalloc) echo '3 #CC79A7 10 11' ;;
    tcmalloc) echo '4 #56B4E9 14 15' ;;
    rand) echo '5 #009E73 8 9' ;;
    rand+*) echo '6 #777777 1 2' ;;
    cia) echo '9 #0072B2 12 13' ;;
    *) echo '7 #000000 3 3' ;;
    esac
}

# begin_group "bench cpu nodes threads unit" FOLDER: the medians of one figure, a file a series, and
# FOLDER/series with lines "order malloc lock htm file".
begin_group()
{
    local malloc lock htm order lock_order count=0

    mkdir -- "$2"
    printf '%s' "$1" >"$2/key"
    awk -F '\t' -v OFS='\t' -v key="$1" \
        '$1 FS $2 FS $3 FS $4 FS $5 == key {print $6, $7, $8, $9, $10, $11, $12, $13, $14, $15}' \
        "$scratch/medians.tsv" >"$2/medians.tsv"
    cut -f 1-3 -- "$2/medians.tsv" | sort -u | while IFS=$'\t' read -r malloc lock htm; do
        count=$((count + 1))
        read -r order _ <<<"$(series_look "$malloc")"
        case $lock in tts) lock_order=1 ;; ttstle) lock_order=2 ;; *) lock_order=0 ;; esac
        awk -F '\t' -v m="$malloc" -v l="$lock" -v h="$htm" '$1 == m && $2 == l && $3 == h' \
            "$2/medians.tsv" | sort -n -k 4,4 >"$2/series$count.tsv"
        printf '%s\t%s\t%s\t%s\n' "$order$lock_order" "$malloc" "$lock" "$2/series$count.tsv"
    done | sort -n >"$2/series"
}

# Between quotes in gnuplot, where text is taken as it stands.
quoted()
{
    printf "'%s'" "${1//\'/\'\'}"
}

# What all figures share. gnuplot FILE.svg and FILE.png from the commands on standard input.
draw()
{
    local name=$1 width=$2 height=$3 commands

    commands=$(cat)
    cat >"$scratch/$name.gp" <<END
set encoding utf8
set border linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid linecolor rgb '#dddddd' linewidth 1
do for [format in 'svg png'] {
    if (format eq 'svg') {
        set terminal svg size $width,$height dynamic enhanced background rgb 'white' font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' name 'mplace'
    } else {
        set terminal pngcairo size 2*$width,2*$height enhanced font 'DejaVu Sans,14' fontscale 2 linewidth 2 pointscale 2 background rgb 'white'
    }
    set output $(quoted "$scratch/out/$name.").format
$commands
    unset output
}
END
    gnuplot "$scratch/$name.gp" >"$scratch/gnuplot.log" 2>&1 </dev/null ||
        die "gnuplot cannot draw $name: $(grep -m 1 . "$scratch/gnuplot.log")"
    [[ -s $scratch/out/$name.svg && -s $scratch/out/$name.png ]] ||
        die "gnuplot drew nothing for $name"
    # gnuplot shows hypertext by a script that would have to lie beside the figure; browsers show the
    # title of an element by themselves.
    sed -i -E "s|<g onmousemove=\"gnuplot_svg.showHypertext\(evt,'([^']*)'\)\" onmouseout=\"[^\"]*\"><title> </title>|<g class=\"value\"><title>\1</title>|" \
        "$scratch/out/$name.svg"
    figures+=("$name")
}

# Node sizes are read in powers of two, and that is where allocators fail: the axis doubles.
size_axis()
{
    local least greatest

    least=$(cut -f 4 -- "$1/medians.tsv" | sort -n | sed -n 1p)
    greatest=$(cut -f 4 -- "$1/medians.tsv" | sort -n | tail -n 1)
    cat <<END
    set logscale x 2
    set xrange [$least / 1.1 : $greatest * 1.1]
    set xtics ($(for ((tick = 16; tick <= greatest; tick *= 2)); do
        ((tick >= least)) || continue
        if ((tick < 1024)); then printf "'%d' %d, " $tick $tick; else printf "'%d Ki' %d, " $((tick / 1024)) $tick; fi
    done | sed 's/, $//'))
    set xlabel 'Node size in bytes (what each node asks malloc for)'
END
}

bench_text()
{
    if [[ $1 == ring ]]; then
        echo "Ring of $2 nodes"
    else
        echo "AVL tree, $2 threads"
    fi
}

machine_text()
{
    local hosts

    hosts=$(awk -F '\t' -v cpu="$1" '$2 == cpu {print $13}' "$scratch/drawn.tsv" | sort -u | paste -sd, | sed 's/,/, /g')
    echo "${1/#unknown/a processor without a name} ($hosts)"
}

# Why there is no ttstle in a figure, or nothing.
missing_elision()
{
    local rtm

    [[ -z $(awk -F '\t' -v cpu="$1" '$2 == cpu && $6 == "ttstle"' "$scratch/drawn.tsv") ]] || return 0
    rtm=$(awk -F '=' -v cpu="$1" '$1 == "cpu" {here = $2 == cpu} $1 == "rtm" && here {print $2}' \
        "$scratch/machines" | sed -n 1p)
    case $rtm in
    absent) echo "No ttstle: this processor has no hardware transactions (RTM), and without them ttstle is tts." ;;
    always-abort) echo "No ttstle: this processor aborts every hardware transaction, and without them ttstle is tts." ;;
    *)
        if [[ $not_elided -gt 0 ]]; then
            echo "No ttstle: it did not elide where it was measured, and without transactions ttstle is tts."
        else
            echo "No ttstle: it was not measured."
        fi
        ;;
    esac
}

# head_of FOLDER TITLE HEIGHT [COLUMNS]: the title, below it the legend in as many rows as it takes: of
# four, or of three where the names, an allocator and a lock, are long.
head_of()
{
    local columns=4 rows

    [[ -n ${4-} || $(awk -F '\t' 'length($2 $3) > n {n = length($2 $3)} END {print n + 0}' "$1/series") -le 13 ]] || columns=3
    rows=$((($(wc -l <"$1/series") + columns - 1) / columns))

    cat <<END
    set label 2 $(quoted "$2") at screen 0.5, screen 1 - 26.0 / $3 center noenhanced font ',16'
    set tmargin at screen 1 - (62.0 + 21 * $rows) / $3
    set key at screen 0.5, screen 1 - (44.0 + 21 * $rows / 2.0) / $3 center center horizontal \\
        maxcols $columns maxrows $rows Left reverse samplen 1 spacing 1.2 width 1 noenhanced
END
}

# A plot command for all series: series_commands FOLDER COLUMNS [SHRINK]. With SHRINK each series
# is drawn smaller than the one below it, for figures in which many points coincide. Each point's
# values come up when the mouse rests on it: an invisible point, larger than the visible one, has them.
series_commands()
{
    local order malloc lock file colour open filled point locks size=0.7 separator= value=${2#*:}

    # The order of the alphabet is the one that is meant: pthread, tts, ttstle.
    locks=$(cut -f 3 -- "$1/series" | sort -u | paste -sd ' ')
    [[ -z ${3-} ]] || size=1.15
    [[ $value == *[!0-9]* ]] || value="\$$value"
    printf '    plot '
    while IFS=$'\t' read -r order malloc lock file; do
        read -r _ colour open filled <<<"$(series_look "$malloc")"
        point=$filled
        [[ $lock == "${locks##* }" ]] || point=$open
        [[ -n ${3-} ]] || size=$([[ $locks == "$lock "*' '* ]] && echo 0.35 || echo 0.7)
        printf "%s%s using %s with points pointtype %d pointsize %s linewidth 1.5 linecolor rgb '%s' title %s" \
            "$separator" "$(quoted "$file")" "$2" "$point" "$size" "$colour" "$(quoted "$malloc, $lock")"
        separator=$', \\\n        '
        [[ -z ${3-} ]] || size=$(awk -v s="$size" 'BEGIN {print s * 0.85}')
    done <"$1/series"
    # A legend without points has none to rest on, and labels that are all undefined end gnuplot 5.4.
    [[ $2 == *'(NaN)' ]] || while IFS=$'\t' read -r order malloc lock file; do
        printf "%s%s using %s:(sprintf(%s, \$4, %s)) with labels hypertext noenhanced point pointtype 7 pointsize 1.3 linecolor rgb '#ff000000' notitle" \
            "$separator" "$(quoted "$file")" "$2" "$(quoted "$malloc, $lock: %d B, %.4g")" "$value"
    done <"$1/series"
    echo
}

draw_rates()
{
    # Where the benchmark leaves room: the ring's points are at the top, the tree's fall to the right.
    local bench cpu nodes threads unit text reason place='0.01, graph 0.035 left'

    IFS=$'\t' read -r bench cpu nodes threads unit <"$1/key" || true
    text=$nodes
    [[ $bench == ring ]] || text=$threads place='0.99, graph 0.965 right'
    reason=$(missing_elision "$cpu")
    draw "$2" 1000 600 <<END
$(head_of "$1" "$(bench_text "$bench" "$text") on $(machine_text "$cpu")" 600)
    set label 1 $(quoted "$reason") at graph $place noenhanced font ',12' textcolor rgb '#555555' front
$(size_axis "$1")
    set yrange [0:*]
    set ylabel 'Million $unit'
$(series_commands "$1" "4:(\$5/1e6)")
END
}

draw_sets_used()
{
    local bench cpu nodes threads unit sets

    IFS=$'\t' read -r bench cpu nodes threads unit <"$1/key" || true
    [[ $bench == ring ]] || return 0
    sets=$(level_sets "$cpu")
    # Placement does not depend on the lock: one series an allocator is enough.
    mkdir -- "$1/placement"
    cp -- "$1/key" "$1/medians.tsv" "$1/placement/"
    awk -F '\t' '!seen[$2]++' "$1/series" >"$1/placement/series"
    draw "$2" 1000 460 <<END
$(head_of "$1/placement" "L1 data cache sets that $nodes nodes begin in, of $sets" 460 4)
$(size_axis "$1")
    set yrange [0:$sets * 1.05]
    set ytics 0, $((sets / 8 > 0 ? sets / 8 : 1))
    set ylabel 'Sets used'
$(series_commands "$1/placement" '4:9' shrink | sed -E "s/, (pthread|tts|ttstle)'/'/")
END
}

# Sets of the L1D of a processor: from the machine's description, else as x86 has had them all along.
level_sets()
{
    local sets

    sets=$(awk -F '=' -v cpu="$1" '$1 == "cpu" {here = $2 == cpu} $1 == "l1d" && here {split($2, p, "x"); print p[1]}' \
        "$scratch/machines" | sed -n 1p)
    if [[ -z $sets ]]; then
        sets=$(cut -f 3 -- "$scratch/sets.tsv" | sed -n 1p)
    fi
    echo "${sets:-64}"
}

# FILE.csv.sets, checked: malloc size sets ways line counts, tab-separated.
read_sets()
{
    awk -F, -v OFS='\t' '
        NF != 6 || $2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ || split($6, c, " ") != $3 {exit 1}
        {print $1, $2, $3, $4, $5, $6}' "$1" ||
        die "$1, line $(($(read_sets_good "$1") + 1)): not a row of set counts"
}

read_sets_good()
{
    awk -F, 'NF != 6 || $2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ || split($6, c, " ") != $3 {exit} {n++} END {print n + 0}' "$1"
}

# The sizes whose set occupancy is drawn.
choose_sets_sizes()
{
    local size found=

    for size in ${sets_sizes//,/ }; do
        awk -F '\t' -v s="$size" '$2 == s {found = 1} END {exit !found}' "$scratch/sets.tsv" ||
            die "--sets-size $size: no file.csv.sets has this size"
        echo "$size"
    done
    [[ -z $sets_sizes && -s $scratch/sets.tsv ]] || return 0
    for size in 1008 1024; do
        if awk -F '\t' -v s=$size '$2 == s {found = 1} END {exit !found}' "$scratch/sets.tsv"; then
            echo $size
            found=yes
        fi
    done
    [[ -n $found ]] || cut -f 2 -- "$scratch/sets.tsv" | sort -n | sed -n 1p
}

# draw_sets SIZE NAME: a row an allocator, a column a set; the darker, the more nodes begin there.
# More than the ways cannot all stay: such sets are red.
draw_sets()
{
    local count sets ways malloc order y=0 ticks=

    awk -F '\t' -v s="$1" '$2 == s && !seen[$1]++' "$scratch/sets.tsv" |
        while IFS= read -r line; do
            malloc=${line%%$'\t'*}
            read -r order _ <<<"$(series_look "$malloc")"
            printf '%s\t%s\n' "$order" "$line"
        done | sort -n -r >"$scratch/sets-$1"
    count=$(wc -l <"$scratch/sets-$1")
    IFS=$'\t' read -r _ malloc _ sets ways _ <"$scratch/sets-$1"
    : >"$scratch/cells-$1"
    while IFS=$'\t' read -r order malloc _ _ _ _ counts; do
        awk -v y=$y '{for (i = 1; i <= NF; i++) print i - 1, y, $i}' <<<"$counts" >>"$scratch/cells-$1"
        ticks+="${ticks:+, }$(quoted "$malloc") $y"
        y=$((y + 1))
    done <"$scratch/sets-$1"
    draw "$2" 1000 $((150 + 46 * count)) <<END
    set title $(quoted "Nodes of $1 B that begin in each of the $sets sets of the L1 data cache ($ways ways)") noenhanced font ',16'
    unset key
    unset grid
    unset border
    set xrange [-0.5:$sets - 0.5]
    set yrange [$count - 0.5:-0.5]
    set xtics 0, $((sets / 8 > 0 ? sets / 8 : 1)) scale 0
    set ytics ($ticks) noenhanced scale 0
    set xlabel 'Set'
    # Blue up to the ways, red beyond: dark enough against each other in grey as well.
    set palette defined (0 '#f7fbff', 0.001 '#deebf7', 0.499 '#08519c', 0.501 '#f4a582', 1 '#a50f15')
    set cbrange [0:2 * $ways]
    set cbtics ('0' 0, '$ways (all ways)' $ways, '$((2 * ways)) or more' $((2 * ways))) scale 0
    set rmargin at screen 0.82
    set colorbox noborder
    plot $(quoted "$scratch/cells-$1") using 1:2:(\$1 - 0.46):(\$1 + 0.46):(\$2 - 0.42):(\$2 + 0.42):3 with boxxyerror fillstyle solid 1 noborder linecolor palette notitle, \\
        '' using 1:(\$3 > $ways ? \$2 : NaN):(sprintf('%d', \$3)) with labels rotate by 90 textcolor rgb 'white' font ',10' notitle
END
}
