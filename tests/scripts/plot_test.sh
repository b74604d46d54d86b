#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace plot" promises: what it refuses, what it draws, and that nothing half-done is left. The
# rows are made up here: they test the drawing, and are no measurements.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

# row MALLOC LOCK HTM SIZE SEED RATE [CPU]
row()
{
    echo "ring,$1,$2,$3,$4,128,1,$5,$6,traversals/s,64,2,,,,,,,,,somewhere,${7:-Some CPU},2026-01-0$5T00:00:00Z,,park,1,"
}

# Two allocators, three sizes, three runs each.
result()
{
    local size

    echo "$header"
    for size in 64 500 1024; do
        row glibc tts none $size 1 1000000.0
        row glibc tts none $size 2 9000000.0
        row glibc tts none $size 3 2000000.0
        row cia tts none $size 1 5000000.0
        row cia tts none $size 2 6000000.0
        row cia tts none $size 3 7000000.0
    done
}

plot()
{
    run "$mplace" plot "$@" --out "$scratch/page"
}

# figures_of_the_page [NUMBER]: the names of the drawings; each has a narrow one.
figures_of_the_page()
{
    local name names=()

    for name in page/figure"${1-}"*.svg; do
        [[ $name != *-narrow.svg ]] || continue
        names+=("${name#page/}")
        [[ -s ${name%.svg}-narrow.svg ]] || fail "$name has no narrow one"
    done
    echo "${names[*]}"
}

expect_well_formed()
{
    /usr/bin/python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1" 2>/dev/null ||
        fail "$1 is not well-formed XML"
}

figures_and_a_page_are_drawn()
{
    result >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect_well_formed page/figure1-rate.svg
    expect_well_formed page/figure1-sets-used.svg
    expect "PNG signature" "89504e47" "$(od -An -tx1 -N4 page/figure1-rate.png | tr -d ' ')"
    [[ $(wc -c <page/figure1-rate.png) -gt 10000 ]] || fail "the PNG is empty"
    for text in 'cia, tts' 'glibc, tts' 'Ring of 128 nodes on Some CPU (somewhere)' \
        'Million traversals/s' 'Node size in bytes'; do
        grep -qF "$text" page/figure1-rate.svg || fail "'$text' is not in the figure"
    done
    expect "figures in the page" 2 "$(grep -c '<figure' page/index.html)"
    # Of the rates and of the sets one for glibc and one for cia, which are for the page alone.
    expect "small charts in the page" 4 "$(grep -c '<h3>\(glibc\|cia\)</h3><svg' page/index.html)"
    expect "small charts beside it" "" "$(find page -name 'panel*')"
}

each_figure_is_drawn_narrow_with_its_key_and_all_its_charts()
{
    local text

    result >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect_well_formed page/figure1-rate-narrow.svg
    expect_well_formed page/figure1-sets-used-narrow.svg
    for text in 'Ring of 128 nodes on Some CPU (somewhere)' '>glibc<' '>cia<' 'median under tts' \
        'quartiles of the runs' 'the fastest allocator under tts at each size'; do
        expect "'$text' in the drawing" 1 "$(grep -c "$text</text>\|$text/text>" page/figure1-rate-narrow.svg)"
    done
    expect "charts" 2 "$(grep -c '^<svg x="0"' page/figure1-rate-narrow.svg)"
    expect "width" 'viewBox="0 0 420' "$(grep -o -m 1 'viewBox="0 0 [0-9]*' page/figure1-rate-narrow.svg)"
    expect "ids that two charts share" "" \
        "$(grep -oE " id=[\"'][^\"']*" page/figure1-rate-narrow.svg | sort | uniq -d)"
}

a_points_values_come_up_where_the_mouse_rests()
{
    local title

    result >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    for title in 'glibc, tts: 500 B, 2 (1.5 to 5.5)' 'cia, tts: 1024 B, 6 (5.5 to 6.5)'; do
        expect "'$title' in the figure, in the page's drawing and small chart" "1 2" \
            "$(grep -c "<title>$title</title>" page/figure1-rate.svg) $(grep -c "<title>$title</title>" page/index.html)"
    done
    expect "scripts" "" "$(grep -o 'onmouse[a-z]*\|gnuplot_svg' page/index.html | sort -u)"
}

the_page_needs_nothing_from_elsewhere()
{
    result >a.csv
    plot a.csv
    expect "what it loads" "" "$(grep -oE '(src|@import|<script|<link)[^>]*' page/index.html || true)"
    expect "links out" "" "$(grep -oE 'href=.(https?:)?//[^ >]*' page/index.html || true)"
    expect "ids that two figures share" "" "$(grep -oE " id=[\"'][^\"']*" page/index.html | sort | uniq -d)"
}

the_points_are_medians()
{
    result >a.csv
    plot a.csv
    # Of 1, 9 and 2 the median is 2 (the mean would be 4): glibc is then at a third of cia's 6.
    expect "points of glibc in the table" 3 "$(grep -c '<td>glibc</td><td>tts</td>.*2.00 M/s.*33 %' page/index.html)"
    grep -q 'glibc, tts</b> falls below half of the best allocator at 3 of 3 sizes, to 33 % of it' page/index.html ||
        fail "the finding is wrong"
}

ttstle_that_did_not_elide_is_no_series()
{
    {
        result
        row cia ttstle none 64 1 5500000.0
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    if grep -q 'cia, ttstle' page/figure1-rate.svg; then
        fail "it is drawn"
    fi
    grep -q 'No ttstle: it did not elide' page/figure1-rate.svg || fail "the figure does not say why it is missing"
    grep -q '1 rows of ttstle are not drawn' page/index.html || fail "the page does not say why it is missing"
    {
        result
        row cia ttstle native 64 1 5500000.0
    } >b.csv
    plot b.csv
    grep -q 'cia, ttstle' page/figure1-rate.svg || fail "a ttstle that did elide is not drawn"
    if grep -q 'No ttstle' page/figure1-rate.svg; then
        fail "the figure says that it is missing"
    fi
    { echo "$header"; row cia ttstle none 64 1 5500000.0; } >c.csv
    plot c.csv
    expect_refusal "nothing to draw"
}

# tree_row MALLOC HTM SIZE SEED RATE SLOW CONFLICT CAPACITY: 1000 acquisitions, 1100 transactions
tree_row()
{
    echo "avltree,$1,ttstle,$2,$3,32767,4,$4,$5,operations/s,64,512,1000,$6,1100,$((1000 - $6)),$7,$8,1,2,somewhere,Some CPU,2026-01-0$4T00:00:00Z,paper,park,,"
}

the_tree_is_figure_2_and_has_a_page_of_its_own_or_shares_one()
{
    {
        result
        row cia tts none 64 1 5000000.0 | sed 's/^ring/avltree/; s/,128,1,/,32767,4,/; s/traversals/operations/'
        row cia tts none 500 1 2500000.0 | sed 's/^ring/avltree/; s/,128,1,/,32767,2,/; s/traversals/operations/'
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect "figures" "figure1-rate.svg figure1-sets-used.svg figure2-rate-2.svg figure2-rate.svg" \
        "$(figures_of_the_page)"
    grep -qF 'AVL tree, 2 threads on Some CPU (somewhere)' page/figure2-rate.svg || fail "the title is missing"
    grep -qF 'AVL tree, 4 threads on Some CPU (somewhere)' page/figure2-rate-2.svg || fail "the threads do not tell figures apart"
    grep -qF 'Million operations/s' page/figure2-rate.svg || fail "the unit is missing"
    expect "headings in order" "Ring AVL AVL" "$(sed -n 's/^<h2>\(Ring\|AVL\) .*/\1/p' page/index.html | paste -sd ' ')"
    { echo "$header"; grep ^avltree a.csv; } >b.csv
    rm -r page
    plot b.csv
    expect "figures of the tree alone" "figure2-rate-2.svg figure2-rate.svg" "$(figures_of_the_page)"
}

emulated_transactions_are_drawn_without_any_time()
{
    {
        echo "$header"
        # Over both runs: 1 - (0 + 100) / 2000 = 95 % elided, 22 of 2200 are 1 % capacity aborts.
        tree_row glibc emulated 500 1 '' 0 0 0
        tree_row glibc emulated 500 2 '' 100 11 22
        tree_row glibc emulated 512 1 '' 0 0 0
        tree_row cia emulated 500 1 '' 0 33 0
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect "figures" "figure2-aborts.svg figure2-elided.svg" "$(figures_of_the_page)"
    expect_well_formed page/figure2-elided.svg
    expect_well_formed page/figure2-aborts.svg
    grep -qF 'Elided sections: AVL tree, 4 threads, emulated transactions' page/figure2-elided.svg || fail "the title is missing"
    for text in 'capacity: a written line' 'conflict: two threads' 'explicit: the lock' 'other: page fault'; do
        grep -qF "$text" page/figure2-aborts.svg || fail "'$text' is not in the figure"
    done
    grep -q '<b>glibc</b>: 95.0 % elided at the worst size, 500 B. Capacity aborts are 1 % of the transactions or more at 1 of 2 sizes, 1.0 % at 500 B' page/index.html ||
        fail "glibc's counts are wrong: $(grep '<b>glibc' page/index.html)"
    grep -q '<b>cia</b>: 100.0 % elided at the worst size, 500 B. Capacity aborts are below 1 % of the transactions at all 1 sizes' page/index.html ||
        fail "cia's counts are wrong: $(grep '<b>cia' page/index.html)"
    grep -q '4 rows were taken under the transaction emulator' page/index.html || fail "the page does not say that there is no rate"
}

native_transactions_are_drawn_apart_from_emulated_ones()
{
    {
        result
        tree_row cia native 500 1 5000000.0 0 0 0
        tree_row cia emulated 500 1 '' 0 0 0
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect "figures of the tree" "figure2-aborts-2.svg figure2-aborts.svg figure2-elided-2.svg figure2-elided.svg figure2-rate.svg" \
        "$(figures_of_the_page 2)"
    grep -qF 'emulated transactions' page/figure2-elided.svg || fail "the emulated ones are not the first"
    grep -qF 'transactions of Some CPU' page/figure2-elided-2.svg || fail "the processor is not named"
    # Without a count there is nothing to draw of it: a run in which nothing was counted.
    { result; row cia ttstle native 500 1 5000000.0; } >b.csv
    rm -r page
    plot b.csv
    [[ ! -e page/figure1-elided.svg ]] || fail "a share was drawn without counts"
    { result; tree_row cia native 500 1 5000000.0 0 some 0; } >c.csv
    plot c.csv
    expect_refusal "c.csv, line 20: a count of the lock is not a number"
}

the_rings_elision_is_a_row_an_allocator_with_a_cross_where_it_fails()
{
    {
        echo "$header"
        for size in 64 500 504 1024; do
            tree_row cia emulated "$size" 1 '' 10 0 0
            tree_row glibc emulated "$size" 1 '' $((size / 500 == 1 ? 1000 : 10)) 0 0
        done | sed 's/^avltree/ring/; s/,32767,4,/,128,1,/'
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    expect_well_formed page/figure1-elided.svg
    expect "crosses" 2 "$(grep -c "#gpPt1' transform='translate" page/figure1-elided.svg)"
    expect "rows from above" "glibc cia" "$(grep -oE '>(cia|glibc)<' page/figure1-elided.svg | tr -d '<>' | tac | paste -sd ' ')"
    grep -q 'a cross one at which less than half are' page/index.html || fail "the page does not explain it"
}

# One figure a cache, named in its title and never added up, also where the rows are the same.
emulated_caches_are_named_and_drawn_apart()
{
    { echo "$header"; tree_row cia emulated 500 1 '' 0 0 0; tree_row glibc emulated 500 1 '' 100 0 100; } >twelve.csv
    { echo "$header"; tree_row cia emulated 500 1 '' 0 0 0; tree_row glibc emulated 500 1 '' 1000 0 1100; } >eight.csv
    printf '%s\n' 'sweep_command=mplace' host=elsewhere l1d=128x4x64 host=somewhere l1d=64x12x64 >twelve.csv.machine
    printf '%s\n' 'host=somewhere' 'l1d=64x8x64' 'l1d_source=setting' >eight.csv.machine
    plot twelve.csv eight.csv
    expect "exit status" 0 "$status"
    expect "figures" "figure2-aborts-2.svg figure2-aborts.svg figure2-elided-2.svg figure2-elided.svg" \
        "$(figures_of_the_page)"
    for figure in elided aborts; do
        grep -qF '4 threads, emulated transactions, L1D of 64 sets × 8 ways' "page/figure2-$figure.svg" || fail "8 ways are not named, or not the first, in $figure"
        grep -qF '4 threads, emulated transactions, L1D of 64 sets × 12 ways' "page/figure2-$figure-2.svg" || fail "12 ways are not named in $figure"
    done
    # Two allocators, a point each, one each in the legend, and one each that is not seen and has the values.
    for figure in page/figure2-elided{,-2}.svg; do
        expect "symbols in $figure" 6 "$(grep -c "#gpPt[0-9]*' transform='translate" "$figure")"
    done
    expect "headings and findings in order" "8 100.0 0.0 12 100.0 90.0" \
        "$(sed -n 's/^<h2>AVL.* × \([0-9]*\) ways.*/\1/p; s/^<li><b>.*>: \([0-9.]*\) % elided.*/\1/p' page/index.html | paste -sd ' ')"
    expect "allocators of both" 4 "$(grep -c '^<li><b>\(cia\|glibc\)</b>: [0-9.]* % elided' page/index.html)"
    plot twelve.csv twelve.csv
    grep -q ': 2 runs' page/index.html || fail "a row that is there twice counts twice"
    # Without the description the cache is not known, and none is claimed.
    rm twelve.csv.machine
    rm -r page
    plot twelve.csv eight.csv
    expect "figures" "figure2-aborts-2.svg figure2-aborts.svg figure2-elided-2.svg figure2-elided.svg" \
        "$(figures_of_the_page)"
    if grep -q 'L1D of' page/figure2-elided.svg; then
        fail "a cache is named that nobody told"
    fi
}

# The shapes of one allocator's series in the order of the legend, as the drawing names them.
shapes_of()
{
    grep -oE "(>$1, [a-z]+<|xlink:href='#gpPt[0-9]+')" page/figure1-rate.svg |
        awk -v name="$1" '$0 ~ name {here = 1; next} /^>/ {here = 0} here {gsub(/[^0-9]/, ""); print; here = 0}' | paste -sd ' '
}

locks_of_one_allocator_can_be_told_apart()
{
    { result; row cia pthread none 64 1 5500000.0; } >a.csv
    plot a.csv
    expect "shapes of cia under pthread and tts, open and filled" "11 12" "$(shapes_of cia)"
    { echo "$header"; row cia tts none 64 1 5000000.0; row cia ttstle native 64 1 5500000.0; } >b.csv
    plot b.csv
    expect "shapes of cia under tts and ttstle, open and filled" "11 12" "$(shapes_of cia)"
    result >c.csv
    plot c.csv
    expect "shape of cia under tts alone, filled" "12" "$(shapes_of cia)"
}

several_results_are_drawn_together()
{
    result >a.csv
    { echo "$header"; row jemalloc tts none 64 1 3000000.0; } >"b c.csv"
    plot a.csv "b c.csv"
    expect "exit status" 0 "$status"
    for text in 'cia, tts' 'jemalloc, tts'; do
        grep -qF "$text" page/figure1-rate.svg || fail "'$text' is not in the figure"
    done
    plot a.csv a.csv
    grep -q '18 runs' page/index.html || fail "a row that is there twice counts twice"
}

different_processors_get_figures_of_their_own()
{
    {
        result
        row cia tts none 64 1 1000.0 'Other CPU'
    } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    cat page/figure1-rate.svg page/figure1-rate-2.svg >both
    grep -q 'on Other CPU' both || fail "Other CPU has no figure"
    grep -q 'on Some CPU' both || fail "Some CPU has no figure"
}

a_malformed_result_is_one_line_and_nothing_is_left()
{
    plot missing.csv
    expect_refusal "missing.csv is not a readable file"
    : >empty.csv
    plot empty.csv
    expect_refusal "empty.csv is empty"
    echo "$header" >header.csv
    plot header.csv
    expect_refusal "header.csv: no rows"
    result | tail -n +2 >headless.csv
    plot headless.csv
    expect_refusal "headless.csv, line 1: not the header"
    result | head -c -20 >half.csv
    plot half.csv
    expect_refusal "half.csv: the last row is incomplete"
    { result; echo 'ring,cia,tts'; } >short.csv
    plot short.csv
    expect_refusal "short.csv, line 20: a row of 3 fields instead of 27"
    { result; row cia tts none 64 1 fast; } >text.csv
    plot text.csv
    expect_refusal "text.csv, line 20: the rate is not a number: fast"
    { result; row cia tts none 64 1 ''; } >rateless.csv
    plot rateless.csv
    expect_refusal "rateless.csv, line 20: the rate is missing"
    { result; row cia tts none big 1 1.0; } >size.csv
    plot size.csv
    expect_refusal "size.csv, line 20: size, nodes, threads or seed is not a number"
    { result; row cia tts none "$(printf '1%5000s' '' | tr ' ' 0)" 1 1.0; } >digits.csv
    plot digits.csv
    expect_refusal "digits.csv, line 20: size, nodes, threads or seed is not a number"
    { result; row 'c<ia' tts none 64 1 1.0; } >name.csv
    plot name.csv
    expect_refusal "name.csv, line 20: not an allocator name"
    { result; row cia tts some 64 1 1.0; } >htm.csv
    plot htm.csv
    expect_refusal "htm.csv, line 20: not a lock and its htm"
    head -c 3000 /dev/urandom >noise.csv
    plot noise.csv
    expect "exit status for noise" 2 "$status"
    plot .
    expect_refusal ". is not a readable file"
    result >good.csv
    plot good.csv short.csv
    expect_refusal "short.csv, line 20"
    result >cacheless.csv
    echo 'l1d=0x0x0' >cacheless.csv.machine
    plot cacheless.csv
    expect_refusal "cacheless.csv.machine, line 1: 'l1d=0x0x0' is no cache"
    run "$mplace" plot good.csv
    expect_refusal "--out FOLDER is missing"
    run "$mplace" plot --out page
    expect_refusal "which result?"
    run "$mplace" plot good.csv --out good.csv
    expect_refusal "it is not a folder"
    plot good.csv --sets-size 64
    expect_refusal "--sets-size 64: no file.csv.sets has this size"
    [[ ! -e page ]] || fail "a folder was left: $(ls page)"
    [[ -z $(find "$scratch" -name 'mplace-plot*') ]] || fail "a scratch folder was left"
}

an_earlier_page_stays_when_the_next_cannot_be_drawn()
{
    result >a.csv
    plot a.csv
    cp -r page before
    touch page/mine
    { result; echo rubbish; } >b.csv
    plot b.csv
    expect_refusal "b.csv, line 20"
    diff -r -x mine before page || fail "the page has changed"
    plot a.csv
    [[ -e page/mine ]] || fail "a file of somebody else was removed"
}

an_earlier_page_stays_when_the_disk_becomes_full()
{
    local cp

    result >a.csv
    plot a.csv
    cp -r page before
    cp=$(type -P cp)
    # After two files.
    mkdir full
    cat >full/cp <<END
#!/usr/bin/env bash
[[ \$1 != -- ]] || shift
for file in "\${@:1:\$#-1}"; do
    echo >>"$scratch/copied"
    if ((\$(wc -l <"$scratch/copied") > 2)); then
        echo "cp: No space left on device" >&2
        exit 1
    fi
    "$cp" -- "\$file" "\${*: -1}" || exit
done
END
    chmod +x full/cp
    sed -i s/9000000/9500000/ a.csv
    PATH=$scratch/full:$PATH plot a.csv
    expect_refusal "cannot write"
    diff -r before page || fail "the page has changed"
    rm -r page
    PATH=$scratch/full:$PATH plot a.csv
    expect_refusal "cannot write"
    [[ ! -e page ]] || fail "a folder is left"
}

it_draws_with_standard_output_closed()
{
    result >a.csv
    run bash -c '"$0" plot a.csv --out page >&-' "$mplace"
    expect "exit status" 0 "$status"
    expect "lines on standard error" 1 "$(wc -l <err)"
    expect_well_formed page/figure1-rate.svg
}

# plot_within KIB: with files of so many KiB at most, as on a disk that becomes full.
plot_within()
{
    run bash -c 'trap "" XFSZ; ulimit -f "$1"; exec "$0" plot a.csv --out page' "$mplace" "$1"
}

a_full_disk_is_one_line_and_nothing_is_left()
{
    local size

    result >a.csv
    for size in 1 4 8 16 32; do
        plot_within $size
        expect "exit status within $size KiB" 2 "$status"
        expect "lines on standard error within $size KiB" 1 "$(wc -l <err)"
        [[ ! -e page ]] || fail "there is a page within $size KiB"
    done
    mkdir full
    printf '#!/bin/sh\necho "sed: No space left on device" >&2; exit 4\n' >full/sed
    chmod +x full/sed
    PATH=$scratch/full:$PATH plot a.csv
    expect_refusal "cannot be written"
    [[ ! -e page ]] || fail "there is a page"
}

a_name_with_markup_stays_text()
{
    { result; row cia tts none 64 1 5000000.0 "A & B <CPU> @ 2^3 {x}_y %d's"; } >a.csv
    plot a.csv
    expect "exit status" 0 "$status"
    for figure in page/*.svg; do
        expect_well_formed "$figure"
    done
    grep -qF 'A &amp; B &lt;CPU&gt; @ 2^3 {x}_y %d' page/index.html || fail "the name is not in the page as text"
    if grep -qF '<CPU>' page/index.html; then
        fail "the name is markup"
    fi
    grep -qF '@ 2^3 {x}_y %d' page/figure1-rate*.svg || fail "the name is not in the figure as it stands"
}

the_sets_of_a_chosen_size_are_drawn()
{
    result >a.csv
    {
        echo "glibc,64,64,8,64,$(seq 64 | sed 's/.*/2/' | paste -sd ' ')"
        echo "cia,64,64,8,64,128$(seq 63 | sed 's/.*/0/' | paste -sd ' ' | sed 's/^/ /')"
        echo "cia,500,64,12,64,$(seq 64 | sed 's/.*/2/' | paste -sd ' ')"
    } >a.csv.sets
    plot a.csv --sets-size 64,500
    expect "exit status" 0 "$status"
    expect_well_formed page/figure1-sets-64.svg
    grep -q 'Nodes of 64 B that begin in each of the 64 sets of the L1 data cache (8 ways)' page/figure1-sets-64.svg ||
        fail "the title is missing"
    grep -q '12 ways' page/figure1-sets-500.svg || fail "the ways are not those of the data"
    grep -q '>128<' page/figure1-sets-64.svg || fail "the overfull set is not numbered"
    echo 'cia,1024,64,8,64,1 2 3' >>a.csv.sets
    rm -r page
    plot a.csv
    expect_refusal "a.csv.sets, line 4: not a row of set counts"
}

the_machine_and_its_warnings_are_in_the_page()
{
    result >a.csv
    printf '%s\n' "sweep_command='mplace' 'sweep' 'ring' '--quick'" \
        'sweep_library=libmine.so, mine 1.0<2, SHA-256 ab' 'sweep_library=libmine.so, mine 1.0<2, SHA-256 ab' 'host=somewhere' 'cpu=Some CPU' 'l1d=64x12x64' \
        'rtm=always-abort' 'warning=Turbo is on & hot.' >a.csv.machine
    plot a.csv
    grep -q 'Turbo is on &amp; hot.' page/index.html || fail "the warning is missing"
    grep -q '64 × 12 × 64' page/index.html || fail "the cache is missing"
    grep -q "sweep' 'ring' '--quick'" page/index.html || fail "the command is missing"
    expect "libraries, each once" 1 "$(grep -c '<dt>Library</dt><dd>libmine.so, mine 1.0&lt;2, SHA-256 ab</dd>' page/index.html)"
    grep -q 'aborts every hardware transaction' page/figure1-rate.svg || fail "the reason is not in the figure"
}

run_claim
