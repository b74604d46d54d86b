#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The pages of mplace in a real browser, headless Chromium: they fit a phone's width, a desk's, and paper, and
# what the figures say can be seen. The plot's rows are made up: they test the page, and are no
# measurements. Pictures of the pages at 390 and 1280 pixels, and their PDF, are left in BUILD/tests/pages, for
# people to look at.
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "${BASH_SOURCE[0]%/*}/scripts_common.bash"

browser=$(type -P chromium || type -P chromium-browser || type -P google-chrome) || skip "there is no Chromium"

pictures=$build_folder/tests/pages
mkdir -p "$pictures"

# chromium ARGUMENT...: as root it refuses its sandbox; its own files stay in the scratch folder.
chromium()
{
    timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$scratch/browser" "$@" 2>"$scratch/browser.log"
}

# expect_to_fit PAGE WIDTH: laid out at this width, the page is no wider, none of its text smaller than is read
# without a glass, no drawing beside what can be seen of it, and what scrolls has a shadow that says so. A
# frame has any width; the window of a headless browser has not.
expect_to_fit()
{
    /usr/bin/python3 - "$1" "$2" >"$scratch/frame.html" <<'PROGRAM'
import html, sys
page = html.escape(open(sys.argv[1], encoding="utf-8").read(), quote=True)
print(f"""<!DOCTYPE html><iframe srcdoc="{page}" style="border:0;width:{sys.argv[2]}px;height:900px"></iframe>
<pre id="said"></pre><script>
addEventListener("load", () => {{
    const d = document.querySelector("iframe").contentDocument
    let least = 99, hidden = 0, silent = 0
    for (const e of d.querySelectorAll("svg")) if (e.getBoundingClientRect().right > d.documentElement.clientWidth && !e.closest(".wide")) hidden++
    for (const e of d.querySelectorAll("*")) {{
        const style = d.defaultView.getComputedStyle(e)
        if (e.scrollWidth > e.clientWidth && /auto|scroll/.test(style.overflowX) && !/local.*scroll/.test(style.backgroundAttachment)) silent++
    }}
    for (const e of d.querySelectorAll("p,li,td,th,dd,dt,figcaption,caption,svg text")) {{
        const turn = e.ownerSVGElement && e.getScreenCTM(), scale = turn ? Math.hypot(turn.a, turn.b) : 1
        if (e.textContent.trim() && e.getClientRects().length && !e.closest("defs")) least = Math.min(least, parseFloat(d.defaultView.getComputedStyle(e).fontSize) * scale)
    }}
    document.getElementById("said").textContent = `width ${{d.documentElement.scrollWidth}} text ${{least.toFixed(1)}} hidden ${{hidden}} silent ${{silent}} end`
}})
</script>""")
PROGRAM
    chromium --dump-dom "file://$scratch/frame.html" >"$scratch/dom"
    read -r width text hidden silent < <(sed -n \
        's/.*width \([0-9]*\) text \([0-9.]*\) hidden \([0-9]*\) silent \([0-9]*\) end<.*/\1 \2 \3 \4/p' "$scratch/dom") ||
        fail "the browser did not lay the page out"
    ((width <= $2)) || fail "at $2 pixels the page is $width wide"
    awk -v t="$text" 'BEGIN {exit !(t >= 9)}' || fail "at $2 pixels some text is $text pixels high"
    [[ $hidden == 0 ]] || fail "at $2 pixels $hidden drawings are partly out of sight"
    [[ $silent == 0 ]] || fail "at $2 pixels $silent boxes scroll and nothing says so"
}

# picture PAGE NAME WIDTH: NAME-WIDTH.png among the pictures: the first 6000 pixels of the page laid out at this width.
picture()
{
    local frame='<!DOCTYPE html><body style="margin:0"><iframe src="%s" style="border:0;width:%dpx;height:6000px"></iframe>'

    # shellcheck disable=SC2059 # the format is the line above
    printf "$frame" "file://$1" "$3" >"$scratch/picture.html"
    chromium --window-size="$(($3 < 500 ? 500 : $3)),6000" --screenshot="$pictures/$2-$3.png" \
        "file://$scratch/picture.html" >"$scratch/out" || fail "there is no picture"
}

# expect_colours NAME WIDTH PIXELS COLOUR...: each (rrggbb) fills so many pixels at least of that picture.
expect_colours()
{
    /usr/bin/python3 - "$pictures/$1-$2.png" "${@:3}" <<'PROGRAM' || fail "a colour is missing in the picture of $2 pixels"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        assert depth == 8 and colour in (2, 6), (depth, colour)
        step = 3 if colour == 2 else 4
    elif kind == b"IDAT":
        packed += body
    at += size + 12
raw, last, seen = zlib.decompress(packed), bytearray(width * step), {}
for row in range(height):
    start = row * (width * step + 1)
    line = bytearray(raw[start + 1:start + 1 + width * step])
    for i in range(len(line)):
        a = line[i - step] if i >= step else 0
        b = last[i]
        c = last[i - step] if i >= step else 0
        if raw[start] == 1: line[i] = line[i] + a & 255
        elif raw[start] == 2: line[i] = line[i] + b & 255
        elif raw[start] == 3: line[i] = line[i] + (a + b) // 2 & 255
        elif raw[start] == 4:
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            line[i] = line[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c) & 255
    last = line
    for i in range(0, len(line), step):
        pixel = bytes(line[i:i + 3])
        seen[pixel] = seen.get(pixel, 0) + 1
for colour in sys.argv[3:]:
    count = seen.get(bytes.fromhex(colour), 0)
    if count < int(sys.argv[2]):
        print(f"{colour}: {count} pixels", file=sys.stderr)
        sys.exit(1)
PROGRAM
}

# expect_to_print PAGE NAME: on A4, into NAME.pdf among the pictures.
expect_to_print()
{
    chromium --print-to-pdf="$pictures/$2.pdf" --no-pdf-header-footer "file://$1" >"$scratch/out" || fail "it cannot be printed"
    expect "PDF signature" "%PDF" "$(head -c 4 "$pictures/$2.pdf")"
    # Points of 1/72 inch: 210 by 297 mm.
    expect "paper" "595 842" "$(grep -aoE '/MediaBox \[0 0 [0-9.]+ [0-9.]+' "$pictures/$2.pdf" | awk '{printf "%.0f %.0f\n", $4, $5}' | sort -u)"
}

# expect_a_page PAGE NAME: it fits both widths, and paper; its pictures are left.
expect_a_page()
{
    local width

    for width in 390 1280; do
        expect_to_fit "$1" "$width"
        picture "$1" "$2" "$width"
    done
    expect_to_print "$1" "$2"
}

# ring_rows: three allocators, jemalloc slow from 512 B on.
ring_rows()
{
    local size malloc rate seed

    for size in 64 128 256 500 512 1008 1024 2040 2048 4096; do
        for malloc in glibc jemalloc cia; do
            rate=6000000.0
            [[ $malloc != jemalloc || $size -lt 512 ]] || rate=2000000.0
            for seed in 1 2 3; do
                echo "ring,$malloc,tts,none,$size,128,1,$seed,$rate,traversals/s,64,2,,,,,,,,,somewhere,Some CPU,2026-01-0${seed}T00:00:00Z,,park,1,"
            done
        done
    done
}

# elided_rows BENCH NODES THREADS: three allocators, jemalloc's transactions abort for capacity.
elided_rows()
{
    local size malloc slow full

    for size in 64 500 512 1024 4096; do
        for malloc in glibc jemalloc cia; do
            slow=10 full=10
            [[ $malloc != jemalloc || $size -lt 512 ]] || slow=900 full=890
            echo "$1,$malloc,ttstle,emulated,$size,$2,$3,1,,operations/s,,,1000,$slow,1000,$((1000 - slow)),7,$full,1,2,somewhere,Some CPU,2026-01-01T00:00:00Z,paper,park,,"
        done
    done
}

a_sweeps_page_fits_a_phone_a_desk_and_paper_and_shows_its_points()
{
    {
        echo "$header"
        ring_rows
        elided_rows ring 128 1
        elided_rows avltree 32767 4
    } >a.csv
    for malloc in glibc jemalloc cia; do
        echo "$malloc,1008,64,8,64,$([[ $malloc == jemalloc ]] && echo 128 || echo 2)$(seq 63 | sed 's/.*/ 1/' | tr -d '\n')"
    done >a.csv.sets
    run "$mplace" plot a.csv --claims --out "$scratch/page"
    expect "exit status" 0 "$status"
    expect_a_page "$scratch/page/index.html" plot
    # At either width each allocator's points, and the set with too many nodes.
    expect_colours plot 390 40 d55e00 e69f00 0072b2 a50f15
    expect_colours plot 1280 40 d55e00 e69f00 0072b2 a50f15
}

the_page_of_the_claims_fits_a_phone_a_desk_and_paper()
{
    { echo "$header"; ring_rows; } >a.csv
    run "$mplace" plot a.csv --claims --out "$scratch/page"
    expect "exit status" 0 "$status"
    expect_a_page "$scratch/page/claims.html" claims
    expect_colours claims 390 10 0b6e4f
}

the_comparisons_page_fits_a_phone_a_desk_and_paper()
{
    run "$mplace" compare --malloc cia,glibc --workload pair,larson --threads 1 --rounds 5 --shorten 5000 --html "$scratch/page.html"
    expect "exit status" 0 "$status"
    expect_a_page "$scratch/page.html" compare
    expect "intervals drawn" yes "$(grep -q '<svg viewBox="0 0 60 12"' "$scratch/page.html" && echo yes)"
}

the_doctors_page_fits_a_phone_a_desk_and_paper_and_shows_its_bars()
{
    [[ -x $build_folder/lib/mplace/valgrind/setgrind-amd64-linux ]] || skip "setgrind is not built"
    run "$mplace" doctor --compare --l1d 64x8 --html "$scratch/page.html" -- "$build_folder/tests/doctor_program" locked 500
    expect "exit status" 0 "$status"
    expect_a_page "$scratch/page.html" doctor
    # The frame of the verdict has the first colour, too, on a few hundred pixels.
    expect_colours doctor 1280 1000 d55e00 0072b2
    expect_colours doctor 390 300 d55e00 0072b2
}

run_claim
