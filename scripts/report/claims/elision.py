# SPDX-License-Identifier: MIT
"""The claims about transactions in the ring. Under the emulator time means nothing: only counts are
judged there.
"""

from claims import aborts, named_sizes, rates, words
from claims.markdown import NEEDS_TSX, NOT_MEASURED, Claim, Finding, verdict, verdict_of_runs
from claims.points import median

# A transaction that commits costs a little more than the lock's atomic operations: at least this
# share of the rate is left.
LITTLE_BELOW = 0.8
COMMAND = (
    "mplace sweep ring --paper --htm native --malloc glibc,rand,cia"
    " --lock tts,ttstle --out ring.csv"
)


def judge_futile(setting):
    """Whether ttstle is below tts where glibc is degraded; the cause alone for emulated rows."""
    if setting.bench != "ring" or not setting.has("glibc", "ttstle"):
        return
    if setting.measured and setting.has("glibc", "tts"):
        yield futile_rate(setting)
    elif not setting.measured:
        found = aborts.capacity(setting, "glibc")
        seen = (
            f"Counted is its cause: at {len(found.sizes(aborts.ALWAYS))} of {len(found.shares)}"
            " sizes the transactions of glibc abort for capacity, so that their work is done twice."
        )
        yield Finding(setting, NEEDS_TSX, seen, series=[("glibc", "ttstle")])


def futile_rate(setting):
    """The finding on glibc's rates with and without transactions."""
    used = [("glibc", "tts"), ("glibc", "ttstle")]
    ratio = rates.ratios(setting, "glibc", "ttstle", "tts")
    sizes = [size for size in rates.degradation(setting, "glibc", "tts").sizes if size in ratio]
    head = ["size", "tts, M/s", "ttstle, M/s", "ttstle / tts"]
    rows = [
        [size]
        + [words.millions(setting.rate("glibc", lock, size)) for lock in ("tts", "ttstle")]
        + [f"{ratio[size]:.2f}"]
        for size in sizes
    ]
    if not sizes:
        seen = "No size with both locks is degraded under tts."
        return Finding(setting, NOT_MEASURED, seen, series=used)
    lower = [size for size in sizes if ratio[size] < 1]
    least = min(sizes, key=ratio.get)
    seen = (
        f"ttstle is below tts at {len(lower)} of {len(sizes)} sizes at which glibc is degraded;"
        f" the least is {ratio[least]:.2f} of it, at {least} B."
    )
    clearly = all(
        rates.is_below(setting, "glibc", "ttstle", size, setting.rate("glibc", "tts", size)) for size in sizes
    )
    decided = verdict_of_runs(lower == sizes, clearly)
    return Finding(setting, decided, seen, words.table(head, rows), used)


def judge_bands(setting):
    """Whether cia has a little less under ttstle than under tts, at small sizes."""
    if not setting.is_measured("ring") or not setting.has("cia", "tts", "ttstle"):
        return
    used = [("cia", "tts"), ("cia", "ttstle")]
    ratio = rates.ratios(setting, "cia", "ttstle", "tts")
    small = [ratio[size] for size in ratio if size <= rates.SMALL]
    if not small:
        seen = "No size up to 1 KiB has both locks."
        yield Finding(setting, NOT_MEASURED, seen, series=used)
        return
    seen = (
        f"Under ttstle cia has {median(small):.3f} of its rate under tts,"
        " the median of the sizes up to 1 KiB."
    )
    yield Finding(setting, verdict(LITTLE_BELOW <= median(small) < 1), seen, series=used)


def judge_capacity(setting):
    """Whether nothing of glibc is elided near each size that the paper names."""
    if setting.bench != "ring" or not setting.counts_transactions("glibc"):
        return
    found = aborts.capacity(setting, "glibc")
    sizes = found.sizes(aborts.ALWAYS)
    absent = named_sizes.absent_from(sizes, setting.sizes("glibc", "ttstle"))
    seen = (
        f"With glibc nothing is elided at {len(sizes)} of {len(found.shares)} sizes."
        + absent.text()
    )
    used = [(malloc, "ttstle") for malloc in setting.mallocs if setting.has(malloc, "ttstle")]
    yield Finding(setting, absent.verdict(), seen, aborts.capacity_table(setting), used)


FUTILE = Claim(
    "at these sizes TTSTLE is below TTS (glibc, ring)",
    "where glibc is degraded each transaction aborts for good, and its work was for nothing: TTSTLE"
    " falls below TTS.",
    COMMAND,
    judge_futile,
    NEEDS_TSX,
)

BANDS = Claim(
    "elsewhere TTSTLE is a little below TTS (ring)",
    "at small sizes the figure has two bands: to begin and commit a transaction takes a little"
    " longer than the lock's atomic operations.",
    COMMAND,
    judge_bands,
    NEEDS_TSX,
)

CAPACITY = Claim(
    "capacity aborts at the pathological sizes (ring)",
    "the transactions abort there with the status of an internal buffer that overflowed, again and"
    " again.",
    "mplace sweep ring --htm emulated --l1d 64x8 --traversals 100 --runs 1"
    " --malloc glibc,cia,jemalloc,mimalloc,tcmalloc --lock ttstle --out ring-emulated.csv",
    judge_capacity,
    NEEDS_TSX,
    "There are no emulated rows of the ring with glibc under ttstle either.",
)
