# SPDX-License-Identifier: MIT
"""Questions about capacity aborts of transactions under ttstle, and a table of them."""

from dataclasses import dataclass

from claims import words

ALWAYS = 0.9  # of the transactions abort for capacity: nothing is elided
NEVER = 0.01  # of the transactions: below it capacity aborts are no matter


@dataclass(frozen=True)
class Capacity:
    """The shares of an allocator's transactions that aborted for capacity, by size, rising."""

    shares: dict[int, float]

    def sizes(self, least):
        """The sizes with at least this share."""
        return [size for size, share in self.shares.items() if share >= least]

    def most(self):
        """The greatest share."""
        return max(self.shares.values())

    def most_text(self):
        """The greatest share, and the least size that has it."""
        return f"{words.percent(self.most())} at {max(self.shares, key=self.shares.get)} B"


def capacity(setting, malloc):
    """The capacity aborts of an allocator at the sizes at which transactions began."""
    shares = {
        size: setting.point(malloc, "ttstle", size).capacity_share()
        for size in setting.sizes(malloc, "ttstle")
    }
    return Capacity({size: share for size, share in shares.items() if share is not None})


def capacity_table(setting):
    """An allocator a line: at which sizes its transactions abort for capacity, and what the
    processor counted itself where it did.
    """
    head = [
        "allocator",
        "sizes",
        f"nothing elided: capacity aborts in {words.percent(ALWAYS)} of the transactions or more",
        f"in fewer, but in {words.percent(NEVER)} or more",
        "most",
    ]
    retired = has_retired_counts(setting)
    if retired:
        head.append(
            "RTM_RETIRED where nothing is elided: aborted by memory accesses, by anything"
        )
    rows = []
    for malloc in setting.mallocs:
        if setting.counts_transactions(malloc):
            row = capacity_row(setting, malloc)
            rows.append(row + [retired_text(setting, malloc)] if retired else row)
    return words.table(head, rows)


def capacity_row(setting, malloc):
    """The line of an allocator, without the processor's own counts."""
    found = capacity(setting, malloc)
    tried = setting.sizes(malloc, "ttstle")
    full = found.sizes(ALWAYS)
    low = [size for size in found.sizes(NEVER) if size not in full]
    most = found.most_text() if found.most() > 0 else words.percent(0)
    return [malloc, len(found.shares), numbered(full, tried), numbered(low, tried), most]


def numbered(sizes, tried):
    """How many sizes, and which."""
    return f"{len(sizes)}: {words.ranges(sizes, tried)}" if sizes else "none"


def has_retired_counts(setting):
    """Whether the rows have the processor's own counts of transactions."""
    return any(
        point.count("rtm-aborted") is not None
        for (_, lock), points in setting.series.items()
        if lock == "ttstle"
        for point in points.values()
    )


def retired_text(setting, malloc):
    """The processor's own shares of transactions that aborted, where nothing is elided."""
    full = capacity(setting, malloc).sizes(ALWAYS)
    points = [setting.point(malloc, "ttstle", size) for size in full]
    begun, memory, aborted = (
        sum(point.counted[role] for point in points)
        for role in ("rtm-started", "rtm-aborted-memory", "rtm-aborted")
    )
    return f"{words.percent(memory / begun)}, {words.percent(aborted / begun)}" if begun else ""
