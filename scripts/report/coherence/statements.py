# SPDX-License-Identifier: MIT
"""What FLASK's paper says of its Figures 3 to 7, each statement judged by rows.

The paper has no tables of these figures: what its text says is all that there is to compare with. A ratio that is
to be equal may be greater by EQUAL; one that the paper tells may fall short by MARGIN.
"""

from coherence.table import FAMILIES
from evidence.judged import Statement, change, decided, no_rows

EQUAL = 0.03
MARGIN = 0.02


def told(ratios):
    """Ratios in words: the mean, those of the families, and the range."""
    families = ", ".join(
        f"{family} {change(ratios.mean(family))}" for family in FAMILIES if ratios.mean(family) is not None
    )
    least, greatest = ratios.least, ratios.greatest
    return (
        f"{change(ratios.mean())} ({families}; from {change(ratios.of[least])}, {least}, to"
        f" {change(ratios.of[greatest])}, {greatest})"
    )


def at_most(bound, *figures):
    """A judge: the mean ratio of each figure (name, configuration, base, count) is at most the bound."""

    def judge(evidence):
        seen, holds = [], True
        for name, configuration, base, count in figures:
            ratios = evidence.ratios(configuration, base, count)
            if not ratios.of:
                return no_rows(f"{configuration} and {base}")
            holds = holds and ratios.mean() <= bound
            seen.append(f"{name} {told(ratios)}")
        return decided(holds, "; ".join(seen) + ".")

    return judge


def judge_knee(evidence):
    """Sparse is as at 160 % down to 25 %, and degraded below."""
    means = {}
    for size in (80, 40, 25, 20, 10, 5):
        ratios = evidence.ratios(f"sparse-{size}", "sparse-160", "cycles")
        if not ratios.of:
            return no_rows(f"sparse-{size} and sparse-160")
        means[size] = ratios
    intact = all(means[size].mean() <= 1 + EQUAL for size in (80, 40, 25))
    degraded = means[10].mean() > 1 + EQUAL and means[5].mean() > means[10].mean()
    curve = ", ".join(f"{size} %: {change(ratios.mean())}" for size, ratios in means.items())
    return decided(intact and degraded, f"Time at {curve}. At 5 %: {told(means[5])}.")


def judge_sharing(evidence):
    """Sparse at 5 % takes 40 % longer for servers, with almost twice the latency."""
    time = evidence.ratios("sparse-5", "sparse-160", "cycles")
    latency = evidence.ratios("sparse-5", "sparse-160", "average_latency")
    if time.mean("server") is None:
        return no_rows("servers at 5 and 160 %")
    holds = time.mean("server") >= 1.4 - MARGIN and latency.mean("server") >= 1.8
    return decided(
        holds,
        f"Servers at 5 %: time {change(time.mean('server'))}, average latency {change(latency.mean('server'))}.",
    )


def positives(evidence, configuration):
    """The false positives of a configuration over its memory reads, all workloads together; None without any."""
    rows = [row for row in evidence.of_families() if row.configuration == configuration]
    reads = sum(row.count["memory_reads"] for row in rows)
    return sum(row.count["filter_false_positives"] for row in rows) / reads if reads else None


def worst_positives(evidence, configuration):
    """The row with the greatest share of false positives."""
    rows = [row for row in evidence.of_families() if row.configuration == configuration]
    return max(rows, key=lambda row: row.false_positive_share)


def told_positives(evidence, configuration):
    """The share of false positives in words."""
    worst = worst_positives(evidence, configuration)
    return (
        f"{100 * positives(evidence, configuration):.2f} % (most: {100 * worst.false_positive_share:.1f} %,"
        f" {worst.workload})"
    )


def judge_filters(evidence):
    """5 % false positives with 16 bits a block for dleft, which cbf needs 32 for."""
    names = ("flask-50", "flask-100-cbf", "flask-50-cbf")
    dleft, wide, narrow = (positives(evidence, name) for name in names)
    if None in (dleft, wide, narrow):
        return no_rows(", ".join(names))
    holds = dleft <= 0.05 + MARGIN and wide <= 0.05 + MARGIN and narrow > max(dleft, 0.05)
    return decided(
        holds,
        "False positives, of the reads of memory: "
        + "; ".join(
            f"{what} {told_positives(evidence, name)}"
            for what, name in zip(("dleft at 16 bits", "cbf at 32 bits", "cbf at 16 bits"), names)
        )
        + ".",
    )


def judge_false_positives(evidence):
    """About 5 % at 20 %."""
    share = positives(evidence, "flask-20")
    if share is None:
        return no_rows("flask-20")
    least = positives(evidence, "flask-5")
    more = "" if least is None else f" At 5 %: {told_positives(evidence, 'flask-5')}."
    return decided(
        share <= 0.05 + MARGIN,
        f"Of the reads of memory: {told_positives(evidence, 'flask-20')}.{more}",
    )


STATEMENTS = (
    Statement(
        "FLASK at 40 % is as fast and as frugal as sparse at 160 %",
        "abstract; Figures 3 and 4",
        at_most(
            1 + EQUAL,
            ("Time", "flask-40", "sparse-160", "cycles"),
            ("energy", "flask-40", "sparse-160", "energy_pj"),
        ),
    ),
    Statement(
        "FLASK at 40 % is 10 % faster than token",
        "introduction; Figure 3",
        at_most(0.9 + MARGIN, ("Time", "flask-40", "token", "cycles")),
    ),
    Statement(
        "FLASK at 40 % has an energy delay product 20 % better than token's",
        "introduction; Figure 4",
        at_most(0.8 + MARGIN, ("Energy delay product", "flask-40", "token", "edp")),
    ),
    Statement(
        "FLASK at 5 % is at most 8 % slower on average than sparse at 160 %",
        "abstract; Figure 3",
        at_most(1.08, ("Time", "flask-5", "sparse-160", "cycles")),
    ),
    Statement(
        "FLASK loses at most 8 % on average from 160 % to 5 %",
        "VI.A; Figure 3",
        at_most(1.08, ("Time", "flask-5", "flask-160", "cycles")),
    ),
    Statement("Sparse is degraded below 25 %, and not above", "VI.A; Figures 3 and 5", judge_knee),
    Statement(
        "With much sharing, sparse at 5 % takes 40 % longer, at almost twice the latency",
        "VI.A; Figures 3 and 5",
        judge_sharing,
    ),
    Statement(
        "A d-left filter has 5 % false positives with 16 bits a block, a counting Bloom filter with 32",
        "IV.A; Figure 6",
        judge_filters,
    ),
    Statement("At 20 % false positives are about 5 %", "VI.B; Figure 6", judge_false_positives),
    Statement(
        "FLASK at 20 %, divided adaptively, is as fast as sparse at 160 %",
        "introduction; VI.C",
        at_most(1 + EQUAL, ("Time", "flask-20-adaptive", "sparse-160", "cycles")),
    ),
)
