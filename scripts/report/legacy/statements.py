# SPDX-License-Identifier: MIT
"""What Ruan, Vyas, Liu and Spear say in Tables 1 to 4 of the transactions that run alone, judged by rows.

The paper's counts are of 625 thousand sets (its memslap's test is "set"): so theirs are compared as counts a set. Two
counts are the same within SAME.
"""

from evidence.judged import Finding, Statement, decided
from legacy.branches import STEPS

SAME = 0.1
FEW = 0.001  # a share of the transactions: "a trivial number"
UNSAFE = ("in_flight_switch", "start_serial")
NAMES = {"": "relaxed", "-callable": "callable", "-max": "max", "-lib": "lib", "-oncommit": "onCommit"}


def need(*branches):
    """A decorator of judges: without rows of each branch there is no verdict."""

    def decorated(judge):
        def judged(evidence):
            if not evidence.has(*branches):
                return Finding("not measured", f"There are no rows of {' or '.join(branches)}.")
            return decided(*judge(evidence))

        return judged

    return decorated


def same(left, right):
    """Whether two counts are the same."""
    return abs(left - right) <= SAME * max(left, right)


def told(evidence, branches, *counts):
    """The counts a set of each branch, in words."""
    return ", ".join(f"{branch} {evidence.per_operation(branch, *counts):.3g}" for branch in branches)


def percent(share):
    """A share in per cent."""
    return f"{100 * share:.3g} %"


ALL = [items + step for items in ("ip", "it") for step in STEPS]


@need(*ALL)
def more_transactions_in_ip(evidence):
    holds = all(
        evidence.per_operation(f"ip{step}", "transactions") > evidence.per_operation(f"it{step}", "transactions")
        for step in STEPS
    )
    return holds, f"Transactions a set: {told(evidence, ALL, 'transactions')}."


@need("ip", "it", "ip-callable", "it-callable")
def callable_changes_nothing(evidence):
    pairs = [(items, f"{items}-callable", count) for items in ("ip", "it") for count in UNSAFE]
    holds = all(same(evidence.per_operation(a, c), evidence.per_operation(b, c)) for a, b, c in pairs)
    branches = ("ip", "ip-callable", "it", "it-callable")
    return holds, f"Alone by unsafe code, a set: {told(evidence, branches, *UNSAFE)}."


@need("ip", "it")
def in_flight_alike(evidence):
    holds = same(evidence.per_operation("ip", "in_flight_switch"), evidence.per_operation("it", "in_flight_switch"))
    return holds, f"Switched in flight, a set: {told(evidence, ('ip', 'it'), 'in_flight_switch')}; the paper 1 and 1."


@need("ip", "it")
def start_serial_twice(evidence):
    ratio = evidence.per_operation("it", "start_serial") / (evidence.per_operation("ip", "start_serial") or 1)
    holds = same(ratio, 2)
    return holds, f"Alone from the start, a set: {told(evidence, ('ip', 'it'), 'start_serial')}; the paper 1 and 2."


@need("ip", "it")
def greater_share_in_it(evidence):
    shares = [evidence.share(branch, *UNSAFE) for branch in ("ip", "it")]
    return shares[0] < shares[1], f"ip {percent(shares[0])}, it {percent(shares[1])}; the paper 11 % and 54 %."


@need("ip", "it", "ip-callable", "it-callable")
def few_after_aborts(evidence):
    shares = {branch: evidence.share(branch, "abort_serial") for branch in ("ip", "it", "ip-callable", "it-callable")}
    text = ", ".join(f"{branch} {percent(share)}" for branch, share in shares.items())
    return max(shares.values()) < FEW, f"Of the transactions: {text}."


@need("ip-callable", "ip-max")
def max_delays_what_runs_alone(evidence):
    start = [evidence.per_operation(branch, "start_serial") for branch in ("ip-callable", "ip-max")]
    alone = [evidence.per_operation(branch, *UNSAFE) for branch in ("ip-callable", "ip-max")]
    text = (
        f"Alone from the start, a set: {told(evidence, ('ip-callable', 'ip-max'), 'start_serial')}; by unsafe code in"
        f" all: {told(evidence, ('ip-callable', 'ip-max'), *UNSAFE)}."
    )
    return start[1] < start[0] / 2 and same(*alone), text


@need("ip-callable", "ip-max", "it-callable", "it-max")
def max_has_more_transactions(evidence):
    ratios = {
        items: evidence.per_operation(f"{items}-max", "transactions")
        / evidence.per_operation(f"{items}-callable", "transactions")
        for items in ("ip", "it")
    }
    text = ", ".join(f"{items} times {ratio:.2f}" for items, ratio in ratios.items())
    return min(ratios.values()) > 1 + SAME, f"Transactions: {text}; the paper 2.29 and 1.84."


@need("ip-callable", "ip-max", "it-callable", "it-max")
def max_aborts_more(evidence):
    branches = ("ip-callable", "ip-max", "it-callable", "it-max")
    counts = [evidence.share(branch, "abort_serial") for branch in branches]
    text = ", ".join(f"{branch} {percent(share)}" for branch, share in zip(branches, counts))
    return counts[0] < counts[1] and counts[2] < counts[3], f"Alone after aborts, of the transactions: {text}."


@need("ip-max", "ip-lib", "it-max", "it-lib")
def library_halves(evidence):
    branches = ("ip-max", "ip-lib", "it-max", "it-lib")
    counts = [evidence.per_operation(branch, *UNSAFE) for branch in branches]
    text = f"Alone by unsafe code, a set: {told(evidence, branches, *UNSAFE)}; the paper 1.86, 1, 2.89, 1."
    return counts[1] < counts[0] and counts[3] < counts[2], text


@need("ip-lib", "it-lib")
def library_leaves_one(evidence):
    counts = [evidence.per_operation(branch, *UNSAFE) for branch in ("ip-lib", "it-lib")]
    return all(same(count, 1) for count in counts), f"A set: {told(evidence, ('ip-lib', 'it-lib'), *UNSAFE)}."


@need("ip-oncommit", "it-oncommit")
def on_commit_leaves_none(evidence):
    counts = [evidence.per_operation(branch, *UNSAFE) for branch in ("ip-oncommit", "it-oncommit")]
    return max(counts) == 0, f"A set: {told(evidence, ('ip-oncommit', 'it-oncommit'), *UNSAFE)}."


@need("ip-oncommit", "it-oncommit")
def privatizing_aborts_more(evidence):
    counts = [evidence.per_operation(branch, "abort_serial") for branch in ("ip-oncommit", "it-oncommit")]
    text = told(evidence, ("ip-oncommit", "it-oncommit"), "abort_serial")
    return counts[0] > counts[1], f"Alone after aborts, a set: {text}; the paper 0.077 and 0.013."


STATEMENTS = [
    Statement("Transactions for item locks: there are fewer in all", "Tables 1 to 4", more_transactions_in_ip),
    Statement("The callable attribute changes nothing", "Table 1, Figure 4", callable_changes_nothing),
    Statement("IP and IT have practically as many that switch in flight", "Table 1", in_flight_alike),
    Statement("Twice as many begin alone in IT", "Table 1", start_serial_twice),
    Statement("A greater share runs alone in IT", "Table 1", greater_share_in_it),
    Statement("A trivial number runs alone after aborts", "Table 1", few_after_aborts),
    Statement("Max: fewer begin alone in IP, but as many run alone in the end", "Table 2", max_delays_what_runs_alone),
    Statement("Max: there are more transactions", "Table 2", max_has_more_transactions),
    Statement("Max: more run alone after aborts", "Table 2", max_aborts_more),
    Statement("Safe libraries: fewer run alone by unsafe code", "Table 3", library_halves),
    Statement("Safe libraries: one transaction a set is left", "Table 3", library_leaves_one),
    Statement("onCommit: none runs alone by unsafe code", "Table 4", on_commit_leaves_none),
    Statement("onCommit: more run alone after aborts in IP than in IT", "Table 4", privatizing_aborts_more),
]
