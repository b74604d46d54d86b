# SPDX-License-Identifier: MIT
"""The tables of memory over time: resident memory at each moment of a job, and the most of all.

A moment is a sample with a name, such as "built" or "freed"; "peak" ends a run and has the most of
each quantity. A sample of a passing second has no name, and no like in another run: it is left out.
"""

from dataclasses import dataclass
from decimal import Decimal

from compare import figures

PEAK = "peak"


@dataclass(frozen=True)
class Sample:
    """The memory of one run at a moment; KiB, and a number of mappings."""

    job: figures.Job
    moment: str
    malloc: str
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
            figures.number(record["resident_kib"]),
            figures.number(record["virtual_kib"]),
            figures.number(record["mappings"]),
        )


class Tables:
    """The medians of the named samples, and the tables made of them, as lines."""

    def __init__(self, comparison, samples):
        self.comparison = comparison
        self.moments = {}
        for sample in samples:
            # A dictionary is a set in the order of its filling.
            self.moments.setdefault(sample.job, {})[sample.moment] = None
        self.resident = self.medians(samples, "resident")
        self.virtual = self.medians(samples, "virtual")
        self.mappings = self.medians(samples, "mappings")

    def medians(self, samples, quantity):
        """The figures of one quantity by (job, moment)."""
        measured = (((s.job, s.moment), s.malloc, getattr(s, quantity)) for s in samples)
        return figures.medians(measured, self.comparison.rounds)

    def lines(self):
        """A table for each job, in the order in which they were run."""
        subject, rounds = self.comparison.subject, self.comparison.rounds
        yield f"Memory over time, median of {rounds}; ratio of {subject} to the least other"
        for job in self.moments:
            yield ""
            yield str(job)
            yield from self.table(job)

    def table(self, job):
        """The resident memory at each moment, then the most and the last of each quantity."""
        yield f"  {'resident, MiB':<24}" + figures.heading(self.comparison.names)
        last = ""
        for moment in self.common_moments(job):
            last = moment
            yield self.line(moment, self.resident.get((job, moment), {}), figures.mebibytes)
        most, end = (job, PEAK), (job, last)
        yield self.line("the most", self.resident.get(most, {}), figures.mebibytes)
        yield self.line("address space, most", self.virtual.get(most, {}), figures.mebibytes)
        yield self.line(f"  {last}", self.virtual.get(end, {}), figures.mebibytes)
        yield self.line("mappings, most", self.mappings.get(most, {}), count)
        yield self.line(f"  {last}", self.mappings.get(end, {}), count)

    def common_moments(self, job):
        """The moments that every allocator reached which ran the job; some may run out of time."""
        ran = self.resident.get((job, PEAK), {})
        for moment in self.moments[job]:
            if moment != PEAK and ran.keys() <= self.resident.get((job, moment), {}).keys():
                yield moment

    def line(self, title, row, text):
        """One row of figures: a column an allocator, and the subject's ratio to the least other."""
        names, subject = self.comparison.names, self.comparison.subject
        cells = "".join(f" {text(row[name]) if name in row else '-':>10}" for name in names)
        ratio = figures.ratio_cells(row, subject, self.comparison.others)
        return f"  {title:<24.24}{cells}{ratio}"


def count(number):
    """The text of a number of things."""
    return f"{number:.0f}"
