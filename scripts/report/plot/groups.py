# SPDX-License-Identifier: MIT
"""What figures are of: groups of points that one figure shows, divided into series."""

from dataclasses import dataclass

from plot.figures.looks import Look, look_of
from plot.order import as_bytes, by_version

LOCK_ORDER = {"tts": 1, "ttstle": 2}  # after pthread and any other


@dataclass(frozen=True)
class Series:
    """The points of an allocator under a lock in one group, by size."""

    malloc: str
    lock: str
    points: tuple

    @property
    def look(self) -> Look:
        """How the allocator is drawn."""
        return look_of(self.malloc)

    @property
    def name(self):
        """What the legend calls it."""
        return f"{self.malloc}, {self.lock}"


@dataclass(frozen=True)
class Key:
    """What the points of one figure have in common; blank fields are "-".

    what: of rates their unit, of transactions what ran them ("emulated:64x12" names the cache).
    """

    bench: str
    cpu: str
    nodes: str
    threads: str
    what: str


@dataclass(frozen=True)
class Group:
    """The series of one figure, in the order of its legend."""

    key: Key
    number: int  # of the figure
    suffix: str  # of its name
    series: tuple[Series, ...]

    def figure(self, kind):
        """The name of the group's figure of that kind."""
        return f"figure{self.number}-{kind}{self.suffix}"

    def sizes(self):
        """The sizes measured, ascending."""
        return sorted({point.size for series in self.series for point in series.points})


def key_of(row, what):
    """The key of a row."""
    return Key(*(text or "-" for text in (row.bench, row.cpu, row.nodes, row.threads, what)))


def _legend_order(label):
    malloc, lock, htm = label
    return look_of(malloc).order, LOCK_ORDER.get(lock, 0), malloc, lock, htm


def _series(labelled):
    """The series of labelled points: (malloc, lock, htm) to a list of points."""
    return tuple(
        Series(malloc, lock, tuple(sorted(labelled[malloc, lock, htm], key=lambda p: p.size)))
        for malloc, lock, htm in sorted(labelled, key=_legend_order)
    )


def _in_order(keys):
    """The keys as the page shows them: the ring first, and 2 threads before 12."""

    def order(key):
        names = (key.bench, key.cpu, key.nodes, key.threads, key.what)
        return key.bench != "ring", as_bytes(key.bench), by_version("\t".join(names))

    return sorted(keys, key=order)


def groups_of(points):
    """The groups of points: key to (malloc, lock, htm) to a list of points.

    Figure 1 is the ring and Figure 2 the tree, also where only one of them was measured. The second
    group of a benchmark (another processor or emulated cache, other threads) has "-2" at the end of
    its figures' names.
    """
    groups = []
    counted = {}
    for key in _in_order(points):
        count = counted[key.bench] = counted.get(key.bench, 0) + 1
        suffix = f"-{count}" if count > 1 else ""
        number = 1 if key.bench == "ring" else 2
        groups.append(Group(key, number, suffix, _series(points[key])))
    return tuple(groups)
