#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which cache lines the transactions of threads that have no data in common share: a trace tells.

usage: lines_test.py SOURCE BUILD LIBRARY PROGRAM ALGORITHM SERIAL_LOCK
"""
import os
import subprocess
import sys
import tempfile

THREADS, COUNTED = 3, 100
LINE = 64
# Where struct gate has what TM_SERIAL_LOCK=rwlock counts.
RUNNING = 64
SOURCE, BUILD, LIBRARY, PROGRAM, ALGORITHM, SERIAL_LOCK = sys.argv[1:]
MPLACE = os.path.join(SOURCE, "scripts", "mplace")


def expect(what, expected, got):
    if expected != got:
        sys.exit(f"{ALGORITHM}, {what}: expected {expected}, got {got}")


def trace(kind):
    """Where the library lies, and for each thread its accesses between the marks: (is a write, address)."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace")
        environment = {name: value for name, value in os.environ.items()
                       if name != "LD_PRELOAD" and not name.startswith("TM_")}
        environment |= {"MPLACE_BUILD": BUILD, "TM_ALGORITHM": ALGORITHM, "TM_SERIAL_LOCK": SERIAL_LOCK}
        done = subprocess.run([MPLACE, "trace", "--malloc", f"tm={LIBRARY}", "--out", file, "--", PROGRAM, kind],
                              env=environment, stdout=subprocess.PIPE, text=True, check=True)
        dump = subprocess.run([MPLACE, "trace", "--dump", file], env=environment, stdout=subprocess.PIPE, text=True,
                              check=True)
    threads = {}
    for line in dump.stdout.splitlines():
        words = line.split()
        if words[2:4] == ["mark", "region_begin"]:
            threads[words[0]] = accesses = []
        elif words[2:4] == ["mark", "region_end"]:
            accesses = None
        elif words[0] in threads and accesses is not None and words[2] in ("load", "store", "locked", "nt"):
            accesses.append((words[2] != "load", int(words[3], 16)))
    expect("threads", THREADS, len(threads))
    return int(done.stdout, 16), list(threads.values())


def symbols():
    names = subprocess.run(["nm", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines() if len(line.split()) == 3}


def shared_lines(threads):
    """Lines that one thread writes and another touches: {line: accesses of all threads}."""
    writers, users = {}, {}
    for thread, accesses in enumerate(threads):
        for is_write, address in accesses:
            line = address - address % LINE
            users.setdefault(line, []).append((thread, is_write, address))
            if is_write:
                writers.setdefault(line, set()).add(thread)
    return {line: users[line] for line in writers if len({use[0] for use in users[line]}) > 1}


def writers_of(uses):
    return {thread for thread, is_write, _ in uses if is_write}


def check(kind):
    base, threads = trace(kind)
    for accesses in threads:
        if len(accesses) < COUNTED:
            sys.exit(f"{ALGORITHM}, {kind}: a thread with {len(accesses)} accesses")
    shared = shared_lines(threads)
    print(ALGORITHM, SERIAL_LOCK, kind, {hex(line - base): len(uses) for line, uses in shared.items()})
    names = symbols()
    written = {line - base for line, uses in shared.items() if len(writers_of(uses)) > 1}
    expected = {names["tm_clock"]} if kind == "write" else set()
    if SERIAL_LOCK == "rwlock":
        expected |= {names["gate"] + RUNNING}
    expect(f"{kind}: lines that several threads write", sorted(map(hex, expected)), sorted(map(hex, written)))
    for line in written:
        expect(f"{kind}: threads that write {line:#x}", THREADS, len(writers_of(shared[line + base])))
        expect(f"{kind}: words of {line:#x}", {line + base}, {use[2] for use in shared[line + base]})
    # A commit that wrote looks whether transactions of others may still read what it has taken out.
    rest = {line: uses for line, uses in shared.items() if line - base not in written}
    expect(f"{kind}: lines of one thread that others read", THREADS if kind == "write" else 0, len(rest))
    for line, uses in rest.items():
        expect(f"{kind}: words of {line:#x}", {line}, {use[2] for use in uses})


def main():
    for kind in "read", "write":
        check(kind)


main()
