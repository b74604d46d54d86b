# SPDX-License-Identifier: MIT
"""The claims about the AVL tree with 4 threads, the paper's Figure 2."""

from claims import aborts, named_sizes, rates, words
from claims.markdown import (
    HOLDS,
    NEEDS_TSX,
    NOT_MEASURED,
    Claim,
    Finding,
    verdict_of_runs,
)
from claims.placement import nothing_to_compare
from claims.points import median

# Of the paper's sizes the one at which glibc is below the best without transactions.
WORST = 2048
COMMAND = (
    "mplace sweep avltree --paper --threads 4 --htm native --malloc glibc,rand,cia"
    " --lock tts,ttstle --out avltree.csv"
)


def judge_concurrency(setting):
    """Whether elision is ahead: by rates, or for emulated rows by the sections that were elided."""
    if setting.bench == "avltree":
        yield from concurrency_rate(setting) if setting.measured else elided_sections(setting)


def concurrency_rate(setting):
    """The finding on rates. CIA's verdict is the claim's: where glibc falls behind is the next."""
    seen, used = [], []
    decided = NOT_MEASURED
    for malloc in setting.mallocs:
        if not setting.has(malloc, "tts", "ttstle"):
            continue
        used += [(malloc, "tts"), (malloc, "ttstle")]
        ratio = rates.ratios(setting, malloc, "ttstle", "tts")
        if not ratio:
            continue
        ahead = sum(value > 1 for value in ratio.values())
        if malloc == "cia":
            least = rates.IN_GENERAL * len(ratio)
            clearly = sum(
                rates.is_below(setting, malloc, "tts", size, setting.rate(malloc, "ttstle", size))
                for size in ratio
            )
            decided = verdict_of_runs(ahead >= least, clearly >= least)
        seen.append(
            f"{malloc} is ahead under ttstle at {ahead} of {len(ratio)} sizes,"
            f" by a factor of {median(ratio.values()):.2f} in the median."
        )
    if seen and decided == NOT_MEASURED:
        seen.append("cia has no size with both locks.")
    if seen:
        yield Finding(setting, decided, " ".join(seen), series=used)


def elided_sections(setting):
    """The finding on the sections that were elided."""
    seen, used = [], []
    for malloc in setting.mallocs:
        if not setting.counts_transactions(malloc):
            continue
        used.append((malloc, "ttstle"))
        points = setting.series[malloc, "ttstle"]
        elided = {
            size: 1 - points[size].slow_path / points[size].acquisitions
            for size in sorted(points)
            if points[size].started
        }
        least = min(elided, key=elided.get)
        seen.append(
            f"{malloc}: {100 * median(elided.values()):.1f} % in the median,"
            f" {100 * elided[least]:.1f} % at {least} B."
        )
    if seen:
        seen.insert(0, "Counted are the sections that were elided, and could run side by side.")
        yield Finding(setting, NEEDS_TSX, " ".join(seen), series=used)


def judge_same(setting):
    """Whether glibc's bad sizes are the ring's: by rates, or by the aborts of emulated rows."""
    if setting.bench != "avltree":
        return
    if not setting.measured and setting.counts_transactions("glibc"):
        yield same_capacity(setting)
    elif setting.measured and setting.has("glibc", "ttstle"):
        yield same_rate(setting)
    elif setting.measured and setting.has("glibc", "tts"):
        found = rates.degradation(setting, "glibc", "tts")
        seen = ""
        if found.compared:
            seen = f"Under tts, of which the paper does not say it, {found.text()}"
        yield Finding(setting, NEEDS_TSX, seen, series=[("glibc", "tts")])


def same_capacity(setting):
    """The finding on the sizes with capacity aborts."""
    found = aborts.capacity(setting, "glibc")
    sizes = found.sizes(aborts.NEVER)
    absent = named_sizes.absent_from(sizes, setting.sizes("glibc", "ttstle"))
    decided = f"{HOLDS} for aborts; the rate needs TSX hardware"
    seen = (
        f"glibc's capacity aborts are {words.percent(aborts.NEVER)} of the transactions or more at"
        f" {len(sizes)} of {len(found.shares)} sizes."
        f"{absent.text()}{named_sizes.unnamed_text(sizes)}"
    )
    used = [(malloc, "ttstle") for malloc in setting.mallocs if setting.has(malloc, "ttstle")]
    return Finding(
        setting,
        decided if absent.verdict() == HOLDS else absent.verdict(),
        seen,
        aborts.capacity_table(setting),
        used,
    )


def same_rate(setting):
    """The finding on the sizes that are degraded under ttstle."""
    used = [("glibc", "ttstle")]
    found = rates.degradation(setting, "glibc", "ttstle")
    if not found.compared:
        return nothing_to_compare(setting, "glibc", used)
    absent = named_sizes.absent_from(
        found.sizes, setting.sizes("glibc", "ttstle"), found.doubtful
    )
    seen = f"Under ttstle {found.text()}{absent.text()}{named_sizes.unnamed_text(found.sizes)}"
    return Finding(setting, absent.verdict(), seen, series=used)


def judge_worse(setting):
    """Whether glibc under ttstle is below the best without transactions at about 2000 B."""
    if not setting.is_measured("avltree") or not setting.has("glibc", "ttstle"):
        return
    used = [("glibc", "ttstle")]
    shares = {}
    for size in setting.sizes("glibc", "ttstle"):
        best = rates.best_of(setting, "tts", size).rate
        if named_sizes.is_near(size, WORST) and best:
            shares[size] = setting.rate("glibc", "ttstle", size) / best
    if not shares:
        seen = f"No size near {WORST} B has both locks."
        yield Finding(setting, NOT_MEASURED, seen, series=used)
        return
    least = min(shares, key=shares.get)
    seen = f"Under ttstle glibc has {shares[least]:.2f} of the best rate under tts at {least} B."
    clearly = rates.is_below(setting, "glibc", "ttstle", least, rates.best_of(setting, "tts", least).rate)
    yield Finding(setting, verdict_of_runs(shares[least] < 1, clearly), seen, series=used)


CONCURRENCY = Claim(
    "TTSTLE is above TTS with 4 threads (AVL tree)",
    "the forms with elision are ahead, for sections run side by side.",
    COMMAND,
    judge_concurrency,
    NEEDS_TSX,
)

SAME = Claim(
    "the same pathological sizes with 4 threads (glibc, AVL tree)",
    "TTSTLE with glibc falls behind at the sizes that are bad in the ring, for the lock is taken"
    " and the others wait.",
    COMMAND,
    judge_same,
    NEEDS_TSX,
)

WORSE = Claim(
    "at about 2000 B TTSTLE with glibc is below the best TTS (AVL tree)",
    "with 4 threads and transactions it is slower there than a lock that lets one thread in at a"
    " time.",
    COMMAND,
    judge_worse,
    NEEDS_TSX,
)
