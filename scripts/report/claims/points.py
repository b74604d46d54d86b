# SPDX-License-Identifier: MIT
"""Rows added up to points, which the judgements stand on.

A setting is what must not be mixed: benchmark, processor and nodes or threads of measured rows, the
cache of emulated ones. A point is what was measured of an allocator, a lock and a size in one.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field

# The allocators that come first, in this order; others follow as they are first seen.
USUAL_MALLOCS = ("glibc", "rand", "cia", "jemalloc", "mimalloc", "tcmalloc")


def median(values):
    """The median; 0 of nothing."""
    return statistics.median(values) if values else 0


@dataclass
class Point:
    """The rows of one allocator, lock and size in one setting, added up."""

    rows: int = 0
    files: list[int] = field(default_factory=list)  # those that the rows are from, by number
    rates: list[float] = field(default_factory=list)
    # Of the rows of ttstle that say how many transactions they began.
    acquisitions: int = 0
    slow_path: int = 0
    started: int = 0
    capacity: int = 0
    # What the processor counted by role, and over how many locked sections.
    counted: Counter = field(default_factory=Counter)
    sections: Counter = field(default_factory=Counter)

    @property
    def runs(self):
        """How many runs have a rate."""
        return len(self.rates)

    @property
    def rate(self):
        """The median rate; 0 where there is none."""
        return median(self.rates)

    def count(self, role):
        """A count of a role for each locked section; None where it was not counted."""
        return self.counted[role] / self.sections[role] if self.sections[role] else None

    def capacity_share(self):
        """The share of the transactions that aborted for capacity; None where none began."""
        return self.capacity / self.started if self.started else None


NO_POINT = Point()


@dataclass
class Setting:
    """What was measured under the same conditions.

    series: by allocator and lock, the points by size as they are first seen.
    fullest: by allocator and size, most nodes that begin in one cache set, where any do.
    events: the processor's own names of what was counted, by role.
    mallocs: those with rows, in the order in which they are shown.
    """

    bench: str  # "ring" or "avltree"
    where: str  # the conditions in words
    measured: bool  # on the processor itself, not emulated
    members: int  # nodes of the ring, threads of the tree
    series: dict[tuple[str, str], dict[int, Point]] = field(default_factory=dict)
    fullest: dict[tuple[str, int], int] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)
    mallocs: list[str] = field(default_factory=list)

    def is_measured(self, bench):
        """Whether these are measured rows of a benchmark."""
        return self.measured and self.bench == bench

    def has(self, malloc, *locks):
        """Whether there are rows of an allocator under each of the locks."""
        return all((malloc, lock) in self.series for lock in locks)

    def sizes(self, malloc, lock):
        """The sizes of a series, rising."""
        return sorted(self.series.get((malloc, lock), ()))

    def point(self, malloc, lock, size):
        """The point, or an empty one that must not be changed."""
        return self.series.get((malloc, lock), {}).get(size, NO_POINT)

    def rate(self, malloc, lock, size):
        """The median rate of a point; 0 where there is none."""
        return self.point(malloc, lock, size).rate

    def counts_transactions(self, malloc):
        """Whether there are rows of an allocator that began transactions."""
        return any(point.started for point in self.series.get((malloc, "ttstle"), {}).values())


@dataclass(frozen=True)
class Points:
    """All settings, the measured ones first, and how many rows are in none."""

    settings: list[Setting]
    left_out: int


def add_up(results):
    """The points of results. A row that two files have counts once, for the first of them."""
    file_of_row = {}
    for number, result in enumerate(results, 1):
        for row in result.rows:
            file_of_row.setdefault(row, number)
    # Without transactions ttstle is tts: to judge by it would take noise for a difference.
    judged = {
        row: file
        for row, file in file_of_row.items()
        if not (row.lock == "ttstle" and row.htm == "none")
    }
    settings = {}
    for row, file in judged.items():
        where = conditions(row)
        if (row.bench, where) not in settings:
            settings[row.bench, where] = setting_of(row, where)
        add_row(settings[row.bench, where], row, file)
    order_mallocs(settings.values(), dict.fromkeys(row.malloc for row in judged))
    return Points(
        sorted(settings.values(), key=lambda setting: not setting.measured),
        len(file_of_row) - len(judged),
    )


def conditions(row):
    """What must not be mixed with other rows of the benchmark, in words."""
    if row.bench == "ring":
        shape = f"{row.nodes or '-'} nodes"
    else:
        shape = f"{row.threads} thread{'' if row.threads == '1' else 's'}"
    if row.htm != "emulated":
        return f"measured: {row.cpu or '-'}, {shape}"
    if not row.cache:
        return f"emulated, {shape}"
    sets, ways = row.cache.split("x")
    return f"emulated: L1D of {sets} sets × {ways} ways, {shape}"


def setting_of(row, where):
    """The setting that a row is in, without any points."""
    members = int(row.nodes or 0) if row.bench == "ring" else int(row.threads)
    return Setting(row.bench, where, row.htm != "emulated", members)


def add_row(setting, row, file):
    """Adds a row of a file to its point."""
    size = int(row.size)
    point = setting.series.setdefault((row.malloc, row.lock), {}).setdefault(size, Point())
    point.rows += 1
    if file not in point.files:
        point.files.append(file)
    if row.rate:
        point.rates.append(float(row.rate))
    if most := max(int(row.max_per_set or 0), setting.fullest.get((row.malloc, size), 0)):
        setting.fullest[row.malloc, size] = most
    acquisitions = int(row.acquisitions or 0)
    # A run that began none elided none; of one that does not say, nothing is known.
    if row.lock == "ttstle" and row.htm != "none" and acquisitions and row.tx_started:
        point.acquisitions += acquisitions
        point.slow_path += int(row.slow_path or 0)
        point.started += int(row.tx_started)
        point.capacity += int(row.abort_capacity or 0)
    # Under the emulator the processor counts what the emulator does.
    if row.counters and acquisitions and setting.measured:
        add_counters(setting, point, row.counters, acquisitions)


def add_counters(setting, point, counters, acquisitions):
    """Adds counters, "ROLE@EVENT=COUNT;...": the role is what is asked for, the event its name on
    the processor. A count tells only as a share of the locked sections that it was counted over.
    """
    for pair in counters.split(";"):
        name, _, count = pair.partition("=")
        role, at, event = name.partition("@")
        if at:
            setting.events[role] = event
        point.counted[role] += int(count)
        point.sections[role] += acquisitions


def order_mallocs(settings, seen):
    """Sets the order in which the allocators of each setting are shown."""
    order = [malloc for malloc in USUAL_MALLOCS if malloc in seen]
    order += [malloc for malloc in seen if malloc not in USUAL_MALLOCS]
    for setting in settings:
        present = {malloc for malloc, _ in setting.series}
        setting.mallocs = [malloc for malloc in order if malloc in present]
