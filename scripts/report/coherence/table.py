# SPDX-License-Identifier: MIT
"""The rows of scripts/evidence/coherence.sh: a simulation of a workload in a configuration each."""

import json
import math
from dataclasses import dataclass

from evidence import rows as csv_rows

# What a result of mplace simulate --json has for all cores together, as the columns of a row.
COUNTS = (
    "cycles accesses l1_hits l2_hits llc_hits memory_reads coherence_misses average_latency messages flit_hops snoops"
    " multicasts directory_allocations directory_evictions directory_invalidations reconstructions filter_true_positives"
    " filter_false_positives filter_overflows energy_pj edp"
).split()
COLUMNS = ["workload", "family", "configuration", "calls", "seconds", "simulated", *COUNTS]
FAMILIES = ("server", "numerical", "multi-programmed")
# Of directories, in the order of figures and tables.
SIZES = (160, 80, 40, 25, 20, 10, 5)


@dataclass(frozen=True)
class Row:
    """A simulation."""

    workload: str
    family: str
    configuration: str
    calls: int  # mallocs and frees in the region of interest; 0 where they were not counted
    seconds: float  # of the simulator itself
    count: dict[str, float]

    @property
    def key(self):
        """What one row only is kept of."""
        return self.workload, self.configuration

    @property
    def coherence_misses(self):
        """Accesses that missed the core's own caches and that neither the last level nor memory served: another
        core did, or only the right to write was missing. Of a row without this count: what its others leave. That
        is less where accesses lie in two blocks, for memory_reads are blocks.
        """
        if "coherence_misses" in self.count:
            return self.count["coherence_misses"]
        served = sum(self.count[name] for name in ("l1_hits", "l2_hits", "llc_hits", "memory_reads"))
        return max(0.0, self.count["accesses"] - served)

    @property
    def false_positive_share(self):
        """The share of the reads of memory that waited for cores which did not have the block; 0 of none.

        A home of flask reads memory when the filter does not know a block, or when it does and no core has it.
        """
        reads = self.count["memory_reads"]
        return self.count["filter_false_positives"] / reads if reads else 0


def line_of(workload, family, configuration, calls, seconds, result):
    """A line of the table, from what mplace simulate --json wrote."""
    csv_rows.check(result)
    return [workload, family, configuration, calls, seconds, "yes", *(json.dumps(result[name]) for name in COUNTS)]


def row_of(fields):
    """The row of a line of the table."""
    return Row(
        fields["workload"],
        fields["family"],
        fields["configuration"],
        int(fields["calls"] or 0),
        float(fields["seconds"]),
        {name: float(fields[name]) for name in COUNTS if name != "coherence_misses" or fields[name] != ""},
    )


def read(lines):
    """The rows of a table, each workload and configuration once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "coherence", row_of)


def geometric_mean(values):
    """The geometric mean of values above 0; there is one at least."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


@dataclass(frozen=True)
class Ratios:
    """A figure of one configuration divided by that of another, workload by workload."""

    of: dict[str, float]  # by workload
    family: dict[str, str]  # of each workload

    def mean(self, family=None):
        """The geometric mean of a family, or of all; None where no workload has both rows."""
        values = [value for name, value in self.of.items() if family in (None, self.family[name])]
        return geometric_mean(values) if values else None

    @property
    def least(self):
        """The workload with the least ratio."""
        return min(self.of, key=self.of.get)

    @property
    def greatest(self):
        """The workload with the greatest ratio."""
        return max(self.of, key=self.of.get)


class Evidence:
    """All rows, by family and configuration."""

    def __init__(self, rows):
        self.rows = rows
        self._row = {(row.workload, row.configuration): row for row in rows}

    def of_families(self):
        """The rows of the three families, which the statements are about."""
        return [row for row in self.rows if row.family in FAMILIES]

    def row(self, workload, configuration):
        """The row; None where there is none."""
        return self._row.get((workload, configuration))

    def ratios(self, configuration, base, count):
        """How a count of a configuration compares with that of another."""
        of, family = {}, {}
        for row in self.of_families():
            other = self.row(row.workload, base)
            if row.configuration == configuration and other and row.count[count] and other.count[count]:
                of[row.workload] = row.count[count] / other.count[count]
                family[row.workload] = row.family
        return Ratios(of, family)


def evidence_of(path):
    """The evidence of a file; None, and one line on standard error, if it cannot be read."""
    found = csv_rows.read_file(path, "coherence", read)
    return None if found is None else Evidence(found)
