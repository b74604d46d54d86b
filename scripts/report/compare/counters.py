# SPDX-License-Identifier: MIT
"""The tables of counted events: one for each event, a row a workload or program."""

from compare import figures
from compare.document import Column, Table


def counts_of(record):
    """(event, number) of a measurement, from "name=value;name=value"."""
    for pair in filter(None, (record.get("counters") or "").split(";")):
        event, _, value = pair.rpartition("=")
        yield event, figures.number(value)


class Report:
    """What was counted of all jobs, and the document made of it."""

    def __init__(self, comparison, bootstrap, jobs, records):
        self.comparison = comparison
        self.jobs = jobs
        measured = {}
        for record in records:
            job = figures.Job(record["workload"], record["size"], record["threads"])
            for event, value in counts_of(record):
                one = (job, record["malloc"], record["round"], value)
                measured.setdefault(event, []).append(one)
        self.events = {
            event: figures.Quantity(comparison, bootstrap, runs) for event, runs in measured.items()
        }

    def document(self):
        """A table for each event, in the order in which they were asked for."""
        if not self.events:
            return
        yield (
            "Events are counted over whole runs, their start and preparation included. An allocator whose runs were not"
            " all counted has no figure."
        )
        for event, quantity in self.events.items():
            yield self.table(event, quantity)

    def table(self, event, quantity):
        """A row a job, a column an allocator, and the subject's ratio to the least other."""
        names, others = self.comparison.names, self.comparison.others
        of_workloads = any(job.threads != "-" for job in self.jobs)
        columns = (
            Column("workload" if of_workloads else "program", left=True),
            *((Column("size", "B"), Column("threads")) if of_workloads else ()),
            *(Column(name, "events") for name in names),
            Column("ratio"),
            Column("to", left=True),
        )
        rows = []
        for job in self.jobs:
            head = [job.workload, job.size, job.threads] if of_workloads else [job.workload]
            cells = [quantity.figure(job, name, digits=0) for name in names]
            rows.append([*head, *cells, *quantity.ratio_to_least(job, others)])
        return Table(f"{event} of a run; ratio of {self.comparison.subject} to the least other", columns, rows)
