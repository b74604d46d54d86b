# SPDX-License-Identifier: MIT
"""The rows of cache_server for the paper's Figures 10 and 11: a run under an algorithm and a contention manager each.

A timed run counts nothing; a counted run has the runtime's statistics, which cost time, so its rate is left out.
"""

import statistics
from dataclasses import dataclass

from evidence import rows as csv_rows
from spread import Bootstrap

TIMED, COUNTED = "timed", "counted"
COLUMNS = (
    "configuration,kind,branch,runtime,threads,operations,seed,rate,transactions,abort_serial,committed,aborts,host,cpu,"
    "date"
).split(",")


def line_of(configuration, fields, statistics_report):
    """The cells of a run, from the row of cache_server and the runtime's statistics, or None."""
    cells = dict(fields) | {"configuration": configuration, "kind": TIMED, "committed": "", "aborts": ""}
    if statistics_report is not None:
        totals = statistics_report["totals"]
        aborts = sum(count for cause, count in totals["aborts"].items() if cause != "cancelled")
        cells |= {"kind": COUNTED, "rate": "", "committed": totals["committed"], "aborts": aborts}
    return [cells[name] for name in COLUMNS]


@dataclass(frozen=True)
class Row:
    """A run."""

    configuration: str
    kind: str
    threads: int
    seed: int
    rate: float | None
    committed: int | None
    aborts: int | None

    @property
    def key(self):
        """What one row only is kept of."""
        return self.configuration, self.kind, self.threads, self.seed


def row_of(fields):
    """The row of a line of the table."""
    numbers = [int(fields[name]) for name in ("threads", "seed")]
    if fields["kind"] == TIMED:
        return Row(fields["configuration"], TIMED, *numbers, float(fields["rate"]), None, None)
    counts = [int(fields[name]) for name in ("committed", "aborts")]
    return Row(fields["configuration"], COUNTED, *numbers, None, *counts)


def read(lines):
    """The rows of a table, each once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "legacy", row_of)


class Evidence:
    """The rows by configuration and threads."""

    def __init__(self, rows):
        self._rows = {row.key: row for row in rows}
        self.configurations = list(dict.fromkeys(row.configuration for row in rows))

    def _series(self, configuration, threads, kind):
        """The rows of a configuration, in the order of the seeds."""
        keys = [key for key in self._rows if key[:3] == (configuration, kind, threads)]
        return [self._rows[key] for key in sorted(keys, key=lambda key: key[3])]

    def threads(self, kind):
        """The numbers of threads that there are rows for."""
        return sorted({key[2] for key in self._rows if key[1] == kind})

    def is_timed(self, configurations, threads):
        """Whether each has been timed with each of these numbers of threads."""
        return all(self._series(name, count, TIMED) for name in configurations for count in threads)

    def rate(self, configuration, threads):
        """The median of the operations a second, or None."""
        rates = [row.rate for row in self._series(configuration, threads, TIMED)]
        return statistics.median(rates) if rates else None

    def slower(self, configuration, other, threads):
        """How many times as long it takes as the other: of the rounds that both have, with an interval."""
        series = [{row.seed: row.rate for row in self._series(name, threads, TIMED)} for name in (configuration, other)]
        seeds = sorted(set(series[0]) & set(series[1]))
        if not seeds:
            return None
        mine, others = ([of[seed] for seed in seeds] for of in series)
        return Bootstrap(len(seeds), 1).ratio(others, mine)

    def aborts_by_seed(self, configuration, threads):
        """Aborts a commit of each run."""
        return {row.seed: row.aborts / row.committed for row in self._series(configuration, threads, COUNTED)}

    def aborts(self, configuration, threads):
        """Aborts a commit, of all runs with these threads together, or None."""
        rows = self._series(configuration, threads, COUNTED)
        return sum(row.aborts for row in rows) / sum(row.committed for row in rows) if rows else None
