# SPDX-License-Identifier: MIT
#
# All that is in the records, as one JSON object. Comes behind mplace-doctor-record.awk.

# A character at a time: how many backslashes gsub makes of some differs from awk to awk.
function quoted(text,    i, c, out)
{
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        out = out (c == "\\" || c == "\"" ? "\\" c : c ~ /[\001-\037]/ ? " " : c)
    }
    return "\"" out "\""
}

function member(name, value) { return "\"" name "\": " value }

function counts(r, kind, key,    i, text)
{
    for (i = 1; i <= 4; i++)
        text = text (i > 1 ? ", " : "") member(json_name[i], sprintf("%.0f", v[r, kind, key, site_field[i]]))
    return text ", " member("saved", sprintf("%.0f", saved(r, kind, key)))
}

function group(r, kind, key,    text)
{
    text = counts(r, kind, key) ", " member("first_line_visits", sprintf("%.0f", v[r, kind, key, "first_visits"])) \
        ", " member("first_line_misses", sprintf("%.0f", v[r, kind, key, "first_misses"])) \
        ", " member("allocated", sprintf("%.0f", v[r, kind, key, "allocated"])) ", " member("live_most", sprintf("%.0f", v[r, kind, key, "live"])) \
        ", " member("size_least", sprintf("%.0f", v[r, kind, key, "least"])) ", " member("size_most", sprintf("%.0f", v[r, kind, key, "most"])) \
        ", " member("hot", v[r, kind, key, "hot"] + 0) ", " member("sets_used", v[r, kind, key, "used"] + 0) \
        ", " member("most_in_one_set", v[r, kind, key, "fullest"] + 0) ", " member("hot_by_set", "[" by_set[r, kind, key] "]")
    if (kind == "site") text = text ", " member("at", quoted(label[key])) ", " member("called_from", quoted(callers[key]))
    return "{" text "}"
}

function section(r, key,    text, n)
{
    text = member("entered", sprintf("%.0f", v[r, "section", key, "entered"])) ", " member("overflowed", sprintf("%.0f", v[r, "section", key, "overflowed"])) \
        ", " member("waited", sprintf("%.0f", v[r, "section", key, "waited"])) ", " member("held_at_end", sprintf("%.0f", v[r, "section", key, "held"])) ", " member("lines_written", sprintf("%.0f", v[r, "section", key, "lines"])) \
        ", " member("lines_most", v[r, "section", key, "lines_most"] + 0) ", " member("at", quoted(label[key])) ", " member("called_from", quoted(callers[key]))
    text = text ", " member("filled_by", "[")
    for (n = 1; n <= fillers[r, key]; n++)
        text = text (n > 1 ? ", " : "") "{" member("lines", sprintf("%.0f", filler_lines[r, key, n])) \
            (filler_label[r, key, n] == "" ? "" : ", " member("size", filler_size[r, key, n] + 0) ", " member("at", quoted(filler_label[r, key, n]))) "}"
    return "{" text "]}"
}

function list(r, kind,    i, text)
{
    for (i = 1; i <= count[r, kind]; i++)
        text = text (i > 1 ? "," : "") "\n      " (kind == "section" ? section(r, key_at[r, kind, i]) : group(r, kind, key_at[r, kind, i]))
    return "[" text "]"
}

END {
    split("visits misses misses_fully_associative misses_within", json_name, " ")
    print "{" member("program", quoted(program)) ","
    print " " member("modelled", "true") ", " member("l1d", "{" member("sets", sets) ", " member("ways", ways) ", " member("line", line_bytes) "}") ", " member("window_visits", window) ","
    print " " member("verdict", quoted(verdict_of(1))) ","
    print " " member("runs", "[")
    for (r = 1; r <= runs; r++) {
        print "  {" member("malloc", quoted(name_of_run[r])) ", " member("exit_status", r == 1 ? status : status2) ", " member("threads", v[r, "all", "", "threads"]) ", " member("accesses", sprintf("%.0f", v[r, "all", "", "accesses"])) ","
        print "   " member("heap", "{" counts(r, "heap", "") "}") ", " member("elsewhere", "{" counts(r, "elsewhere", "") "}") ","
        print "   " member("sites", list(r, "site")) ","
        print "   " member("sizes", list(r, "size")) ","
        print "   " member("sections", list(r, "section")) "}" (r < runs ? "," : "")
    }
    print "]}"
}
