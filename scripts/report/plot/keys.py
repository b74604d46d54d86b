# SPDX-License-Identifier: MIT
"""The keys of the small charts: names of as_html.MARKS, and what they mean."""

from plot.figures.panels import fastest_of_all
from plot.figures.rate_figures import has_ranges

ABORTS = (("bar", "aborts at one node size, % of the transactions"),)
ELIDED_ROWS = (
    ("bar", "elided share at one node size, full height: all"),
    ("cross", "less than half"),
)
SETS = (
    ("few", "some nodes begin in the set"),
    ("full", "as many as the cache has ways"),
    ("too many", "more: they evict each other"),
)


def sets_used(sets):
    """The key of the sets that nodes begin in."""
    return (("disc", "sets that the nodes begin in"), ("reference", f"all {sets} sets"))


def rates(group):
    """The key of rates: a mark a lock, as rate_curves has them."""
    locks = sorted({series.lock for series in group.series})
    marks = ("small circle", "circle", "disc")[-len(locks) :]
    yield from ((mark, f"median under {lock}") for mark, lock in zip(marks, locks))
    if has_ranges(group):
        yield "range", "quartiles of the runs"
    lock, _ = fastest_of_all(group)
    yield "reference", f"the fastest allocator under {lock} at each size"


def elided(group):
    """The key of the elided share."""
    yield "disc", "elided share of all runs"
    if has_ranges(group):
        yield "range", "quartiles of the runs"
