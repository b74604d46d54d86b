# SPDX-License-Identifier: MIT
"""What Lu et al. say of their Figures 6 to 9, each statement judged by rows.

A mean that the paper gives as a figure may be off by NEAR, in units of the throughput without transactions, and so may
LOC's share of H-WAL's loss; a difference that it gives in per cent by MARGIN. What grows or falls has to do so at each step.
"""

from evidence.judged import Statement, change, decided, no_rows
from persistence.table import DEGREES, LATENCIES, WORKLOADS, with_degree, with_latency

NEAR = 0.05
MARGIN = 0.02


def told(names, means):
    """Means in words."""
    return ", ".join(f"{name} {mean:.3f}" for name, mean in zip(names, means))


def others(evidence, readings):
    """The means under other readings of the paper, of those that there are rows of, as a sentence."""
    found = [(name, means[0]) for name in readings if (means := evidence.means([name])) is not None]
    return f" Other readings: {told(*zip(*found))}." if found else ""


def need(configurations, names=None, readings=()):
    """A decorator of judges(means): without rows of each configuration there is no verdict. The verdict tells the means
    under other readings, too.
    """

    def decorated(judge):
        def judged(evidence):
            means = evidence.means(configurations)
            if means is None:
                return no_rows(", ".join(configurations))
            holds, more = judge(means)
            return decided(holds, f"{told(names or configurations, means)}{more}.{others(evidence, readings)}")

        return judged

    return decorated


def mean_is(configuration, value, readings=()):
    """A judge: the mean is the paper's."""

    @need([configuration], readings=readings)
    def judge(means):
        return abs(means[0] - value) <= NEAR, ""

    return judge


@need(["s-wal", "h-wal"], readings=["s-wal/keep", "h-wal/keep"])
def judge_hardware(means):
    """Logging in hardware is a little better: 0.316 and 0.331."""
    return means[0] <= means[1] <= means[0] + NEAR, f"; {change(means[1] / means[0])}"


@need(["h-wal", "loc-wal"], readings=["h-wal/keep", "h-wal/evict", "loc-wal/evict"])
def judge_overhead(means):
    """66.9 % of the throughput are lost, and 34.9 %: about half as much."""
    lost = [1 - mean for mean in means]
    return (
        abs(lost[1] / lost[0] - 0.349 / 0.669) <= NEAR,
        f": LOC loses {100 * lost[1] / lost[0]:.1f} % of what H-WAL loses",
    )


@need(["loc-wal", "kiln", "loc-kiln"], readings=["loc-wal/evict", "kiln/evict", "loc-kiln/evict"])
def judge_together(means):
    """LOC-Kiln is better than either."""
    return means[2] > max(means[:2]), ""


@need(["h-wal", "ec-wal"], readings=["h-wal/keep", "h-wal/evict", "ec-wal/evict", "h-wal/home", "ec-wal/home"])
def judge_eager(means):
    """6.4 % more."""
    return abs(means[1] / means[0] - 1.064) <= MARGIN, f"; {change(means[1] / means[0])}"


DEGREE_CONFIGURATIONS = [with_degree("loc-wal", degree) for degree in DEGREES]


def grows(values):
    """Each is more than the one before."""
    return all(after > before for before, after in zip(values, values[1:]))


def judge_growth(evidence):
    """Throughput grows with the degree. The verdict is the mean's; workloads in which it does not grow are named."""
    means = evidence.means(DEGREE_CONFIGURATIONS)
    if means is None:
        return no_rows(", ".join(DEGREE_CONFIGURATIONS))
    without = []
    for workload in WORKLOADS:
        values = [evidence.normalised(workload, one) for one in DEGREE_CONFIGURATIONS]
        if None not in values and not grows(values):
            without.append(workload)
    more = f" Not at each step in {', '.join(without)}." if without else ""
    return decided(grows(means), f"{told(DEGREES, means)}.{more}")


@need(
    [DEGREE_CONFIGURATIONS[0], DEGREE_CONFIGURATIONS[-1]],
    (DEGREES[0], DEGREES[-1]),
    ["ec-wal/evict", "loc-wal-32/evict", "loc-wal-32/commit"],
)
def judge_speculation(means):
    """0.353 at 1, 0.689 at 32: 95.5 % more."""
    return abs(means[1] / means[0] - 1.955) <= MARGIN, f"; {change(means[1] / means[0])}"


def judge_coalescing(evidence):
    """Fewer blocks are written to the log at 32 than at 1."""
    writes = [evidence.each(name, "log_writes") for name in DEGREE_CONFIGURATIONS]
    if None in writes:
        return no_rows(", ".join(DEGREE_CONFIGURATIONS))
    return decided(
        writes[-1] < writes[0],
        "Blocks written to the log for each transaction: "
        + ", ".join(f"{degree}: {value:.2f}" for degree, value in zip(DEGREES, writes))
        + ".",
    )


H_WAL_LATENCIES = [with_latency("h-wal", latency) for latency in LATENCIES]
LOC_LATENCIES = [with_latency("loc-wal", latency) for latency in LATENCIES]


@need(H_WAL_LATENCIES, LATENCIES)
def judge_latency(means):
    """H-WAL's throughput falls as latency grows."""
    return all(after < before for before, after in zip(means, means[1:])), ""


def judge_improvement(evidence):
    """LOC over H-WAL grows with latency."""
    means = evidence.means(H_WAL_LATENCIES + LOC_LATENCIES)
    if means is None:
        return no_rows("H-WAL and LOC-WAL at each latency")
    pairs = list(zip(means, means[len(LATENCIES) :]))
    ratios = [loc / wal for wal, loc in pairs]
    seen = ", ".join(
        f"{latency}: {change(ratio)} ({wal:.3f} to {loc:.3f})"
        for latency, ratio, (wal, loc) in zip(LATENCIES, ratios, pairs)
    )
    return decided(grows(ratios), f"{seen}.")


LOC_READINGS = ["loc-wal/evict", "loc-wal/home", "loc-wal/commit"]
STATEMENTS = (
    Statement("S-WAL has 0.316 of the throughput without transactions", "V.B; Figure 6", mean_is("s-wal", 0.316, ["s-wal/keep"])),
    Statement("H-WAL has 0.331", "V.B; Figure 6", mean_is("h-wal", 0.331, ["h-wal/keep", "h-wal/evict"])),
    Statement("LOC-WAL has 0.651", "V.B; Figure 6", mean_is("loc-wal", 0.651, LOC_READINGS)),
    Statement("LOC-Kiln has 0.811", "V.B; Figure 6", mean_is("loc-kiln", 0.811, ["loc-kiln/evict"])),
    Statement("A log in hardware is better than one in software, but not by much", "V.B", judge_hardware),
    Statement("LOC reduces the overhead of H-WAL from 66.9 % to 34.9 %", "abstract; Figure 6", judge_overhead),
    Statement("LOC and Kiln together are better than each alone", "V.B; Figure 6", judge_together),
    Statement("EC-WAL is 6.4 % faster than H-WAL", "V.C; Figure 7", judge_eager),
    Statement("LOC-WAL is faster with each doubling of the speculation degree", "V.D; Figure 8", judge_growth),
    Statement("From degree 1 to 32 it becomes 95.5 % faster", "V.D; Figure 8", judge_speculation),
    Statement("A larger window coalesces more writes", "V.D", judge_coalescing),
    Statement("H-WAL has less of the throughput the slower memory is", "V.E; Figure 9", judge_latency),
    Statement("LOC gains more over H-WAL the slower memory is", "V.E; Figure 9", judge_improvement),
)
