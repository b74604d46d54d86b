# SPDX-License-Identifier: MIT
"""What Chandru and Mueller say of banks and controllers, judged by the rows of scripts/evidence/banks.sh: FILE.csv to Markdown."""

from banks import table
from banks.statements import LOCAL, STATEMENTS, deviation
from claims import words
from evidence import judged
from evidence.judged import change

HEAD = """\
# Banks and controllers: what the rows say

All figures are simulated. Times are means over the seeds, deviations standard deviations.

"""


def share(part, whole):
    """A share in a cell."""
    return f"{100 * part / whole:.0f}" if whole else ""


def line(evidence, workload, policy, variant):
    """The cells of some runs behind their names."""
    runs = evidence.runs(workload, policy, variant)
    ratio = evidence.ratio(workload, policy, LOCAL, variant)
    accesses = sum(runs.mean(name) for name in ("row_hits", "row_misses", "row_conflicts"))
    return [
        len(runs.rows),
        f"{runs.mean() / 1e3:.1f}",
        f"{(max(runs.cycles) - min(runs.cycles)) / 1e3:.1f}",
        deviation(runs).removesuffix(" %"),
        "" if ratio is None else change(ratio).removesuffix(" %"),
        f"{runs.mean('memory_reads') / 1e3:.1f}",
        share(runs.mean("row_hits"), accesses),
        share(runs.mean("row_conflicts"), accesses),
        f"{runs.mean('read_latency'):.0f}",
        share(runs.mean("busiest"), 1),
        f"{runs.mean('average_latency'):.2f}",
    ]


COUNTED = [
    "runs",
    "cycles, thousands",
    "slowest less fastest",
    "deviation, %",
    "over local, %",
    "memory reads, thousands",
    "row hits, %",
    "conflicts, %",
    "cycles of a read",
    "busiest controller, %",
    "cycles of an access",
]


def told_workload(workload):
    """A workload's name for a reader."""
    name, threads, pages = workload.split("-")
    return f"{name}, {threads} threads" + (f", {pages} pages" if name == "composite" else "")


def policies(evidence):
    """A line for each workload and policy on the machine as it is."""
    rows = [
        [told_workload(workload), policy, *line(evidence, workload, policy, table.MACHINE)]
        for workload in sorted(evidence.names("workload"), key=order)
        for policy in evidence.names("policy")
        if evidence.runs(workload, policy)
    ]
    return words.table(["workload", "policy", *COUNTED], rows) if rows else ""


def order(workload):
    """Where a workload stands in tables: composite first, by pages and threads."""
    name, threads, pages = workload.split("-")
    return name != "composite", int(pages), int(threads), name


def variants(evidence):
    """A line for each machine that was changed, and policy."""
    rows = [
        [told_workload(workload), variant, policy, *line(evidence, workload, policy, variant)]
        for workload in sorted(evidence.names("workload"), key=order)
        for variant in evidence.names("variant")
        for policy in evidence.names("policy")
        if variant != table.MACHINE and evidence.runs(workload, policy, variant)
    ]
    return words.table(["workload", "machine", "policy", *COUNTED], rows) if rows else ""


def document(evidence):
    """All of it."""
    parts = [
        ("Policies", policies(evidence)),
        ("Changed machines", variants(evidence)),
    ]
    return judged.document(HEAD, STATEMENTS, evidence, parts)


def main(arguments):
    """Prints the document of a file of rows."""
    return judged.main(arguments, table.evidence_of, document)
