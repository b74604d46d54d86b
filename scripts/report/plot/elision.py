# SPDX-License-Identifier: MIT
"""Elision: which share of the locked sections was elided, and why transactions aborted.

From counts, not from times: emulated runs count as well.
"""

from collections import defaultdict
from dataclasses import dataclass

from plot.groups import groups_of, key_of
from spread import quartiles


@dataclass(frozen=True)
class ElisionPoint:
    """An allocator at a size, over all its runs, so that each transaction weighs the same.

    elided is in percent of the acquisitions, low and high are the quartiles of the runs' own; the others are in
    percent of the transactions started: to six digits, so that what looks equal is.
    """

    size: int
    elided: float
    conflict: float
    capacity: float
    explicit: float
    other: float
    runs: int
    low: float
    high: float

    @property
    def is_full(self):
        """Whether capacity aborts are 1 % of the transactions or more."""
        return self.capacity >= 1


def _six_digits(number):
    return float(f"{number:.6g}")


def has_transactions(row):
    """Whether any transaction was started."""
    return int(row.tx_started or 0) > 0


def has_elision(row):
    """Whether the row tells how many of its locked sections were elided: of none, where no transaction began."""
    elides = row.lock == "ttstle" and row.htm != "none"
    return elides and row.tx_started != "" and int(row.acquisitions or 0) > 0


def _point(size, rows):
    """The rows of one point added up."""

    def total(column):
        return sum(int(getattr(row, column) or 0) for row in rows)

    def elided(slow_path, acquisitions):
        return _six_digits(100 * (1 - slow_path / acquisitions))

    def aborted(cause):
        return _six_digits(100 * total(f"abort_{cause}") / total("tx_started"))

    shares = [elided(int(row.slow_path or 0), int(row.acquisitions)) for row in rows]
    low, high = quartiles(shares)
    return ElisionPoint(
        size=size,
        elided=elided(total("slow_path"), total("acquisitions")),
        conflict=aborted("conflict"),
        capacity=aborted("capacity"),
        explicit=aborted("explicit"),
        other=aborted("other"),
        runs=len(rows),
        low=low,
        high=high,
    )


def elision_groups(rows):
    """The groups of the rows that tell of elision. An emulated cache has groups of its own."""
    runs = defaultdict(list)
    for row in filter(has_elision, rows):
        what = f"{row.htm}:{row.cache}" if row.cache else row.htm
        runs[key_of(row, what), row.malloc, int(row.size)].append(row)
    points = defaultdict(lambda: defaultdict(list))
    for (key, malloc, size), measured in runs.items():
        if not any(map(has_transactions, measured)):
            continue  # without transactions ttstle is tts
        points[key][malloc, "ttstle", key.what].append(_point(size, measured))
    return groups_of(points)
