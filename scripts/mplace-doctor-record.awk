# SPDX-License-Identifier: MIT
#
# Reads the records of one or two runs (sim/setgrind/README.md tells the format): run 1 is the program
# as it is, run 2 the same under another allocator. What the three forms of the page share: figures,
# and the order in which they are told. Comes before mplace-doctor-{text,html,json}.awk.
#
# Figures stand in v[run, kind, key, name]. A site's key is its text, for numbers and addresses are those
# of one run; a size's is the number of its group. Set from outside: MPLACE_TITLE, top, names (of the runs, parted by a colon),
# status and status2.

BEGIN {
    FS = "\t"
    program = ENVIRON["MPLACE_TITLE"]
    split(names, name_of_run, ":")
    split("visits misses full within first_visits first_misses first_full first_within allocated " \
          "live least most hot used fullest", site_field, " ")
    split("entered overflowed waited held lines lines_most in_set", section_field, " ")
}

FNR == 1 { run++; runs = run }
$1 == "geometry" { sets = $2; ways = $3; line_bytes = $4 }
$1 == "window" { window = $2 }
$1 == "threads" || $1 == "accesses" { v[run, "all", "", $1] = $2 }
$1 == "heap" || $1 == "elsewhere" {
    for (i = 1; i <= 4; i++) v[run, $1, "", site_field[i]] = $(i + 1)
}
$1 == "site" { add($1, $(19) FS $(20), 19) }
$1 == "size" { add($1, $2, 0) }
$1 == "section" { add_section() }
$1 == "filler" { add_filler() }

# Two places in the program with the same text are one to a reader. Of sets and hot blocks the place
# with more of them speaks.
function add(kind, key, text,    i, name, mine)
{
    if (!((run, kind, key, "visits") in v)) {
        count[run, kind]++
        key_at[run, kind, count[run, kind]] = key
        mine = 1
    }
    if (text) { label[key] = clean($(text)); callers[key] = clean($(text + 1)) }
    for (i = 1; i <= 10; i++) v[run, kind, key, site_field[i]] += $(i + 2)
    if (mine || $13 < v[run, kind, key, "least"]) v[run, kind, key, "least"] = $13
    if (mine || $14 > v[run, kind, key, "most"]) v[run, kind, key, "most"] = $14
    if (mine || $15 > v[run, kind, key, "hot"]) {
        for (i = 13; i <= 15; i++) v[run, kind, key, site_field[i]] = $(i + 2)
        by_set[run, kind, key] = $18
    }
}

function add_section(    i, key)
{
    key = $(10) FS $(11)
    section_key[run, $2] = key
    label[key] = clean($(10)); callers[key] = clean($(11))
    if (!((run, "section", key, "entered") in v)) {
        count[run, "section"]++
        key_at[run, "section", count[run, "section"]] = key
    }
    for (i = 1; i <= 5; i++) v[run, "section", key, section_field[i]] += $(i + 2)
    for (i = 6; i <= 7; i++)
        if ($(i + 2) > v[run, "section", key, section_field[i]]) v[run, "section", key, section_field[i]] = $(i + 2)
}

function add_filler(    key, n)
{
    key = section_key[run, $2]
    n = ++fillers[run, key]
    filler_lines[run, key, n] = $3
    filler_size[run, key, n] = $4
    filler_label[run, key, n] = clean($5)
}

# Symbols of libc have a version behind them, which tells a reader nothing.
function clean(text)
{
    gsub(/@@?[A-Z]+_[0-9.]+/, "", text)
    return text
}

# What a better placement would save: misses that the fully associative cache does not have, less
# those where a block was in its own way, which goes wherever it goes. Never less than nothing.
function saved(r, kind, key,    s)
{
    s = v[r, kind, key, "misses"] - v[r, kind, key, "full"] - v[r, kind, key, "within"]
    return s > 0 ? s : 0
}

function misses(r) { return v[r, "heap", "", "misses"] + v[r, "elsewhere", "", "misses"] }
function visits(r) { return v[r, "heap", "", "visits"] + v[r, "elsewhere", "", "visits"] }
function per_1000(r, n) { return v[r, "all", "", "accesses"] ? 1000 * n / v[r, "all", "", "accesses"] : 0 }
function percent(part, whole) { return whole ? sprintf("%.0f", 100 * part / whole) : 0 }

# 1234567 as 1,234,567
function grouped(n,    text)
{
    n = sprintf("%.0f", n)
    text = ""
    while (length(n) > 3) { text = "," substr(n, length(n) - 2) text; n = substr(n, 1, length(n) - 3) }
    return n text
}

# 0.04 rather than 0.0
function rate(x) { return x >= 10 ? sprintf("%.0f", x) : x >= 0.1 || x == 0 ? sprintf("%.1f", x) : sprintf("%.2g", x) }
function plural(n, one, more) { return grouped(n) " " (n == 1 ? one : more) }

# chosen[kind, 1..] are the keys of run 1 with the greatest weight, those with none left out.
function choose(kind,    n, i, key, best, greatest, taken, w)
{
    for (n = 0; n < top; ) {
        greatest = 0
        for (i = 1; i <= count[1, kind]; i++) {
            key = key_at[1, kind, i]
            if (taken[key]) continue
            w = kind == "section" ? v[1, kind, key, "overflowed"] : saved(1, kind, key)
            if (kind != "section" && per_1000(1, w) < 0.1) continue
            if (w > greatest) { greatest = w; best = key }
        }
        if (!greatest) break
        taken[best] = 1
        chosen[kind, ++n] = best
    }
    chosen_count[kind] = n
}

# The blocks most visited among those with at least two hot at once, where no site is to blame.
function busiest(    i, key, best, most)
{
    for (i = 1; i <= count[1, "site"]; i++) {
        key = key_at[1, "site", i]
        if (v[1, "site", key, "hot"] > 1 && v[1, "site", key, "visits"] > most) { most = v[1, "site", key, "visits"]; best = key }
    }
    return best
}

function verdict_of(r,    x)
{
    x = per_1000(r, saved(r, "heap", ""))
    return x >= 5 ? "hurts" : x >= 1 ? "little" : "no"
}

function verdict_text(    s, m, figures)
{
    s = saved(1, "heap", ""); m = misses(1)
    figures = "of its " plural(m, "modelled L1 miss", "modelled L1 misses") ", " grouped(s) " (" percent(s, m) " %) would be saved " \
        "by a better placement of its heap blocks, " rate(per_1000(1, s)) " for every 1000 accesses."
    if (verdict_of(1) == "hurts") return "Placement hurts this program: " figures
    if (verdict_of(1) == "little") return "Placement costs this program a little: " figures
    return "Placement does not hurt this program: " figures
}

function compare_text(    a, b, text)
{
    a = per_1000(1, misses(1)); b = per_1000(2, misses(2))
    text = "Under " name_of_run[2] " (modelled): " plural(misses(2), "miss", "misses") " in " plural(v[2, "all", "", "accesses"], "access", "accesses") ", " rate(b) " for every 1000 accesses instead of " rate(a) "; "
    text = text grouped(saved(2, "heap", "")) " of them would still be saved by a better placement."
    if (status != status2) text = text " The exit statuses differ (" status " and " status2 "): the two runs may not have done the same."
    return text
}

# How hot blocks lie: for a site or a size of a run.
function spread_text(r, kind, key,    hot, even)
{
    hot = v[r, kind, key, "hot"]
    if (!hot) return "no block of them was hot"
    even = int((hot + sets - 1) / sets)
    return plural(hot, "hot block begins", "hot blocks begin") " in " v[r, kind, key, "used"] " of " sets " sets, " \
        v[r, kind, key, "fullest"] " in the fullest (even: " even "; the cache has " ways " ways)"
}

function first_text(r, kind, key)
{
    return percent(v[r, kind, key, "first_visits"], visits(r)) " % of all visits to memory go to first lines of these blocks, " \
        percent(v[r, kind, key, "visits"] - v[r, kind, key, "first_visits"], visits(r)) " % to their other lines"
}

function bytes_text(kind, key,    least, most)
{
    least = v[1, kind, key, "least"]; most = v[1, kind, key, "most"]
    return least == most ? grouped(least) : grouped(least) "-" grouped(most)
}

function sections_text(r,    i, key, entered, most, overflowed)
{
    for (i = 1; i <= count[r, "section"]; i++) {
        key = key_at[r, "section", i]
        entered += v[r, "section", key, "entered"]
        overflowed += v[r, "section", key, "overflowed"]
        if (v[r, "section", key, "lines_most"] > most) most = v[r, "section", key, "lines_most"]
    }
    if (!entered) return "No pthread mutex was taken."
    if (!overflowed)
        return (entered == 1 ? "The one critical section fits" : "All " grouped(entered) " critical sections fit") " into the write set of a transaction; at most " plural(most, "line was", "lines were") " written in one."
    return grouped(overflowed) " of " plural(entered, "critical section", "critical sections") " would overflow the write set of a transaction: a line that it wrote has to leave the L1 cache before it ends."
}

function section_text(r, key,    e, o)
{
    e = v[r, "section", key, "entered"]; o = v[r, "section", key, "overflowed"]
    return grouped(o) " of " grouped(e) " overflow; lines written " (o ? "(until then) " : "") "on average " \
        sprintf("%.1f", e ? v[r, "section", key, "lines"] / e : 0) ", at most " v[r, "section", key, "lines_most"] \
        (v[r, "section", key, "waited"] ? "; " grouped(v[r, "section", key, "waited"]) " wait for a condition, where a transaction ends" : "") \
        (v[r, "section", key, "held"] ? "; " grouped(v[r, "section", key, "held"]) " not left when the program ended" : "")
}

# A filler's share of the lines in the sets that overflowed.
function filler_text(r, key, n,    o)
{
    o = v[r, "section", key, "overflowed"]
    if (filler_label[r, key, n] == "") return sprintf("%.1f lines of no known heap block", filler_lines[r, key, n] / o)
    return sprintf("%.1f lines of blocks of %s B, allocated by %s", filler_lines[r, key, n] / o, grouped(filler_size[r, key, n]), filler_label[r, key, n])
}

function elsewhere_text()
{
    return percent(v[1, "elsewhere", "", "visits"], visits(1)) " % of the visits and " \
        percent(v[1, "elsewhere", "", "misses"], misses(1)) " % of the misses are to memory that is no known heap block: stacks, static data, mapped memory, pools of the program's own. Nothing is said of their placement."
}

END {
    choose("site"); choose("size"); choose("section")
    if (!chosen_count["site"]) quiet_key = busiest()
}
