# SPDX-License-Identifier: MIT
"""Everything that the figures and the page are made of, read once."""

from dataclasses import dataclass

from plot.elision import elision_groups, has_transactions
from plot.groups import Group
from plot.machines import Machine, check_caches, fact_of_processor, machines_of
from plot.occupancy import Occupancy, drawn_sizes, read_occupancies
from plot.rates import is_drawn, is_futile, rate_groups
from rows import Refused, Result, Row, read_result

NOTHING_TO_DRAW = (
    "nothing to draw: no row has a rate of its own (ttstle without transactions is tts), "
    "nor transactions"
)


@dataclass(frozen=True)
class Measured:
    """What the results hold. A row that is there more than once counts once."""

    results: tuple[Result, ...]
    rows: tuple[Row, ...]
    rates: tuple[Group, ...]
    elision: tuple[Group, ...]
    machines: tuple[Machine, ...]
    occupancies: tuple[Occupancy, ...]
    sets_sizes: tuple[int, ...]  # whose occupancy is drawn

    def shown(self):
        """The rows that figures or page stand on: with a rate or transactions of their own."""
        return [
            row
            for row in self.rows
            if not is_futile(row) and (is_drawn(row) or has_transactions(row))
        ]

    def futile(self):
        """The number of rows of ttstle that did not elide."""
        return sum(map(is_futile, self.rows))

    def sets_of(self, cpu):
        """The sets of the processor's L1D as described, else of any cache counted, else 64."""
        sets = fact_of_processor(self.machines, cpu, "l1d").partition("x")[0]
        if sets.isdecimal():
            return int(sets)
        return self.occupancies[0].sets if self.occupancies else 64


def read_measured(names, sets_sizes):
    """What the results of these names hold. Refused where a file is malformed or shows nothing."""
    results = tuple(read_result(name) for name in names)
    check_caches(results)
    rows = tuple(dict.fromkeys(row for result in results for row in result.rows))
    rates = rate_groups(rows)
    elision = elision_groups(rows)
    if not rates and not elision:
        raise Refused(NOTHING_TO_DRAW)
    occupancies = tuple(found for name in names for found in read_occupancies(name))
    sizes = drawn_sizes(occupancies, sets_sizes)
    return Measured(results, rows, rates, elision, machines_of(results), occupancies, sizes)
