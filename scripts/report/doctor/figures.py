# SPDX-License-Identifier: MIT
"""Judges a run, and chooses what the page tells of it: what costs most, first."""

from dataclasses import dataclass

from doctor.record import Place, Run

# From so many misses to be saved for every 1000 accesses on, the verdict is this. docs/doctor.md
# gives the reason.
HURTS = 5
COSTS_A_LITTLE = 1

# Places and sizes with fewer are not told.
WORTH_TELLING = 0.1

# Of a section, the kinds of block that are told of those that fill the set.
FILLERS_TOLD = 3


@dataclass(frozen=True)
class Findings:
    """What the page is about. The lists are keys of the dictionaries of the program's own run."""

    title: str
    own: Run
    other: Run | None  # the run under another allocator, if there was one
    sites: list[Place]
    sizes: list[str]
    sections: list[Place]

    @property
    def busiest_site(self):
        """The most visited place of those with two or more hot blocks at once; None: there is none.

        What a reader may look at where no place is to blame.
        """
        sites = self.own.sites
        several_hot = [place for place, tally in sites.items() if tally.spread.hot > 1]
        return max(several_hot, key=lambda place: sites[place].lines.visits, default=None)


def verdict(run):
    """hurts, little or no: what placement does to the program."""
    saved = run.per_1000(run.saved)
    if saved >= HURTS:
        return "hurts"
    return "little" if saved >= COSTS_A_LITTLE else "no"


def _heaviest(weights, top):
    """The keys with the greatest weights, at most top of them; of equal ones the earlier first."""
    return sorted(weights, key=weights.get, reverse=True)[:top]


def _costs(run, tallies):
    """What each would save, of those for which it is worth telling."""
    saved = {key: tally.lines.saved for key, tally in tallies.items()}
    return {key: count for key, count in saved.items() if run.per_1000(count) >= WORTH_TELLING}


def weigh(title, runs, top):
    """The findings about the first run, with at most top places, sizes and sections."""
    own, other = (*runs, None)[:2]
    overflows = {place: s.overflowed for place, s in own.sections.items() if s.overflowed}
    return Findings(
        title,
        own,
        other,
        sites=_heaviest(_costs(own, own.sites), top),
        sizes=_heaviest(_costs(own, own.sizes), top),
        sections=_heaviest(overflows, top),
    )
