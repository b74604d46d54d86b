# SPDX-License-Identifier: MIT
"""The tables of mplace compare --programs: one a program, then the means over all of them.

Each ratio is the subject's median over another allocator's, with its interval over the rounds.
"""

import statistics
from dataclasses import dataclass

import spread
from compare import figures

# Means of memory are of programs that take more than 11 MB under the reference: below it the
# allocator's own data weigh most.
LEAST_MEMORY_KIB = 11e6 / 1024
FAR_BEHIND = 1.08
MARK = "~"


@dataclass(frozen=True)
class Work:
    """A program and the size of its input, such as "gcc" and "4000 functions"."""

    program: str
    size: str


def read_works(path):
    """The programs in the order of the tables, from lines "NAME 0 - SIZE UNIT"."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            program, _, _, size = line.rstrip("\n").split(" ", 3)
            yield Work(program, size)


def processor_seconds(record):
    """User and system time of a run."""
    return figures.number(record["user_seconds"]) + figures.number(record["system_seconds"])


class Tables:
    """The series of all programs, and the tables made of them, as lines."""

    def __init__(self, comparison, works, records, seed):
        self.comparison = comparison
        self.works = works
        self.seed = seed
        self.bootstrap = spread.Bootstrap(comparison.rounds, seed)
        self.processor = self.series(records, processor_seconds)
        self.system = self.series(records, lambda record: figures.number(record["system_seconds"]))
        self.wall = self.series(records, lambda record: figures.number(record["seconds"]))
        self.memory = self.series(records, lambda record: figures.number(record["peak_rss_kib"]))

    def series(self, records, quantity):
        """The series of one quantity by program."""
        measured = ((r["workload"], r["malloc"], r["round"], quantity(r)) for r in records)
        return figures.series(measured, self.comparison.rounds)

    def ratio(self, quantity, program, name):
        """The subject's ratio to an allocator in a program, or None where either has no figure."""
        row = quantity.get(program, {})
        subject, other = row.get(self.comparison.subject), row.get(name)
        if not subject or not other or min(*subject, *other) <= 0:
            return None
        return self.bootstrap.ratio(subject, other)

    def mean_ratio(self, quantity, programs, name):
        """The geometric mean of the ratios in the programs that have one, and how many do."""
        subject = self.comparison.subject
        pairs = [
            (quantity[program][subject], quantity[program][name])
            for program in programs
            if self.ratio(quantity, program, name)
        ]
        return (self.bootstrap.mean_ratio(pairs) if pairs else None), len(pairs)

    def lines(self):
        """All tables."""
        yield from self.introduction()
        for work in self.works:
            yield ""
            yield from self.table(work)
        yield ""
        yield from self.means()
        yield ""
        yield from self.behind()

    def introduction(self):
        """What was measured, and how to read a figure."""
        rounds, subject = self.comparison.rounds, self.comparison.subject
        plural = "" if rounds == 1 else "s"
        yield f"Medians of {rounds} round{plural}, measured in an order drawn from seed {self.seed}."
        yield "±: half the distance between the quartiles, in percent of the median."
        yield "processor: user and system time of all processes of a run; memory: of the largest of them."
        yield f"ratio: {subject}'s median over the allocator's, and its {100 * spread.CONFIDENCE:.0f} % interval"
        yield f"from {spread.SAMPLES} bootstrap samples of the rounds; {MARK} where the rounds cannot tell it from 1."
        if rounds < spread.LEAST_ROUNDS:
            yield f"Fewer than {spread.LEAST_ROUNDS} rounds give no interval and tell no difference."

    def table(self, work):
        """A program: a line an allocator."""
        program = work.program
        yield f"{program}: {work.size}"
        yield (
            f"  {'allocator':<14}{'processor, s':>14}{'ratio':>22}  {'system, s':>10}{'wall, s':>10}"
            f"{'memory, MiB':>16}{'ratio':>22}"
        )
        for name in self.comparison.names:
            processor = self.processor.get(program, {}).get(name)
            if processor is None:
                yield f"  {name:<14.14}{'failed':>14}"
                continue
            system, wall = self.system[program][name], self.wall[program][name]
            memory = [kib / 1024 for kib in self.memory[program][name]]
            yield (
                f"  {name:<14.14}{with_spread(processor, 3):>14}{self.cell(self.processor, program, name):<24}"
                f"{statistics.median(system):>10.3f}{statistics.median(wall):>10.3f}"
                f"{with_spread(memory, 1):>16}{self.cell(self.memory, program, name)}"
            ).rstrip()

    def cell(self, quantity, program, name):
        """The column of a ratio to an allocator; the subject has none to itself."""
        if name == self.comparison.subject:
            return ""
        return f"{ratio_text(self.ratio(quantity, program, name)):>24}"

    def means(self):
        """The geometric means over all programs, a line an allocator."""
        subject, others = self.comparison.subject, self.comparison.others
        reference = self.reference
        programs = [work.program for work in self.works]
        large = [program for program in programs if self.takes_much_memory(program)]
        yield f"Geometric mean of {subject}'s ratio over all programs; of memory over those above 11 MB under {reference}"
        yield f"  {'allocator':<14}{'processor time':>22}{'programs':>11}{'memory':>22}{'programs':>11}"
        for name in others:
            time, times = self.mean_ratio(self.processor, programs, name)
            memory, memories = self.mean_ratio(self.memory, large, name)
            yield (
                f"  {name:<14.14}{ratio_text(time):>24}{times:>9}{ratio_text(memory):>24}{memories:>9}"
            )

    @property
    def reference(self):
        """The allocator whose memory says how large a program is: glibc where it is there."""
        names = self.comparison.names
        return "glibc" if "glibc" in names else self.comparison.others[0]

    def takes_much_memory(self, program):
        """Whether the program takes more than LEAST_MEMORY_KIB under the reference."""
        series = self.memory.get(program, {}).get(self.reference)
        return series is not None and statistics.median(series) > LEAST_MEMORY_KIB

    def behind(self):
        """The programs whose interval lies wholly above FAR_BEHIND of the best peer's time."""
        subject = self.comparison.subject
        yield f"Wholly above {FAR_BEHIND:.2f} of the best other allocator's processor time is {subject} in:"
        found = False
        for work in self.works:
            row = self.processor.get(work.program, {})
            medians = {name: statistics.median(row[name]) for name in row}
            best = figures.least(medians, self.comparison.others)
            ratio = best and self.ratio(self.processor, work.program, best)
            if ratio and ratio.lies_above(FAR_BEHIND):
                found = True
                yield f"  {work.program:<14}{ratio_text(ratio)}  {best}".rstrip()
        if not found:
            yield "  none"


def with_spread(series, digits):
    """The text of a median and its spread."""
    text = f"{statistics.median(series):.{digits}f}"
    part = spread.spread(series)
    return text if part is None else f"{text} ±{100 * part:.0f}%"


def ratio_text(ratio):
    """The text of a ratio, its interval, and the mark of one that may be 1; two columns for the mark."""
    if ratio is None:
        return "-  "
    interval = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low is not None else ""
    return f"{ratio.value:.2f}{interval} {' ' if ratio.differs else MARK}"
