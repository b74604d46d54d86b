#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mplace doctor end to end, on programs of which it is known what it has to say. The cache is given, so
# that what is promised does not depend on this machine's.
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "${BASH_SOURCE[0]%/*}/scripts_common.bash"

[[ -x $build_folder/lib/mplace/valgrind/setgrind-amd64-linux || $claim == *without_the_tool* ]] ||
    skip "setgrind is not built"
program=$build_folder/tests/doctor_program

# The line of the source with this comment: line_of FILE COMMENT
line_of()
{
    grep -n "here is $2" "$source_folder/tests/scripts/$1" | cut -d: -f1
}

# The JSON as Python sees it: json EXPRESSION, with d the whole, own and other the two runs.
json()
{
    /usr/bin/python3 - "$scratch/json" "$1" <<'PROGRAM'
import json, sys
d = json.load(open(sys.argv[1]))
own, other = d["runs"][0], d["runs"][-1]
print(eval(sys.argv[2]))
PROGRAM
}

# holds EXPRESSION: it is true of the JSON
holds()
{
    expect "$1" True "$(json "$1")"
}

# doctor ARGUMENT...: leaves status, out (the program's), err (the page) and json
doctor()
{
    run "$mplace" doctor --l1d 64x8 --json "$scratch/json" "$@"
}

walks=$((300 * 128))

# The list's nodes are 512 B apart under glibc, on 8 of 64 sets.
expect_planted()
{
    local at

    at="plant (doctor_program.c:$(line_of doctor_program.c 'what the doctor')"
    expect "exit status" 0 "$status"
    expect "verdict" hurts "$(json 'd["verdict"]')"
    expect "place" "$at)" "$(json 'max(own["sites"], key=lambda s: s["saved"])["at"]')"
    grep -q '^Placement hurts this program: ' "$scratch/err" || fail "the sentence is missing"
    grep -qF " 1. $at): blocks of $1 B" "$scratch/err" || fail "$at is not named first"
}

the_planted_pathology_is_found_and_its_line_named()
{
    doctor -- "$program" list 500
    expect_planted 500
    # All visits but the first walk's miss, and no other place has as many.
    holds "$walks * 0.95 <= max(s['saved'] for s in own['sites']) <= $walks"
    holds "max(own['sites'], key=lambda s: s['saved'])['sets_used'] == 8"
    holds "max(own['sites'], key=lambda s: s['saved'])['hot'] == 128"
    holds "max(own['sizes'], key=lambda s: s['saved'])['size_most'] == 500"
}

# A reader cannot tell them apart, and together they fill the sets.
two_calls_of_one_line_are_one_place()
{
    doctor -- "$program" pairs 500
    holds "[s['hot'] for s in own['sites'] if 'plant_in_pairs' in s['at']] == [128]"
    holds "max(own['sites'], key=lambda s: s['saved'])['most_in_one_set'] == max(own['sizes'], key=lambda s: s['saved'])['most_in_one_set']"
}

it_is_found_under_another_allocator()
{
    [[ -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 ]] || skip "there is no jemalloc"
    doctor --malloc jemalloc -- "$program" list 512
    expect_planted 512
    doctor --malloc jemalloc -- "$program" list 500
    expect_planted 500
}

the_cache_that_is_asked_for_is_the_one_modelled()
{
    # 16 of a set's lines are hot: with 16 ways they have room.
    run "$mplace" doctor --l1d 64x16 --json "$scratch/json" -- "$program" list 500
    expect "verdict" no "$(json 'd["verdict"]')"
    expect "sets and ways" "64 16" "$(json '"%d %d" % (d["l1d"]["sets"], d["l1d"]["ways"])')"
}

a_program_without_a_pathology_is_told_so_in_one_sentence()
{
    doctor -- "$program" list 100
    expect "exit status" 0 "$status"
    expect "verdict" no "$(json 'd["verdict"]')"
    expect "sentences" 1 "$(grep -c '^Placement does not hurt this program: ' "$scratch/err")"
    if grep -q '^ *1\. ' "$scratch/err"; then fail "something is blamed"; fi
}

the_json_is_valid_whatever_the_command_line_has_in_it()
{
    doctor -- "$program" list 100 's/\d"//p' $'a tab\t, \xff, \xc3\xa4'
    expect "exit status" 0 "$status"
    expect "the command's end" "list 100 s/\\d\"//p a tab , , ä" "$(json 'd["program"].split("doctor_program ")[1]')"
}

misses_that_no_placement_would_save_are_not_promised()
{
    local kind

    for kind in column much; do
        doctor -- "$program" "$kind"
        expect "verdict of $kind" no "$(json 'd["verdict"]')"
        holds "own['heap']['misses'] > 5000" # else nothing was tried
        holds "own['heap']['saved'] < own['heap']['misses'] / 50"
    done
}

every_thread_has_a_cache_of_its_own()
{
    doctor -- "$program" threads
    expect "threads" 2 "$(json 'own["threads"]')"
    # Each share is read once; in one cache for both, every visit of every walk would miss.
    holds "600 <= own['heap']['misses'] <= 2000"
}

the_comparison_shows_what_cia_would_change()
{
    doctor --compare -- "$program" list 500
    expect_planted 500
    expect "runs" "its own allocator cia" "$(json '" ".join(r["malloc"] for r in d["runs"])')"
    holds "max(other['sites'], key=lambda s: s['visits'])['sets_used'] == 64"
    holds "other['heap']['saved'] < 500"
    grep -q '^Under cia (modelled): ' "$scratch/err" || fail "cia's figures are not told"
}

a_critical_section_that_overflows_is_named_with_what_fills_it()
{
    doctor --compare -- "$program" locked 500
    expect "place" "walk_locked (doctor_program.c:$(line_of doctor_program.c 'the section'))" \
        "$(json 'own["sections"][0]["at"]')"
    holds "own['sections'][0]['entered'] == own['sections'][0]['overflowed'] == 300"
    holds "own['sections'][0]['filled_by'][0]['at'].startswith('plant (')"
    holds "own['sections'][0]['filled_by'][0]['lines'] == 300 * 8"
    expect "overflows under cia" 0 "$(json 'other["sections"][0]["overflowed"]')"
    holds "other['sections'][0]['lines_most'] >= 128"
    grep -q '^ *1\. locked by walk_locked ' "$scratch/err" || fail "the section is not told"
}

sections_of_rwlocks_and_spin_locks_overflow_as_those_of_mutexes_do()
{
    local section
    doctor -- "$program" each-lock 500
    expect "overflows" "300 300 300" "$(json '" ".join(str(s["overflowed"]) for s in own["sections"][:3])')"
    for section in 'a section of a reader' 'of a writer' 'of a spin lock'; do
        holds "'walk_with_each_lock (doctor_program.c:$(line_of doctor_program.c "/\* $section")' in ' '.join(s['at'] for s in own['sections'])"
    done
}

the_lock_of_a_thread_that_ended_does_not_end_the_section_around_it()
{
    doctor -- "$program" dead-owner 500
    holds "[s['overflowed'] for s in own['sections'] if s['at'].startswith('walk_around')] == [1]"
}

# The dynamic linker locks when the program ends.
a_lock_that_the_c_library_takes_for_itself_is_no_section()
{
    doctor -- "$program" locked 500
    expect "sections" "walk_locked" "$(json '" ".join(s["at"].split()[0] for s in own["sections"])')"
    doctor -- "$program" list 100
    holds "own['sections'] == []"
    grep -qx ' *No pthread lock was taken\.' "$scratch/err" || fail "the page has sections"
}

a_section_ends_where_it_waits_for_a_condition()
{
    doctor -- "$program" wait 500
    expect "overflows, waits" "0 1" \
        "$(json '"%d %d" % (sum(s["overflowed"] for s in own["sections"]), sum(s["waited"] for s in own["sections"]))')"
}

a_section_that_the_program_ends_in_counts()
{
    doctor -- "$program" keep 500
    expect "overflows, held" "1 1" "$(json '"%d %d" % (own["sections"][0]["overflowed"], own["sections"][0]["held_at_end"])')"
    holds "own['sections'][0]['lines_most'] >= 64"
}

without_debug_information_a_place_is_object_and_offset()
{
    local at

    strip -o "$scratch/stripped" "$program"
    doctor -- "$scratch/stripped" list 500
    at=$(json 'max(own["sites"], key=lambda s: s["saved"])["at"]')
    [[ $at == stripped+0x* ]] || fail "the place is '$at'"
    # What a reader would do with it.
    expect "line" "doctor_program.c:$(line_of doctor_program.c 'what the doctor')" \
        "$(addr2line -e "$program" "${at#stripped+}" | sed 's|.*/||; s/ .*//')"
}

a_containers_nodes_are_told_by_the_programs_line()
{
    local containers

    for containers in "$build_folder"/tests/doctor_containers_{plain,optimised}; do
        [[ -x $containers ]] || skip "there is no C++ compiler"
        doctor -- "$containers"
        expect "verdict" hurts "$(json 'd["verdict"]')"
        holds "'doctor_containers.cpp:$(line_of doctor_containers.cpp 'what the doctor'))' in max(own['sites'], key=lambda s: s['saved'])['at']"
    done
}

the_program_keeps_its_input_output_and_exit_status()
{
    run "$mplace" doctor --out "$scratch/page" -- sh -c 'cat; echo complaint >&2; exit 7' x <<<unused
    expect "exit status" 7 "$status"
    expect "standard error" complaint "$(<"$scratch/err")"
    grep -q '^Placement ' "$scratch/page" || fail "there is no page"
    expect "output" "words" "$(echo words | "$mplace" doctor --out "$scratch/page" -- "$program" copy)"
}

the_second_run_reads_the_same_input_and_its_output_is_dropped()
{
    head -c 300000 /dev/urandom >"$scratch/input"
    "$mplace" doctor --compare --json "$scratch/json" --out "$scratch/page" -- "$program" copy \
        <"$scratch/input" >"$scratch/out"
    cmp "$scratch/out" "$scratch/input" || fail "the output of one run is not the input (file)"
    holds "other['accesses'] > 0.8 * own['accesses'] > 0.8 * 900000"
    # shellcheck disable=SC2002 # a pipe is what is tried
    cat "$scratch/input" | "$mplace" doctor --compare --json "$scratch/json" --out "$scratch/page" -- "$program" copy |
        cmp - "$scratch/input" || fail "the output of one run is not the input (pipe)"
    holds "other['accesses'] > 0.8 * own['accesses'] > 0.8 * 900000"
}

a_server_ends_by_itself_by_signal_or_after_the_time_given()
{
    local pid number said

    run "$mplace" doctor --seconds 1 -- "$program" idle
    expect "exit status" 143 "$status"
    grep -q '^Placement ' "$scratch/err" || fail "there is no page"
    for number in TERM INT; do
        said=$([[ $number == TERM ]] && echo ended || echo interrupted)
        : >"$scratch/out" # the job empties it too, but perhaps after the first look at it
        # A group of its own, so that an interrupt comes to all of them as from a terminal.
        setsid env MPLACE_TEST=1 bash -c 'trap - INT; exec "$@"' bash \
            "$mplace" doctor -- "$program" serve >"$scratch/out" 2>"$scratch/err" &
        pid=$!
        while ! grep -q ready "$scratch/out"; do
            kill -0 "$pid" 2>/dev/null || fail "it ended before it was ready"
            sleep 0.1
        done
        if [[ $number == TERM ]]; then kill -TERM "$pid"; else kill -INT -- "-$pid"; fi
        wait "$pid" || fail "exit status $? after SIG$number"
        expect "output after SIG$number" "ready $said" "$(paste -sd ' ' "$scratch/out")"
        grep -q '^Placement ' "$scratch/err" || fail "there is no page after SIG$number"
    done
}

a_hangup_goes_to_the_program_and_the_page_comes()
{
    mkfifo never
    signalled HUP "$mplace" doctor -- sh -c 'touch begun; read -r line <never'
    expect "exit status" 129 "$status"
    grep -q '^Placement does not hurt this program' err || fail "there is no page"
}

the_page_is_about_the_program_and_about_children_only_if_asked()
{
    doctor -- "$program" child 500
    expect "verdict" no "$(json 'd["verdict"]')"
    doctor --children -- "$program" child 500
    expect "verdict with children" hurts "$(json 'd["verdict"]')"
    # shellcheck disable=SC2016 # the program's shell expands it
    doctor --children -- sh -c '"$0" list 500; exit 5' "$program"
    expect "exit status" 5 "$status"
    expect "verdict of a program started" hurts "$(json 'd["verdict"]')"
    grep -q 'the busiest of 2 processes' "$scratch/err" || fail "how many processes there were is not told"
}

a_program_that_became_another_one_is_told_of()
{
    # shellcheck disable=SC2016 # the program's shell expands it
    doctor -- sh -c 'exec "$0" list 500' "$program"
    expect "verdict" no "$(json 'd["verdict"]')"
    holds "own['becomes'] == '$program'"
    tr '\n' ' ' <"$scratch/err" | grep -qF "Then it became $program, another program, which this page is not about." ||
        fail "the page does not tell of it"
    doctor -- sh -c 'exec /nowhere/at/all; :'
    holds "own['becomes'] is None"
}

with_children_each_program_that_a_process_becomes_is_looked_at()
{
    doctor --children -- "$program" list-then-exec /bin/true
    holds "own['becomes'] == '/bin/true'"
    expect "verdict of the first" hurts "$(json 'd["verdict"]')"
    ! grep -q 'the busiest of' "$scratch/err" || fail "there was one process"
    # shellcheck disable=SC2016 # the program's shell expands it
    doctor --children -- sh -c 'exec "$0" list 500' "$program"
    expect "verdict of the second" hurts "$(json 'd["verdict"]')"
    holds "own['becomes'] is None"
    doctor --children -- "$program" list-then-exec /nowhere/at/all
    holds "own['becomes'] is None"
}

a_program_that_a_signal_ends_is_told_of_in_one_line()
{
    run "$mplace" doctor --out "$scratch/page" -- sh -c 'kill -SEGV $$'
    expect "exit status" 139 "$status"
    expect "standard error" "mplace doctor: the program ended with status 139, as by signal SEGV" "$(<"$scratch/err")"
    grep -q '^Placement ' "$scratch/page" || fail "there is no page"
    run "$mplace" trace --out "$scratch/trace" -- sh -c 'kill -SEGV $$'
    expect "exit status" 139 "$status"
    expect "lines on standard error of a trace" 2 "$(wc -l <"$scratch/err")"
}

a_full_disk_is_told_in_one_line_and_the_program_goes_on()
{
    run env "VALGRIND_LIB=$build_folder/lib/mplace/valgrind" valgrind -q --tool=setgrind --setgrind-out=/dev/full \
        /bin/echo "done"
    expect "exit status" 0 "$status"
    expect "output" "done" "$(<"$scratch/out")"
    expect "lines on standard error" 1 "$(wc -l <"$scratch/err")"
    grep -q -- "--setgrind-out: /dev/full" "$scratch/err" || fail "the file is not named"
}

children_end_with_the_program_or_are_told_of()
{
    local said="mplace doctor: some of the program's processes still run; the page is about those that ended"

    mkfifo never go
    run "$mplace" doctor --children --seconds 2 -- sh -c '(read -r line <never) & read -r line <never'
    expect "exit status after the time given" 143 "$status"
    expect "said of them" "" "$(grep -F "$said" err || true)"
    expect "what goes on" "" "$(grep -lzF -f <(printf '%s' "$scratch/mplace-doctor") /proc/[0-9]*/cmdline 2>/dev/null || true)"
    signalled TERM "$mplace" doctor --children -- sh -c '(: >there; read -r line <never) & until [ -e there ]; do :; done
        : >begun; wait'
    expect "exit status after SIGTERM" 143 "$status"
    rm there
    run "$mplace" doctor --children -- sh -c '(: >there; read -r line <go) >/dev/null 2>&1 & until [ -e there ]; do :; done
        exit 3'
    echo >go
    expect "exit status" 3 "$status"
    expect "what is said of a process that goes on" 1 "$(grep -cxF "$said" err)"
}

the_html_needs_nothing_else_and_says_what_the_text_says()
{
    run "$mplace" doctor --compare --l1d 64x8 --html "$scratch/page.html" -- "$program" locked '500'
    /usr/bin/python3 - "$scratch/page.html" "$scratch/err" <<'PROGRAM'
import re, sys
from html.parser import HTMLParser
import xml.etree.ElementTree as xml
page, text = (open(name, encoding="utf-8").read() for name in sys.argv[1:])

class Reader(HTMLParser):
    VOID = {"meta", "br"}
    def __init__(self):
        super().__init__()
        self.open, self.words = [], ""
    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not any(n in names for n in ("src", "href")), names
        if tag not in self.VOID:
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
    def handle_data(self, data):
        self.words += data
reader = Reader()
reader.feed(page)
assert not reader.open, reader.open
assert "http" not in page and "@import" not in page
flat = lambda s: " ".join(s.replace("\u00a0", " ").split())
verdict = re.search(r"Placement hurts this program: .*? accesses\.", flat(text)).group()
assert verdict in flat(reader.words), verdict
pictures = [xml.fromstring(p) for p in re.findall(r"<svg viewBox.*?</svg>", page, re.S)]
assert len(pictures) == 2, len(pictures)
bars = lambda p, kind: [e for e in p.iter("rect") if e.get("class") == kind]
own, cia = pictures
assert (len(bars(own, "fits")), len(bars(own, "over"))) == (8, 8)
assert (len(bars(cia, "fits")), len(bars(cia, "over"))) == (64, 0)
assert [t.text for t in own.iter("title")][0].endswith(": 16 hot blocks")
PROGRAM
}

bad_options_are_one_line_and_exit_2()
{
    run "$mplace" doctor -- ; expect_refusal "which program?"
    run "$mplace" doctor --nonsense -- /bin/true; expect_refusal "unknown option"
    run "$mplace" doctor --l1d 64 -- /bin/true; expect_refusal "SETSxWAYS"
    run "$mplace" doctor --l1d 48x8 -- /bin/true; expect_refusal "a power of two"
    run "$mplace" doctor --malloc nonsense -- /bin/true; expect_refusal "unknown allocator"
    run "$mplace" doctor --malloc cia --compare -- /bin/true; expect_refusal "compares with cia"
    run "$mplace" doctor --top 0 -- /bin/true; expect_refusal "--top"
    run "$mplace" doctor --seconds x -- /bin/true; expect_refusal "--seconds"
    run "$mplace" doctor --html "$scratch/no/such" -- /bin/true; expect_refusal "cannot be written"
    cp /bin/true "$scratch/setuid" && chmod u+s "$scratch/setuid"
    run "$mplace" doctor -- "$scratch/setuid"; expect_refusal "setuid"
    run "$mplace" doctor -- "$scratch/absent"; expect "exit status" 127 "$status"
    run "$mplace" doctor -- /etc/passwd; expect "exit status" 126 "$status"
}

a_program_that_would_run_without_cia_is_refused_where_cia_is_asked_for()
{
    local options

    need_static_program
    for options in --compare '--malloc cia' --sharing '--sharing --malloc cia' --sections; do
        # shellcheck disable=SC2086 # words
        run "$mplace" doctor $options -- ./static
        expect_refusal "./static is statically linked: nothing can be preloaded into it"
    done
    run "$mplace" doctor -- ./static
    expect "exit status without cia" 0 "$status"
    grep -q '^Placement does not hurt this program' err || fail "it is not looked at as it is"
}

what_is_refused_leaves_no_file()
{
    run "$mplace" doctor --html new.html --json new.json --out new.txt -- "$scratch/absent"
    expect "exit status of an absent program" 127 "$status"
    run "$mplace" doctor --html new.html --json no/new.json -- /bin/true
    expect_refusal "no/new.json cannot be written"
    run "$mplace" doctor --html new --json new -- /bin/true
    expect_refusal "new is there twice"
    expect "files" "" "$(find . -name 'new*')"
}

a_result_never_replaces_the_program()
{
    local option

    cp /bin/true copy
    for option in --out --html --json; do
        run "$mplace" doctor "$option" copy -- ./copy
        expect_refusal "copy is what is read"
        cmp -s copy /bin/true || fail "$option replaced it"
    done
}

without_the_tool_it_says_so_in_one_line()
{
    private_build
    run "$mplace" doctor -- /bin/true
    expect_refusal "mplace was built without the valgrind package"
}

run_claim
