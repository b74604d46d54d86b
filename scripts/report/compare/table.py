# SPDX-License-Identifier: MIT
"""The tables of malloc_bench: times and peak memory, their geometric means, and where the subject is slow."""

from compare import figures
from compare.document import Column, Table

# Means of memory are of jobs with at least so high a peak: below it the allocator's own data weigh
# most.
LEAST_PEAK_KIB = 10 * 1024
FAR_BEHIND = 1.25
# Times at least so long are shown without decimals.
WHOLE_NS = 10000


def read_jobs(path):
    """The jobs in the order of the table, from lines "workload size threads operations ..."."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            workload, size, threads = line.split()[:3]
            yield figures.Job(workload, "-" if size == "0" else size, threads)


class Report:
    """What was measured of all jobs, and the document made of it."""

    def __init__(self, comparison, bootstrap, jobs, records):
        def quantity(column):
            measured = (
                (
                    figures.Job(r["workload"], r["size"], r["threads"]),
                    r["malloc"],
                    r["round"],
                    figures.number(r[column]),
                )
                for r in records
            )
            return figures.Quantity(comparison, bootstrap, measured)

        self.comparison = comparison
        self.jobs = jobs
        self.time = quantity("ns")
        self.peak = quantity("peak_rss_kib")

    def document(self):
        """All tables."""
        subject = self.comparison.subject
        others, memory_peers = self.comparison.others, self.comparison.memory_peers
        peers = ", ".join(memory_peers)
        yield figures.reading(self.comparison, f"{subject}'s median over the other allocator's")
        yield self.table(
            f"Time of an operation; ratio of {subject} to the fastest other",
            self.time,
            others,
            "ns",
            self.time_figure,
        )
        yield self.table(
            f"Peak resident memory; ratio of {subject} to the least of {peers}",
            self.peak,
            memory_peers,
            "MiB",
            lambda job, name: self.peak.figure(job, name, unit=1024),
        )
        yield self.means(
            f"Geometric mean of {subject}'s time over that of", self.time, self.jobs, others
        )
        yield self.means(
            f"The same of the peak memory, where the least of {peers} is 10 MiB or more",
            self.peak,
            [job for job in self.jobs if self.takes_much_memory(job)],
            memory_peers,
        )
        yield from self.behind()

    def time_figure(self, job, name):
        """The cell of a time: with decimals where they tell something."""
        whole = (self.time.median(job, name) or 0) >= WHOLE_NS
        return self.time.figure(job, name, digits=0 if whole else 1)

    def table(self, title, quantity, peers, unit, figure):
        """A row a job, a column an allocator, and the subject's ratio to the best of the peers."""
        names = self.comparison.names
        columns = (
            Column("workload", left=True),
            Column("size", "B"),
            Column("threads"),
            *(Column(name, unit) for name in names),
            Column("ratio"),
            Column("to", left=True),
        )
        rows = []
        for job in self.jobs:
            cells = [figure(job, name) or "failed" for name in names]
            rows.append(
                [job.workload, job.size, job.threads, *cells, *quantity.ratio_to_least(job, peers)]
            )
        return Table(title, columns, rows)

    def takes_much_memory(self, job):
        """Whether every peer's peak is at least LEAST_PEAK_KIB."""
        best = self.peak.least(job, self.comparison.memory_peers)
        return best is not None and self.peak.median(job, best) >= LEAST_PEAK_KIB

    def means(self, title, quantity, jobs, peers):
        """A row a number of threads: geometric means of the subject's ratios in the jobs.

        A column an allocator, then the ratio to the best of the peers in each job, and how many
        jobs have one. An allocator that failed in a job in which others did not has no mean.
        """
        others = self.comparison.others
        threads = list(dict.fromkeys(job.threads for job in self.jobs))
        rows = []
        for count in (["all"] if len(threads) > 1 else []) + threads:
            chosen = [job for job in jobs if count in ("all", job.threads)]
            means = [quantity.mean_ratio((job, name) for job in chosen) for name in others]
            most = max(number for _, number in means)
            best = quantity.mean_ratio((job, quantity.least(job, peers)) for job in chosen)
            rows.append([count, *(mean if number == most else None for mean, number in means), *best])
        columns = (
            Column("threads", left=True),
            *(Column(f"{name}, ratio") for name in others),
            Column("best of each row, ratio"),
            Column("rows"),
        )
        return Table(title, columns, rows)

    def behind(self):
        """The jobs whose interval lies wholly above FAR_BEHIND of the fastest other's time."""
        subject, others = self.comparison.subject, self.comparison.others
        slow = []
        for job in self.jobs:
            ratio, name = self.time.ratio_to_least(job, others)
            if ratio and ratio.lies_above(FAR_BEHIND):
                slow.append([str(job), ratio, name])
        slow.sort(key=lambda row: row[1].value, reverse=True)
        title = f"{subject}'s interval of time lies wholly above {FAR_BEHIND:.2f} of the fastest other in"
        if slow:
            columns = (Column("workload", left=True), Column("ratio"), Column("to", left=True))
            yield Table(title, columns, slow)
        else:
            yield f"{title}: no workload."
