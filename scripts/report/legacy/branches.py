# SPDX-License-Identifier: MIT
"""The rows of cache_server that scripts/evidence/legacy.sh makes: a run of a branch with a seed each."""

import statistics
from dataclasses import dataclass

from evidence import rows as csv_rows

COUNTS = ["transactions", "in_flight_switch", "start_serial", "abort_serial"]
COLUMNS = (
    "bench,branch,runtime,malloc,htm,threads,operations,seed,keys,value,sets,adds,memory,old,hash_power,rate,unit,gets,"
    "hits,evicted,expansions,pages_moved,transactions,in_flight_switch,start_serial,abort_serial,host,cpu,date"
).split(",")
STEPS = ["", "-callable", "-max", "-lib", "-oncommit"]


@dataclass(frozen=True)
class Row:
    """A run of a branch; without transactions there are no counts."""

    branch: str
    runtime: str
    seed: int
    operations: int  # of all threads
    count: dict[str, int]

    @property
    def key(self):
        """What one row only is kept of."""
        return self.branch, self.runtime, self.seed


def row_of(fields):
    """The row of a line of the table."""
    counts = {name: int(fields[name]) for name in COUNTS if fields[name] != ""}
    operations = int(fields["threads"]) * int(fields["operations"])
    return Row(fields["branch"], fields["runtime"], int(fields["seed"]), operations, counts)


def read(lines):
    """The rows of a table, each once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "legacy", row_of)


class Evidence:
    """The rows of one library of transactions, by branch."""

    def __init__(self, rows, runtime):
        self.runtime = runtime
        self._runs = {}
        for row in rows:
            if row.runtime == runtime and row.count:
                self._runs.setdefault(row.branch, []).append(row)

    def has(self, *branches):
        """Whether each branch has a row."""
        return all(branch in self._runs for branch in branches)

    def per_operation(self, branch, *counts):
        """The counts together over the operations, mean of the seeds."""
        return statistics.fmean(sum(row.count[name] for name in counts) / row.operations for row in self._runs[branch])

    def share(self, branch, *counts):
        """The same over the transactions."""
        return self.per_operation(branch, *counts) / self.per_operation(branch, "transactions")


def runtimes(rows):
    """The libraries of transactions, in the order of their rows."""
    return list(dict.fromkeys(row.runtime for row in rows if row.count))
