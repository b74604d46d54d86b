# SPDX-License-Identifier: MIT
"""Sites whose live blocks crowd few L1 sets.

A site is a stack and a class. Of n sampled live blocks, placed anyhow, 64 (1 - (63/64)^n) sets are expected to
hold one; a site crowds where less than half as many do. Sites of fewer than LEAST samples say nothing.
"""

import dataclasses
import math

from profiles.stacks import Stacks

SETS, LEAST, FRAMES = 64, 16, 4


@dataclasses.dataclass
class Site:
    frames: tuple
    block: int  # bytes of the class
    blocks: int  # live, estimated
    samples: int
    used: int  # sets
    expected: float
    fullest: int  # live blocks in the fullest set, estimated

    @property
    def crowds(self):
        return self.samples >= LEAST and self.used < self.expected / 2


def weight(average, interval):
    """How many blocks a sample stands for; as src/cia_malloc/profile/weight.h."""
    return 1.0 if interval <= 1 else 1 / -math.expm1(-(average + 1) / interval)


def sites(profile):
    """Each site with live blocks; those that crowd first, then by their live bytes."""
    objects, space = (profile.types.index(name) for name in ("inuse_objects", "inuse_space"))
    stacks, live = Stacks(profile), {}
    for sample in profile.samples:
        if sample.values[objects] > 0:
            key = stacks.of(sample), sample.labels.get("class", 0)
            by_set = live.setdefault(key, {})
            blocks, length = by_set.get(sample.labels.get("l1_set", 0), (0, 0))
            by_set[sample.labels.get("l1_set", 0)] = (blocks + sample.values[objects], length + sample.values[space])
    found = []
    for (frames, block), by_set in live.items():
        blocks = sum(count for count, _ in by_set.values())
        average = sum(length for _, length in by_set.values()) / blocks
        samples = round(blocks / weight(average, profile.interval))
        expected = SETS * (1 - (1 - 1 / SETS) ** samples)
        found.append(Site(frames, block, blocks, samples, len(by_set), expected,
                          max(count for count, _ in by_set.values())))
    return sorted(found, key=lambda site: (not site.crowds, -site.blocks * site.block, site.frames))


def table(profile):
    """The lines of the report."""
    known = [site for site in sites(profile) if site.samples >= LEAST]
    crowded = [site for site in known if site.crowds]
    if not known:
        return [f"no site has {LEAST} sampled live blocks: nothing can be said of placement; a shorter",
                "CIA_PROFILE_INTERVAL samples more, CIA_PROFILE_SIGNAL while blocks live"]
    lines = [f"{len(crowded)} of {len(known)} sites crowd few L1 sets (sites of {LEAST} sampled live blocks or more)"]
    if crowded:
        lines += ["", f"{'live blocks':>11} {'samples':>8} {'class B':>8} {'sets':>5} {'expected':>8} {'fullest':>8}  site"]
    for site in crowded:
        lines.append(f"{site.blocks:>11} {site.samples:>8} {site.block:>8} {site.used:>5} {site.expected:>8.0f} "
                     f"{site.fullest:>8}  {' < '.join(site.frames[:FRAMES])}")
    return lines
