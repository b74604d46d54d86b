# SPDX-License-Identifier: MIT
"""The tables of programs and commands: one each, then the means over all programs."""

from dataclasses import dataclass

from compare import figures
from compare.document import Column, Table, cell_text

# Means of memory are of programs that take more than 11 MB under the reference: below it the
# allocator's own data weigh most.
LEAST_MEMORY_KIB = 11e6 / 1024
FAR_BEHIND = 1.08
RATIO = Column("ratio")
COLUMNS = (
    Column("allocator", left=True),
    Column("processor", "s"),
    RATIO,
    Column("system", "s"),
    Column("wall", "s"),
    RATIO,
    Column("memory", "MiB"),
    RATIO,
)


@dataclass(frozen=True)
class Work:
    """A program and the size of its input, such as "gcc" and "4000 functions"; a command has no size."""

    program: str
    size: str

    @property
    def title(self):
        """The title of its table."""
        return f"{self.program}: {self.size}" if self.size else self.program


def read_works(path):
    """The programs in the order of the tables, from lines "NAME 0 - SIZE UNIT", and without a unit commands."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            program, _, _, *size = line.split()
            yield Work(program, " ".join(size) if len(size) > 1 else "")


def processor_seconds(record):
    """User and system time of a run."""
    return figures.number(record["user_seconds"]) + figures.number(record["system_seconds"])


class Report:
    """What was measured of all programs, and the document made of it."""

    def __init__(self, comparison, bootstrap, works, records):
        def quantity(value):
            measured = ((r["workload"], r["malloc"], r["round"], value(r)) for r in records)
            return figures.Quantity(comparison, bootstrap, measured)

        self.comparison = comparison
        self.works = works
        self.processor = quantity(processor_seconds)
        self.system = quantity(lambda record: figures.number(record["system_seconds"]))
        self.wall = quantity(lambda record: figures.number(record["seconds"]))
        self.memory = quantity(lambda record: figures.number(record["peak_rss_kib"]))

    def document(self):
        """All tables; of a command there is nothing to take a mean of."""
        subject = self.comparison.subject
        yield figures.reading(self.comparison, f"{subject}'s median over the allocator's")
        yield (
            "Processor: user and system time of all processes of a run. Memory: the largest resident set of"
            " any of them."
        )
        for work in self.works:
            yield self.table(work)
        if len(self.works) > 1 or self.works[0].size:
            yield self.means()
            yield from self.best_of_all()
            yield from self.behind()

    def table(self, work):
        """A program: a row an allocator."""
        return Table(work.title, COLUMNS, [self.row(work.program, n) for n in self.comparison.names])

    def row(self, program, name):
        """The figures of an allocator; the subject has no ratio to itself."""
        processor = self.processor.figure(program, name, digits=3)
        if processor is None:
            return [name, "failed"] + [None] * (len(COLUMNS) - 2)

        def ratio(quantity):
            return "" if name == self.comparison.subject else quantity.ratio(program, name)

        return [
            name,
            processor,
            ratio(self.processor),
            self.system.figure(program, name, digits=3),
            self.wall.figure(program, name, digits=3),
            ratio(self.wall),
            self.memory.figure(program, name, unit=1024),
            ratio(self.memory),
        ]

    def mean_time(self, name):
        """The geometric mean of the ratios of processor time to an allocator, and of how many programs."""
        return self.processor.mean_ratio((work.program, name) for work in self.works)

    def mean_memory(self, name):
        """The same of memory, over the programs that take much of it."""
        programs = [work.program for work in self.works]
        return self.memory.mean_ratio((one, name) for one in programs if self.takes_much_memory(one))

    def means(self):
        """The geometric means over all programs, a row an allocator."""
        title = (
            f"Geometric mean of {self.comparison.subject}'s ratio over all programs; of memory over those"
            f" above 11 MB under {self.reference}"
        )
        columns = (
            Column("allocator", left=True),
            Column("processor, ratio"),
            Column("programs"),
            Column("memory, ratio"),
            Column("programs"),
        )
        others = self.comparison.others
        rows = [[name, *self.mean_time(name), *self.mean_memory(name)] for name in others]
        return Table(title, columns, rows)

    def best_of_all(self):
        """The other allocator that the subject's mean is highest against, of time and of memory."""
        for what, mean in (("processor time", self.mean_time), ("memory", self.mean_memory)):
            ratios = {name: mean(name)[0] for name in self.comparison.others}
            found = [name for name in ratios if ratios[name]]
            if found:
                best = max(found, key=lambda name: ratios[name].value)
                yield f"Against the best other mean of {what}, {best}'s: {cell_text(ratios[best])}."

    @property
    def reference(self):
        """The allocator whose memory says how large a program is: glibc where it is there."""
        names = self.comparison.names
        return "glibc" if "glibc" in names else self.comparison.others[0]

    def takes_much_memory(self, program):
        """Whether the program takes more than LEAST_MEMORY_KIB under the reference."""
        return (self.memory.median(program, self.reference) or 0) > LEAST_MEMORY_KIB

    def behind(self):
        """The programs whose interval lies wholly above FAR_BEHIND of the best other's time."""
        subject, others = self.comparison.subject, self.comparison.others
        rows = []
        for work in self.works:
            ratio, name = self.processor.ratio_to_least(work.program, others)
            if ratio and ratio.lies_above(FAR_BEHIND):
                rows.append([work.program, ratio, name])
        title = f"{subject}'s interval of processor time lies wholly above {FAR_BEHIND:.2f} of the best other in"
        if rows:
            yield Table(title, (Column("program", left=True), RATIO, Column("to", left=True)), rows)
        else:
            yield f"{title}: no program."
