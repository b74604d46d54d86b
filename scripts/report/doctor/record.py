# SPDX-License-Identifier: MIT
"""Reads a record of setgrind. sim/setgrind/README.md tells the format.

Two places in the program with the same text are one to a reader: their figures are added up. The
numbers of sites and sections mean nothing outside their record; a place's text finds it in another.
"""

import re
from collections import defaultdict
from dataclasses import dataclass

# Symbols of libc have a version behind them, which tells a reader nothing.
SYMBOL_VERSION = re.compile(r"@@?[A-Z]+_[0-9.]+")


@dataclass(frozen=True)
class Geometry:
    """The modelled cache: sets, ways, and bytes of a line."""

    sets: int
    ways: int
    line: int


@dataclass(frozen=True)
class Place:
    """A place in the program, as the record names it."""

    name: str
    callers: str

    @property
    def at(self):
        """What a reader is told of the place itself; empty: it is not known."""
        return SYMBOL_VERSION.sub("", self.name)

    @property
    def called_from(self):
        """What a reader is told of its callers; empty: none is known."""
        return SYMBOL_VERSION.sub("", self.callers)


@dataclass(frozen=True)
class Counts:
    """Visits to lines, and the misses among them."""

    visits: int
    misses: int
    misses_fully_associative: int
    misses_within: int

    @property
    def saved(self):
        """The misses that a better placement would save, never less than 0.

        Those are the misses that the fully associative cache does not have, less those where a
        block was in its own way, which it is wherever it lies.
        """
        return max(0, self.misses - self.misses_fully_associative - self.misses_within)

    def __add__(self, other):
        return Counts(
            self.visits + other.visits,
            self.misses + other.misses,
            self.misses_fully_associative + other.misses_fully_associative,
            self.misses_within + other.misses_within,
        )


@dataclass(frozen=True)
class Spread:
    """How the hot blocks lay in the worst window: how many, and in how many sets they begin."""

    hot: int
    sets_used: int
    most_in_one_set: int
    hot_by_set: list[int]


@dataclass(frozen=True)
class Tally:
    """The blocks of one place, or of one group of sizes."""

    lines: Counts  # all lines of the blocks
    first_lines: Counts
    allocated: int
    live_most: int
    size_least: int
    size_most: int
    spread: Spread

    def __add__(self, other):
        """Both together. Of windows, that with more hot blocks speaks for both."""
        return Tally(
            self.lines + other.lines,
            self.first_lines + other.first_lines,
            self.allocated + other.allocated,
            self.live_most + other.live_most,
            min(self.size_least, other.size_least),
            max(self.size_most, other.size_most),
            max(self.spread, other.spread, key=lambda spread: spread.hot),
        )


@dataclass(frozen=True)
class Filler:
    """Lines of one kind of block in the sets that overflowed, added up over the overflows."""

    lines: int
    size: int
    place: Place  # where the block was allocated; no name: it is no known block


def _fillers_together(fillers):
    """Those of one kind as one, the one with most lines first."""
    lines = defaultdict(int)
    for filler in fillers:
        lines[filler.size, filler.place] += filler.lines
    kinds = sorted(lines.items(), key=lambda kind: -kind[1])
    return [Filler(count, size, place) for (size, place), count in kinds]


@dataclass(frozen=True)
class Section:
    """The critical sections that begin at one place."""

    entered: int
    overflowed: int
    waited: int
    held_at_end: int
    lines_written: int
    lines_most: int
    fillers: list[Filler]

    def __add__(self, other):
        return Section(
            self.entered + other.entered,
            self.overflowed + other.overflowed,
            self.waited + other.waited,
            self.held_at_end + other.held_at_end,
            self.lines_written + other.lines_written,
            max(self.lines_most, other.lines_most),
            _fillers_together(self.fillers + other.fillers),
        )


@dataclass(frozen=True)
class Run:
    """A run of the program under an allocator. The dictionaries are in the record's order."""

    allocator: str
    exit_status: int
    geometry: Geometry
    window: int
    threads: int
    accesses: int
    heap: Counts
    elsewhere: Counts
    sites: dict[Place, Tally]
    sizes: dict[str, Tally]  # by the number of the group
    sections: dict[Place, Section]
    becomes: str | None  # the file that it executed at its end; empty: that has no name

    @property
    def visits(self):
        """Visits to all memory."""
        return self.heap.visits + self.elsewhere.visits

    @property
    def misses(self):
        """Misses in all memory."""
        return self.heap.misses + self.elsewhere.misses

    @property
    def saved(self):
        """What a better placement would save of each place's misses, added up. Where the blocks of
        one place have luck in the sets, that takes nothing off what those of another would save.
        """
        return max(self.heap.saved, sum(tally.lines.saved for tally in self.sites.values()))

    def per_1000(self, count):
        """The count for every 1000 accesses of the run."""
        return 1000 * count / self.accesses if self.accesses else 0.0


def _lines_by_kind(path):
    """The fields behind the first one of each line, by the first one. Any byte may be in a name."""
    lines = defaultdict(list)
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for line in file:
            kind, *fields = line.removesuffix("\n").split("\t")
            lines[kind].append(fields)
    return lines


def _numbers(fields):
    return [int(field) for field in fields]


def _tally(fields):
    return Tally(
        Counts(*_numbers(fields[1:5])),
        Counts(*_numbers(fields[5:9])),
        *_numbers(fields[9:13]),
        Spread(*_numbers(fields[13:16]), _numbers(fields[16].split(",") if fields[16] else [])),
    )


def _added_up(pairs):
    """A dictionary of the pairs, in the order of the first of each key; equal keys are added up."""
    total = {}
    for key, part in pairs:
        total[key] = total[key] + part if key in total else part
    return total


def _sections(lines):
    fillers = defaultdict(list)
    for number, count, size, *place in lines["filler"]:
        fillers[number].append(Filler(int(count), int(size), Place(*place)))
    return _added_up(
        (Place(*fields[8:10]), Section(*_numbers(fields[1:7]), fillers[fields[0]]))
        for fields in lines["section"]
    )


def read_run(path, allocator, exit_status):
    """The run whose complete record is in the file."""
    lines = _lines_by_kind(path)
    return Run(
        allocator,
        exit_status,
        geometry=Geometry(*_numbers(lines["geometry"][0])),
        window=int(lines["window"][0][0]),
        threads=int(lines["threads"][0][0]),
        accesses=int(lines["accesses"][0][0]),
        heap=Counts(*_numbers(lines["heap"][0])),
        elsewhere=Counts(*_numbers(lines["elsewhere"][0])),
        sites=_added_up((Place(*fields[17:19]), _tally(fields)) for fields in lines["site"]),
        sizes=_added_up((fields[0], _tally(fields)) for fields in lines["size"]),
        sections=_sections(lines),
        becomes=lines["becomes"][0][0] if "becomes" in lines else None,
    )
