#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The pages of mplace in a real browser, headless Chromium: they fit a phone's width and a desk's, and
# what the figures say can be seen. The plot's rows are made up: they test the page, and are no
# measurements.
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "${BASH_SOURCE[0]%/*}/scripts_common.bash"

browser=$(type -P chromium || type -P chromium-browser || type -P google-chrome) || skip "there is no Chromium"

# chromium ARGUMENT...: as root it refuses its sandbox; its own files stay in the scratch folder.
chromium()
{
    timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$scratch/browser" "$@" 2>"$scratch/err"
}

# expect_to_fit PAGE WIDTH: laid out at this width, the page is no wider, and none of its text smaller than
# is read without a glass. A frame has any width; the window of a headless browser has not.
expect_to_fit()
{
    /usr/bin/python3 - "$1" "$2" >"$scratch/frame.html" <<'PROGRAM'
import html, sys
page = html.escape(open(sys.argv[1], encoding="utf-8").read(), quote=True)
print(f"""<!DOCTYPE html><iframe srcdoc="{page}" style="border:0;width:{sys.argv[2]}px;height:900px"></iframe>
<pre id="said"></pre><script>
addEventListener("load", () => {{
    const d = document.querySelector("iframe").contentDocument
    let least = 99
    for (const e of d.querySelectorAll("p,li,td,th,dd,dt,figcaption,caption,svg text")) {{
        const turn = e.ownerSVGElement && e.getScreenCTM(), scale = turn ? Math.hypot(turn.a, turn.b) : 1
        if (e.textContent.trim()) least = Math.min(least, parseFloat(d.defaultView.getComputedStyle(e).fontSize) * scale)
    }}
    document.getElementById("said").textContent = `width ${{d.documentElement.scrollWidth}} text ${{least.toFixed(1)}} end`
}})
</script>""")
PROGRAM
    chromium --dump-dom "file://$scratch/frame.html" >"$scratch/dom"
    read -r width text < <(sed -n 's/.*width \([0-9]*\) text \([0-9.]*\) end<.*/\1 \2/p' "$scratch/dom") ||
        fail "the browser did not lay the page out"
    ((width <= $2)) || fail "at $2 pixels the page is $width wide"
    awk -v t="$text" 'BEGIN {exit !(t >= 7)}' || fail "at $2 pixels some text is $text pixels high"
}

# expect_colours PAGE PIXELS COLOUR...: each (rrggbb) fills so many pixels at least of a picture of the page.
expect_colours()
{
    chromium --window-size=1100,2600 --screenshot="$scratch/page.png" "file://$1" >"$scratch/out" ||
        fail "there is no picture"
    /usr/bin/python3 - "$scratch/page.png" "${@:2}" <<'PROGRAM' || fail "a colour of the legend is missing in the picture"
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

expect_to_print()
{
    chromium --print-to-pdf="$scratch/page.pdf" --no-pdf-header-footer "file://$1" >"$scratch/out" || fail "it cannot be printed"
    expect "PDF signature" "%PDF" "$(head -c 4 "$scratch/page.pdf")"
}

a_sweeps_page_fits_a_phone_and_a_desk_and_shows_its_points()
{
    local size malloc rate

    {
        echo "$header"
        for size in 64 128 256 500 512 1008 1024 2040 2048 4096; do
            for malloc in glibc jemalloc cia; do
                rate=6000000.0
                [[ $malloc != jemalloc || $size -lt 512 ]] || rate=2000000.0
                echo "ring,$malloc,tts,none,$size,128,1,1,$rate,traversals/s,64,2,,,,,,,,,somewhere,Some CPU,2026-01-01T00:00:00Z,,park,1,"
            done
        done
    } >a.csv
    run "$mplace" plot a.csv --out "$scratch/page"
    expect "exit status" 0 "$status"
    expect_to_fit "$scratch/page/index.html" 390
    expect_to_fit "$scratch/page/index.html" 1200
    expect_colours "$scratch/page/index.html" 40 e69f00 0072b2
    expect_to_print "$scratch/page/index.html"
}

the_doctors_page_fits_a_phone_and_a_desk_and_shows_its_bars()
{
    [[ -x $build_folder/lib/mplace/valgrind/setgrind-amd64-linux ]] || skip "setgrind is not built"
    run "$mplace" doctor --compare --l1d 64x8 --html "$scratch/page.html" -- "$build_folder/tests/doctor_program" locked 500
    expect "exit status" 0 "$status"
    expect_to_fit "$scratch/page.html" 390
    expect_to_fit "$scratch/page.html" 1200
    # The frame of the verdict has the first colour, too, on a few hundred pixels.
    expect_colours "$scratch/page.html" 1000 d55e00 0072b2
    expect_to_print "$scratch/page.html"
}

run_claim
