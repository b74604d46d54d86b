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
# CPU's stock of blocks runs out or over now and then, and others must be asked: their words may
# then be in conflict once in 1000 sections.
#
#   usage: elided_malloc.py PROGRAM LOCK_LIBRARY ALLOCATOR alternate|random CPUS KEYS SIZE
#          OPERATIONS SEED
import bisect
import collections
import json
import os
import subprocess
import sys
import tempfile

LINE = 64
THREADS = 4

if len(sys.argv) != 10:
    sys.exit("usage: elided_malloc.py PROGRAM LOCK_LIBRARY ALLOCATOR alternate|random CPUS KEYS "
             "SIZE OPERATIONS SEED")
program, lock, allocator, how, cpus, keys, size, operations, seed = sys.argv[1:]


def run():
    """Runs the program; returns what it printed and the emulator's report."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "report.json")
        environment = dict(os.environ, LD_PRELOAD=f"{lock}:{allocator}", TTSTLE_POLICY="paper",
                           MPLACE_HTM="emulated")
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


said, report = run()
numbers = {words[0]: int(words[1]) for words in map(str.split, said) if len(words) == 2}
owners = Owners(said)
conflicts = collections.Counter()  # by what they were on; None: the allocator's words
others = 0
strange = []
for abort in report["aborts"]:
    owner = owners.of(abort["data"])
    if abort["cause"] == "conflict" and owner != "mutex":
        conflicts[owner] += abort["count"]
    else:
        others += abort["count"]
    if abort["cause"] != "conflict" or owner in (None, "mutex"):
        strange.append((abort["count"], abort["cause"], owner or "not the program's data",
                        hex(abort["data"]), abort.get("instruction"), abort.get("requester")))
others += report["unlisted_aborts"]
shared = conflicts.pop(None, 0)

sections, frees, remote = (numbers[kind] for kind in ("sections", "frees", "remote"))
print(f"{how}, {cpus} CPUs, {keys} keys, {size} bytes, seed {seed}: {sections} sections, "
      f"{report['committed']} transactions committed, {frees} blocks freed, {remote} of another "
      f"thread; conflicts on {dict(conflicts)}, on words of the allocator {shared}; other aborts "
      f"{others}")
for count, *what in sorted(strange, key=lambda entry: -entry[0])[:10]:
    print(f"  {count} times", *what)
if others != 0:
    sys.exit(f"elided_malloc.py: {others} aborts that are no conflict, or on the mutex")
if shared > (0 if how == "alternate" else sections / 1000):
    sys.exit(f"elided_malloc.py: {shared} conflicts on words of the allocator")
if report["committed"] < sections:
    sys.exit("elided_malloc.py: not every section was elided")
if remote * 2 < frees or frees < sections / 10:
    sys.exit("elided_malloc.py: too few blocks went from thread to thread for this to say anything")
if sum(conflicts.values()) == 0:
    sys.exit("elided_malloc.py: the threads never met: nothing was shown")
