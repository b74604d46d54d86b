#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace run --tm" promises.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/scripts_common.bash
source "$(dirname -- "$0")/../scripts/scripts_common.bash"

unset "${!TM_@}"
program=$build_folder/tests/tm_places
sources=$source_folder/tests/tm

need_addr2line()
{
    type -P addr2line >/dev/null || skip "addr2line is not installed"
}

# at REMARK [FILE]: the place with this remark, as the report names it, the folder left out
at()
{
    local file=${2:-places.c}

    printf '%s:%s' "$file" "$(grep -n "here is $1 \*/" "$sources/$file" | cut -d: -f1)"
}

# The report on standard error without the folders of sources.
report()
{
    sed -E 's|  /[^ ]*/([^/ ]*:[0-9]+)|  \1|; s|inlined at /[^ ]*/|inlined at |' "$scratch/err"
}

# names LINE: the report has it, whatever the offsets are
names()
{
    report | sed 's/+0x[0-9a-f]*  /  /' | grep -qxF -- "$1" || fail "no line '$1'"
}

# columns FUNCTION: what the report has of its transaction
columns()
{
    sed -n "/^  transaction $1+/,/abort serial/p" "$scratch/err" | grep -E '^    (in-flight|start serial|abort serial)' | xargs
}

each_algorithm_runs_the_transactions()
{
    local algorithm

    for algorithm in eager lazy norec serial htm; do
        run "$mplace" run --tm "$algorithm" --stats -- "$program"
        expect "exit status" 0 "$status"
        grep -qx "  algorithm           $algorithm" "$scratch/err" || fail "it was not $algorithm"
    done
    run "$mplace" run --tm libitm --stats -- "$program"
    expect "with libitm" "0 " "$status $(cat "$scratch/err")"
}

it_comes_behind_the_other_libraries()
{
    # shellcheck disable=SC2016 # the program's shell expands it
    run "$mplace" run --tm=lazy --lock tts --malloc cia -- /bin/sh -c 'echo "$LD_PRELOAD" "$TM_ALGORITHM"'
    expect "libraries" "libtts_lock.so:libcia_malloc.so:libtm_runtime.so lazy" "$(sed 's|/[^:]*/||g' "$scratch/out")"
}

a_bad_name_is_one_line_with_the_nearest()
{
    run "$mplace" run --tm nrec -- touch ran
    expect_refusal "unknown --tm 'nrec': one of libitm, eager, lazy, norec, serial, htm; did you mean 'norec'?"
    run "$mplace" run --tm
    expect_refusal "option --tm needs a value"
    [[ ! -e ran ]] || fail "it ran all the same"
}

the_report_names_the_line_of_each_transaction_and_of_what_forces_a_switch()
{
    need_addr2line
    run "$mplace" run --tm eager --stats -- "$program"
    expect "exit status" 0 "$status"
    names "  transaction switching  $(at "the transaction that switches")"
    names "  transaction main  $(at "the inlined transaction") in inlined, inlined at $(at "where it was inlined")"
    names "  transaction in_library  $(at "the library's transaction" places_library.c)"
    names "  switch, 5 times, of the transaction switching  $(at "the transaction that switches")"
    names "    in _ZGTt16cannot_be_undone  $(at "what forces the switch")"
    names "    by switching  $(at "the call of it")"
    report | grep -qE '^    calls without a clone work_unseen\+0x0  places.c:[0-9]+$' || fail "no callee"
    names "    in calls_by_pointer  $(at "the call by pointer")"
    expect "columns" "in-flight switch 5 (10.0%) start serial 0 (0.0%) abort serial 0 (0.0%)" "$(columns switching)"
    expect "columns" "in-flight switch 0 (0.0%) start serial 1 (100.0%) abort serial 0 (0.0%)" "$(columns begins_serially)"
}

the_json_has_the_same_lines()
{
    need_addr2line
    run "$mplace" run --tm norec --malloc cia --stats=json -- "$program"
    expect "exit status" 0 "$status"
    /usr/bin/python3 - "$scratch/err" >"$scratch/seen" <<'END' || fail "no such JSON"
import json
import os
import sys
decoder, text, reports = json.JSONDecoder(), open(sys.argv[1]).read(), {}
while text.strip():
    report, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    reports[report["library"]] = report
def told(place):
    return " ".join(f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in place["source"])
report = reports["libtm_runtime"]
assert sorted(reports) == ["libcia_malloc", "libtm_runtime"]
for row in report["transactions"]:
    print(row["begin"]["function"], told(row["begin"]))
for switch in report["switches"]:
    print("switch", *[told(frame["call"]) for frame in switch["frames"][:2]])
END
    expect "what has lines" "begins_serially,calls_by_pointer,in_library,main,switch,switch,switching" \
        "$(cut -d' ' -f1 seen | sort | paste -sd,)"
    grep -qx "main $(at "the inlined transaction") $(at "where it was inlined")" seen || fail "inlined: $(cat seen)"
    grep -qx "switch $(at "what forces the switch") $(at "the call of it")" seen || fail "switch: $(cat seen)"
}

without_debug_information_or_the_file_places_stay_as_they_are()
{
    strip -g -o stripped "$program"
    run "$mplace" run --tm eager --stats -- "$PWD/stripped"
    expect "exit status" 0 "$status"
    grep -qE "^  transaction switching\+0x[0-9a-f]+  $PWD/stripped\+0x[0-9a-f]+$" err || fail "stripped"
    cp "$program" gone
    # shellcheck disable=SC2016 # the program's shell expands it
    run "$mplace" run --tm eager --stats -- /bin/sh -c '"$0"; status=$?; rm "$0"; exit $status' "$PWD/gone"
    expect "exit status" 0 "$status"
    grep -qE "^  transaction switching\+0x[0-9a-f]+  $PWD/gone\+0x[0-9a-f]+$" err || fail "gone"
}

without_addr2line_the_report_comes_as_it_was_and_one_line_says_why()
{
    local name

    mkdir bin
    for name in bash sh dirname readlink basename id mktemp cat chmod env sed; do
        ln -s "$(type -P $name)" "bin/$name"
    done
    PATH=$PWD/bin run "$mplace" run --tm eager --stats -- "$program"
    expect "exit status" 0 "$status"
    grep -qE "^  transaction switching\+0x[0-9a-f]+  $program\+0x[0-9a-f]+$" err || fail "no report"
    expect "complaints" "mplace run: no lines of the source: addr2line (binutils): No such file or directory" \
        "$(grep '^mplace run' err)"
}

lines_for_another_user_are_looked_for_with_that_users_rights()
{
    local as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

    [[ $(id -u) -eq 0 ]] || skip "only root can become another user"
    "${as_nobody[@]}" test -r "$program" || skip "nobody else can read $program"
    chmod 755 .
    mkdir bin
    # shellcheck disable=SC2016 # the fake's shell expands it
    printf '#!/bin/sh\necho "asked by $(id -u) $(id -G)" >>asked\n' >bin/addr2line
    chmod +x bin/addr2line
    : >asked
    chmod 666 asked
    PATH=$PWD/bin:$PATH run "$mplace" run --tm eager --stats -- "${as_nobody[@]}" "$program"
    expect "exit status" 0 "$status"
    grep -q "^  transaction switching+" err || fail "no report"
    expect "who asked" "asked by 65534 65534" "$(sort -u asked)"
}

run_claim
