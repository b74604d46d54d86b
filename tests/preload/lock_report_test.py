#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The lock statistics' report at exit against operations that are known: the counts of each lock,
# where it was first locked, and that text and JSON say the same. Numbers of elision are only looked
# at where the report says that transactions commit.
# lock_report_test.py LIBRARY tts|ttstle PROGRAM PLUGIN [RUNNER...]: RUNNER starts the program, for
# instance an emulator.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

if len(sys.argv) < 5:
    sys.exit("usage: lock_report_test.py LIBRARY tts|ttstle PROGRAM PLUGIN [RUNNER...]")
library, name, program, plugin = sys.argv[1:5]
runner = sys.argv[5:]
setting = name.upper() + "_STATS"
scratch = tempfile.mkdtemp()
PAIRS, SHORT_THREADS, MANY, SECTIONS = 1000, 2000, 5000, 20
READS, WRITES, SPINS = 30, 12, 7
CAUSES = ["conflict", "capacity", "explicit", "nested", "debug", "other"]


def check(holds, what):
    if not holds:
        shutil.rmtree(scratch, ignore_errors=True)
        sys.exit(f"lock_report_test.py: does not hold: {what}")


def run(stats, mode, *more, file=program, **settings):
    """Runs the program; returns the addresses of its locks."""
    environment = dict(os.environ, LD_PRELOAD=library, TTS_WAIT="park",
                       TTSTLE_POLICY="adaptive", **settings)
    environment[setting] = stats
    result = subprocess.run([*runner, file, mode, *more], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(result.returncode == 0, f"{mode}: exit {result.returncode}: {result.stderr}")
    return result.stdout.split(), result.stderr


def counts_add_up(counts, where):
    check(counts["tx_started"] == counts["tx_committed"] + sum(counts["aborts"].values()),
          f"{where}: transactions begun are those that ended")
    check(counts["acquisitions"]
          == counts["slow_path"] + counts["tx_committed"] + counts["elided_nested"],
          f"{where}: acquisitions are physical or elided")
    check(set(counts["aborts"]) == set(CAUSES), f"{where}: every cause is there")


def parsed(path, whole=True):
    """The JSON report, after checking what holds for each; whole: no thread counted meanwhile."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    check(report["version"] == 1, "version 1")
    check(report["library"] == f"lib{name}_lock", "the library's name")
    check(report["uncounted_operations"] == 0, "nothing was left uncounted")
    for number in ("acquisitions", "slow_path", "waits", "wait_ns", "tx_committed"):
        parts = sum(lock[number] for lock in report["locks"]) + report["others"][number]
        check(parts == report["totals"][number], f"the parts of {number} make up the total")
    if whole:
        for counts in [report["totals"], report["others"], *report["locks"]]:
            counts_add_up(counts, counts.get("address", "totals"))
    return report


def reported(mode, *more, whole=True, **keywords):
    path = os.path.join(scratch, mode + ".json")
    addresses, messages = run(path, mode, *more, **keywords)
    check(runner or messages == "", f"{mode}: nothing on standard error: {messages}")
    report = parsed(path, whole)
    return report, {lock["address"]: lock for lock in report["locks"]}, addresses


def elides(report):
    return report["htm"] == "native"


def caller_is(lock, function, file):
    caller = lock["first_locked_by"]
    check(caller["kind"] == "function" and caller["function"] == function
          and os.path.realpath(caller["file"]) == os.path.realpath(file),
          f"{function} in {file} locked first, not {caller}")


# Two locks from two functions; a second thread has to wait for one of them, once.
report, locks, (quiet, busy, *_) = reported("two-locks")
check(report["locks_seen"] == len(report["locks"]) == 2, f"two locks, not {report['locks_seen']}")
check(locks[quiet]["acquisitions"] == PAIRS, "each acquisition is counted")
check(locks[busy]["acquisitions"] == 2, "the contended one was acquired twice")
caller_is(locks[quiet], "lock_quiet", program)
caller_is(locks[busy], "hold_busy", program)
check(locks[busy]["waits"] >= 1, "it was waited for")
check(locks[busy]["longest_wait_ns"] >= 1000000, "for milliseconds")
check(locks[busy]["slow_path"] >= 1, "and who slept took it physically")
check(report["locks"][0]["address"] == busy or elides(report), "the contended lock comes first")
check(report["others"]["acquisitions"] == 0, "there are no others")
if elides(report):
    check(locks[quiet]["tx_committed"] > PAIRS / 2, "the quiet lock was elided")
else:
    check(locks[quiet]["waits"] == 0, "nobody waited for the quiet lock")
    check(locks[busy]["waits"] == 1, "one thread waited once for the busy lock")
    check(report["totals"]["slow_path"] == PAIRS + 2, "all were taken physically")
    check(report["totals"]["tx_started"] == 0, "no transaction was begun")

# The text says the same, as far as the numbers do not depend on the run.
_, text = run("1", "two-locks")
rows = dict(re.findall(r"^.*  +(0x[0-9a-f]+)  (.*)$", text, re.M))
check(len(rows) == 2, f"two rows in the text: {text}")
for line in text.splitlines():
    row = re.match(r" +([0-9.]+) +([0-9.]+|-) +([0-9]+) +([0-9]+) +([0-9.]+) .* 0x[0-9a-f]+  (\w+)",
                   line)
    if row and not elides(report):
        same = locks[busy if row[6] == "hold_busy" else quiet]
        check(int(row[3]) == same["waits"], f"the waits of {row[6]}: {line}")
        check(int(row[4]) == same["acquisitions"], f"the acquisitions of {row[6]}: {line}")
        check(row[2] == ("100.0" if row[6] == "hold_busy" else "0.0"), f"the share: {line}")
check(sorted(caller.split("+")[0] for caller in rows.values()) == ["hold_busy", "lock_quiet"],
      f"the callers in the text: {text}")
check(re.search(rf"^ +acquisitions +{PAIRS + 2}$", text, re.M), f"the total in the text: {text}")
check(re.search(r"^  all 2 of 2 locks", text, re.M), f"the table's head: {text}")

# As many locks as were asked for; the rest is summed up.
report, locks, (quiet, busy, *_) = reported("two-locks", MPLACE_LOCK_STATS_TOP="1")
check(list(locks) == [busy] or elides(report), "the first of two")
check(report["locks_seen"] == 2 and len(locks) == 1, "one of two")
check(elides(report) or report["others"]["acquisitions"] == PAIRS, "the rest are the others")
report, locks, _ = reported("two-locks", MPLACE_LOCK_STATS_TOP="0")
check(report["locks"] == [] and report["others"]["acquisitions"] == PAIRS + 2, "none of two")
_, text = run("1", "two-locks", MPLACE_LOCK_STATS_TOP="0")
check("first locked by" not in text, "no table when none was asked for")
_, text = run("1", "two-locks", MPLACE_LOCK_STATS_TOP="1000")
check("MPLACE_LOCK_STATS_TOP=1000 is not allowed" in text, f"a complaint about 1000: {text}")

# Without symbols: the offset in the file leads to the same function.
stripped = os.path.join(scratch, "stripped program")
subprocess.run(["strip", "-o", stripped, program], check=True)
report, locks, (quiet, *_) = reported("two-locks", file=stripped)
caller = locks[quiet]["first_locked_by"]
check(caller["kind"] == "file" and caller["file"] == stripped, f"a file without symbols: {caller}")
found = subprocess.run(["addr2line", "-f", "-e", program, hex(caller["file_offset"])],
                       stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
check(found == "lock_quiet", f"the offset belongs to lock_quiet, not {found}")
_, text = run("1", "two-locks", file=stripped)
check(f"{stripped}+{hex(caller['file_offset'])}\n" in text, f"file+offset in the text: {text}")

# A library that was loaded later, and one that is gone.
_, locks, (quiet, *_) = reported("plugin", plugin)
caller_is(locks[quiet], "plugin_lock", plugin)
_, locks, (quiet, *_) = reported("unloaded-plugin", plugin)
caller = locks[quiet]["first_locked_by"]
check(caller["kind"] == "unloaded" and caller["function"] is None and caller["file"] is None,
      f"the library is gone: {caller}")
_, text = run("1", "unloaded-plugin", plugin)
check("(code that was unloaded)" in text, f"the text says so: {text}")

# Threads that come and go leave their counts and not their tables.
report, locks, (quiet, *_) = reported("short-threads")
check(locks[quiet]["acquisitions"] == 3 * SHORT_THREADS, "no thread's counts were lost")
check(report["tables"] <= 32, f"{report['tables']} tables for one thread at a time")

# More locks than a table has rows: the totals are exact, and the report says what is missing.
report, locks, _ = reported("many-locks")
check(report["totals"]["acquisitions"] == 2 * MANY, "the total is exact")
check(0 < report["unattributed_acquisitions"] <= report["others"]["acquisitions"],
      "some acquisitions are without their lock")
check(report["dropped_rows"] > 0 and len(locks) == 10, "rows were dropped, ten are shown")
_, text = run("1", "many-locks")
check(re.search(r'[0-9]+ acquisitions are in "all others" without their lock', text),
      f"the text says so: {text}")

# A child is a process of its own and starts from zero.
folder = os.path.join(scratch, "fork")
os.mkdir(folder)
(quiet, *_), _ = run(os.path.join(folder, "%p.json"), "fork")
reports = [parsed(os.path.join(folder, file)) for file in os.listdir(folder)]
check(sorted(lock["acquisitions"] for report in reports for lock in report["locks"]
             if lock["address"] == quiet) == [3, 4], "parent and child each count their own")

# Threads that go on locking while the report is written disturb nothing.
report, locks, (quiet, *_) = reported("running-threads", whole=False)
check(report["totals"]["acquisitions"] > 0, "something was counted")

# Sections that no transaction can commit: each abort is its outermost lock's, under its cause.
report, locks, (quiet, _, big, waiting) = reported("aborts")
if elides(report):
    check(locks[big]["aborts"]["capacity"] >= 1, "a section too large")
    check(locks[waiting]["aborts"]["explicit"] >= 1, "a section that waits for a condition")
    check(locks[quiet]["aborts"]["capacity"] == locks[quiet]["aborts"]["explicit"] == 0,
          "the nested and the quiet lock have neither")
    check(locks[big]["aborts"]["explicit"] == locks[waiting]["aborts"]["capacity"] == 0,
          "nobody has another's")
check(locks[big]["acquisitions"] == locks[waiting]["acquisitions"] == SECTIONS, "each section once")
check(locks[quiet]["acquisitions"] == PAIRS + SECTIONS, "nested ones count too")
caller_is(locks[big], "lock_big_section", program)

# Locks of each kind, two of them at one address one after the other.
report, _, (_, _, _, _, table, spin, place) = reported("kinds")
kinds = {(lock["address"], lock["kind"]): lock for lock in report["locks"]}
check(sorted(kinds) == sorted([(table, "rwlock"), (spin, "spin"), (place, "mutex"),
                               (place, "rwlock")]), f"locks and their kinds: {sorted(kinds)}")
check(kinds[table, "rwlock"]["acquisitions"] == READS + WRITES + 1, "reads and writes together")
check(kinds[table, "rwlock"]["waits"] >= 1, "an attempt until a deadline is a wait")
check(kinds[spin, "spin"]["acquisitions"] == SPINS, "spin locks are counted")
check(kinds[place, "mutex"]["acquisitions"] == kinds[place, "rwlock"]["acquisitions"] == 1,
      "what two kinds of locks did in one place stays apart")
caller_is(kinds[table, "rwlock"], "read_table", program)
caller_is(kinds[spin, "spin"], "spin_once", program)
_, text = run("1", "kinds")
for kind, address in [("rwlock", "read_table"), ("spin", "spin_once")]:
    check(re.search(rf"  {kind} +0x[0-9a-f]+  {address}\+", text), f"{kind} in the text: {text}")

shutil.rmtree(scratch)
