# SPDX-License-Identifier: MIT
"""The tables of times and peak memory, their geometric means, and where the subject is slow."""

import statistics

from compare import figures

# Means of memory are of jobs with at least so high a peak: below it the allocator's own data weigh
# most.
LEAST_PEAK_KIB = 10 * 1024
FAR_BEHIND = 1.25


def read_jobs(path):
    """The jobs in the order of the table, from lines "workload size threads operations ..."."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            workload, size, threads = line.split()[:3]
            yield figures.Job(workload, "-" if size == "0" else size, threads)


def read_rows(path, column):
    """(job, allocator, number) of each measurement in the result, from one of its columns."""
    for record in figures.read_records(path):
        job = figures.Job(record["workload"], record["size"], record["threads"])
        yield job, record["malloc"], figures.number(record[column])


def duration(ns):
    """The text of a time, with its unit unless that is ns."""
    if ns >= 1e9:
        return f"{ns / 1e9:.2f} s"
    if ns >= 1e6:
        return f"{ns / 1e6:.2f} ms"
    if ns >= 1e4:
        return f"{ns / 1e3:.1f} us"
    return f"{ns:.1f}"


class Tables:
    """The medians of all jobs, and the tables made of them, as lines."""

    def __init__(self, comparison, jobs_path, rows_path):
        self.comparison = comparison
        self.jobs = list(read_jobs(jobs_path))
        self.time = figures.medians(read_rows(rows_path, "ns"), comparison.rounds)
        self.peak = figures.medians(read_rows(rows_path, "peak_rss_kib"), comparison.rounds)

    @property
    def is_command(self):
        """Whether a command was measured, and no workload of malloc_bench."""
        return self.jobs[0].threads == "-"

    def lines(self):
        """All tables; of a command there is one job, and nothing to take a mean of."""
        subject, rounds = self.comparison.subject, self.comparison.rounds
        others, memory_peers = self.comparison.others, self.comparison.memory_peers
        peers = " ".join(memory_peers)
        what = "a run" if self.is_command else "an operation, ns where nothing else is said"
        yield f"Time of {what}, median of {rounds}; ratio of {subject} to the fastest other"
        yield from self.table(self.time, others, duration)
        yield ""
        yield f"Peak resident memory, MiB; ratio of {subject} to the least of {peers}"
        yield from self.table(self.peak, memory_peers, figures.mebibytes)
        if self.is_command:
            return
        yield ""
        yield f"Geometric mean of {subject}'s time over that of"
        yield from self.means(self.time, self.jobs, others)
        yield ""
        yield f"The same of the peak memory, where the least of {peers} is above 10 MiB"
        yield from self.means(self.peak, self.jobs_of_much_memory(), memory_peers)
        yield ""
        yield from self.behind()

    def table(self, medians, peers, text):
        """A line a job, a column an allocator, and the subject's ratio to the best of the peers."""
        names = self.comparison.names
        yield f"{'workload':<21} {'size':>8} {'thr':>4}" + figures.heading(names)
        for job in self.jobs:
            row = medians.get(job, {})
            cells = [text(row[name]) if row.get(name) else "failed" for name in names]
            yield (
                f"{job.workload:<21.21} {job.size:>8} {job.threads:>4}"
                + "".join(f" {cell:>10}" for cell in cells)
                + figures.ratio_cells(row, self.comparison.subject, peers)
            )

    def jobs_of_much_memory(self):
        """The jobs in which every peer's peak is at least LEAST_PEAK_KIB."""
        peers = self.comparison.memory_peers
        for job in self.jobs:
            row = self.peak.get(job, {})
            best = figures.least(row, peers)
            if best and row[best] >= LEAST_PEAK_KIB:
                yield job

    def means(self, medians, jobs, peers):
        """A line a number of threads: geometric means of the subject's ratios in the jobs.

        A column an allocator, then the ratio to the best of the peers in each job, and how many
        jobs have one.
        """
        others = self.comparison.others
        chosen = list(jobs)
        threads = list(dict.fromkeys(job.threads for job in self.jobs))
        titles = "".join(f" {name:>10.10}" for name in others)
        yield f"{'threads':<8}{titles} {'best of each row':>16} {'rows':>6}"
        for count in (["all"] if len(threads) > 1 else []) + threads:
            rows = [medians.get(job, {}) for job in chosen if count in ("all", job.threads)]
            cells = "".join(f" {mean_text(self.ratios(rows, [name])):>10}" for name in others)
            best = self.ratios(rows, peers)
            yield f"{count:<8}{cells} {mean_text(best):>16} {len(best):6}"

    def ratios(self, rows, peers):
        """The subject's ratio to the best of the peers in each row that has one."""
        ratios = (figures.ratio_to_least(row, self.comparison.subject, peers) for row in rows)
        return [ratio for ratio in ratios if ratio is not None]

    def behind(self):
        """The jobs in which the subject is far slower than the fastest other, the worst first."""
        subject, others = self.comparison.subject, self.comparison.others
        yield f"{subject} is slower than {FAR_BEHIND:.2f} times the fastest other in:"
        slow = []
        for job in self.jobs:
            ratio = figures.ratio_to_least(self.time.get(job, {}), subject, others)
            if ratio and ratio > FAR_BEHIND:
                slow.append((ratio, job))
        slow.sort(key=lambda entry: entry[0], reverse=True)
        for ratio, job in slow:
            yield f"{ratio:7.2f}  {job}"
        if not slow:
            yield f"{'-':>6}  none"


def mean_text(ratios):
    """The geometric mean, or "-" of nothing."""
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"
