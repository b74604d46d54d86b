# SPDX-License-Identifier: MIT
"""The tables of memory over time: resident memory at each moment of a job, and the most of all.

A moment is a sample with a name, such as "built" or "freed"; "peak" ends a run and has the most of
each quantity. A sample of a passing second has no name, and no like in another run: it is left out.
"""

from dataclasses import dataclass
from decimal import Decimal

from compare import figures
from compare.document import Column, Table

PEAK = "peak"


@dataclass(frozen=True)
class Sample:
    """The memory of one run at a moment; KiB, and a number of mappings."""

    job: figures.Job
    moment: str
    malloc: str
    round: str
    resident: Decimal
    virtual: Decimal
    mappings: Decimal


def read_samples(path):
    """The named samples, in the order in which they were taken."""
    for record in figures.read_records(path):
        if not record["moment"]:
            continue
        variant = f"/{record['variant']}" if record["variant"] else ""
        yield Sample(
            figures.Job(record["workload"] + variant, record["size"] or "-", record["threads"]),
            record["moment"],
            record["malloc"],
            record["round"],
            figures.number(record["resident_kib"]),
            figures.number(record["virtual_kib"]),
            figures.number(record["mappings"]),
        )


class Report:
    """What was sampled at the named moments, and the document made of it.

    The jobs are in the order of their first sample.
    """

    def __init__(self, comparison, bootstrap, samples):
        def quantity(name):
            measured = (((s.job, s.moment), s.malloc, s.round, getattr(s, name)) for s in samples)
            return figures.Quantity(comparison, bootstrap, measured)

        self.comparison = comparison
        self.moments = {}
        for sample in samples:
            # A dictionary is a set in the order of its filling.
            self.moments.setdefault(sample.job, {})[sample.moment] = None
        self.resident = quantity("resident")
        self.virtual = quantity("virtual")
        self.mappings = quantity("mappings")

    def document(self):
        """Two tables for each job: the memory, and the number of mappings."""
        subject = self.comparison.subject
        yield f"Memory over time; ratio of {subject} to the least other"
        for job in self.moments:
            last = ""
            rows = []
            for moment in self.common_moments(job):
                last = moment
                rows.append(self.row(moment, self.resident, (job, moment), 1024))
            rows.append(self.row("the most", self.resident, (job, PEAK), 1024))
            rows.append(self.row("address space, most", self.virtual, (job, PEAK), 1024))
            rows.append(self.row(f"address space, {last}", self.virtual, (job, last), 1024))
            yield Table(f"{job}: resident", self.columns("moment", "MiB"), rows)
            rows = [
                self.row("most", self.mappings, (job, PEAK), 1),
                self.row(last, self.mappings, (job, last), 1),
            ]
            yield Table(f"{job}: mappings", self.columns("moment", "mappings"), rows)

    def common_moments(self, job):
        """The moments that every allocator reached which ran the job; some may run out of time."""
        ran = self.resident.rows.get((job, PEAK), {})
        for moment in self.moments[job]:
            reached = self.resident.rows.get((job, moment), {})
            if moment != PEAK and ran.keys() <= reached.keys():
                yield moment

    def columns(self, title, unit):
        """A column an allocator, then the subject's ratio and what it is to."""
        allocators = (Column(name, unit) for name in self.comparison.names)
        return (Column(title, left=True), *allocators, Column("ratio"), Column("to", left=True))

    def row(self, title, quantity, key, unit):
        """The figures of a moment, in units of so much."""
        digits = 0 if unit == 1 else 1
        cells = [quantity.figure(key, name, unit, digits) for name in self.comparison.names]
        return [title, *cells, *quantity.ratio_to_least(key, self.comparison.others)]
