#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The emulator's report says what happened, however the process ends.

usage: report.py PROGRAM CLAIM     PROGRAM: built from report.c
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CAUSES = ("conflict write_capacity read_capacity explicit nesting system_call page_fault fault "
          "breakpoint instruction signal interrupt context_switch shootdown client_request").split()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "report.c")

program = sys.argv[1]
work = tempfile.mkdtemp()


def check(condition, promise, seen):
    if not condition:
        sys.exit(f"{promise}: {seen}")


def line_of(text):
    with open(SOURCE) as source:
        return next(number for number, line in enumerate(source, 1) if text in line)


def run(how, *options, program=program, output="report.json"):
    """The finished process; it may have been ended by a signal."""
    command = ["valgrind", "--tool=rtmgrind", *options, f"--rtm-out={work}/{output}", program, how]
    return subprocess.run(command, capture_output=True, text=True, timeout=100,
                          env=dict(os.environ, MPLACE_HTM="emulated"))


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_list_of(kind, value):
    return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)


def check_members(value, where, needed, optional=()):
    kinds = {"aborted": dict, "where": str, "cause": str, "begin": str, "instruction": str,
             "requester": str, "symbol": str, "l1d": str, "block": dict, "lines": (float, list),
             "allocated": list, "begun": list, "sites": list, "aborts": list, "overflows": list,
             "filled_by": list, "seed": int, "symbol_offset": int, "offset": int}
    check(set(needed) <= set(value) <= set(needed) | set(optional), f"{where} has its members",
          sorted(value))
    for name, member in value.items():
        good = isinstance(member, kinds[name]) if name in kinds else is_number(member)
        check(good, f"{where}.{name} is of its kind", member)


def check_schema(report):
    """What docs/rtmgrind.md promises."""
    counts = ("started", "committed", "aborted")
    check_members(report, "the report", ("pid", "seed", "cpus", "l1d", *counts, "sites", "aborts",
                                         "unlisted_aborts", "lines", "overflows"))
    check(report["started"] == report["committed"] + sum(report["aborted"].values()),
          "every transaction commits or aborts", report)
    check(list(report["aborted"]) == CAUSES, "the causes are known", report["aborted"])
    for site in report["sites"]:
        check_members(site, "a site", ("address", *counts), ("where",))
        check(list(site["aborted"]) == CAUSES, "the causes are known", site["aborted"])
    for abort in report["aborts"]:
        check_members(abort, "an abort", ("count", "cause", "data", "begin", "begun"),
                      ("set", "symbol", "symbol_offset", "instruction", "requester"))
        check(is_list_of(str, abort["begun"]) and abort["begun"], "a stack has frames", abort)
        check(abort["cause"] in CAUSES, "the causes are known", abort)
    check(report["unlisted_aborts"] + sum(abort["count"] for abort in report["aborts"])
          == sum(report["aborted"].values()), "aborts are listed or counted", report)
    for line in report["lines"]:
        check_members(line, "a line", ("line", "data", "set", "count", "aborted"),
                      ("symbol", "symbol_offset", "block"))
        check(sum(line["aborted"].values()) == line["count"], "a line's causes add up", line)
        check(line["data"] // 64 * 64 == line["line"], "the data is in its line", line)
        if "block" in line:
            check_members(line["block"], "a block", ("offset", "size", "allocated"))
    for overflow in report["overflows"]:
        check_members(overflow, "an overflow", ("set", "count", "filled_by"))


def read(output="report.json"):
    with open(os.path.join(work, output), encoding="utf-8") as file:
        report = json.load(file)
    check_schema(report)
    return report


def check_counts(report, committed, explicit):
    check((report["committed"], report["aborted"]["explicit"]) == (committed, explicit),
          f"{committed} commits and {explicit} explicit aborts", report)


def the_report_comes_however_the_process_ends(how, status):
    done = run(how)
    check(done.returncode == status, f"{how}: the exit status is the program's", done)
    check_counts(read(), 4 if how == "no_exec" else 3, 2)
    texts = re.findall(r"transactions: (\d+) started, (\d+) committed", done.stderr)
    check(len(texts) == 1, f"{how}: the text comes once", done.stderr)


def ends():
    for how, status in {"return": 0, "_exit": 0, "abort": -6, "signal": -15, "fault": -11,
                        "exec": 0, "no_exec": 0}.items():
        the_report_comes_however_the_process_ends(how, status)


def a_child_has_a_report_of_its_own():
    done = run("fork", output="of-%p.json")
    parent, child = done.stdout.split()
    check(sorted(os.listdir(work)) == sorted((f"of-{parent}.json", f"of-{child}.json")),
          "a file a process", os.listdir(work))
    check_counts(read(f"of-{parent}.json"), 3, 2)
    check_counts(read(f"of-{child}.json"), 1, 0)
    check(read(f"of-{child}.json")["pid"] == int(child), "the file says whose it is", child)
    check(len(re.findall(rf"=={child}== transactions: 1 started", done.stderr)) == 1,
          "the child's text", done.stderr)


def without_a_process_id_in_its_name_the_file_is_the_parents():
    for how in ("fork", "orphan"):  # the parent ends last, and first
        parent = run(how).stdout.split()[0]
        check_counts(read(), 3, 2)
        check(read()["pid"] == int(parent), "the parent's", read())


def a_file_that_cannot_be_written_is_one_line_and_nothing_is_run():
    done = run("fork", output="nowhere/report.json")
    check(done.returncode == 1 and done.stdout == "", "the program does not run", done)
    lines = [line for line in done.stderr.splitlines() if "nowhere" in line]
    check(len(lines) == 1 and "--rtm-out" in lines[0] and "cannot be written" in lines[0],
          "one line", done.stderr)
    check(len(run("fork", "-q", output="nowhere/report.json").stderr.splitlines()) == 1,
          "with -q nothing else", done.stderr)


def a_full_disk_is_told_in_one_line_and_the_program_goes_on():
    done = run("return", "-q", output=os.path.relpath("/dev/full", work))
    check(done.returncode == 0, "the exit status is the program's", done)
    lines = done.stderr.splitlines()
    check(len(lines) == 1 and "--rtm-out: " in lines[0] and "/dev/full" in lines[0], "one line", done.stderr)


def a_name_that_is_no_utf_8_is_text_in_the_report():
    odd = os.path.join(work.encode(), b"odd\xff\xfe\xc3\xa4")
    shutil.copy(program, odd)
    subprocess.run([b"strip", odd], check=True)
    run("variable", "-q", program=odd)
    abort = next(abort for abort in read()["aborts"] if abort["cause"] == "conflict")
    check(abort["instruction"].endswith("/odd??ä)"), "the name", abort)


def conflict_of(how, program=program):
    done = run(how, program=program)
    check(done.returncode == 0, f"{how} ends well", done)
    report = read()
    check(report["aborted"]["conflict"] >= 1, "there is a conflict", report)
    return next(abort for abort in report["aborts"] if abort["cause"] == "conflict"), report, done


def a_conflict_names_both_instructions():
    abort, _, done = conflict_of("variable")
    load = rf"load_and_wait \(report\.c:{line_of('/* the load */')}\)"
    store = rf"store_once \(report\.c:{line_of('/* the store */')}\)"
    check(re.search(load, abort["instruction"]), "the instruction that was aborted", abort)
    check(re.search(store, abort["requester"]), "the instruction that did it", abort)
    check(re.search(rf"    at .*{load}\n.*for another thread at .*{store}", done.stderr),
          "both in the text", done.stderr)
    check(abort["begun"][0] == abort["begin"] and "main" in abort["begun"][-1],
          "the calls that led to the transaction", abort)


def a_conflict_names_the_variable():
    abort, report, done = conflict_of("variable")
    worst = report["lines"][0]
    for entry in (abort, worst):
        check((entry["symbol"], entry["symbol_offset"]) == ("contended", 8), "the variable", entry)
    check("data at" in done.stderr and ": contended+8" in done.stderr, "in the text", done.stderr)


def a_conflict_names_the_heap_block():
    _, report, done = conflict_of("heap")
    block = report["lines"][0]["block"]
    check((block["offset"], block["size"]) == (24, 200), "the block", block)
    check(any("allocate_contended" in frame for frame in block["allocated"]),
          "where it was allocated", block)
    check("24 bytes into a block of 200 bytes, allocated" in done.stderr, "in the text", done.stderr)


def a_conflict_with_the_kernel_has_one_instruction():
    abort, _, done = conflict_of("kernel")
    check("load_and_wait" in abort["instruction"] and "requester" not in abort, "one", abort)
    check("for the kernel, in a call of another thread" in done.stderr, "in the text", done.stderr)


def a_stripped_program_is_told_by_addresses():
    stripped = os.path.join(work, "stripped")
    shutil.copy(program, stripped)
    subprocess.run(["strip", stripped], check=True)
    abort, report, _ = conflict_of("heap", stripped)
    for name in ("instruction", "requester", "begin"):
        check(re.fullmatch(rf"0x[0-9A-F]+: \?\?\? \(in {re.escape(stripped)}\)", abort[name]),
              f"{name}: address and file", abort)
    check(report["lines"][0]["block"]["size"] == 200, "libc's malloc still has its name", report)


def the_lists_have_as_many_entries_as_asked_for():
    run("variable", "--top=0")
    report = read()
    check(report["sites"] == report["aborts"] == report["lines"] == [], "none", report)
    check(report["unlisted_aborts"] > 0, "but they are counted", report)
    run("variable", "--top=1")
    check([len(read()[name]) for name in ("sites", "aborts", "lines")] == [1, 1, 1], "one", read())


CLAIMS = {claim.__name__: claim for claim in (
    a_child_has_a_report_of_its_own, without_a_process_id_in_its_name_the_file_is_the_parents,
    a_file_that_cannot_be_written_is_one_line_and_nothing_is_run,
    a_full_disk_is_told_in_one_line_and_the_program_goes_on,
    a_name_that_is_no_utf_8_is_text_in_the_report,
    a_conflict_names_both_instructions, a_conflict_names_the_variable,
    a_conflict_names_the_heap_block, a_conflict_with_the_kernel_has_one_instruction,
    a_stripped_program_is_told_by_addresses, the_lists_have_as_many_entries_as_asked_for)}
CLAIMS["it_comes_however_the_process_ends"] = ends
try:
    CLAIMS[sys.argv[2]]()
finally:
    shutil.rmtree(work)
