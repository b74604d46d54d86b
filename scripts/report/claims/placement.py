# SPDX-License-Identifier: MIT
"""The claims about where allocators place blocks: degraded sizes, misses, the allocators' order."""

import statistics

from claims import aborts, named_sizes, rates, words
from claims.markdown import (
    NEEDS_COUNTERS,
    NOT_MEASURED,
    RUNS_DISAGREE,
    Claim,
    Finding,
    verdict,
    verdict_of_runs,
)
from claims.points import median


def judge_degradation(setting):
    """Whether glibc is degraded near each size that the paper names."""
    if not setting.is_measured("ring") or not setting.has("glibc", "tts"):
        return
    used = [("glibc", "tts")]
    found = rates.degradation(setting, "glibc", "tts")
    if not found.compared:
        yield nothing_to_compare(setting, "glibc", used)
        return
    absent = named_sizes.absent_from(
        found.sizes, setting.sizes("glibc", "tts"), found.doubtful
    )
    seen = found.text() + absent.text() + named_sizes.unnamed_text(found.sizes)
    table = degradation_table(setting, found.sizes) if found.sizes else ""
    yield Finding(setting, absent.verdict(), seen, table, used)


def nothing_to_compare(setting, malloc, used):
    """The finding where an allocator is alone."""
    seen = f"There is no other allocator to compare {malloc} with."
    return Finding(setting, NOT_MEASURED, seen, series=used)


def degradation_table(setting, sizes):
    """A line for each of the sizes at which glibc is degraded under tts."""
    misses = {size: setting.point("glibc", "tts", size).count("l1d-misses") for size in sizes}
    with_misses = any(count is not None for count in misses.values())
    head = ["size", "glibc, M/s", "best, M/s", "glibc / best", "most nodes in one set"]
    rows = []
    for size in sizes:
        rate, best = setting.rate("glibc", "tts", size), rates.best_of(setting, "tts", size)
        row = [
            size,
            words.millions(rate),
            f"{words.millions(best.rate)} ({best.malloc})",
            f"{rate / best.rate:.2f}",
            setting.fullest.get(("glibc", size), ""),
        ]
        rows.append(row + [words.count(misses[size])] if with_misses else row)
    return words.table(head + ["L1D misses a traversal"] if with_misses else head, rows)


def judge_misses(setting):
    """Whether glibc's time for a traversal goes with its misses."""
    if not setting.is_measured("ring") or not setting.has("glibc", "tts"):
        return
    used = [("glibc", "tts")]
    pairs = misses_and_times(setting)
    # Fewer than three points, or what never varies, have no correlation.
    if len(pairs) < 3 or any(len(set(values)) < 2 for values in zip(*pairs)):
        yield Finding(setting, NEEDS_COUNTERS, placement_text(setting), series=used)
        return
    correlation = statistics.correlation(*zip(*pairs))
    seen = (
        f"The time of a traversal and its misses ({setting.events.get('l1d-misses', '')}) have a"
        f" correlation of {correlation:.2f} over {len(pairs)} sizes below the knee of the TLB."
    )
    yield Finding(setting, verdict(correlation >= 0.8), seen, series=used)


def misses_and_times(setting):
    """L1D misses and µs of glibc's traversals under tts, at the sizes below the TLB's knee: above
    it there is a second cause.
    """
    knee = rates.find_knee(setting).size
    pairs = []
    for size in setting.sizes("glibc", "tts"):
        point = setting.point("glibc", "tts", size)
        misses = point.count("l1d-misses")
        if misses is not None and point.rate and (not knee or size < knee):
            pairs.append((misses, 1e6 / point.rate))
    return pairs


def placement_text(setting):
    """What addresses tell without counters; empty where they tell nothing."""
    degraded = rates.degradation(setting, "glibc", "tts").sizes
    inside, others = [], []
    for size in setting.sizes("glibc", "tts"):
        if most := setting.fullest.get(("glibc", size)):
            (inside if size in degraded else others).append(most)
    if not inside or not others:
        return ""
    return (
        f"By addresses alone: in the fullest set begin {median(inside):.10g} nodes at the sizes"
        f" that are degraded, {median(others):.10g} at the others (medians)."
    )


def judge_order(setting):
    """Whether CIA is not below RAND, nor RAND below GLIBC, under each lock apart."""
    for lock in ("tts", "ttstle"):
        used = [("cia", lock), ("rand", lock), ("glibc", lock)]
        if not setting.measured or not all(setting.has(*series) for series in used):
            continue
        first = rates.compared(setting, lock, "cia", "rand")
        second = rates.compared(setting, lock, "rand", "glibc")
        parts = (first.holds(), second.holds())
        if not (first.ratios and second.ratios):
            decided = NOT_MEASURED
        elif None in parts and False not in parts:
            decided = RUNS_DISAGREE
        else:
            decided = verdict(all(parts))
        seen = f"{words.bench(setting)} under {lock}. {first.text()} {second.text()}"
        yield Finding(setting, decided, seen, series=used)


def judge_clean(setting):
    """Whether cia has a degraded size, or one with capacity aborts."""
    for lock in ("tts", "ttstle"):
        if setting.measured and setting.has("cia", lock):
            yield clean_rate(setting, lock)
    if setting.counts_transactions("cia"):
        yield clean_capacity(setting)


def clean_rate(setting, lock):
    """The finding on cia's rates under a lock."""
    used = [("cia", lock)]
    found = rates.degradation(setting, "cia", lock)
    if not found.compared:
        return nothing_to_compare(setting, "cia", used)
    seen = f"{words.bench(setting)} under {lock}. {found.text()}"
    if found.sizes:
        seen += f" Degraded at {words.shortened(found.sizes)} B."
    decided = verdict_of_runs(not found.sizes, not found.doubtful)
    return Finding(setting, decided, seen, series=used)


def clean_capacity(setting):
    """The finding on cia's capacity aborts."""
    found = aborts.capacity(setting, "cia")
    sizes = found.sizes(aborts.NEVER)
    never = f"{words.percent(aborts.NEVER)} of the transactions"
    if sizes:
        seen = (
            f"cia's capacity aborts are {never} or more at {words.shortened(sizes)} B,"
            f" the most {found.most_text()}."
        )
    elif found.most() == 0:
        seen = f"cia has no capacity abort at any of {len(found.shares)} sizes."
    else:
        seen = (
            f"cia's capacity aborts are below {never} at all {len(found.shares)} sizes,"
            f" the most {found.most_text()}."
        )
    seen = f"{words.bench(setting)}. {seen}"
    return Finding(setting, verdict(not sizes), seen, series=[("cia", "ttstle")])


DEGRADATION = Claim(
    "glibc is degraded at certain sizes (ring)",
    "under TTS most points lie in one band, but glibc drops out of it near 512 B and near 1, 1.5,"
    " 2, 2.5, 3 and 4 KiB. By how much is in its figure alone.",
    "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts --out ring.csv",
    judge_degradation,
    NOT_MEASURED,
    "No rows of the ring with glibc under tts.",
)

MISSES = Claim(
    "the loss goes with misses of the L1 data cache",
    "hardware counters show that rates fall where the L1 misses rise.",
    "mplace sweep ring --paper --counters paper --malloc glibc,rand,cia --lock tts --out ring.csv",
    judge_misses,
    NEEDS_COUNTERS,
    "No rows of the ring with glibc under tts either.",
)

ORDER = Claim(
    "CIA ≥ RAND ≥ GLIBC",
    "in general CIA is ahead of RAND, and RAND of GLIBC; RAND helps, but is poor at some sizes.",
    "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts,ttstle --out ring.csv",
    judge_order,
    NOT_MEASURED,
    "No rows of glibc, rand and cia under one lock.",
)

CLEAN = Claim(
    "no pathological size under CIA",
    "CIA has none of these sizes.",
    "mplace sweep ring --paper --malloc glibc,rand,cia,jemalloc,mimalloc --lock tts --out ring.csv",
    judge_clean,
    NOT_MEASURED,
    "No rows of cia under tts or ttstle.",
)
