# SPDX-License-Identifier: MIT
"""What Chandru and Mueller say of their Figures 4 to 9 and Tables 1 and 2, each statement judged by rows.

The paper has no data points of its figures: what its text says is all that there is to compare with, and the standard
deviations of its tables. A difference that the paper gives as a figure may fall short by MARGIN; one that it calls
noticeable, or that it says is there, has to be more than EQUAL.
"""

from banks.table import MACHINE
from evidence.judged import Statement, change, decided, no_rows

EQUAL = 0.01
MARGIN = 0.02

OWN = "colours-8"
LOCAL = "local"
# The default of the paper's text, and the changed machine of docs/banks.md that is loaded as the paper's times say.
DEFAULT = "local-5"
LOADED = "block-16-l2-8-ways"


def composite(threads, pages):
    """The name of a composite workload."""
    return f"composite-{threads}-{pages}"


def need(*workloads_and_policies):
    """A decorator of judges: without runs of each pair there is no verdict."""

    def decorated(judge):
        def judged(evidence):
            for workload, policy in workloads_and_policies:
                if evidence.runs(workload, policy) is None:
                    return no_rows(f"{workload} under {policy}")
            holds, seen = judge(evidence)
            return decided(holds, seen)

        return judged

    return decorated


def told_ratios(evidence, workload, variant=MACHINE):
    """Time under own banks over that under either default, in words; empty without runs."""
    ratios = {base: evidence.ratio(workload, OWN, base, variant) for base in (LOCAL, DEFAULT)}
    return ", ".join(f"over {base} {change(ratio)}" for base, ratio in ratios.items() if ratio is not None)


def told_loaded(evidence, workload):
    """The same of the loaded machine, as a sentence."""
    ratios = told_ratios(evidence, workload, LOADED)
    return f" On {LOADED}: {ratios}." if ratios else ""


def faster(workload, least, policy=OWN, base=LOCAL):
    """A judge: a policy saves at least that share of the time under another."""

    @need((workload, policy), (workload, base))
    def judge(evidence):
        ratio = evidence.ratio(workload, policy, base)
        ratios = told_ratios(evidence, workload) if base == LOCAL else f"over {base} {change(ratio)}"
        return ratio <= 1 - least, f"Time under {policy}: {ratios}.{told_loaded(evidence, workload)}"

    return judge


def deviation(runs):
    """A standard deviation in words."""
    return "?" if runs.deviation is None else f"{100 * runs.deviation:.2f} %"


@need(*((f"{name}-32-0", policy) for name in ("is", "stream") for policy in ("colours-4", OWN, LOCAL)))
def judge_table_1(evidence):
    """Both colours deviate less than controller-local."""
    holds, seen = True, []
    for name in ("is", "stream"):
        runs = {policy: evidence.runs(f"{name}-32-0", policy) for policy in ("colours-4", OWN, LOCAL)}
        if None in (one.deviation for one in runs.values()):
            holds = False
        else:
            holds = holds and max(runs["colours-4"].deviation, runs[OWN].deviation) < runs[LOCAL].deviation
        seen.append(f"{name} " + ", ".join(f"{policy} {deviation(one)}" for policy, one in runs.items()))
    return holds, "Deviation of the time: " + "; ".join(seen) + "."


SIX = composite(32, 2)
OTHERS_OF_SIX = ("colours-4", "colours-2", LOCAL, "opposite", "one-node", "two-nodes", "circular")


def times(evidence, workload, policies, base=OWN):
    """Times under policies over that under the base."""
    return {policy: evidence.ratio(workload, policy, base) for policy in policies}


def told(ratios, base=OWN):
    """Times in words."""
    return f"Time over {base}: " + ", ".join(f"{policy} {change(ratio)}" for policy, ratio in ratios.items())


@need((SIX, OWN), *((SIX, policy) for policy in OTHERS_OF_SIX))
def judge_best(evidence):
    """No policy is faster than eight colours, and some other one is slower."""
    ratios = times(evidence, SIX, OTHERS_OF_SIX)
    return min(ratios.values()) > 1 and max(ratios.values()) > 1 + EQUAL, told(ratios) + "."


@need((SIX, OWN), *((SIX, policy) for policy in OTHERS_OF_SIX))
def judge_worst(evidence):
    """One node and circular are slower than all others, with 2 pages and with 10."""
    holds, seen = True, []
    for pages in (2, 10):
        workload = composite(32, pages)
        ratios = times(evidence, workload, (OWN, *OTHERS_OF_SIX))
        if None in ratios.values():
            continue
        worst = sorted(ratios, key=ratios.get)[-2:]
        others = max(ratio for policy, ratio in ratios.items() if policy not in ("one-node", "circular"))
        holds = holds and min(ratios["one-node"], ratios["circular"]) > others * (1 + EQUAL)
        seen.append(f"{pages} pages: the slowest are {worst[1]} ({change(ratios[worst[1]])} over {OWN}) and {worst[0]}"
                    f" ({change(ratios[worst[0]])}), circular {change(ratios['circular'])}")
    return holds, "; ".join(seen) + "."


@need((SIX, OWN), (SIX, "colours-4"), (SIX, "colours-2"))
def judge_colours(evidence):
    """Eight, four and two colours differ noticeably, in this order."""
    seen, holds = [], True
    for pages in (2, 10):
        four = evidence.ratio(composite(32, pages), "colours-4", OWN)
        two = evidence.ratio(composite(32, pages), "colours-2", OWN)
        if four is None or two is None:
            continue
        if pages == 2:
            holds = four > 1 + EQUAL and two > four * (1 + EQUAL)
        seen.append(f"{pages} pages: four {change(four)}, two {change(two)}")
    return holds, "Time over eight colours, " + "; ".join(seen) + "."


@need((composite(32, 2), LOCAL), (composite(32, 10), LOCAL))
def judge_growth(evidence):
    """Ten pages take 21 times as long as two: a whole sort is a number of passes that grows with the pages."""
    seen, holds = [], True
    for policy in (OWN, LOCAL):
        two, ten = (evidence.runs(composite(32, pages), policy) for pages in (2, 10))
        if two is None or ten is None:
            continue
        growth = 5 * ten.mean() / two.mean()
        holds = holds and abs(growth - 21) <= 21 * 0.2
        seen.append(f"{policy} {growth:.0f}")
    return holds, f"A first pass times the number of passes, 10 pages over 2: {', '.join(seen)}."


THREADS = (8, 16, 24, 32, 48)


@need(*((composite(threads, 10), policy) for threads in (8, 16, 24, 32, 48) for policy in (OWN, LOCAL)))
def judge_threads(evidence):
    """What colours save grows from 8 to 32 threads, and is about the same at 48."""
    saved = {
        threads: evidence.runs(composite(threads, 10), LOCAL).mean() - evidence.runs(composite(threads, 10), OWN).mean()
        for threads in THREADS
    }
    rising = all(saved[a] < saved[b] for a, b in zip(THREADS, THREADS[1:4]))
    holds = rising and saved[32] > 0 and abs(saved[48] - saved[32]) <= 0.25 * saved[32]
    return holds, "Thousand cycles that colours save: " + ", ".join(
        f"{threads} threads {cycles / 1e3:+.1f}" for threads, cycles in saved.items()
    ) + "."


@need((composite(8, 10), OWN), (composite(8, 10), LOCAL))
def judge_eight(evidence):
    """With 8 threads controller-local is as fast, or faster, in most runs."""
    own, local = evidence.runs(composite(8, 10), OWN), evidence.runs(composite(8, 10), LOCAL)
    slower = {row.seed: row.count["cycles"] for row in own.rows}
    most = [row for row in local.rows if row.seed in slower and row.count["cycles"] <= slower[row.seed] * (1 + EQUAL)]
    seen = f"Local is as fast or faster in {len(most)} of {len(local.rows)} runs; time under {OWN}:"
    seen += f" {told_ratios(evidence, composite(8, 10))}.{told_loaded(evidence, composite(8, 10))}"
    return 2 * len(most) > len(local.rows), seen


@need(*((composite(threads, 10), policy) for threads in (8, 32, 48) for policy in (OWN, LOCAL)))
def judge_table_2(evidence):
    """With 10 pages the times under colours deviate more than those under controller-local."""
    holds, seen = True, []
    for threads in (8, 32, 48):
        own, local = (evidence.runs(composite(threads, 10), policy) for policy in (OWN, LOCAL))
        holds = holds and None not in (own.deviation, local.deviation) and own.deviation > local.deviation
        seen.append(f"{threads} threads {deviation(own)} and {deviation(local)}")
    return holds, f"Deviation of the time under {OWN} and {LOCAL}: " + ", ".join(seen) + "."


@need((SIX, OWN), *((SIX, policy) for policy in OTHERS_OF_SIX))
def judge_jitter(evidence):
    """With 2 pages eight colours deviate least of all."""
    found = {policy: evidence.runs(SIX, policy) for policy in (OWN, *OTHERS_OF_SIX)}
    values = {policy: runs.deviation for policy, runs in found.items()}
    holds = None not in values.values() and min(values, key=values.get) == OWN
    return holds, "Deviation of the time: " + ", ".join(f"{policy} {deviation(runs)}" for policy, runs in found.items()) + "."


STATEMENTS = (
    Statement("IS, 32 threads: 8 colours are close to 20 % faster than controller-local", "Figure 4",
              faster("is-32-0", 0.2 - MARGIN)),
    Statement("IS: 8 colours are faster than 4", "Figure 4", faster("is-32-0", EQUAL, OWN, "colours-4")),
    Statement("STREAM has significantly more bandwidth with colours", "Figure 5", faster("stream-32-0", 0.05)),
    Statement("IS and STREAM deviate less with 4 and 8 colours than controller-local", "Table 1", judge_table_1),
    Statement("32 threads, 2 pages: 8 colours are always best", "Figure 6", judge_best),
    Statement("One node and circular are always the worst", "Figure 6", judge_worst),
    Statement("32 threads, 2 pages: controller-local is slightly slower than colours", "Figure 6", faster(SIX, EQUAL)),
    Statement("32 threads, 2 pages: 2, 4 and 8 colours differ noticeably", "Figure 6", judge_colours),
    Statement("32 threads, 2 pages: 8 colours deviate least", "Table 2", judge_jitter),
    Statement("32 threads: 10 pages take 21 times as long as 2", "Figures 6 and 7", judge_growth),
    Statement("32 threads, 10 pages: 8 colours are 17 to 20 % ahead of controller-local", "Figure 7",
              faster(composite(32, 10), 0.17 - MARGIN)),
    Statement("10 pages: what colours save grows from 8 to 32 threads and remains at 48", "Figures 7 to 9", judge_threads),
    Statement("8 threads, 10 pages: controller-local is as good most of the time", "Figure 9", judge_eight),
    Statement("10 pages: colours deviate more than controller-local", "Table 2", judge_table_2),
)
