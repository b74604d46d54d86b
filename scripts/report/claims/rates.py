# SPDX-License-Identifier: MIT
"""Questions about rates: which allocator is the fastest, what is degraded, where the rate bends.

Other load on a machine makes runs slower, never faster: a point is below a bound if its fastest run
is. The head of the output tells what the bounds mean.
"""

from dataclasses import dataclass, field

from claims import words
from claims.points import median

DEGRADED = 0.7  # of the best allocator's rate: a size is degraded below it
BELOW = 0.95  # of another's rate: one is below the other below it
IN_GENERAL = 0.9  # of the sizes
BENT = 0.9  # of the rate's level: the main band has bent down below it
SMALL = 1024  # B: the level is that of the sizes up to here


@dataclass(frozen=True)
class Best:
    """The fastest allocator under one lock at one size."""

    rate: float  # 0 where there is none
    malloc: str
    rivals: int  # allocators with a rate: one alone is its own best


def best_of(setting, lock, size):
    """The fastest allocator; the first of several that are as fast."""
    rates = {malloc: setting.rate(malloc, lock, size) for malloc in setting.mallocs}
    rivals = [malloc for malloc, rate in rates.items() if rate > 0]
    malloc = max(rivals, key=rates.get, default="")
    return Best(rates.get(malloc, 0), malloc, len(rivals))


def is_below(setting, malloc, lock, size, bound):
    """Whether no run of a point reached the bound."""
    return max(setting.point(malloc, lock, size).rates, default=0) < bound


@dataclass
class Degradation:
    """At which sizes an allocator is degraded under a lock.

    shares: of the best rate, and at which size; without the doubtful sizes.
    """

    malloc: str
    compared: int = 0  # sizes that could be judged
    sizes: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)  # the median is degraded, and a run is not
    shares: list[tuple[float, int]] = field(default_factory=list)

    def text(self):
        """What was seen, as sentences."""
        text = f"{self.malloc} is degraded at {len(self.sizes)} of {self.compared} sizes"
        if self.shares:
            share, size = min(self.shares)
            text += f"; it has {share:.2f} of the best allocator's rate at {size} B, its least"
            text += " where the runs agree" if self.doubtful else ""
        text += "."
        if self.doubtful:
            text += (
                f" At {len(self.doubtful)} more the median is below {DEGRADED}"
                " and a run is not: other load."
            )
        return text


def degradation(setting, malloc, lock):
    """At which sizes an allocator is degraded, where there is another to compare it with."""
    result = Degradation(malloc)
    for size in setting.sizes(malloc, lock):
        rate, best = setting.rate(malloc, lock, size), best_of(setting, lock, size)
        if not rate or best.rivals < 2:
            continue
        share = rate / best.rate
        result.compared += 1
        if share >= DEGRADED:
            result.shares.append((share, size))
        elif is_below(setting, malloc, lock, size, DEGRADED * best.rate):
            result.shares.append((share, size))
            result.sizes.append(size)
        else:
            result.doubtful.append(size)
    return result


def ratios(setting, malloc, lock, other_lock):
    """By size, an allocator's rate under one lock by that under another, where both have one."""
    rates = {
        size: (setting.rate(malloc, lock, size), setting.rate(malloc, other_lock, size))
        for size in setting.sizes(malloc, other_lock)
    }
    return {size: rate / other for size, (rate, other) in rates.items() if rate and other}


@dataclass(frozen=True)
class Comparison:
    """One allocator compared with another at the sizes that both have."""

    one: str
    other: str
    ratios: dict[int, float]  # by size
    losing: list[int]  # sizes at which the one is below the other
    doubtful: list[int]  # the median is below, and a run is not

    def holds(self):
        """Whether the one is not below the other in general; None where the runs disagree."""
        least = IN_GENERAL * len(self.ratios)
        if len(self.ratios) - len(self.losing) - len(self.doubtful) >= least:
            return True
        return False if len(self.ratios) - len(self.losing) < least else None

    def text(self):
        """What was seen, as sentences."""
        if not self.ratios:
            return f"{self.one} and {self.other} have no size in common."
        text = (
            f"{self.one} is not below {self.other} at {len(self.ratios) - len(self.losing)}"
            f" of {len(self.ratios)} sizes; the ratio of their rates is"
            f" {median(self.ratios.values()):.2f} in the median"
        )
        if self.losing:
            least = min(self.losing, key=self.ratios.get)
            text += (
                f", {self.ratios[least]:.2f} at {least} B, its least."
                f" Below at {words.shortened(self.losing)} B"
            )
        if self.doubtful:
            text += f". At {len(self.doubtful)} the median is below, and a run is not: the runs disagree"
        return f"{text}."


def compared(setting, lock, one, other):
    """One allocator compared with another under a lock."""
    found = Comparison(one, other, {}, [], [])
    for size in setting.sizes(one, lock):
        rate = setting.rate(other, lock, size)
        if not rate:
            continue
        found.ratios[size] = setting.rate(one, lock, size) / rate
        if is_below(setting, one, lock, size, BELOW * rate):
            found.losing.append(size)
        elif found.ratios[size] < BELOW:
            found.doubtful.append(size)
    return found


@dataclass(frozen=True)
class Knee:
    """Where the ring's best rate bends down, at the sizes that cia was tried with."""

    level: float  # the median of the best rates of the small sizes; 0 without any
    greatest: int  # size; 0 without any
    size: int  # the least from which on the best rate stays below the level; 0 without one


def find_knee(setting):
    """The knee of the best rate of all allocators under tts."""
    sizes = setting.sizes("cia", "tts")
    best = {size: best_of(setting, "tts", size).rate for size in sizes}
    level = median([best[size] for size in sizes if size <= SMALL])
    knee = 0
    for size in reversed(sizes):
        if size <= SMALL or best[size] >= BENT * level:
            break
        knee = size
    return Knee(level, sizes[-1] if sizes else 0, knee)
