# SPDX-License-Identifier: MIT
"""What the tables of mplace compare share: measurements, their medians, and ratios to the least.

The figures of a quantity are a dictionary of rows: the key of a table's row to {allocator: median}.
An allocator that was not measured in every round is not in the row.
"""

import csv
import statistics
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation


@dataclass(frozen=True)
class Job:
    """One workload as it was run, or a command. A size or number of threads of its own is "-".

    As a string: "batch 64, 2 threads".
    """

    workload: str
    size: str
    threads: str

    def __str__(self):
        size = "" if self.size == "-" else f" {self.size}"
        plural = "" if self.threads == "1" else "s"
        return f"{self.workload}{size}, {self.threads} thread{plural}"


@dataclass(frozen=True)
class Comparison:
    """The allocators in the order of their columns, and how often each was measured."""

    subject: str
    names: tuple[str, ...]
    rounds: int

    @property
    def others(self):
        """All but the subject."""
        return tuple(name for name in self.names if name != self.subject)

    @property
    def memory_peers(self):
        """The others that memory is judged against: the common ones, or all where none is there."""
        common = tuple(name for name in self.others if name in ("glibc", "jemalloc", "mimalloc"))
        return common or self.others


def read_records(path):
    """The lines of a CSV file as dictionaries by the names in its first line."""
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        yield from csv.DictReader(file, restval="", quoting=csv.QUOTE_NONE)


def number(text):
    """The number that was written, exactly. Ends the report where something else was."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise SystemExit(f"mplace compare: '{text}' was measured and is not a number") from None


def medians(measured, rounds):
    """The figures of (key, allocator, number) triples: medians of what was measured in every round.

    Numbers are Decimal: the median of two is exact and is rounded once, when it is printed.
    """
    numbers = defaultdict(list)
    for key, allocator, value in measured:
        numbers[key, allocator].append(value)
    figures = defaultdict(dict)
    for (key, allocator), values in numbers.items():
        if len(values) == rounds:
            figures[key][allocator] = float(statistics.median(values))
    return dict(figures)


def series(measured, rounds):
    """{key: {allocator: numbers in the order of the rounds}} of (key, allocator, round, number).

    What was not measured in every round has none.
    """
    numbers = defaultdict(dict)
    for key, allocator, round_number, value in measured:
        numbers[key, allocator][int(round_number)] = float(value)
    found = defaultdict(dict)
    for (key, allocator), by_round in numbers.items():
        if sorted(by_round) == list(range(1, rounds + 1)):
            found[key][allocator] = tuple(by_round[number] for number in sorted(by_round))
    return dict(found)


def least(row, allocators):
    """The allocator with the least number above 0 in a row, the first of equals, or None."""
    measured = [name for name in allocators if row.get(name, 0) > 0]
    return min(measured, key=row.get, default=None)


def ratio_to_least(row, subject, allocators):
    """The subject's number over the least of the allocators', or None where either is missing."""
    best = least(row, allocators)
    if best is None or row.get(subject, 0) <= 0:
        return None
    return row[subject] / row[best]


def heading(names):
    """The titles of the columns: one an allocator, then the ratio and what it is to."""
    return "".join(f" {name:>10.10}" for name in names) + f" {'ratio':>7}  to"


def ratio_cells(row, subject, allocators):
    """The last two columns: the subject's ratio to the least of the allocators, and its name."""
    ratio = ratio_to_least(row, subject, allocators)
    if ratio is None:
        return f" {'-':>7}  -"
    return f" {ratio:7.2f}  {least(row, allocators)}"


def mebibytes(kib):
    """The text of a size in MiB."""
    return f"{kib / 1024:.1f}"
