# SPDX-License-Identifier: MIT
"""The rows of results (FILE.csv of mplace sweep), read and checked.

Every report of rows takes them from here, so that all refuse the same files with the same words.
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass

# The columns of a result; csv_header of common/mplace.bash is the same.
HEADER = (
    "bench,malloc,lock,htm,size,nodes,threads,seed,rate,unit,sets_used,max_per_set,"
    "acquisitions,slow_path,tx_started,tx_committed,abort_conflict,abort_capacity,"
    "abort_explicit,abort_other,host,cpu,date,policy,wait,pinned,counters"
)
COLUMNS = HEADER.split(",")

# A cache as FILE.csv.machine describes it: sets, ways and bytes of a line.
CACHE = "[1-9][0-9]{0,8}x[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})?"


class Refused(Exception):
    """A file cannot be used; the text says which, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row as text, empty where a field is blank.

    Rows that differ in their date alone are equal: it is left out.
    """

    bench: str
    cpu: str
    nodes: str
    threads: str
    malloc: str
    lock: str
    htm: str
    size: str
    rate: str
    unit: str
    sets_used: str
    max_per_set: str
    host: str
    policy: str
    wait: str
    pinned: str
    seed: str
    acquisitions: str
    slow_path: str
    tx_started: str
    tx_committed: str
    abort_conflict: str
    abort_capacity: str
    abort_explicit: str
    abort_other: str
    counters: str
    cache: str  # what an emulated run had, "64x8" for 64 sets of 8 ways; empty where not known


@dataclass(frozen=True)
class Result:
    """A FILE.csv, and the description of its machines beside it."""

    name: str
    rows: tuple[Row, ...]  # in the order of the file, repeated ones too
    machine: tuple[str, ...]  # the lines of FILE.csv.machine; none where there is no such file


# Counts have 64 bits, at most 20 digits; Python refuses numbers of some thousand, gnuplot of some hundred.
DIGITS = "[0-9]{0,20}"

# Columns, what their fields (with "," between) match, and what is said of a row whose do not. The
# first that does not match is told.
CHECKS = tuple(
    (columns.split(), re.compile(pattern), complaint)
    for columns, pattern, complaint in (
        ("bench", "ring|avltree", "unknown benchmark: {bench}"),
        ("malloc", "[A-Za-z0-9_+.-]+", "not an allocator name: {malloc}"),
        (
            "lock htm",
            "[a-z]+,(native|emulated|none)",
            "not a lock and its htm: {lock}, {htm}",
        ),
        (
            "size nodes threads seed",
            f"[1-9]{DIGITS},{DIGITS},[1-9]{DIGITS},[0-9]{DIGITS}",
            "size, nodes, threads or seed is not a number",
        ),
        ("rate", rf"([0-9]{DIGITS}(\.[0-9]{DIGITS})?)?", "the rate is not a number: {rate}"),
        ("rate htm", ".+,.*|,emulated", "the rate is missing"),
        (
            "acquisitions slow_path tx_started tx_committed abort_conflict abort_capacity"
            " abort_explicit abort_other",
            f"{DIGITS}(,{DIGITS})*",
            "a count of the lock is not a number",
        ),
        ("sets_used max_per_set", f"{DIGITS},{DIGITS}", "sets_used or max_per_set is not a number"),
        (
            "counters",
            f"([^=;,]+=[0-9]{DIGITS}(;[^=;,]+=[0-9]{DIGITS})*)?",
            "counters are not name=value;name=value: {counters}",
        ),
    )
)


def checked_fields(line):
    """The fields of a line by their columns. ValueError says what is wrong."""
    texts = line.split(",") if line else []
    if len(texts) != len(COLUMNS):
        raise ValueError(f"a row of {len(texts)} fields instead of {len(COLUMNS)}")
    values = dict(zip(COLUMNS, texts))
    for columns, pattern, complaint in CHECKS:
        if not pattern.fullmatch(",".join(values[column] for column in columns)):
            raise ValueError(complaint.format_map(values))
    return values


def row_of(values, caches):
    """The row of checked fields; caches are those that emulated_caches found."""
    texts = {name: "" if text == "-" else text for name, text in values.items() if name != "date"}
    cache = caches.get(texts["host"], "") if texts["htm"] == "emulated" else ""
    return Row(**texts, cache=cache)


def emulated_caches(machine):
    """The cache that each host emulated, "64x8", from the lines of FILE.csv.machine."""
    caches = {}
    host = ""
    for line in machine:
        key, value = (line.split("=") + [""])[:2]
        if key == "host":
            host = value
        elif key == "l1d" and re.fullmatch(CACHE, value):
            caches[host] = "x".join(value.split("x")[:2])
    caches.pop("", None)
    return caches


def read_text(name):
    """The text of a file, any bytes. Refused where it cannot be read."""
    try:
        with open(name, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return file.read()
    except OSError as error:
        raise Refused(f"{name} is not a readable file") from error


def read_machine(name):
    """The lines of the description beside a result; none where there is no such file."""
    if not os.path.isfile(f"{name}.machine"):
        return ()
    return tuple(read_text(f"{name}.machine").removesuffix("\n").split("\n"))


def read_result(name):
    """The result in a file. Refused where the file is not a complete result."""
    if not os.path.isfile(name):
        raise Refused(f"{name} is not a readable file")
    text = read_text(name)
    if not text:
        raise Refused(f"{name} is empty")
    if not text.endswith("\n"):
        raise Refused(f"{name}: the last row is incomplete (mplace sweep --resume completes it)")
    # Complaints about the contents name a file by a path.
    path = name if name.startswith("/") else f"./{name}"
    header, *lines = text.removesuffix("\n").split("\n")
    if header != HEADER:
        raise Refused(f"{path}, line 1: not the header of a result")
    if not lines:
        raise Refused(f"{path}: no rows")
    machine = read_machine(name)
    caches = emulated_caches(machine)
    rows = []
    for number, line in enumerate(lines, 2):
        try:
            rows.append(row_of(checked_fields(line), caches))
        except ValueError as error:
            raise Refused(f"{path}, line {number}: {error}") from error
    return Result(name, tuple(rows), machine)


def run_report(arguments, write):
    """Calls write with the results that the arguments name: --as PROGRAM -- FILE...

    The exit status: 0, or 2 where a file is refused; PROGRAM says so then, and write is not called.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--as", dest="program", required=True)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args(arguments)
    try:
        results = [read_result(name) for name in options.files]
    except Refused as refusal:
        print(f"{options.program}: {refusal}", file=sys.stderr)
        return 2
    write(results)
    return 0
