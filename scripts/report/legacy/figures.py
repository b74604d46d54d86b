# SPDX-License-Identifier: MIT
"""What Ruan, Vyas, Liu and Spear say in Figures 10 and 11 of algorithms and contention managers, judged by rows.

Their times are those of up to 12 threads on 12 cores. Here two threads are timed; what more threads do is judged by
aborts. A comparison of times holds or differs only where the interval of the ratio leaves no doubt.
"""

from claims import words
from evidence.judged import Finding, Statement, decided
from legacy.algorithms import COUNTED, TIMED

CLOSE = 1.3  # "within 30 % of the baseline"
FEW, MOST = 1, 2  # threads
LOCKS = "locks"
BEST = "ip-eager-none"  # the paper's GCC-NoCM, whose name it had as IP-NoLock before
MANY = (8, 4)  # threads of which aborts are compared, the most first


def cannot_tell(seen):
    """The finding where the ratio's interval has both answers in it."""
    return Finding("cannot tell", seen)


def need(*configurations, threads=(FEW, MOST)):
    """A decorator of judges: without timed rows of each configuration there is no verdict."""

    def decorated(judge):
        def judged(evidence):
            if not evidence.is_timed(configurations, threads):
                return Finding("not measured", f"There are no timed rows of {words.joined(configurations)}.")
            return judge(evidence)

        return judged

    return decorated


def told(ratio):
    """A ratio with its interval, in words."""
    if ratio.low is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def below(ratio, bound, seen):
    """The finding of "the ratio is below the bound"."""
    if ratio.low is None or ratio.low <= bound <= ratio.high:
        return cannot_tell(seen)
    return decided(ratio.value < bound, seen)


def together(findings, seen):
    """The finding of "all of these hold"."""
    verdicts = {finding.verdict for finding in findings}
    for verdict in ("differs", "cannot tell"):
        if verdict in verdicts:
            return Finding(verdict, seen)
    return Finding("holds", seen)


def all_below(evidence, pairs, text, threads):
    """The finding of "each of these takes less time than its other", for each number of threads."""
    findings, parts = [], []
    for count in threads:
        for name, other in pairs:
            ratio = evidence.slower(name, other, count)
            findings.append(below(ratio, 1, ""))
            parts.append(f"{name} / {other}, {threads_in_words(count)}: {told(ratio)}")
    return together(findings, f"{text}: {'; '.join(parts)}.")


def threads_in_words(count):
    """The number of threads."""
    return "1 thread" if count == 1 else f"{count} threads"


@need("ip-rwlock-none", "it-rwlock-none", BEST, "it-eager-none", threads=(MOST,))
def faster_without_the_lock(evidence):
    pairs = [(BEST, "ip-rwlock-none"), ("it-eager-none", "it-rwlock-none")]
    return all_below(evidence, pairs, "Time", (MOST,))


@need("ip-rwlock-none", BEST, LOCKS, threads=(MOST,))
def the_lock_is_the_main_overhead(evidence):
    with_lock, without = (evidence.slower(name, LOCKS, MOST) for name in ("ip-rwlock-none", BEST))
    seen = f"Time over that of locks, 2 threads: with the lock {told(with_lock)}, without {told(without)}."
    if with_lock.low is None:
        return cannot_tell(seen)
    # The overhead that is left, against half of what there was: at its most, and at its least.
    if without.high - 1 < (with_lock.low - 1) / 2:
        return decided(True, seen)
    return decided(False, seen) if without.low - 1 > (with_lock.high - 1) / 2 else cannot_tell(seen)


@need(BEST, LOCKS)
def close_to_locks(evidence):
    ratios = [evidence.slower(BEST, LOCKS, count) for count in (FEW, MOST)]
    seen = f"Time over that of locks: 1 thread {told(ratios[0])}, 2 threads {told(ratios[1])}."
    return together([below(ratio, CLOSE, "") for ratio in ratios], seen)


@need(BEST, "it-eager-none")
def privatizing_is_faster(evidence):
    return all_below(evidence, [(BEST, "it-eager-none")], "Time", (FEW, MOST))


@need(BEST, "ip-eager-hourglass", "ip-eager-backoff", threads=(MOST,))
def hourglass_is_like_none(evidence):
    hourglass, backoff = (evidence.slower(f"ip-eager-{name}", BEST, MOST) for name in ("hourglass", "backoff"))
    seen = f"Time over that of none, 2 threads: hourglass {told(hourglass)}, backoff {told(backoff)}."
    if not hourglass.differs and not backoff.differs:
        return cannot_tell(seen)
    return decided(abs(hourglass.value - 1) < abs(backoff.value - 1), seen)


@need(BEST, "ip-eager-backoff", threads=(MOST,))
def backoff_is_not_best(evidence):
    return all_below(evidence, [(BEST, "ip-eager-backoff")], "Time", (MOST,))


@need(BEST, "ip-lazy-none", "ip-norec-none")
def eager_has_the_least_latency(evidence):
    return all_below(evidence, [(BEST, "ip-lazy-none"), (BEST, "ip-norec-none")], "Time", (FEW,))


@need(BEST, "ip-lazy-none", "ip-norec-none")
def eager_scales_best(evidence):
    return all_below(evidence, [(BEST, "ip-lazy-none"), (BEST, "ip-norec-none")], "Time", (MOST,))


def of_aborts(judge):
    """A decorator of judges of the aborts of eager, lazy and norec with the most threads there are rows for.

    Each seed is judged by itself: seeds that do not agree cannot tell.
    """

    def judged(evidence):
        names = ("eager", "lazy", "norec")
        for threads in MANY:
            aborts = {name: evidence.aborts(f"ip-{name}-none", threads) for name in names}
            if None in aborts.values():
                continue
            runs = {name: evidence.aborts_by_seed(f"ip-{name}-none", threads) for name in names}
            seeds = sorted(set.intersection(*(set(run) for run in runs.values())))
            votes = [judge({name: runs[name][seed] for name in names}) for seed in seeds]
            told_aborts = ", ".join(f"{name} {count:.3g}" for name, count in aborts.items())
            seen = f"Aborts a commit, {threads} threads: {told_aborts}; so in {sum(votes)} of {len(votes)} runs."
            return decided(votes[0], seen) if len(set(votes)) == 1 else cannot_tell(seen)
        return Finding("not measured", "There are no counted rows of each of eager, lazy and norec.")

    return judged


@of_aborts
def norec_aborts_least(aborts):
    return aborts["norec"] == min(aborts.values())


@of_aborts
def lazy_aborts_most(aborts):
    return aborts["lazy"] == max(aborts.values())


@of_aborts
def aborts_are_many(aborts):
    return min(aborts["eager"], aborts["lazy"]) > 1


STATEMENTS = [
    Statement("Without the readers/writer lock both branches are faster", "Figure 10", faster_without_the_lock),
    Statement("That lock is the primary source of overhead", "Figure 10", the_lock_is_the_main_overhead),
    Statement("Without it, the time is within 30 % of that of locks", "Figure 10", close_to_locks),
    Statement("Without it, IP is faster than IT", "Figure 10", privatizing_is_faster),
    Statement("Hourglass is closest to no contention management", "Figure 11", hourglass_is_like_none),
    Statement("Backoff is slower than none, even with few threads", "Figure 11", backoff_is_not_best),
    Statement("GCC's algorithm has the lowest latency", "Figure 11", eager_has_the_least_latency),
    Statement("GCC's algorithm scales best", "Figure 11", eager_scales_best),
    Statement("NOrec aborts least: 0.2 times a commit, GCC's 12.6, Lazy 14", "Section 4", norec_aborts_least),
    Statement("Lazy aborts most", "Section 4", lazy_aborts_most),
    Statement("GCC's and Lazy abort more than once a commit", "Section 4", aborts_are_many),
]


def table(evidence):
    """A line for each configuration: rates, the time over that of locks, and aborts a commit."""
    timed, counted = evidence.threads(TIMED), evidence.threads(COUNTED)
    lines = []
    for name in evidence.configurations:
        cells = [name]
        for threads in timed:
            rate, ratio = evidence.rate(name, threads), evidence.slower(name, LOCKS, threads)
            cells += ["" if rate is None else f"{rate / 1000:.4g}", "" if ratio is None else told(ratio)]
        for threads in counted:
            aborts = evidence.aborts(name, threads)
            cells.append("" if aborts is None else f"{aborts:.3g}")
        lines.append(cells)
    head = ["run"]
    for threads in timed:
        head += [f"thousand sets/s, {threads_in_words(threads)}", "time / locks"]
    head += [f"aborts a commit, {threads} threads" for threads in counted]
    return words.table(head, lines) if lines else ""
