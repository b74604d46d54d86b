# SPDX-License-Identifier: MIT
"""The sizes that the paper names.

They are round; the bad ones lie near them, for an allocator's headers move them.
"""

from dataclasses import dataclass

from claims import words
from claims.markdown import DIFFERS, HOLDS, RUNS_DISAGREE

NAMED = (512, 1024, 1536, 2048, 2560, 3072, 4096)
MOST_HEADER = 32


def is_near(size, named):
    """Whether a bad size can be the one that the paper names."""
    return abs(size - named) <= MOST_HEADER


@dataclass(frozen=True)
class Absent:
    """The named sizes that have no bad size near, by the reason."""

    good: list[int]  # a size just below was tried
    unsure: list[int]  # the runs disagree about a size near
    untried: list[int]

    def verdict(self):
        """Whether the bad sizes are those that the paper names, all of which must have been tried."""
        if self.good:
            return DIFFERS
        if self.unsure:
            return RUNS_DISAGREE
        if self.untried:
            return f"not measured: no size just below {words.joined(self.untried)} B"
        return HOLDS

    def text(self):
        """What is said of them; empty, or it begins with a blank."""
        text = ""
        if self.good:
            text += f" Not near {words.joined(self.good)} B."
        if self.unsure:
            text += f" Near {words.joined(self.unsure)} B the runs disagree."
        if self.untried:
            text += f" Just below {words.joined(self.untried)} B no size was tried."
        return text


def absent_from(bad, tried, doubtful=()):
    """Which named sizes have none of the bad sizes near."""
    absent = Absent([], [], [])
    for named in NAMED:
        if any(is_near(size, named) for size in bad):
            continue
        if any(is_near(size, named) for size in doubtful):
            absent.unsure.append(named)
        elif any(named - MOST_HEADER <= size < named for size in tried):
            absent.good.append(named)
        else:
            absent.untried.append(named)
    return absent


def unnamed_text(bad):
    """What is said of bad sizes that are near no named one; empty, or it begins with a blank."""
    unnamed = [size for size in bad if not any(is_near(size, named) for named in NAMED)]
    if not unnamed:
        return ""
    return f" Near none of the sizes that the paper names: {words.shortened(unnamed)} B."
