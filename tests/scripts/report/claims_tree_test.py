# SPDX-License-Identifier: MIT
"""The claims about the AVL tree."""

import unittest

from claims import tree as claims_of_tree
from claims_examples import aborting, judged, row, seen, tree, verdicts

CONCURRENCY, SAME, WORSE = claims_of_tree.CONCURRENCY, claims_of_tree.SAME, claims_of_tree.WORSE
TSX = "not measured: needs TSX hardware"


def native(malloc, size, rate):
    """A row of a processor with transactions."""
    return tree(malloc, "ttstle", size, rate, htm="native")


def emulated(malloc, size, capacity, **others):
    """An emulated row of the tree."""
    return aborting(
        malloc, size, capacity, bench="avltree", nodes="32767", threads="4", **others
    )


BAD = (500, 1008, 1528, 2040, 2544, 3064, 4080)


class Tests(unittest.TestCase):
    def test_cia_ahead_under_ttstle_holds_whatever_glibc_is(self):
        lines = [tree(rate=100), native("cia", 64, 200)]
        lines += [tree("glibc", rate=100), native("glibc", 64, 90)]
        self.assertEqual(["holds"], verdicts(CONCURRENCY, *lines))
        self.assertEqual(
            "glibc is ahead under ttstle at 0 of 1 sizes, by a factor of 0.90 in the median. cia is"
            " ahead under ttstle at 1 of 1 sizes, by a factor of 2.00 in the median.",
            seen(CONCURRENCY, *lines),
        )

    def test_cia_not_ahead_differs(self):
        lines = [tree(rate=100), native("cia", 64, 100)]
        self.assertEqual(["differs"], verdicts(CONCURRENCY, *lines))

    def test_a_run_under_tts_as_fast_as_ttstle_decides_nothing(self):
        lines = [tree(rate=rate, seed=rate) for rate in (80, 90, 110)]
        lines += [tree("cia", "ttstle", rate=rate, htm="native", seed=rate) for rate in (90, 100, 110)]
        self.assertEqual(["not decided: runs disagree"], verdicts(CONCURRENCY, *lines))

    def test_glibc_ahead_tells_nothing_of_cia(self):
        lines = [tree("glibc", rate=100), native("glibc", 64, 200)]
        self.assertEqual(["not measured"], verdicts(CONCURRENCY, *lines))
        self.assertTrue(seen(CONCURRENCY, *lines).endswith(" cia has no size with both locks."))

    def test_locks_without_a_common_size_are_no_finding(self):
        (finding,) = judged(CONCURRENCY, tree(rate=100), native("cia", 65, 100))
        self.assertEqual("\n**Not measured: needs TSX hardware.**\n", finding.text())

    def test_the_ring_tells_nothing_of_the_tree(self):
        lines = [row(), row("glibc"), row("glibc", "ttstle", htm="native"), aborting()]
        for claim in (CONCURRENCY, SAME, WORSE):
            self.assertEqual([TSX], verdicts(claim, *lines))

    def test_emulated_rows_tell_the_sections_that_were_elided(self):
        lines = [emulated("cia", 64, 50), emulated("cia", 65, 0), emulated("cia", 66, 100)]
        self.assertEqual([TSX], verdicts(CONCURRENCY, *lines))
        self.assertEqual(
            "Counted are the sections that were elided, and could run side by side."
            " cia: 95.0 % in the median, 90.0 % at 66 B.",
            seen(CONCURRENCY, *lines),
        )

    def test_degraded_under_ttstle_at_the_rings_sizes_holds(self):
        lines = [native("cia", size, 100) for size in BAD]
        degraded = [native("glibc", size, 45) for size in BAD]
        self.assertEqual(["holds"], verdicts(SAME, *lines, *degraded))
        self.assertEqual(
            ["not measured: no size just below 512 B"], verdicts(SAME, *lines, *degraded[1:])
        )
        degraded[1] = native("glibc", 1008, 100)
        self.assertEqual(["differs"], verdicts(SAME, *lines, *degraded))
        self.assertIn(" Not near 1024 B.", seen(SAME, *lines, *degraded))

    def test_degraded_nowhere_under_ttstle_differs(self):
        lines = [native("cia", 500, 100), native("glibc", 500, 100)]
        self.assertEqual(["differs"], verdicts(SAME, *lines))

    def test_runs_that_disagree_under_ttstle_decide_nothing(self):
        lines = [native("cia", 2040, 100)]
        lines += [
            tree("glibc", "ttstle", 2040, rate, htm="native", seed=rate) for rate in (30, 40, 90)
        ]
        self.assertEqual(["not decided: runs disagree"], verdicts(SAME, *lines))

    def test_glibc_alone_under_ttstle_is_not_judged(self):
        self.assertEqual(["not measured"], verdicts(SAME, native("glibc", 64, 100)))

    def test_capacity_aborts_at_the_rings_sizes_hold_for_aborts(self):
        lines = [emulated("glibc", size, 10) for size in BAD]
        self.assertEqual(
            ["holds for aborts; the rate needs TSX hardware"], verdicts(SAME, *lines)
        )
        self.assertEqual(
            ["not measured: no size just below 512 B"], verdicts(SAME, *lines[1:])
        )
        lines = [emulated("glibc", size, aborts) for size, aborts in ((500, 10), (700, 0), (1008, 9))]
        self.assertEqual(["differs"], verdicts(SAME, *lines))
        self.assertEqual(
            "glibc's capacity aborts are 1 % of the transactions or more at 1 of 3 sizes. Not near"
            " 1024 B. Just below 1536, 2048, 2560, 3072 and 4096 B no size was tried.",
            seen(SAME, *lines),
        )

    def test_no_capacity_abort_in_the_tree_differs(self):
        self.assertEqual(["differs"], verdicts(SAME, emulated("glibc", 500, 0)))

    def test_rates_under_tts_are_told_without_a_verdict(self):
        lines = [tree("glibc", rate=90), tree(rate=100)]
        self.assertEqual([TSX], verdicts(SAME, *lines))
        self.assertIn("Under tts, of which the paper does not say it, glibc", seen(SAME, *lines))
        self.assertEqual("", seen(SAME, lines[0]))

    def test_glibc_below_the_best_tts_near_2048_bytes_holds(self):
        lines = [native("glibc", 2040, 90), tree("rand", size=2040, rate=100)]
        lines += [native("glibc", 2048, 110), tree("rand", size=2048, rate=100)]
        self.assertEqual(["holds"], verdicts(WORSE, *lines))
        self.assertEqual(
            "Under ttstle glibc has 0.90 of the best rate under tts at 2040 B.",
            seen(WORSE, *lines),
        )
        self.assertEqual(["differs"], verdicts(WORSE, *lines[2:]))

    def test_a_run_of_glibc_as_fast_as_the_best_tts_decides_nothing(self):
        lines = [tree("rand", size=2048, rate=rate, seed=rate) for rate in (90, 100, 110)]
        lines += [
            tree("glibc", "ttstle", 2048, rate, htm="native", seed=rate) for rate in (80, 90, 110)
        ]
        self.assertEqual(["not decided: runs disagree"], verdicts(WORSE, *lines))

    def test_as_fast_as_the_best_tts_differs(self):
        lines = [native("glibc", 2048, 100), tree("rand", size=2048, rate=100)]
        self.assertEqual(["differs"], verdicts(WORSE, *lines))

    def test_sizes_far_from_2048_bytes_are_not_taken(self):
        lines = [native("glibc", 1008, 90), tree("rand", size=1008, rate=100)]
        self.assertEqual(["not measured"], verdicts(WORSE, *lines))


if __name__ == "__main__":
    unittest.main()
