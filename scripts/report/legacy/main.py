# SPDX-License-Identifier: MIT
"""The document of scripts/evidence/legacy.sh: CACHE.csv ALGORITHMS.csv MEMCACHED.csv to Markdown. Any may have no rows."""

from claims import words
from evidence import judged
from evidence import rows as csv_rows
from legacy import algorithms, branches, elided, figures
from legacy.statements import STATEMENTS, percent


def tables_of_branches(evidence):
    """The paper's Tables 1 to 4 in one."""
    rows = []
    for items in ("ip", "it"):
        for step in branches.STEPS:
            if evidence.has(items + step):
                branch = items + step
                shares = [
                    f"{evidence.per_operation(branch, count):.3g} ({percent(evidence.share(branch, count))})"
                    for count in branches.COUNTS[1:]
                ]
                rows.append([branch, f"{evidence.per_operation(branch, 'transactions'):.2f}", *shares])
    head = ["branch", "transactions an operation", "in-flight switch", "start serial", "abort serial"]
    return words.table(head, rows) if rows else ""


def mean(rows, name):
    """The mean of a count over the seeds, an operation."""
    return sum(row.count[name] / row.operations for row in rows) / len(rows)


def table_of_policies(rows):
    """A line for each policy and number of processors."""
    lines = []
    for (policy, cpus), runs in sorted(elided.totals(rows).items(), key=lambda run: (run[0][1], run[0][0])):
        acquired, physical = mean(runs, "acquisitions"), mean(runs, "slow_path")
        lines.append(
            [policy, cpus, len(runs), f"{acquired:.2f}", f"{acquired - physical:.2f} ({percent(1 - physical / acquired)})"]
            + [f"{physical:.3f} ({percent(physical / acquired)})", f"{mean(runs, 'tx_started'):.2f}"]
            + [percent(mean(runs, "tx_committed") / (mean(runs, "tx_started") or 1))]
            + [f"{mean(runs, cause):.3f}" for cause in elided.CAUSES if cause != "debug"]
        )
    head = ["policy", "processors", "runs", "acquisitions", "elided", "physical", "transactions", "committed"]
    return words.table(head + [c for c in elided.CAUSES if c != "debug"], lines) if lines else ""


def table_of_locks(rows, most=8):
    """The locks with most aborts, for each policy with the greatest number of processors."""
    text = []
    totals = elided.totals(rows)
    for policy in dict.fromkeys(policy for policy, _ in totals):
        cpus = max(cpus for name, cpus in totals if name == policy)
        lines = []
        for name, counts in elided.by_lock(rows, policy, cpus)[:most]:
            acquired = counts["acquisitions"] or 1
            causes = [counts[cause] for cause in elided.CAUSES if cause != "debug"]
            lines.append([name, counts["acquisitions"], percent(1 - counts["slow_path"] / acquired), *causes])
        head = ["lock", "taken", "elided", *(cause for cause in elided.CAUSES if cause != "debug")]
        text.append(f"`{policy}`, {cpus} processors:\n\n{words.table(head, lines)}")
    return "\n".join(text)


def document(cache_rows, memcached_rows, algorithm_rows=()):
    """All of it: a part for each library of transactions, one for the algorithms, then memcached."""
    parts = []
    for runtime in branches.runtimes(cache_rows):
        evidence = branches.Evidence(cache_rows, runtime)
        head = f"# Branches, on the library {runtime}\n\nMeasured natively; counts, a set each, and their share.\n\n"
        parts.append(judged.document(head, STATEMENTS, evidence, [("Tables 1 to 4", tables_of_branches(evidence))]))
    if algorithm_rows:
        evidence = algorithms.Evidence(algorithm_rows)
        head = (
            "# Algorithms and contention managers\n\nMeasured natively. A ratio is that of medians, with the interval of"
            " 95 % that follows from the rounds.\n\n"
        )
        parts.append(judged.document(head, figures.STATEMENTS, evidence, [("Runs", figures.table(evidence))]))
    if memcached_rows:
        parts.append(
            "# memcached, elided\n\nAll counts are emulated; those of the first table are means an operation.\n\n"
            f"## Policies\n\n{table_of_policies(memcached_rows)}\n## Locks\n\n{table_of_locks(memcached_rows)}"
        )
    return "\n".join(parts)


def main(arguments):
    """Prints the document of three files of rows."""
    readers = (branches.read, algorithms.read, elided.read)
    rows = [csv_rows.read_file(path, "legacy", read) for path, read in zip(arguments, readers)]
    if None in rows:
        return 2
    cache_rows, algorithm_rows, memcached_rows = rows
    print(document(cache_rows, memcached_rows, algorithm_rows), end="")
    return 0
