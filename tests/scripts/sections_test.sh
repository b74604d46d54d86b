#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mplace doctor --sections end to end, on sections with a known cause that keeps them from being transactions.
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "${BASH_SOURCE[0]%/*}/scripts_common.bash"

[[ -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] ||
    [[ $claim == *without_the_tool* ]] || skip "rtmgrind is not built"
program=$build_folder/tests/sections_program

# at FUNCTION COMMENT: how the page names the line of the source with this comment
at()
{
    printf '%s (sections_program.c:%s)' "$1" \
        "$(grep -n "here [a-z]* $2 \*/" "$source_folder/tests/scripts/sections_program.c" | cut -d: -f1)"
}

# sections ARGUMENT...: leaves status, out (the program's), err (the page) and json
sections()
{
    run "$mplace" doctor --sections --l1d 64x8 --json "$scratch/json" "$@"
    expect "exit status" 0 "$status"
}

# holds EXPRESSION: it is true of the JSON. In it d is the whole, top the section that loses most, first its first
# stop, and kind(NAME) the first stop of that kind in any section.
holds()
{
    local answer

    answer=$(/usr/bin/python3 - "$scratch/json" "$1" <<'PROGRAM'
import json, sys
d = json.load(open(sys.argv[1]))
top = d["sections"][0] if d["sections"] else None
first = top["stops"][0] if top and top["stops"] else None
kind = lambda name: next(stop for section in d["sections"] for stop in section["stops"] if stop["kind"] == name)
print(eval(sys.argv[2]))
PROGRAM
    )
    expect "$1" True "$answer"
}

# says TEXT: the page does, wherever its lines end
says()
{
    tr -s ' \n' ' ' <"$scratch/err" | grep -qF -- "$1" || fail "the page does not say '$1': $(cat "$scratch/err")"
}

a_write_in_a_section_is_named_with_its_line()
{
    sections -- "$program" write
    expect "output" 50 "$(tr -cd w <"$scratch/out" | wc -c)"
    holds "top['at'] == '$(at write_in_a_section "the section that writes")' and top['lock']['symbol'] == 'mutex'"
    holds "(top['entered'], top['committed'], top['held']) == (50, 0, 50)"
    holds "(first['kind'], first['detail'], first['aborts'], first['holds_alone']) == ('system_call', 'write', 50, 50)"
    holds "first['at'] == '$(at write_a_byte "the write")'"
    holds "first['won'] == top['lost'] == top['in_aborts'] == d['lost'] > 100 and top['in_holds'] > 100"
    says "system call write at $(at write_a_byte "the write") called from write_in_a_section"
    says "50 more entries commit"
}

a_record_that_is_cut_short_is_none()
{
    run bash -c 'ulimit -f 4; exec "$@"' bash "$mplace" doctor --sections -- "$program" write
    expect "exit status" 2 "$status"
    grep -q 'the run left no record' "$scratch/err" || fail "$(cat "$scratch/err")"
    ! grep -q Traceback "$scratch/err" || fail "$(cat "$scratch/err")"
}

a_signal_to_a_waiter_is_a_wake_up_and_its_wait_is_named()
{
    sections -- "$program" signal
    holds "kind('wake')['at'] == '$(at signal_a_waiter "the signal")' and kind('wake')['aborts'] == 50"
    holds "kind('wait')['at'] == '$(at wait_for_signals "the wait")' and kind('wait')['aborts'] >= 1"
    holds "not any(stop['detail'] == 'futex' for section in d['sections'] for stop in section['stops'])"
    says "wake-up of a waiter, through pthread_cond_signal at $(at signal_a_waiter "the signal")"
}

the_first_touch_of_a_page_is_named_with_its_line_and_memory()
{
    sections -- "$program" touch
    holds "(first['kind'], first['aborts']) == ('page_fault', 50) and top['held'] == 50"
    holds "first['at'] == '$(at touch_in_a_section "the first touch")'"
    holds "first['data']['allocated']['at'] == '$(at touch_in_a_section "the new memory")'"
    says "first touch of a page at $(at touch_in_a_section "the first touch"): somewhere in blocks of 208,896 B"
}

a_set_that_overflows_is_told_with_its_blocks()
{
    sections -- "$program" overflow
    holds "(first['kind'], first['aborts'], top['held']) == ('write_capacity', 50, 50)"
    holds "first['at'] == '$(at overflow_in_a_section "the store too many")'"
    holds "first['filled_by'][0]['at'] == '$(at overflow_in_a_section "the blocks")'"
    holds "first['filled_by'][0]['size'] == 4096 and first['filled_by'][0]['lines'] >= 50 * 6"
    says "lines of blocks of 4,096 B allocated by $(at overflow_in_a_section "the blocks")"
    # Where the set holds them all, nothing stops the section.
    run "$mplace" doctor --sections --l1d 64x32 --json "$scratch/json" -- "$program" overflow
    holds "top['committed'] == top['entered'] == 50"
}

without_a_cause_the_sections_that_it_stopped_commit()
{
    # Of the entries of a section all commit, or all but those that something else stops.
    sections --without page -- "$program" touch
    holds "(top['entered'], top['committed']) == (50, 50) and not top['stops']"
    sections --without capacity -- "$program" overflow
    holds "top['committed'] == top['entered'] == 50"
    sections --without wake-up -- "$program" signal
    holds "not any(stop['kind'] == 'wake' for section in d['sections'] for stop in section['stops'])"
    says "(without the cause wake-up)"
}

a_shared_counter_is_a_conflict_of_both_lines()
{
    sections -- "$program" counter
    holds "top['entered'] == 6000 and kind('conflict') == first and first['aborts'] > 100"
    holds "(first['data']['symbol'], first['data']['offset']) == ('totals', 24) and first['other_section'] == 0"
    holds "first['instruction'] == first['requester'] == '$(at count "the shared counter")'"
    says "conflict over totals+24, accessed at $(at count "the shared counter"), with $(at count "the shared counter") in section 1"
}

a_held_lock_inside_is_told_with_its_holder()
{
    sections -- "$program" inner
    holds "kind('inner_lock')['data']['symbol'] == 'inner' and kind('inner_lock')['aborts'] >= 1"
    holds "kind('inner_lock')['at'] == '$(at enter_both "the inner lock")'"
    holds "d['sections'][kind('inner_lock')['other_section']]['at'] == '$(at hold_the_inner_lock "the holder")'"
    says "a lock inside is held, inner, through pthread_mutex_lock at $(at enter_both "the inner lock")"
}

a_timed_lock_inside_is_named_with_its_line()
{
    sections -- "$program" timedlock
    holds "(first['kind'], first['aborts'], top['held']) == ('left', 50, 50)"
    holds "first['at'] == '$(at lock_until_inside "the timed lock")' and first['through'] == 'pthread_mutex_timedlock'"
}

a_trylock_inside_is_named_with_its_line()
{
    sections -- "$program" trylock
    holds "(first['kind'], first['aborts'], top['held']) == ('left', 50, 50)"
    holds "first['at'] == '$(at try_a_lock_inside "the trylock")' and first['through'] == 'pthread_mutex_trylock'"
}

what_is_never_tried_is_said_to_be()
{
    sections -- "$program" recursive
    holds "(first['kind'], first['holds'], top['entered'], top['held']) == ('not_tried', 50, 50, 50)"
    holds "top['at'] == '$(at take_a_recursive_lock "the recursive lock")' and len(d['sections']) == 1"
    TTSTLE_SKIP=sections_program:commit sections -- "$program" commit
    holds "(first['kind'], first['holds']) == ('not_tried', 50)"
    says "never tried: a lock of a kind that is not elided"
}

of_two_causes_in_a_section_neither_wins_the_entry_alone()
{
    sections -- "$program" twice
    holds "first['at'] == '$(at write_a_byte "the write")' and first['aborts'] == first['holds'] == 50"
    holds "first['holds_alone'] == 0 and first['won'] == first['in_aborts']"
    holds "any(stop['at'] == '$(at write_twice_in_a_section "the second write")' and stop['seen'] == 50 for stop in top['stops'])"
    says "met 50 times under the lock"
}

a_section_that_commits_loses_nothing()
{
    sections -- "$program" commit
    holds "(top['entered'], top['committed'], top['lost'], top['stops']) == (50, 50, 0, [])"
    says "50 of 50 entries of critical sections (100 %) commit as transactions"
}

a_program_without_sections_is_told_so_in_one_line()
{
    sections --html page.html -- "$program" none
    holds "d['sections'] == [] and d['emulated'] is True and d['instructions'] > 10000"
    expect "lines that say it" 1 "$(grep -c "^No critical section: " "$scratch/err")"
    grep -q "No critical section" page.html || fail "the page as HTML does not say it"
    run "$mplace" doctor --sections -- sh -c 'exit 3'
    expect "the program's exit status" 3 "$status"
}

of_a_stripped_program_a_place_is_a_file_and_an_address()
{
    strip -o stripped "$program"
    sections -- ./stripped write
    holds "__import__('re').fullmatch('stripped\\\\+0x[0-9a-f]+', top['at'])  is not None"
    holds "top['lock']['object'] == 'stripped'"
    local address
    address=$(/usr/bin/python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["sections"][0]["stops"][0]["at"].split("+")[1])' "$scratch/json")
    addr2line -e "$program" "$address" | grep -q "sections_program.c:" || fail "addr2line does not know $address"
}

the_html_of_sections_says_what_the_text_says()
{
    sections --html page.html -- "$program" write
    /usr/bin/python3 - page.html "$scratch/err" <<'PROGRAM' || fail "the two pages differ"
import html, re, sys
page, text = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
flat = lambda s: " ".join(s.replace("\u00a0", " ").split())
words = flat(html.unescape(re.sub("<[^>]*>", " ", page)))
for beginning in (r"\d+ of \d+ entries of critical sections", "Emulated: ", "1\\. lock mutex", "system call write at"):
    said = re.search(beginning + r".*?(?= called from|\.  *[A-Z]|\n\n|: )", flat(text)).group()
    assert said in words, said
assert not re.search(r"<(script|link|img|iframe)|http|@import", page)
assert page.count("<table") == page.count("</table>") == 1
PROGRAM
}

bad_options_of_sections_are_one_line_and_exit_2()
{
    run "$mplace" doctor --sections --sharing -- /bin/true; expect_refusal "two questions"
    run "$mplace" doctor --sections --compare -- /bin/true; expect_refusal "--compare"
    run "$mplace" doctor --sections --children -- /bin/true; expect_refusal "--children"
    run "$mplace" doctor --sections --callers 3 -- /bin/true; expect_refusal "--callers"
    run "$mplace" doctor --sections --machine quad -- /bin/true; expect_refusal "go with --sharing"
    run "$mplace" doctor --sections --without conflict -- /bin/true; expect_refusal "--without 'conflict'"
    run "$mplace" doctor --without page -- /bin/true; expect_refusal "--without goes with --sections"
    echo 'int main(void) { return 0; }' >static.c
    cc -static -o static static.c || skip "no static C library"
    run "$mplace" doctor --sections -- ./static; expect_refusal "static"
}

of_sections_without_the_tool_it_says_so_in_one_line()
{
    private_build
    run "$mplace" doctor --sections -- /bin/true
    expect_refusal "mplace was built without the valgrind package"
}

run_claim
