# SPDX-License-Identifier: MIT
"""The rows of scripts/evidence/banks.sh: a simulation of a workload under a policy, with a seed, each."""

import json
import statistics
from dataclasses import dataclass

from evidence import rows as csv_rows

# What a result of mplace simulate --json has for all cores together, as columns of a row.
COUNTS = (
    "cycles accesses l1_hits l2_hits llc_hits memory_reads memory_writes row_hits row_misses row_conflicts"
    " average_latency messages flit_hops"
).split()
# Of the controllers: cycles of a read from its arrival to its data, and the share of the busiest in the reads.
OF_CONTROLLERS = ["read_latency", "busiest"]
NAMES = ["workload", "threads", "pages", "policy", "variant", "seed"]
COLUMNS = [*NAMES, "seconds", "simulated", *COUNTS, *OF_CONTROLLERS]
MACHINE = "tilepro64"  # the variant that is none


@dataclass(frozen=True)
class Row:
    """A simulation."""

    workload: str  # as composite-32-10: its name, threads, and pages of each
    policy: str
    variant: str
    seed: int
    count: dict[str, float]

    @property
    def key(self):
        """What one row only is kept of."""
        return self.workload, self.policy, self.variant, self.seed


def line_of(workload, policy, variant, seed, seconds, result):
    """A line of the table, from what mplace simulate --json wrote."""
    csv_rows.check(result)
    reads = [one["memory_reads"] for one in result["controllers"]]
    waited = sum(one["average_latency"] * one["memory_reads"] for one in result["controllers"])
    total = sum(reads) or 1
    counts = [json.dumps(result[name]) for name in COUNTS]
    of_controllers = [f"{waited / total:.2f}", f"{max(reads) / total:.4f}"]
    return [*workload.split("-"), policy, variant, seed, seconds, "yes", *counts, *of_controllers]


def row_of(fields):
    """The row of a line of the table."""
    return Row(
        "-".join(fields[name] for name in NAMES[:3]),
        fields["policy"],
        fields["variant"],
        int(fields["seed"]),
        {name: float(fields[name]) for name in (*COUNTS, *OF_CONTROLLERS)},
    )


def read(lines):
    """The rows of a table, each once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "banks", row_of)


@dataclass(frozen=True)
class Runs:
    """The rows of one workload, policy and variant, a seed each; there is one at least."""

    rows: list[Row]

    def mean(self, count="cycles"):
        """The mean of a count."""
        return statistics.fmean(row.count[count] for row in self.rows)

    @property
    def cycles(self):
        """The times of all runs."""
        return [row.count["cycles"] for row in self.rows]

    @property
    def deviation(self):
        """The standard deviation of the time as a share of its mean; None of a single run."""
        return statistics.stdev(self.cycles) / self.mean() if len(self.rows) > 1 else None


class Evidence:
    """All rows, by workload, policy and variant."""

    def __init__(self, rows):
        self.rows = rows
        self._rows = {}
        for row in rows:
            self._rows.setdefault((row.workload, row.policy, row.variant), []).append(row)

    def runs(self, workload, policy, variant=MACHINE):
        """The runs; None where there are none."""
        rows = self._rows.get((workload, policy, variant))
        return Runs(rows) if rows else None

    def ratio(self, workload, policy, base, variant=MACHINE):
        """The mean time under a policy over that under another, for the seeds that both have; None without any."""
        of, to = self.runs(workload, policy, variant), self.runs(workload, base, variant)
        if not of or not to:
            return None
        seeds = {row.seed for row in of.rows} & {row.seed for row in to.rows}
        of, to = (Runs([row for row in runs.rows if row.seed in seeds]) for runs in (of, to))
        return of.mean() / to.mean() if seeds else None

    def names(self, kind):
        """The workloads, policies or variants of the rows, in their order."""
        return list(dict.fromkeys(getattr(row, kind) for row in self.rows))


def evidence_of(path):
    """The evidence of a file; None, and one line on standard error, if it cannot be read."""
    found = csv_rows.read_file(path, "banks", read)
    return None if found is None else Evidence(found)
