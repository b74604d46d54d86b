# SPDX-License-Identifier: MIT
"""What the tables of mplace compare share: measurements, their medians, and ratios with intervals."""

import csv
import statistics
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import spread
from compare.document import Figure


@dataclass(frozen=True)
class Job:
    """One workload as it was run, a program or a command. A size or number of threads of its own is "-".

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
    """The allocators in the order of their columns, how often each was measured, and the seed."""

    subject: str
    names: tuple[str, ...]
    rounds: int
    seed: int = 1

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
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise SystemExit(f"mplace compare: '{text}' was measured and is not a number")
    return value


class Quantity:
    """What was measured of one quantity, such as time, by the key of a table's row and allocator.

    An allocator that was not measured in every round has no figure in that row.
    """

    def __init__(self, comparison, bootstrap, measured):
        """measured: (key, allocator, round, number) of each run. Numbers are Decimal: the median of
        two is exact and is rounded once, when it is shown."""
        self.comparison = comparison
        self.bootstrap = bootstrap
        wanted = range(1, comparison.rounds + 1)
        by_round = defaultdict(dict)
        for key, allocator, round_number, value in measured:
            by_round[key, allocator][number(round_number)] = value
        self.rows = defaultdict(dict)
        for (key, allocator), values in by_round.items():
            if all(one in values for one in wanted):
                self.rows[key][allocator] = tuple(values[one] for one in wanted)

    def series(self, key, name):
        """The numbers in the order of the rounds, or None."""
        return self.rows.get(key, {}).get(name)

    def median(self, key, name):
        """The median, or None."""
        series = self.series(key, name)
        return None if series is None else float(statistics.median(series))

    def figure(self, key, name, unit=1, digits=1):
        """The cell of the median in units of so much; None where there is none."""
        series = self.series(key, name)
        if series is None:
            return None
        median = float(statistics.median(series) / unit)
        return Figure(median, spread.spread(series), digits)

    def least(self, key, allocators):
        """The allocator with the least median, the first of equals, or None. Nothing has a ratio to 0."""
        measured = [name for name in allocators if self.median(key, name) is not None]
        return min(measured, key=lambda name: self.median(key, name), default=None)

    def pair(self, key, name):
        """The series of the subject and an allocator where both have a ratio, or None."""
        series = self.series(key, self.comparison.subject), self.series(key, name)
        if None in series or min(map(min, series)) <= 0:
            return None
        return series

    def ratio(self, key, name):
        """The subject's median over that of an allocator, or None."""
        pair = self.pair(key, name)
        return pair and self.bootstrap.ratio(*pair)

    def ratio_to_least(self, key, allocators):
        """The subject's median over the least of the allocators', and its name; or None twice."""
        name = self.least(key, allocators)
        ratio = self.ratio(key, name)
        return (ratio, name) if ratio else (None, None)

    def mean_ratio(self, keys_and_names):
        """The geometric mean of the ratios that there are, or None, and how many there are."""
        pairs = [pair for pair in (self.pair(*one) for one in keys_and_names) if pair]
        return (self.bootstrap.mean_ratio(pairs) if pairs else None), len(pairs)


def reading(comparison, ratio):
    """How to read the tables: what a ratio is, and when it tells a difference."""
    rounds = comparison.rounds
    text = (
        f"Medians of {rounds} round{'' if rounds == 1 else 's'}, measured in an order drawn from seed"
        f" {comparison.seed}. ±: half the distance between the quartiles, in percent of the median."
        f" Ratio: {ratio}, and its {100 * spread.CONFIDENCE:.0f} % interval from {spread.SAMPLES} bootstrap"
        " samples of the rounds; ~ where the rounds cannot tell it from 1."
    )
    if rounds < spread.LEAST_ROUNDS:
        text += f" Fewer than {spread.LEAST_ROUNDS} rounds give no interval and tell no difference."
    return text
