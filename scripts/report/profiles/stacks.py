# SPDX-License-Identifier: MIT
"""The stacks of a profile's samples: who allocated."""

import re


class Stacks:
    """The stacks of a profile's samples without what allocates for others."""

    def __init__(self, profile):
        self.dropped = re.compile(profile.drop_frames) if profile.drop_frames else None

    def of(self, sample):
        """Functions, innermost first."""
        frames = list(sample.frames)
        while len(frames) > 1 and self.dropped and self.dropped.fullmatch(frames[0]):
            frames.pop(0)
        return tuple(frames)


def folded(profile, value):
    """Lines for flame graphs: functions from the outermost in, and what they add up to."""
    index, stacks, sums = profile.types.index(value), Stacks(profile), {}
    for sample in profile.samples:
        line = ";".join(name.replace(";", ":") for name in reversed(stacks.of(sample)))
        sums[line] = sums.get(line, 0) + sample.values[index]
    return [f"{line} {total}" for line, total in sorted(sums.items()) if total > 0]
