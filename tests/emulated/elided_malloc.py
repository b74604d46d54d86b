#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# malloc and free inside an elided section abort nothing once the allocator has all the memory that
# is needed: no system call, no page fault, and each conflict is on a node of the tree, on its root
# or on its count. Whose an address is, the program says itself: every line that is not its own is
# taken for the allocator's or the lock's. The cache has 12 ways, for what fits in it is not the
# question.
#
# That is strict where each thread frees as often as it allocates. Where that is left to chance some
# CPU's stock of blocks runs out or over now and then, and others must be asked, or the kernel for
# one more batch of pages: their words may then be in conflict once in 1000 sections, and once in
# 1000 a section abort for the kernel. One section that takes the lock for that aborts all others,
# which meet the lock again as they retry: of those aborts there may be ten times as many.
#
# And while all threads allocate and none frees ("grow"): a section aborts where the allocator gets
# pages from the kernel, and that is once a batch of them; no section aborts because it is the first
# to touch its node, and none for a word of another CPU's.
#
#   usage: elided_malloc.py PROGRAM LOCK_LIBRARY ALLOCATOR alternate|random|grow CPUS KEYS SIZE
#          OPERATIONS SEED
import bisect
import collections
import json
import os
import subprocess
import sys
import tempfile

LINE = 64

if len(sys.argv) != 10:
    sys.exit("usage: elided_malloc.py PROGRAM LOCK_LIBRARY ALLOCATOR alternate|random|grow CPUS "
             "KEYS SIZE OPERATIONS SEED")
program, lock, allocator, how, cpus, keys, size, operations, seed = sys.argv[1:]
THREADS = int(cpus)


def run():
    """Runs the program; returns what it printed and the emulator's report."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "report.json")
        # Without decay, which reads a clock once in a batch: a processor does that without a system
        # call, but valgrind hides how, and each would abort.
        environment = dict(os.environ, LD_PRELOAD=f"{lock}:{allocator}", TTSTLE_POLICY="paper",
                           MPLACE_HTM="emulated", CIA_DECAY_MS="-1")
        result = subprocess.run(
            ["valgrind", "-q", "--tool=rtmgrind", "--heap=no", "--l1d=icelake", f"--cpus={cpus}",
             f"--seed={seed}", "--top=8192", f"--rtm-out={path}",
             program, how, str(THREADS), keys, size, operations, seed],
            env=environment, text=True, stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            sys.exit(f"elided_malloc.py: exit status {result.returncode}")
        with open(path, encoding="utf-8") as file:
            return result.stdout.splitlines(), json.load(file)


class Owners:
    """Which part of the program a line belongs to."""

    def __init__(self, said):
        ranges = []
        for line in said:
            kind, *rest = line.split()
            if kind == "data":
                ranges.append((int(rest[1]), int(rest[2]), rest[0]))
            elif kind == "block":
                ranges.append((int(rest[0]), int(rest[1]), "node"))
        self.ranges = sorted(ranges)
        self.starts = [start for start, _, _ in self.ranges]

    def of(self, address):
        """The name of what has a byte in the address's line; None: it is not the program's."""
        end = (address | LINE - 1) + 1
        at = bisect.bisect_left(self.starts, end) - 1
        if at < 0:
            return None
        start, length, name = self.ranges[at]
        return name if start + length > end - LINE else None


def function_of(instruction):
    """Of "address: function (file:line)"."""
    return instruction.split(": ")[1].split(" ")[0] if instruction else ""


def grows(report, owners, sections):
    """The verdict on a program that only allocates."""
    counts = collections.Counter()
    strange = []
    # Nodes that follow each other lie as far apart as blocks of the class: most distances are that.
    starts = [start for start, _, name in owners.ranges if name == "node"]
    block = collections.Counter(b - a for a, b in zip(starts, starts[1:])).most_common(1)[0][0]
    for abort in report["aborts"]:
        owner, function = owners.of(abort["data"]), function_of(abort.get("instruction"))
        if abort["cause"] == "conflict":
            kind = "conflicts" if owner else "conflicts on words of the allocator"
        elif abort["cause"] == "explicit":
            kind = "found the lock taken"
        elif abort["cause"] == "page_fault" and owner == "node":
            populates = function == "page_source_populate"
            kind = "batches" if populates else "first touches of a node"
        elif abort["cause"] == "page_fault":
            kind = "pages of the allocator's own"
        # As above: when a run is carved.
        elif abort["cause"] == "system_call" and function.startswith(("clock_gettime", "ask_kernel")):
            kind = "clock"
        elif abort["cause"] == "system_call" and function in ("page_source_madvise", "page_source_mmap"):
            kind = "batches"
        elif abort["cause"] == "shootdown": # by another thread's mmap
            kind = "changes of the address space"
        else:
            kind = "others"
        counts[kind] += abort["count"]
        if kind in ("conflicts on words of the allocator", "first touches of a node", "others"):
            strange.append((abort["count"], abort["cause"], owner, hex(abort["data"]),
                            abort.get("instruction"), abort.get("requester")))
    pages = len(starts) * block // 4096
    print(f"grow, {cpus} CPUs, {size} bytes, seed {seed}: {sections} sections, {len(starts)} nodes "
          f"of {block} bytes on {pages} pages; aborts {dict(counts)}, unlisted "
          f"{report['unlisted_aborts']}")
    for count, *what in sorted(strange, key=lambda entry: -entry[0])[:10]:
        print(f"  {count} times", *what)
    # What the CPUs tell each other about the process's pages, once a MiB at most.
    if counts["conflicts on words of the allocator"] > pages / 256:
        sys.exit("elided_malloc.py: conflicts on words of the allocator")
    if (counts["first touches of a node"] + counts["others"] + report["unlisted_aborts"]) != 0:
        sys.exit("elided_malloc.py: a growing allocator aborts what it need not")
    # Each CPU begins with a page, and what is ahead grows with what is there.
    if counts["batches"] > 8 * THREADS + pages / 4:
        sys.exit("elided_malloc.py: more than one abort for four pages")
    if counts["pages of the allocator's own"] > 8 * THREADS:
        sys.exit("elided_malloc.py: too many aborts for the allocator's own pages")
    if len(starts) * 10 < sections * 9 or counts["batches"] == 0:
        sys.exit("elided_malloc.py: the allocator hardly grew: nothing was shown")
    sys.exit(0)


said, report = run()
numbers = {words[0]: int(words[1]) for words in map(str.split, said) if len(words) == 2}
owners = Owners(said)
if how == "grow":
    grows(report, owners, numbers["sections"])
conflicts = collections.Counter()  # by what they were on; None: the allocator's words
met_lock = others = first_touches = 0
strange = []
for abort in report["aborts"]:
    owner = owners.of(abort["data"])
    if abort["cause"] == "conflict" and owner != "mutex":
        conflicts[owner] += abort["count"]
    elif abort["cause"] in ("conflict", "explicit"):
        met_lock += abort["count"]
    else:
        others += abort["count"]
        if (abort["cause"] == "page_fault" and owner == "node"
                and function_of(abort.get("instruction")) != "page_source_populate"):
            first_touches += abort["count"]
    if abort["cause"] != "conflict" or owner in (None, "mutex"):
        strange.append((abort["count"], abort["cause"], owner or "not the program's data",
                        hex(abort["data"]), abort.get("instruction"), abort.get("requester")))
others += report["unlisted_aborts"]
shared = conflicts.pop(None, 0)

sections, frees, remote = (numbers[kind] for kind in ("sections", "frees", "remote"))
print(f"{how}, {cpus} CPUs, {keys} keys, {size} bytes, seed {seed}: {sections} sections, "
      f"{report['committed']} transactions committed, {frees} blocks freed, {remote} of another "
      f"thread; conflicts on {dict(conflicts)}, on words of the allocator {shared}; on the lock "
      f"{met_lock}; other aborts {others}")
for count, *what in sorted(strange, key=lambda entry: -entry[0])[:10]:
    print(f"  {count} times", *what)
chance = 0 if how == "alternate" else sections / 1000
if first_touches != 0:
    sys.exit(f"elided_malloc.py: {first_touches} aborts for the first touch of a node")
if others > chance:
    sys.exit(f"elided_malloc.py: {others} aborts that are no conflict")
if met_lock > 10 * chance:
    sys.exit(f"elided_malloc.py: {met_lock} aborts on the lock")
if shared > chance:
    sys.exit(f"elided_malloc.py: {shared} conflicts on words of the allocator")
if report["committed"] + 10 * chance < sections:
    sys.exit("elided_malloc.py: not every section was elided")
if remote * 2 < frees or frees < sections / 10:
    sys.exit("elided_malloc.py: too few blocks went from thread to thread for this to say anything")
if sum(conflicts.values()) == 0:
    sys.exit("elided_malloc.py: the threads never met: nothing was shown")
