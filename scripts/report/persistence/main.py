# SPDX-License-Identifier: MIT
"""What the paper on loose-ordering consistency says, judged by the rows of scripts/evidence/persistence.sh: FILE.csv to Markdown."""

from claims import words
from evidence import judged
from persistence import table
from persistence.statements import STATEMENTS

HEAD = """\
# Persistent memory: what the rows say

All figures are simulated. Throughput is in transactions a cycle, divided by that of the same trace without
transactions on the same memory; means are geometric, over the workloads of Table II alike.

"""
# Of a transaction, as the second table has them: heading, count.
COUNTS = (
    ("blocks to the log", "log_writes"),
    ("bytes to the log", "log_bytes"),
    ("blocks home", "home_writes"),
    ("forced evictions", "forced_evictions"),
    ("version overflows", "version_overflows"),
    ("coalesced", "coalesced_writes"),
)


def cell(value, digits=3):
    """A figure in a cell."""
    return "" if value is None else f"{value:.{digits}f}"


def throughputs(evidence, named, suffix=""):
    """Normalised throughput: a line for each configuration that is named, a column for each workload."""
    rows = []
    for name, configuration in named:
        found = [evidence.normalised(workload + suffix, configuration) for workload in table.WORKLOADS]
        means = evidence.means([configuration], suffix)
        if means is not None:
            rows.append([name, *map(cell, found), cell(means[0])])
    return words.table(["", *table.WORKLOADS, "mean"], rows) if rows else ""


def protocols(evidence):
    """Figures 6 and 7."""
    return throughputs(evidence, [(name, name) for name in table.PROTOCOLS])


def degrees(evidence, suffix=""):
    """Figure 8."""
    return throughputs(evidence, [(degree, table.with_degree("loc-wal", degree)) for degree in table.DEGREES], suffix)


def readings(evidence):
    """The protocols where the paper can be read in several ways."""
    return throughputs(evidence, [(name, name) for name in table.READINGS])


def latencies(evidence):
    """Figure 9."""
    named = [
        (f"{name}, {latency} cycles", table.with_latency(name, latency))
        for latency in table.LATENCIES
        for name in ("h-wal", "loc-wal")
    ]
    return throughputs(evidence, named)


def counts(evidence):
    """What each protocol does for a transaction, on average over the workloads."""
    configurations = ["none", *table.PROTOCOLS]
    configurations += [table.with_degree("loc-wal", degree) for degree in table.DEGREES if degree != table.DEGREE]
    rows = []
    for name in configurations:
        if evidence.each(name, "cycles") is not None:
            rows.append(
                [
                    name,
                    cell(evidence.each(name, "cycles"), 0),
                    *(cell(evidence.each(name, count), 2) for _, count in COUNTS),
                ]
            )
    return words.table(["", "cycles", *(head for head, _ in COUNTS)], rows) if rows else ""


def by_size(evidence, columns):
    """A line for each node size; for each column, its heading and cell(name of the workload), a cell an allocator."""
    rows = []
    for workload, size in evidence.sizes():
        names = [f"{workload}:{size}:{allocator}" for allocator in table.ALLOCATORS]
        rows.append([workload, size, *(value(name) for _, value in columns for name in names)])
    head = ["", "bytes", *(f"{head}, {allocator}" for head, _ in columns for allocator in table.ALLOCATORS)]
    return words.table(head, rows) if rows else ""


def sizes(evidence):
    """LOC-WAL by node size and allocator: blocks that go to the log early; throughput without transactions, and over it."""

    def early(name):
        row = evidence.row(name, "loc-wal")
        return "" if row is None else f"{row.each(*table.EARLY):.2f}"

    def plain(name):
        row = evidence.row(name, "none")
        return "" if row is None else f"{row.throughput:.1f}"

    columns = [("early", early), ("none", plain), ("loc-wal", lambda name: cell(evidence.normalised(name, "loc-wal")))]
    return by_size(evidence, columns)


def sizes_of_others(evidence):
    """Normalised throughput of the others by node size and allocator."""
    columns = [
        (protocol, lambda name, protocol=protocol: cell(evidence.normalised(name, protocol)))
        for protocol in table.SIZED
        if protocol != "loc-wal"
    ]
    return by_size(evidence, columns)


def document(evidence):
    """All of it."""
    parts = [
        ("Throughput by protocol", protocols(evidence)),
        ("Throughput of LOC-WAL by speculation degree", degrees(evidence)),
        ("Throughput by latency of memory", latencies(evidence)),
        (
            "Throughput by protocol, eight operations a transaction",
            throughputs(evidence, [(name, name) for name in table.PROTOCOLS], "-8"),
        ),
        ("Throughput of LOC-WAL by speculation degree, eight operations a transaction", degrees(evidence, "-8")),
        ("What a transaction costs, mean of the workloads", counts(evidence)),
        ("Throughput under other readings of the paper", readings(evidence)),
        (
            "LOC-WAL by node size: version overflows and forced evictions of a transaction; without transactions,"
            " transactions a million cycles; throughput over that",
            sizes(evidence),
        ),
        ("Throughput over that without transactions by node size", sizes_of_others(evidence)),
    ]
    return judged.document(HEAD, STATEMENTS, evidence, parts)


def main(arguments):
    """Prints the document of a file of rows."""
    return judged.main(arguments, table.evidence_of, document)
