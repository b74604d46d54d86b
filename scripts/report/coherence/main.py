# SPDX-License-Identifier: MIT
"""What FLASK's paper says, judged by the rows of scripts/evidence/coherence.sh: FILE.csv to Markdown."""

from claims import words
from coherence import table
from coherence.statements import STATEMENTS
from evidence import judged

HEAD = """\
# Coherence: what the rows say

All figures are simulated. Time is in cycles; means are geometric, over all workloads alike.

"""
# Whose times the table of workloads divides.
PAIRS = (
    ("flask-40", "sparse-160"),
    ("flask-40", "token"),
    ("flask-5", "sparse-160"),
    ("sparse-5", "sparse-160"),
)


def cell(value):
    """A ratio in a cell."""
    return "" if value is None else f"{value:.3f}"


def curves(evidence, count):
    """A count normalised to token's, by configuration and family."""
    present = {row.configuration for row in evidence.of_families()}
    names = [f"{protocol}-{size}" for protocol in ("sparse", "flask") for size in table.SIZES]
    names += [f"flask-{size}-adaptive" for size in (20, 10, 5)]
    rows = []
    for name in names:
        if name in present:
            ratios = evidence.ratios(name, "token", count)
            means = [ratios.mean(family) for family in (*table.FAMILIES, None)]
            rows.append([name, *map(cell, means)])
    return words.table(["", *table.FAMILIES, "all"], rows)


def workloads(evidence):
    """A line for each workload: what it does to the machine under sparse at 160 %, and some of its ratios."""
    rows = []
    for row in evidence.of_families():
        if row.configuration == "sparse-160":
            share = {name: row.count[name] / row.count["accesses"] for name in ("llc_hits", "memory_reads")}
            ratios = [evidence.ratios(*pair, "cycles").of.get(row.workload) for pair in PAIRS]
            rows.append(
                [
                    row.workload,
                    row.family,
                    f"{row.count['accesses'] / 1e6:.1f}",
                    *(f"{100 * value:.2f}" for value in share.values()),
                    f"{100 * row.coherence_misses / row.count['accesses']:.2f}",
                    *map(cell, ratios),
                ]
            )
    head = ["workload", "family", "accesses, M", "last level, %", "memory, %", "other cores, %"]
    head += [" / ".join(pair) for pair in PAIRS]
    return words.table(head, sorted(rows, key=lambda row: (table.FAMILIES.index(row[1]), row[0])))


def per_call(value):
    """Misses a call in a cell."""
    return "" if value is None else f"{value:.2f}"


def allocators(evidence):
    """Coherence misses for each malloc and free, by workload, allocator and cores."""
    found, names = {}, []
    for row in evidence.rows:
        if row.family == "allocators" and row.calls:
            bench, malloc, cores = row.workload.split(":")
            found[bench, int(cores), malloc] = row.coherence_misses / row.calls
            names += [malloc] if malloc not in names else []
    rows = [
        [bench, cores, *(per_call(found.get((bench, cores, malloc))) for malloc in names)]
        for bench, cores in sorted({(bench, cores) for bench, cores, _ in found})
    ]
    return words.table(["workload", "cores", *names], rows) if rows else ""


def speed(evidence):
    """The simulator's own time against the accesses; a trace is replayed whole, its first part not counted."""
    found = sorted(
        (int(row.workload.split(":")[1]), row.seconds) for row in evidence.rows if row.family == "speed"
    )
    rows = [[f"{millions} M", f"{seconds:.2f}", f"{seconds / millions:.3f}"] for millions, seconds in found]
    return words.table(["accesses of the trace", "seconds", "seconds a million"], rows) if rows else ""


def document(evidence):
    """All of it."""
    parts = [
        ("Workloads", workloads(evidence)),
        ("Time, normalised to token", curves(evidence, "cycles")),
        ("Energy delay product, normalised to token", curves(evidence, "edp")),
        ("Average latency of an access, normalised to token", curves(evidence, "average_latency")),
        ("Multicasts, normalised to token", curves(evidence, "multicasts")),
        ("Coherence misses for each malloc and free", allocators(evidence)),
        ("Time of the simulator", speed(evidence)),
    ]
    return judged.document(HEAD, STATEMENTS, evidence, parts)


def main(arguments):
    """Prints the document of a file of rows."""
    return judged.main(arguments, table.evidence_of, document)
