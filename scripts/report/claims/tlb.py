# SPDX-License-Identifier: MIT
"""The claims about the knee of the ring's rate and the TLB."""

from claims import rates, words
from claims.markdown import DIFFERS, NEEDS_COUNTERS, NOT_MEASURED, Claim, Finding, verdict
from claims.points import median

KNEE_FROM, KNEE_TO = 1500, 2500  # B: a knee here is the paper's, and beyond lies what is behind it


def judge_knee(setting):
    """Whether the best rate bends down at about 2000 B."""
    if not setting.is_measured("ring") or not setting.has("cia", "tts"):
        return
    knee = rates.find_knee(setting)
    if not knee.level:
        decided, seen = NOT_MEASURED, "No size up to 1 KiB shows the level."
    elif knee.greatest < KNEE_TO:
        decided = NOT_MEASURED
        seen = f"No size from {KNEE_TO} B on shows what lies behind a knee."
    elif not any(KNEE_FROM <= size <= KNEE_TO for size in setting.sizes("cia", "tts")):
        decided = NOT_MEASURED
        seen = f"No size from {KNEE_FROM} to {KNEE_TO} B was tried."
    elif not knee.size:
        decided = DIFFERS
        seen = f"No knee: the best rate is at its level to {knee.greatest} B."
    else:
        decided = verdict(KNEE_FROM <= knee.size <= KNEE_TO)
        seen = (
            f"The best rate of all allocators is at {words.millions(knee.level)} M/s up to 1 KiB"
            f" (median) and below {rates.BENT} of that from {knee.size} B on."
        )
    yield Finding(setting, decided, seen, series=[("cia", "tts")])


def tlb_misses(point):
    """Misses of the first-level TLB for each locked section, served by the second level or by a
    walk; None where neither was counted.
    """
    counts = [point.count(role) for role in ("dtlb-l2-hits", "dtlb-walks")]
    counted = [count for count in counts if count is not None]
    return sum(counted) if counted else None


def judge_tlb(setting):
    """Whether cia's misses of the first-level TLB rise over the knee."""
    if not setting.is_measured("ring") or not setting.has("cia", "tts"):
        return
    used = [("cia", "tts")]
    points = setting.series["cia", "tts"]
    misses = {size: tlb_misses(points[size]) for size in sorted(points)}
    counted = [size for size in misses if misses[size] is not None]
    before = [size for size in counted if size <= rates.SMALL]
    after = [size for size in counted if size >= KNEE_TO]
    if not before or not after:
        yield Finding(setting, NEEDS_COUNTERS, series=used)
        return
    level, top = (median([misses[size] for size in sizes]) for sizes in (before, after))
    # A knee of the TLB makes a node in eight miss at the least, and more of them than of the cache.
    rise = top - level
    holds = rise >= setting.members / 8 and rise > cache_rise(points, before, after)
    seen = (
        f"cia's misses of the L1 data TLB are {level:.1f} a traversal up to 1 KiB and {top:.1f}"
        f" from {KNEE_TO} B on (medians)."
    )
    head = ["size", "cia, M/s", "L1 DTLB misses a traversal", "L1D misses a traversal"]
    rows = [
        [
            size,
            words.millions(points[size].rate),
            words.count(misses[size]),
            words.count(points[size].count("l1d-misses")),
        ]
        for size in counted
    ]
    yield Finding(setting, verdict(holds), seen, words.table(head, rows), used)


def cache_rise(points, before, after):
    """By how much the misses of the cache rise between sizes; 0 where they were not counted."""
    counts = [
        [count for size in sizes if (count := points[size].count("l1d-misses")) is not None]
        for sizes in (before, after)
    ]
    return median(counts[1]) - median(counts[0]) if all(counts) else 0


KNEE = Claim(
    "the knee at about 2000 B (ring)",
    "the main band bends down at about 2000 B, where 128 nodes lie on more pages than the"
    " first-level TLB has entries.",
    "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts --out ring.csv",
    judge_knee,
    NOT_MEASURED,
    "No rows of the ring with cia under tts.",
)

TLB = Claim(
    "the knee is the first-level data TLB (ring)",
    "the bend comes from misses of the L1 data TLB.",
    "mplace sweep ring --paper --counters paper --malloc glibc,rand,cia --lock tts --out ring.csv",
    judge_tlb,
    NEEDS_COUNTERS,
    "No rows of the ring with cia under tts either.",
)
