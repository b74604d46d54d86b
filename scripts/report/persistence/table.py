# SPDX-License-Identifier: MIT
"""The rows of scripts/evidence/persistence.sh: a simulation of a workload in a configuration each.

A configuration is a protocol of persistence.protocol, with "-N" for a speculation degree and "@N" for a latency of
memory that are not the paper's 16 and 168, and "/WORD" for another reading of the paper: keep and evict are
persistence.flush, home is persistence.order, commit is persistence.logging. Workloads of the family "sizes" are named
workload:size:allocator; those of the family "operations" have "-8" behind their names: a transaction of eight
operations.
"""

import json
import statistics
from dataclasses import dataclass

from evidence import rows as csv_rows

# What a result of mplace simulate --json has for all cores together, as the columns of a row.
COUNTS = (
    "cycles accesses l1_hits l2_hits llc_hits memory_reads transactions log_writes home_writes"
    " forced_evictions version_overflows coalesced_writes log_bytes"
).split()
COLUMNS = ["workload", "family", "configuration", "seconds", "simulated", *COUNTS]
# Of Table II, in the order of the figures.
WORKLOADS = ("btree", "hash", "rbtree", "sps", "graph", "sqlite")
PROTOCOLS = ("s-wal", "h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln")
DEGREES = (1, 2, 4, 8, 16, 32)
LATENCIES = (35, 95, 168, 1000)
DEGREE, LATENCY = 16, 168
# The protocols under the machine's reading of the paper, each followed by others.
READINGS = (
    *("s-wal", "s-wal/keep", "h-wal", "h-wal/keep", "h-wal/evict", "h-wal/home", "ec-wal", "ec-wal/evict", "ec-wal/home"),
    *("loc-wal", "loc-wal/evict", "loc-wal/home", "loc-wal/commit", "loc-wal-32", "loc-wal-32/evict"),
    *("loc-wal-32/commit", "kiln", "kiln/evict", "loc-kiln", "loc-kiln/evict"),
)
SIZED = ("h-wal", "ec-wal", "loc-wal")
ALLOCATORS = ("glibc", "jemalloc", "cia")
# What a set without a way left costs: a version, or a block that a transaction of the window wrote, goes to the log.
EARLY = ("version_overflows", "forced_evictions")


def with_degree(protocol, degree):
    """The configuration of a protocol with a speculation degree."""
    return protocol if degree == DEGREE else f"{protocol}-{degree}"


def with_latency(protocol, latency):
    """The configuration of a protocol with a latency of memory, in cycles."""
    return protocol if latency == LATENCY else f"{protocol}@{latency}"


def base_of(configuration):
    """The configuration without transactions that its throughput is divided by."""
    _, at, latency = configuration.partition("@")
    return f"none{at}{latency}"


@dataclass(frozen=True)
class Row:
    """A simulation."""

    workload: str
    family: str
    configuration: str
    count: dict[str, float]

    @property
    def key(self):
        """What one row only is kept of."""
        return self.workload, self.configuration

    @property
    def throughput(self):
        """Transactions a million cycles."""
        return 1e6 * self.count["transactions"] / self.count["cycles"]

    def each(self, *names):
        """The sum of some counts for each transaction."""
        return sum(self.count[name] for name in names) / self.count["transactions"]


def line_of(workload, family, configuration, seconds, result):
    """A line of the table, from what mplace simulate --json wrote."""
    csv_rows.check(result)
    return [workload, family, configuration, seconds, "yes", *(json.dumps(result[name]) for name in COUNTS)]


def row_of(fields):
    """The row of a line of the table."""
    count = {name: float(fields[name]) for name in COUNTS}
    if not (count["transactions"] > 0 and count["cycles"] > 0):
        raise ValueError("a row without transactions")
    return Row(fields["workload"], fields["family"], fields["configuration"], count)


def read(lines):
    """The rows of a table, each workload and configuration once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "persistence", row_of)


class Evidence:
    """All rows, by workload and configuration."""

    def __init__(self, rows):
        self.rows = rows
        self._row = {row.key: row for row in rows}

    def row(self, workload, configuration):
        """The row; None where there is none."""
        return self._row.get((workload, configuration))

    def normalised(self, workload, configuration):
        """Throughput over that of the same trace without transactions; None where a row is missing."""
        row, base = self.row(workload, configuration), self.row(workload, base_of(configuration))
        return row.throughput / base.throughput if row and base else None

    def means(self, configurations, suffix=""):
        """The geometric mean of each configuration's normalised throughput, over those workloads of Table II that have
        all of these rows; None without any. With a suffix behind their names: those.
        """
        throughputs = [
            found
            for workload in WORKLOADS
            if None not in (found := [self.normalised(workload + suffix, one) for one in configurations])
        ]
        return [statistics.geometric_mean(values) for values in zip(*throughputs)] or None

    def each(self, configuration, name):
        """The mean over the workloads of Table II of a count for each transaction; None without rows."""
        rows = [self.row(workload, configuration) for workload in WORKLOADS]
        values = [row.each(name) for row in rows if row]
        return statistics.fmean(values) if values else None

    def sizes(self):
        """The workloads and node sizes, in bytes, that there are rows of under some allocator, in order."""
        found = {tuple(row.workload.split(":")[:2]) for row in self.rows if row.family == "sizes"}
        return sorted(((workload, int(size)) for workload, size in found))


def evidence_of(path):
    """The evidence of a file; None, and one line on standard error, if it cannot be read."""
    found = csv_rows.read_file(path, "persistence", read)
    return None if found is None else Evidence(found)
