# SPDX-License-Identifier: MIT
#
# The page as one HTML file that needs nothing else: no script, no font, no other file. Comes behind
# mplace-doctor-record.awk. Colours are of Okabe and Ito's palette; what is above the ways is hatched as
# well, so that it can be told in grey.

function escaped(text)
{
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    gsub(/"/, "\\&quot;", text)
    gsub(/ %/, "\302\240%", text) # no line ends before the sign
    return text
}

function paragraph(text) { print "<p>" escaped(text) "</p>" }

# One bar a set, in units of a phone's width; the scale is shared by the pictures of one place.
function picture(r, key, high,    n, i, heights, x, width, bar, low, name)
{
    n = split(by_set[r, "site", key], heights, ",")
    if (!n) return
    width = 360 / n
    name = name_of_run[r]
    print "<figure><svg viewBox=\"0 0 400 132\" role=\"img\" aria-label=\"" escaped("hot blocks by cache set under " name ": " spread_text(r, "site", key)) "\">"
    printf "<text x=\"30\" y=\"11\">hot blocks in each set, under %s</text>\n", escaped(name)
    for (i = 1; i <= n; i++) {
        if (!heights[i]) continue
        x = 32 + (i - 1) * width
        bar = 88 * heights[i] / high
        low = heights[i] > ways ? 88 * ways / high : bar
        printf "<g><title>set %d: %s</title><rect class=\"fits\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>", i - 1, plural(heights[i], "hot block", "hot blocks"), x, 106 - low, width * 0.8, low
        if (bar > low)
            printf "<rect class=\"over\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/><rect fill=\"url(#hatch)\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>", x, 106 - bar, width * 0.8, bar - low, x, 106 - bar, width * 0.8, bar - low
        print "</g>"
    }
    print "<path class=\"axis\" d=\"M30 106H394\"/>"
    printf "<path class=\"ways\" d=\"M30 %.2fH394\"/><text x=\"27\" y=\"%.2f\" text-anchor=\"end\">%d</text>\n", 106 - 88 * ways / high, 110 - 88 * ways / high, ways
    if (high > 1.6 * ways) printf "<text x=\"27\" y=\"22\" text-anchor=\"end\">%d</text>\n", high
    printf "<text x=\"32\" y=\"119\">set 0</text><text x=\"394\" y=\"119\" text-anchor=\"end\">set %d</text>\n", n - 1
    printf "<text x=\"213\" y=\"129\" text-anchor=\"middle\">dashed: the %d ways of a set; what is above evicts what is below</text></svg>\n", ways
    print "<figcaption>" escaped("Under " name (r > 1 ? " (modelled): " : ": ") spread_text(r, "site", key)) ".</figcaption></figure>"
}

function style()
{
    print "<style>"
    print ":root{color-scheme:light;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--fits:#0072b2;--over:#d55e00}"
    print "*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:1.2rem 1rem 3rem;color:var(--ink);background:#fff;font:1rem/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}"
    print "h1{font-size:1.5rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2.2rem 0 .4rem;padding-top:.5rem;border-top:1px solid var(--line)}h3{font-size:1rem;margin:1.6rem 0 .2rem;overflow-wrap:anywhere}"
    print "p,ul{max-width:46rem;margin:.4rem 0}.soft,figcaption,caption{color:var(--soft)}.verdict{font-size:1.1rem;border-left:5px solid var(--fits);padding:.4rem .9rem;background:#eef5fa}.verdict.hurts{border-color:var(--over);background:#fdf1e8}"
    print "figure{margin:.9rem 0;max-width:44rem;break-inside:avoid}svg{display:block;width:100%;height:auto}svg text{font:10px system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;fill:var(--soft)}figcaption{font-size:.9rem}"
    print ".fits{fill:var(--fits)}.over{fill:var(--over)}.axis{stroke:var(--soft);fill:none}.ways{stroke:var(--ink);stroke-dasharray:4 3;fill:none}"
    print ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;margin:.6rem 0}caption{text-align:left;padding-bottom:.3rem}th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums;white-space:nowrap}th:first-child,td:first-child{text-align:left}"
    print "@media print{body{max-width:none;padding:0;font-size:10pt}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}h2,h3{break-after:avoid}figure{max-width:13cm}.wide{overflow:visible}th,td{padding-right:.4rem;white-space:normal}}"
    print "</style>"
}

function tell_site(i, key,    high)
{
    print "<h3>" i ". " escaped(label[key]) ": blocks of " bytes_text("site", key) " B</h3>"
    if (callers[key] != "") print "<p class=\"soft\">called from " escaped(callers[key]) "</p>"
    paragraph(grouped(saved(1, "site", key)) " of their " plural(v[1, "site", key, "misses"], "miss", "misses") " would be saved, " percent(saved(1, "site", key), saved(1, "heap", "")) " % of what placement costs. " \
        grouped(v[1, "site", key, "allocated"]) " allocated, " grouped(v[1, "site", key, "live"]) " live at most; " first_text(1, "site", key) ".")
    if (runs > 1 && (2, "site", key, "visits") in v)
        paragraph("Under " name_of_run[2] " (modelled): " plural(v[2, "site", key, "misses"], "miss", "misses") ", " grouped(saved(2, "site", key)) " to be saved.")
    tell_pictures(key)
}

function tell_pictures(key,    high)
{
    high = 1.25 * ways
    if (v[1, "site", key, "fullest"] > high) high = v[1, "site", key, "fullest"]
    if (runs > 1 && v[2, "site", key, "fullest"] > high) high = v[2, "site", key, "fullest"]
    picture(1, key, high)
    if (runs > 1 && (2, "site", key, "visits") in v) picture(2, key, high)
}

function size_cells(r, key)
{
    if (!((r, "size", key, "visits") in v)) return "<td></td><td></td><td></td><td></td><td></td>"
    return "<td>" grouped(v[r, "size", key, "misses"]) "</td><td>" grouped(saved(r, "size", key)) "</td><td>" v[r, "size", key, "hot"] "</td><td>" v[r, "size", key, "used"] "</td><td>" v[r, "size", key, "fullest"] "</td>"
}

END {
    heads = "<th>misses</th><th>to be saved</th><th>hot</th><th>sets</th><th>in the fullest</th>"
    print "<!DOCTYPE html>"
    print "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    print "<title>mplace doctor: " escaped(program) "</title>"
    style()
    print "</head><body>"
    print "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"3\" height=\"3\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path d=\"M0 0V3\" stroke=\"#fff\" stroke-width=\"1.1\"/></pattern></defs></svg>"
    print "<h1>" escaped(program) "</h1>"
    print "<p class=\"soft\">" escaped("Modelled: L1 data caches of " sets " sets × " ways " ways × " line_bytes " B, one a thread, true LRU, no prefetch; " plural(v[1, "all", "", "threads"], "thread", "threads") ", " plural(v[1, "all", "", "accesses"], "access", "accesses") " under " name_of_run[1] ".") "</p>"
    print "<p class=\"verdict " verdict_of(1) "\">" escaped(verdict_text()) "</p>"
    if (runs > 1) paragraph(compare_text())
    print "<h2>Where the blocks were allocated whose placement costs most</h2>"
    for (i = 1; i <= chosen_count["site"]; i++) tell_site(i, chosen["site", i])
    if (!chosen_count["site"]) {
        paragraph("No place in the program allocates blocks whose placement costs 0.1 misses for every 1000 accesses.")
        if (quiet_key != "") {
            paragraph("Those most visited are of " bytes_text("site", quiet_key) " B, allocated by " label[quiet_key] ".")
            tell_pictures(quiet_key)
        }
    }
    if (chosen_count["size"]) {
        print "<h2>By size</h2><div class=\"wide\"><table><caption>Requested bytes. Hot blocks, and the sets that their first lines are in, of the worst stretch of the run.</caption><thead>"
        if (runs > 1) print "<tr><th></th><th colspan=\"5\">" escaped(name_of_run[1]) "</th><th colspan=\"5\">" escaped(name_of_run[2]) " (modelled)</th></tr>"
        print "<tr><th>bytes</th>" heads (runs > 1 ? heads : "") "</tr></thead><tbody>"
        for (i = 1; i <= chosen_count["size"]; i++)
            print "<tr><td>" bytes_text("size", chosen["size", i]) "</td>" size_cells(1, chosen["size", i]) (runs > 1 ? size_cells(2, chosen["size", i]) : "") "</tr>"
        print "</tbody></table></div>"
    }
    print "<h2>Critical sections</h2>"
    paragraph(sections_text(1))
    for (i = 1; i <= chosen_count["section"]; i++) {
        key = chosen["section", i]
        print "<h3>" i ". locked by " escaped(label[key]) "</h3>"
        if (callers[key] != "") print "<p class=\"soft\">called from " escaped(callers[key]) "</p>"
        paragraph(section_text(1, key) ".")
        if (fillers[1, key]) print "<p>In the set that overflowed:</p><ul>"
        for (n = 1; n <= fillers[1, key] && n <= 3; n++) print "<li>" escaped(filler_text(1, key, n)) "</li>"
        if (fillers[1, key]) print "</ul>"
        if (runs > 1) paragraph("Under " name_of_run[2] " (modelled): " section_text(2, key) ".")
    }
    print "<h2>How to read this</h2>"
    paragraph(elsewhere_text())
    paragraph("A visit is an access to another line than the thread's last one. A block is hot if its first line is visited twice within " grouped(window) " visits; the sets are those of the worst such stretch of the run. A miss would be saved if a fully associative cache of the same size had the line, and the block was not in its own way.")
    print "</body></html>"
}
