# SPDX-License-Identifier: MIT
"""The claims about the knee and the TLB."""

import unittest

from claims import tlb
from claims_examples import judged, row, seen, setting, tree, verdicts

SIZES = (64, 512, 1024, 1280, 1536, 2048, 2304, 2560, 4096)


def bent(first, last=4096):
    """cia at its level, and lower from a size on."""
    return [row(size=size, rate=100 if size < first else 80) for size in SIZES if size <= last]


def missing(before, after, cache_after=1, role="dtlb-l2-hits"):
    """cia with misses of the TLB for each section up to 2048 B and beyond, and of the cache."""
    lines = []
    for size in SIZES:
        hits, cache = (before, 1) if size < 2048 else (after, cache_after)
        counters = f"{role}@HITS={hits * 1000};l1d-misses@L1={cache * 1000}"
        lines.append(row(size=size, rate=4000000, counters=counters))
    return lines


class Tests(unittest.TestCase):
    def test_a_knee_from_1500_to_2500_bytes_holds(self):
        self.assertEqual(["holds"], verdicts(tlb.KNEE, *bent(2048)))
        self.assertEqual(["holds"], verdicts(tlb.KNEE, *bent(1536)))

    def test_a_knee_elsewhere_or_none_differs(self):
        for first in (1280, 2560, 9999):
            self.assertEqual(["differs"], verdicts(tlb.KNEE, *bent(first)))
        self.assertEqual(
            "No knee: the best rate is at its level to 4096 B.", seen(tlb.KNEE, *bent(9999))
        )

    def test_another_allocator_that_stays_up_makes_no_knee(self):
        lines = [*bent(2048), row("rand", size=4096, rate=100)]
        self.assertEqual(["differs"], verdicts(tlb.KNEE, *lines))

    def test_without_great_or_small_sizes_there_is_no_verdict_on_the_knee(self):
        self.assertEqual(
            "No size from 2500 B on shows what lies behind a knee.",
            seen(tlb.KNEE, *bent(2048, 2304)),
        )
        self.assertEqual(
            "No size up to 1 KiB shows the level.", seen(tlb.KNEE, row(size=4096))
        )
        self.assertEqual(["not measured"], verdicts(tlb.KNEE, row(size=4096)))

    def test_without_a_size_from_1500_to_2500_bytes_there_is_no_verdict_on_the_knee(self):
        lines = [line for line in bent(2560) if not 1500 <= int(line.size) <= 2500]
        self.assertEqual(["not measured"], verdicts(tlb.KNEE, *lines))
        self.assertEqual("No size from 1500 to 2500 B was tried.", seen(tlb.KNEE, *lines))

    def test_a_rise_of_misses_by_a_node_in_eight_holds(self):
        self.assertEqual(["holds"], verdicts(tlb.TLB, *missing(1, 17)))
        self.assertEqual(["differs"], verdicts(tlb.TLB, *missing(1, 16)))

    def test_a_greater_rise_of_cache_misses_differs(self):
        self.assertEqual(["differs"], verdicts(tlb.TLB, *missing(1, 60, cache_after=60)))
        self.assertEqual(["holds"], verdicts(tlb.TLB, *missing(1, 60, cache_after=59)))

    def test_cache_misses_that_were_not_counted_do_not_rise(self):
        points = setting(*missing(1, 60)[:-2], row(size=2560), row(size=4096))
        points = points.series["cia", "tts"]
        self.assertEqual(0, tlb.cache_rise(points, [64, 512], [2560, 4096]))

    def test_sizes_up_to_1_kib_and_from_2500_bytes_on_are_compared(self):
        counters = {size: f"dtlb-walks={size}000" for size in (1024, 1025, 2499, 2500)}
        lines = [row(size=size, counters=text) for size, text in counters.items()]
        self.assertIn("are 1024.0 a traversal up to 1 KiB and 2500.0", seen(tlb.TLB, *lines))

    def test_walks_and_hits_of_the_second_level_are_misses(self):
        both = setting(row(counters="dtlb-l2-hits=1000;dtlb-walks=2000"))
        self.assertEqual(3, tlb.tlb_misses(both.point("cia", "tts", 64)))
        walks = setting(row(counters="dtlb-walks=2000"))
        self.assertEqual(2, tlb.tlb_misses(walks.point("cia", "tts", 64)))
        self.assertIsNone(tlb.tlb_misses(setting(row()).point("cia", "tts", 64)))

    def test_the_table_has_a_counted_size_a_line(self):
        (finding,) = judged(tlb.TLB, *missing(1, 60), row(size=5000))
        lines = finding.table.splitlines()
        self.assertEqual("| 2560 | 4.00 | 60.0 | 1.0 |", lines[-2])
        self.assertEqual(2 + len(SIZES), len(lines))

    def test_without_counters_they_are_missing(self):
        counters = "not measured: needs hardware counters"
        self.assertEqual([counters], verdicts(tlb.TLB, *bent(2048)))
        self.assertEqual([counters], verdicts(tlb.TLB, *missing(1, 60)[:5]))
        self.assertEqual([counters], verdicts(tlb.TLB, tree()))


if __name__ == "__main__":
    unittest.main()
