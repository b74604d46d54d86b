# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The page of a report: one self-contained index.html. Every number in it is computed here from the
# rows that were drawn. Sourced by mplace-plot.
# shellcheck disable=SC2154 # scratch, files, figures and so on are mplace-plot's

# Text as it stands. The replacements are quoted, for an unquoted & is what was matched.
html()
{
    local text=${1//&/"&amp;"}

    text=${text//</"&lt;"}
    text=${text//>/"&gt;"}
    text=${text//\"/"&quot;"}
    printf '%s' "$text"
}

# The descriptions beside the results, each block once; what the rows say where there is none.
read_machines()
{
    local file

    for file in "${files[@]}"; do
        [[ ! -f $file.machine ]] || grep -E '^(host|cpu|[a-z0-9_]+)=' -- "$file.machine" | grep -v '^sweep_' || true
    done | awk -F '=' '
        function flush() { if (block != "" && !seen[name]++) printf "%s", block; block = name = "" }
        $1 == "host" { flush(); name = $2 }
        { block = block $0 "\n" }
        END { flush() }'
    for file in "${files[@]}"; do
        [[ -f $file.machine ]] || awk -F, 'FNR > 1 && !seen[$21 $22]++ {print "host=" $21 "\ncpu=" $22}' "$file"
    done | awk 'NR % 2 {host = $0; next} !seen[host $0]++ {print host "\n" $0}'
}

# Relative rates: relative.tsv in the group: malloc lock size rate best runs sets_used max_per_set
relate()
{
    awk -F '\t' -v OFS='\t' '
        {key = $2 FS $3 FS $4; if ($5 > best[key]) best[key] = $5}
        {row[NR] = $0; k[NR] = key}
        END {for (i = 1; i <= NR; i++) {split(row[i], f, FS); print f[1], f[2], f[4], f[5], best[k[i]], f[8], f[9], f[10]}}
    ' "$1/medians.tsv" >"$1/relative.tsv"
}

# One row a series: where its rate lies, and at how many sizes it is less than half of the best.
summary_table()
{
    local malloc lock

    echo '<div class="wide"><table><caption>Each combination over all sizes. &ldquo;The best&rdquo; is the fastest allocator under the same lock at the same size.</caption>'
    echo '<thead><tr><th>Allocator</th><th>Lock</th><th class="n">Median rate</th><th class="n">Lowest rate</th><th class="n">at size</th><th class="n">Sizes below half of the best</th><th class="n">of</th></tr></thead><tbody>'
    sort -n -r -- "$1/series" | while IFS=$'\t' read -r _ malloc lock _; do
        awk -F '\t' -v m="$malloc" -v l="$lock" '$1 == m && $2 == l' "$1/relative.tsv" |
            sort -n -k 4,4 | awk -F '\t' '
            {rate[NR] = $4; if (NR == 1) worst = $3; if ($4 < $5 / 2) bad++}
            END {
                median = NR % 2 ? rate[(NR + 1) / 2] : (rate[NR / 2] + rate[NR / 2 + 1]) / 2
                printf "<td class=\"n\">%.2f M/s</td><td class=\"n\">%.2f M/s</td><td class=\"n\">%d B</td><td class=\"n%s\">%d</td><td class=\"n\">%d</td></tr>\n",
                    median / 1e6, rate[1] / 1e6, worst, bad ? " bad" : " good", bad, NR
            }' | sed "s|^|<tr><td>$(html "$malloc")</td><td>$(html "$lock")</td>|"
    done
    echo '</tbody></table></div>'
}

worst_table()
{
    local malloc lock

    echo '<div class="wide"><table><caption>The five worst sizes of each combination, by rate relative to the best allocator under the same lock at that size.</caption>'
    echo '<thead><tr><th>Allocator</th><th>Lock</th><th class="n">Size</th><th class="n">Rate</th><th class="n">Of the best</th><th class="n">Sets used</th><th class="n">Most nodes in one set</th></tr></thead>'
    sort -n -r -- "$1/series" | while IFS=$'\t' read -r _ malloc lock _; do
        echo '<tbody>'
        awk -F '\t' -v OFS='\t' -v m="$malloc" -v l="$lock" '$1 == m && $2 == l {print $4 / $5, $0}' "$1/relative.tsv" |
            sort -n -k 1,1 | sed -n 1,5p | awk -F '\t' '{
                printf "<td class=\"n\">%d B</td><td class=\"n\">%.2f M/s</td><td class=\"n%s\">%.0f %%</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                    $4, $5 / 1e6, $1 < 0.5 ? " bad" : "", 100 * $1, $8 == "-" ? "" : $8, $9 == "-" ? "" : $9
            }' | sed "s|^|<tr><td>$(html "$malloc")</td><td>$(html "$lock")</td>|"
        echo '</tbody>'
    done
    echo '</table></div>'
}

# A figure inline, its ids made its own: several drawings share one page.
inline_figure()
{
    echo "<figure><div class=\"wide\">"
    sed -e '/^<?xml/d' -e '/^<!DOCTYPE/,/>$/d' \
        -e "s/ id=\"/ id=\"$1-/g; s/ id='/ id='$1-/g" \
        -e "s/href='#/href='#$1-/g; s/href=\"#/href=\"#$1-/g; s/url(#/url(#$1-/g" \
        "$scratch/out/$1.svg"
    echo "</div><figcaption>$2 <a href=\"$1.png\">PNG</a> <a href=\"$1.svg\">SVG</a></figcaption></figure>"
}

page_style()
{
    cat <<'END'
<style>
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --bad: #a50f15; --good: #0b6e4f; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem 4rem; color: var(--ink); background: #fff;
       font: 1rem/1.55 system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p, ul { max-width: 46rem; } p.where { color: var(--soft); margin-top: 0; }
figure { margin: 1.4rem 0 2rem; } figcaption { color: var(--soft); font-size: .92rem; max-width: 46rem; margin-top: .4rem; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; }
.wide > svg { display: block; width: 100%; min-width: 42rem; height: auto; }
table { border-collapse: collapse; font-size: .92rem; margin: .6rem 0 1.4rem; min-width: 34rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; padding: .28rem .8rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; } td.bad { color: var(--bad); font-weight: 600; } td.good { color: var(--good); }
tbody + tbody tr:first-child td { border-top: 2px solid #8c959f; }
.warn { border-left: 4px solid #bf6a02; background: #fff6e9; padding: .6rem 1rem; margin: 1.2rem 0; max-width: 50rem; }
.warn p { margin: .1rem 0; font-weight: 600; } .warn ul { margin: .3rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; font-size: .95rem; margin: .6rem 0 1.2rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: #f6f8fa; padding: .7rem .9rem; overflow-x: auto; font-size: .88rem; border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } h1 { font-size: 1.4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; } .wide > svg { min-width: 0; }
  figure, tbody, .warn { break-inside: avoid; } table { min-width: 0; } pre { border: 1px solid var(--line); } }
</style>
END
}

# What the rows show in a sentence or two: computed, in the words of the reader's question.
finding()
{
    awk -F '\t' '
        {name = $1 ", " $2; sizes[name]++; if ($4 < $5 / 2) bad[name]++
         part = $4 / $5; if (!(name in least) || part < least[name]) {least[name] = part; at[name] = $3}}
        END {
            for (name in sizes) {
                if (bad[name]) printf "%d\t<li><b>%s</b> falls below half of the best allocator at %d of %d sizes, to %.0f %% of it at %d B.</li>\n", bad[name], name, bad[name], sizes[name], 100 * least[name], at[name]
                else printf "%d\t<li><b>%s</b> stays above half of the best allocator at all %d sizes; its worst is %.0f %% of it, at %d B.</li>\n", 0, name, sizes[name], 100 * least[name], at[name]
            }
        }' "$1/relative.tsv" | sort -n -k 1,1 -s | cut -f 2-
}

warnings_box()
{
    local line

    grep -q '^warning=' -- "$scratch/machines" || return 0
    echo '<div class="warn"><p>What spoils this measurement</p><ul>'
    sed -n 's/^warning=//p' "$scratch/machines" | awk '!seen[$0]++' | while IFS= read -r line; do
        echo "<li>$(html "$line")</li>"
    done
    echo '</ul></div>'
}

machine_list()
{
    local key value

    echo '<dl>'
    while IFS='=' read -r key value; do
        case $key in
        host) key='Host' ;;
        cpu) key='Processor' ;;
        cpus) key='CPUs' ;;
        l1d) key='L1 data cache' value="${value//x/ × } (sets × ways × bytes a line)" ;;
        l2) key='L2 cache' value="${value//x/ × }" ;;
        rtm) key='Hardware transactions (RTM)' ;;
        counters) key='Hardware counters' ;;
        rseq) key='rseq' ;;
        numa_nodes) key='NUMA nodes' ;;
        huge_pages) key='Huge pages' ;;
        turbo) key='Turbo' ;;
        governor) key='Frequency governor' ;;
        smt) key='SMT' ;;
        hypervisor) key='Hypervisor' ;;
        load) key='Load at the start' ;;
        kernel) key='Kernel' ;;
        libc) key='C library' ;;
        *) continue ;;
        esac
        echo "<dt>$key</dt><dd>$(html "$value")</dd>"
    done <"$scratch/machines"
    echo '</dl>'
}

# Distinct values of a column of the rows that are shown, for people.
values_of()
{
    cut -f "$1" -- "$scratch/shown.tsv" | sort -u -V | awk '$0 != "-" {text = text (text == "" ? "" : ", ") $0} END {print text}'
}

settings_list()
{
    local file runs

    runs=$(cut -f 13 -- "$scratch/medians.tsv" | sort -n -u | paste -sd ' ' | sed 's/ /, /g')
    echo '<dl>'
    [[ -z $runs ]] || echo "<dt>Runs a point</dt><dd>$runs; the point is their median</dd>"
    runs=$(cut -f 14 -- "$scratch/elision.tsv" | sort -n -u | paste -sd ' ' | sed 's/ /, /g')
    [[ -z $runs ]] || echo "<dt>Runs a point of elision</dt><dd>$runs; the point is the share over all of them</dd>"
    echo "<dt>Sizes</dt><dd>$(cut -f 8 -- "$scratch/shown.tsv" | sort -u | wc -l), from $(cut -f 8 -- "$scratch/shown.tsv" | sort -n | sed -n 1p) to $(cut -f 8 -- "$scratch/shown.tsv" | sort -n | tail -n 1) B</dd>"
    echo "<dt>Seeds</dt><dd>$(html "$(values_of 17)"): the same for all allocators and locks in a repetition</dd>"
    [[ -z $(values_of 16) ]] || echo "<dt>On CPU</dt><dd>$(html "$(values_of 16)")</dd>"
    [[ -z $(values_of 15) ]] || echo "<dt>Waiting of the lock</dt><dd>$(html "$(values_of 15)")</dd>"
    [[ -z $(values_of 14) ]] || echo "<dt>Retry policy of ttstle</dt><dd>$(html "$(values_of 14)")</dd>"
    for file in "${files[@]}"; do
        [[ -f $file.plan ]] || continue
        sed -n 's/^# settings=\(..*\)/\1/p' "$file.plan" | while IFS= read -r line; do
            echo "<dt>Set in the environment</dt><dd>$(html "$line")</dd>"
        done
        sed -n 's/^# program=\(..*\)/\1/p' "$file.plan" | while IFS= read -r line; do
            echo "<dt>Each run</dt><dd>$(html "$line")</dd>"
        done
    done
    for file in "${files[@]}"; do
        [[ ! -f $file.machine ]] || sed -n 's/^sweep_library=//p' "$file.machine"
    done | awk '!seen[$0]++' | while IFS= read -r line; do
        echo "<dt>Library</dt><dd>$(html "$line")</dd>"
    done
    echo '</dl>'
    for file in "${files[@]}"; do
        [[ ! -f $file.machine ]] || sed -n 's/^sweep_command=//p' "$file.machine" | while IFS= read -r line; do
            echo "<pre>$(html "$line")</pre>"
        done
    done
}

# What the points of a rate figure are.
rate_caption()
{
    echo "Each point is the median rate of one allocator on one lock at one node size."
    if [[ $1 == ring ]]; then
        echo "A good allocator is a flat line at the top: points that drop out of it are sizes whose nodes fall on too few cache sets. A slow fall common to all at large sizes is the TLB, not the cache."
    else
        echo "An operation inserts, deletes or looks up a random key; malloc and free are part of it. Points that drop out of the others at one size are nodes on too few cache sets; the fall common to all is the memory that 32767 nodes of that size lie in: caches and TLB reach less of it."
    fi
}

write_page()
{
    local group figure suffix bench cpu nodes threads size name reason emulated first=yes

    emulated=$(awk -F '\t' '$7 == "emulated" {n++} END {print n + 0}' "$scratch/unique.tsv")
    echo '<!DOCTYPE html>'
    echo '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    echo "<title>mplace: where blocks lie, on $(html "$(values_of 2)")</title>"
    page_style
    echo '</head><body>'
    echo '<h1>Where malloc puts blocks, and what it costs</h1>'
    echo "<p class=\"where\">Measured on $(html "$(values_of 2)"), host $(html "$(values_of 13)"): $(wc -l <"$scratch/shown.tsv") runs.</p>"
    echo '<p>A cache set holds as many lines as the cache has ways. An allocator that spaces equal blocks by a power of two puts them all into a few sets: a structure far smaller than the cache does not fit into it, and a hardware transaction that writes to it cannot commit.</p>'
    [[ ! -f $scratch/out/claims.md ]] ||
        echo '<p><a href="claims.md">What these rows say of each claim of the paper</a>: measured, emulated, or left to a processor with transactions.</p>'
    [[ -s $scratch/medians.tsv ]] || warnings_box
    while IFS=$'\t' read -r group figure suffix; do
        IFS=$'\t' read -r bench cpu nodes threads _ <"$group/key" || true
        relate "$group"
        name=$(bench_text "$bench" "$([[ $bench == ring ]] && echo "$nodes" || echo "$threads")")
        echo "<h2>$(html "$name on $cpu")</h2>"
        echo "<ul>"
        finding "$group"
        echo "</ul>"
        [[ $first == no ]] || warnings_box
        inline_figure "figure$figure-rate$suffix" "Figure $figure. $(rate_caption "$bench")"
        reason=$(missing_elision "$cpu")
        [[ -z $reason ]] || echo "<p>$(html "$reason")</p>"
        if [[ -f $scratch/out/figure$figure-sets-used$suffix.svg ]]; then
            inline_figure "figure$figure-sets-used$suffix" "Figure $figure, sets. The same sizes: how many sets of the L1 data cache the nodes begin in. This is arithmetic on addresses and owes nothing to the clock."
        fi
        [[ $first == no || $bench != ring ]] || for size in $sets_drawn; do
            inline_figure "figure1-sets-$size" "Figure 1, nodes of $size B. One column a cache set, one row an allocator. Red sets hold more nodes than the cache has ways, so that each traversal evicts some of them."
        done
        echo '<h2>Tables</h2>'
        summary_table "$group"
        worst_table "$group"
        first=no
    done <"$scratch/groups"
    while IFS=$'\t' read -r group figure suffix; do
        elision_section "$group" "$figure" "$suffix"
    done <"$scratch/elision-groups"
    if [[ $not_elided -gt 0 ]]; then
        echo "<p>$not_elided rows of ttstle are not drawn: it did not elide there, and is tts then.</p>"
    fi
    if [[ $emulated -gt 0 ]]; then
        echo "<p>$emulated rows were taken under the transaction emulator and have no rate: time means nothing there.</p>"
    fi
    echo '<h2>The machine</h2>'
    machine_list
    echo '<h2>Settings and command</h2>'
    settings_list
    echo "<p class=\"where\">Drawn from $(html "$(printf '%s, ' "${files[@]##*/}" | sed 's/, $//')"), measured between $(html "$(span_of_dates)").</p>"
    echo '</body></html>'
}

span_of_dates()
{
    local file

    for file in "${files[@]}"; do
        awk -F, 'FNR > 1 {print $23}' "$file"
    done | sort | sed -n '1p;$p' | paste -sd ' ' | sed 's/ / and /'
}
