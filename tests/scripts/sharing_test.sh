#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mplace doctor --sharing end to end, on two threads whose lines are known to move, or not to.
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "${BASH_SOURCE[0]%/*}/scripts_common.bash"

if [[ $claim != *without_the_tool* ]]; then
    need_simulator
    need_memtrace
fi
program=$build_folder/tests/sharing_program

# The line of the source with this comment.
line_of()
{
    grep -n "here is $1" "$source_folder/tests/scripts/sharing_program.c" | cut -d: -f1
}

# at FUNCTION COMMENT: how the page names that line of the source
at()
{
    printf '%s (sharing_program.c:%s)' "$1" "$(line_of "$2")"
}

# sharing ARGUMENT...: leaves status, out (the program's), err (the page) and json
sharing()
{
    run "$mplace" doctor --sharing --json "$scratch/json" "$@"
    expect "exit status" 0 "$status"
}

# The JSON as Python sees it: json EXPRESSION, with d the whole, own and cia the findings of the runs, and top the one
# of the first run that costs most.
json()
{
    /usr/bin/python3 - "$scratch/json" "$1" <<'PROGRAM'
import json, sys
d = json.load(open(sys.argv[1]))
own, cia = d["runs"][0]["findings"], d["runs"][-1]["findings"]
top = own[0] if own else None
moves = lambda findings, reason: sum(f["moves"] for f in findings if f["reason"] == reason)
allocated = lambda finding: sorted(place["at"] for place in finding["allocated"])
code = lambda finding: {use["at"] for use in finding["code"]}
print(eval(sys.argv[2]))
PROGRAM
}

# holds EXPRESSION: it is true of the JSON
holds()
{
    expect "$1" True "$(json "$1")"
}

two_counters_in_one_block_are_false_sharing_in_it()
{
    sharing -- "$program" counters
    holds "top['reason'] == 'false_in_block' and top['moves'] > 100"
    holds "allocated(top) == ['$(at two_counters_in_a_block "the block of both")']"
    holds "code(top) == {'$(at count_first "the first thread")', '$(at count_second "the second thread")'}"
    holds "sorted(use['written'] for use in top['code']) == [list(range(8)), list(range(8, 16))]"
    holds "moves(own, 'between') == 0"
    # The program's own layout: no allocator changes it.
    holds "moves(cia, 'false_in_block') > 100"
    grep -qF " 1. False sharing in one block: blocks allocated by two_counters_in_a_block" "$scratch/err" ||
        fail "the page does not say it"
}

two_blocks_in_one_line_are_told_with_both_places_and_gone_under_cia()
{
    sharing -- "$program" blocks
    holds "top['reason'] == 'between' and top['moves'] > 100"
    holds "allocated(top) == ['$(at blue_block "the blue block")', '$(at red_block "the red block")']"
    holds "code(top) == {'$(at count_first "the first thread")', '$(at count_second "the second thread")'}"
    holds "moves(cia, 'between') == 0 and moves(cia, 'false_in_block') == 0"
    grep -qF "under cia (simulated): gone" "$scratch/err" || fail "the page does not say it"
}

a_counter_of_both_threads_is_not_called_false()
{
    sharing -- "$program" shared
    holds "top['reason'] == 'true' and top['moves'] > 100"
    holds "allocated(top) == ['$(at a_counter_of_both "the counter")']"
    holds "code(top) == {'$(at add_atomically "the shared counter")'}"
    holds "moves(own, 'false_in_block') == moves(own, 'between') == 0"
    holds "moves(cia, 'true') > 100"
}

a_lock_and_its_data_in_one_line_are_named()
{
    sharing -- "$program" lock
    holds "top['reason'] == 'true' and top['locks'] == ['mutex'] and top['lock_and_data']"
    holds "allocated(top) == ['$(at a_lock_and_its_data "the account")']"
    holds "top['locks_taken_at'] == ['$(at pay_in "the lock")']"
    holds "'$(at pay_in "its data")' in code(top)"
    grep -q "the lock lies in one line with other data" "$scratch/err" || fail "the page does not say it"
}

a_line_for_each_thread_is_told_of_as_nothing()
{
    sharing -- "$program" apart
    holds "moves(own, 'false_in_block') == moves(own, 'between') == 0"
    grep -q "No line costs 0.1 % of the cycles" "$scratch/err" || fail "the page does not say it"
}

the_machine_that_is_asked_for_is_the_one_simulated()
{
    sharing --machine quad --malloc cia -- "$program" counters
    holds "d['machine'] == 'quad' and d['cores'] == 4 and d['simulated'] is True"
    holds "len(d['runs']) == 1 and d['runs'][0]['malloc'] == 'cia'"
    holds "top['reason'] == 'false_in_block'"
    printf 'core.count = 2\nmesh.width = 2\nmesh.height = 1\n' >two.machine
    sharing --malloc cia --machine two.machine --max-accesses 2000 -- "$program" apart
    holds "d['cores'] == 2 and 1000 <= d['runs'][0]['accesses'] <= 10000"
}

the_second_run_reads_what_the_first_has_read()
{
    status=0
    printf 'a\nb\n' | "$mplace" doctor --sharing --json "$scratch/json" -- cat >"$scratch/out" 2>"$scratch/err" || status=$?
    expect "exit status" 0 "$status"
    expect "output" "a b" "$(paste -sd ' ' "$scratch/out")"
    holds "[run['exit_status'] for run in d['runs']] == [0, 0]"
}

names_that_are_no_utf_8_are_text_in_the_record()
{
    local odd=$scratch/odd$'\xff\xfe\xc3\xa4'

    cp "$program" "$odd"
    strip "$odd"
    run "$mplace" trace --out odd.mptrace -- "$odd" counters
    expect "exit status of the trace" 0 "$status"
    run "$build_folder/bin/mplace-chip" --sharing "$scratch/record" odd.mptrace
    expect "exit status" 0 "$status"
    /usr/bin/python3 -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    sites = {site["at"] for line in json.load(file)["lines"] for site in line["sites"]}
if not any("odd??\u00e4" in at for at in sites):
    sys.exit(ascii(sites))' "$scratch/record" 2>"$scratch/err" || fail "the name is not in the record"
}

a_server_is_ended_after_the_time_given()
{
    run "$mplace" doctor --sharing --malloc cia --seconds 1 --json "$scratch/json" -- sleep 99
    expect "exit status" 143 "$status"
    holds "d['runs'][0]['exit_status'] == 143"
}

the_html_says_what_the_text_says_and_needs_nothing_else()
{
    sharing --html page.html -- "$program" blocks
    /usr/bin/python3 - page.html "$scratch/err" <<'PROGRAM' || fail "the two pages differ"
import html, re, sys
page, text = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
flat = lambda s: " ".join(s.replace("\u00a0", " ").split())
words = flat(html.unescape(re.sub("<[^>]*>", " ", page)))
for beginning in (r"\d\S* moves of \d+ lines between cores", "Under cia, in ", "1\\. Blocks side by side"):
    said = re.search(beginning + r".*?(?=\.  *[A-Z]|\n\n| \d+ moves of)", flat(text)).group()
    assert said in words, said
assert not re.search(r"<(script|link|img|iframe)|http|@import", page)
assert page.count("<table") == page.count("</table>") == 1
PROGRAM
}

bad_options_of_sharing_are_one_line_and_exit_2()
{
    run "$mplace" doctor --sharing --l1d 64x8 -- /bin/true; expect_refusal "--machine"
    run "$mplace" doctor --sharing --children -- /bin/true; expect_refusal "--children"
    run "$mplace" doctor --sharing --callers 3 -- /bin/true; expect_refusal "--callers"
    run "$mplace" doctor --machine quad -- /bin/true; expect_refusal "go with --sharing"
    run "$mplace" doctor --sharing --machine quat -- /bin/true; expect_refusal "did you mean 'quad'"
    run "$mplace" doctor --sharing --max-accesses 0 -- /bin/true; expect_refusal "--max-accesses"
    printf 'block = 128\n' >wide.machine
    run "$mplace" doctor --sharing --malloc cia --machine wide.machine -- /bin/true
    expect "exit status" 2 "$status"
    grep -q "blocks of up to 64 bytes" "$scratch/err" || fail "it is not said which blocks can be looked into"
}

of_sharing_without_the_tool_it_says_so_in_one_line()
{
    private_build
    run "$mplace" doctor --sharing -- /bin/true
    expect_refusal "mplace was built without the valgrind package"
}

run_claim
