# SPDX-License-Identifier: MIT
"""Rates: the rows of one allocator, lock and size become a point, their median."""

import statistics
from collections import defaultdict
from dataclasses import dataclass

from plot.groups import groups_of, key_of
from spread import quartiles


@dataclass(frozen=True)
class RatePoint:
    """The median rate of an allocator under a lock at a size.

    low, high: the quartiles of its runs.
    best: the greatest median that any allocator of the group has under the same lock at that size.
    sets_used, max_per_set: of the first run, as text, empty where they were not counted.
    """

    size: int
    rate: float
    low: float
    high: float
    best: float
    runs: int
    sets_used: str
    max_per_set: str

    @property
    def share(self):
        """The part of the best rate. Where no allocator has any, none is worse than another."""
        return self.rate / self.best if self.best else 1.0

    @property
    def is_bad(self):
        """Whether the rate is below half of the best."""
        return self.rate < self.best / 2


def is_drawn(row):
    """Whether the row has a rate that means something: ttstle that does not elide is tts."""
    return row.rate != "" and not is_futile(row)


def is_futile(row):
    """Whether the row is of a ttstle that did not elide."""
    return row.lock == "ttstle" and row.htm == "none"


def rate_groups(rows):
    """The groups of the rows that are drawn, a point each the median of its runs."""
    runs = defaultdict(list)
    for row in filter(is_drawn, rows):
        runs[key_of(row, row.unit), row.malloc, row.lock, row.htm, int(row.size)].append(row)
    rates = {at: [float(row.rate) for row in measured] for at, measured in runs.items()}
    medians = {at: statistics.median(measured) for at, measured in rates.items()}
    best = defaultdict(float)
    for (key, _, lock, htm, size), rate in medians.items():
        best[key, lock, htm, size] = max(best[key, lock, htm, size], rate)
    points = defaultdict(lambda: defaultdict(list))
    for at, measured in runs.items():
        key, malloc, lock, htm, size = at
        first = measured[0]
        points[key][malloc, lock, htm].append(
            RatePoint(
                size, medians[at], *quartiles(rates[at]), best[key, lock, htm, size],
                len(measured), first.sets_used, first.max_per_set,
            )
        )
    return groups_of(points)
