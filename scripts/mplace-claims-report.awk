# SPDX-License-Identifier: MIT
#
# The Markdown of the judgement: claims are begun, findings added to them, and all of it printed at the
# end, the verdicts first.

function joined(list, n,    i, text)
{
    for (i = 1; i <= n; i++) text = text (i == 1 ? "" : i == n ? " and " : ", ") list[i]
    return text
}

# Long lists end in a number: the tables have all of them.
function shortened(list, n,    i, text)
{
    if (n <= 16) return joined(list, n)
    for (i = 1; i <= 15; i++) text = text (i == 1 ? "" : ", ") list[i]
    return text " and " (n - 15) " more"
}

# Sizes with what lies between two that follow each other in all[] left out: "500 to 512, 1008".
function ranges(list, n, all, count,    i, j, place, text, first)
{
    for (j = 1; j <= count; j++) place[all[j]] = j
    for (i = 1; i <= n; i++) {
        if (i > 1 && place[list[i]] == place[list[i - 1]] + 1) continue
        if (i > 1) text = text ending(first, list[i - 1]) ", "
        first = list[i]
        text = text first
    }
    return n ? text ending(first, list[n]) : ""
}

function ending(first, last) { return last == first ? "" : " to " last }

function percent(share) { return sprintf("%.3g %%", 100 * share) }

# A count that may not be there.
function count_cell(value) { return value < 0 ? "" : sprintf("%.1f", value) }

function bench_text(setting) { return bench_of[setting] == "ring" ? "Ring" : "AVL tree" }

# claim(title, what the paper says in our words, the command that measures it)
function claim(title, paper, command)
{
    claims++
    claim_title[claims] = title
    claim_paper[claims] = paper
    claim_command[claims] = command
}

# The rows that the next finding stands on.
function use(setting, malloc, lock,    i, j, n, all, files, file, key)
{
    n = split(sizes_of[setting, malloc, lock], all, " ")
    for (i = 1; i <= n; i++) {
        key = setting SUBSEP malloc SUBSEP lock SUBSEP all[i]
        used_rows += rows[key]
        files = split(files_of[key], file, " ")
        for (j = 1; j <= files; j++) if (!(file[j] in used_file)) {
            used_file[file[j]] = 1
            used_files = used_files (used_files == "" ? "" : ", ") file[j]
        }
    }
    used_series = used_series (used_series == "" ? "" : "; ") malloc " under " lock
}

# One finding: a line of the verdicts and a paragraph of the claim. The setting is empty where no row
# speaks of the claim.
function found(setting, verdict, seen, table,    where, text, part)
{
    split(setting, part, SUBSEP)
    where = part[2]
    findings++
    finding_claim[findings] = claims
    finding_where[findings] = where
    finding_verdict[findings] = verdict
    findings_of[claims]++
    text = "\n"
    if (where != "") text = text toupper(substr(where, 1, 1)) substr(where, 2) ". "
    text = text "**" toupper(substr(verdict, 1, 1)) substr(verdict, 2) ".**" (seen == "" ? "" : " " seen) "\n"
    if (table != "") text = text "\n" table
    if (used_rows) text = text "\nRows: " used_rows " of " bench_of[setting] ", " used_series "; file " used_files ".\n"
    claim_findings[claims] = claim_findings[claims] text
    used_rows = 0; used_files = used_series = ""
    split("", used_file)
}

function found_nothing(verdict, seen) { if (!findings_of[claims]) found("", verdict, seen, "") }

function print_report(    i, before)
{
    print "## Verdicts\n\n| | claim | where | verdict |\n|---|---|---|---|"
    for (i = 1; i <= findings; i++) {
        if (finding_claim[i] == before) printf "| | | "
        else printf "| %d | %s | ", finding_claim[i], claim_title[finding_claim[i]]
        print finding_where[i] " | " finding_verdict[i] " |"
        before = finding_claim[i]
    }
    for (i = 1; i <= claims; i++) {
        print "\n## " i ". " claim_title[i] "\n\nThe paper: " claim_paper[i]
        printf "%s", claim_findings[i]
        print "\nTo measure it: `" claim_command[i] "`"
    }
    if (left_out) print "\nLeft out: " left_out (left_out == 1 ? " row" : " rows") " of ttstle that did not elide, and is tts then."
}
