# SPDX-License-Identifier: MIT
#
# The page as text. Comes behind mplace-doctor-record.awk.

# Words into lines of at most 100 columns, all but the first indented.
function wrap(text, indent,    words, n, i, line)
{
    n = split(text, words, " ")
    line = indent
    for (i = 1; i <= n; i++) {
        if (length(line) + length(words[i]) + 1 > 100 && line !~ /^ *$/) { print line; line = indent }
        line = line (line ~ /^ *$/ ? "" : " ") words[i]
    }
    print line
}

function tell_site(n, key,    s)
{
    s = saved(1, "site", key)
    print ""
    wrap(n " " label[key] ": blocks of " bytes_text("site", key) " B", "  ")
    if (callers[key] != "") wrap("called from " callers[key], "       ")
    wrap(grouped(s) " of their " plural(v[1, "site", key, "misses"], "miss", "misses") " would be saved, " percent(s, saved(1, "heap", "")) " % of what placement costs", "     ")
    wrap(spread_text(1, "site", key), "     ")
    wrap(first_text(1, "site", key), "     ")
    wrap(grouped(v[1, "site", key, "allocated"]) " allocated, " grouped(v[1, "site", key, "live"]) " live at most", "     ")
    if (runs > 1) {
        if ((2, "site", key, "visits") in v)
            wrap("under " name_of_run[2] " (modelled): " plural(v[2, "site", key, "misses"], "miss", "misses") ", " grouped(saved(2, "site", key)) " to be saved; " spread_text(2, "site", key), "     ")
        else
            wrap("under " name_of_run[2] ": not seen", "     ")
    }
}

function size_row(key, r)
{
    if (!((r, "size", key, "visits") in v)) return ""
    return sprintf("%13s %13s %7s %5s %8s", grouped(v[r, "size", key, "misses"]), grouped(saved(r, "size", key)),
        v[r, "size", key, "hot"], v[r, "size", key, "used"], v[r, "size", key, "fullest"])
}

END {
    print "mplace doctor: " program
    wrap("Modelled: L1 data caches of " sets " sets x " ways " ways x " line_bytes " B, one a thread, true LRU, no prefetch; " plural(v[1, "all", "", "threads"], "thread", "threads") ", " plural(v[1, "all", "", "accesses"], "access", "accesses") " under " name_of_run[1] ".", "")
    print ""
    wrap(verdict_text(), "")
    if (runs > 1) wrap(compare_text(), "")
    print ""
    print "Where the blocks were allocated whose placement costs most"
    if (!chosen_count["site"]) {
        print ""
        wrap("No place in the program allocates blocks whose placement costs 0.1 misses for every 1000 accesses.", "  ")
        if (quiet_key != "")
            wrap("Those most visited are of " bytes_text("site", quiet_key) " B, allocated by " label[quiet_key] ": " spread_text(1, "site", quiet_key) ".", "  ")
    }
    for (i = 1; i <= chosen_count["site"]; i++) tell_site(i ".", chosen["site", i])
    if (chosen_count["size"]) {
        print ""
        print "By size"
        print ""
        printf "%15s %13s %13s %7s %5s %8s%s\n", "bytes", "misses", "to be saved", "hot", "sets", "fullest", (runs > 1 ? "   under " name_of_run[2] " (modelled), the same" : "")
        for (i = 1; i <= chosen_count["size"]; i++)
            printf "%15s %s%s\n", bytes_text("size", chosen["size", i]), size_row(chosen["size", i], 1), (runs > 1 ? size_row(chosen["size", i], 2) : "")
    }
    print ""
    print "Critical sections"
    print ""
    wrap(sections_text(1), "  ")
    for (i = 1; i <= chosen_count["section"]; i++) {
        key = chosen["section", i]
        print ""
        wrap(i ". locked by " label[key], "  ")
        if (callers[key] != "") wrap("called from " callers[key], "       ")
        wrap(section_text(1, key), "     ")
        for (n = 1; n <= fillers[1, key] && n <= 3; n++) wrap((n == 1 ? "in the set that overflowed: " : "and ") filler_text(1, key, n), "     ")
        if (runs > 1) wrap("under " name_of_run[2] " (modelled): " section_text(2, key), "     ")
    }
    print ""
    wrap(elsewhere_text(), "")
    wrap("A visit is an access to another line than the thread's last; a block is hot if its first line is visited twice within " grouped(window) " visits; the sets are those of the worst such stretch. docs/doctor.md tells how to read this page.", "")
}
