# SPDX-License-Identifier: MIT
"""The claims about transactions in the ring."""

import unittest
from dataclasses import replace

from claims import elision
from claims_examples import aborting, judged, row, seen, verdicts

TSX = "not measured: needs TSX hardware"


def native(malloc, size, rate):
    """A row of a processor with transactions."""
    return row(malloc, "ttstle", size, rate, htm="native")


def degraded(*rates, with_tts=40):
    """glibc under tts at as many bad sizes as there are rates under ttstle."""
    lines = []
    for size, rate in zip((500, 1008, 2040), rates):
        lines += [row(size=size, rate=100), row("glibc", size=size, rate=with_tts)]
        lines += [native("glibc", size, rate)]
    return lines


class Tests(unittest.TestCase):
    def test_ttstle_below_tts_where_glibc_is_degraded_holds(self):
        self.assertEqual(["holds"], verdicts(elision.FUTILE, *degraded(30, 20)))
        self.assertEqual(
            "ttstle is below tts at 2 of 2 sizes at which glibc is degraded; the least is 0.50 of"
            " it, at 1008 B.",
            seen(elision.FUTILE, *degraded(30, 20)),
        )

    def test_one_size_at_which_ttstle_is_not_below_differs(self):
        self.assertEqual(["differs"], verdicts(elision.FUTILE, *degraded(30, 40)))

    def test_a_run_under_ttstle_as_fast_as_tts_decides_nothing(self):
        lines = degraded(30, 30)
        lines.append(replace(lines[-1], rate="45", seed="11"))
        self.assertEqual(["not decided: runs disagree"], verdicts(elision.FUTILE, *lines))

    def test_ratios_of_more_than_ten_are_told_too(self):
        self.assertIn("the least is 12.50 of it, at 500 B.", seen(elision.FUTILE, *degraded(500)))

    def test_without_a_degraded_size_futile_work_is_not_measured(self):
        self.assertEqual(["not measured"], verdicts(elision.FUTILE, *degraded(30, with_tts=90)))

    def test_the_table_has_both_rates(self):
        (finding,) = judged(elision.FUTILE, *degraded(30))
        self.assertEqual("| 500 | 0.00 | 0.00 | 0.75 |", finding.table.splitlines()[2])

    def test_glibc_under_ttstle_alone_is_no_finding(self):
        self.assertEqual([TSX], verdicts(elision.FUTILE, native("glibc", 64, 1)))

    def test_emulated_rows_tell_the_cause_alone(self):
        lines = [aborting(capacity=1000), aborting(size=65)]
        self.assertEqual([TSX], verdicts(elision.FUTILE, *lines))
        self.assertIn(
            "at 1 of 2 sizes the transactions of glibc abort", seen(elision.FUTILE, *lines)
        )

    def test_without_transactions_hardware_is_missing(self):
        for claim in (elision.FUTILE, elision.BANDS, elision.CAPACITY):
            self.assertEqual([TSX], verdicts(claim, row(), row("glibc")))

    def test_a_little_below_tts_at_small_sizes_holds(self):
        lines = [row(size=1024, rate=1000), native("cia", 1024, 999)]
        self.assertEqual(["holds"], verdicts(elision.BANDS, *lines))
        self.assertIn("cia has 0.999 of its rate", seen(elision.BANDS, *lines))

    def test_as_fast_as_tts_or_far_below_differs(self):
        for rate in (100, 79):
            lines = [row(rate=100), native("cia", 64, rate)]
            self.assertEqual(["differs"], verdicts(elision.BANDS, *lines))

    def test_great_sizes_do_not_tell_of_the_bands(self):
        lines = [row(size=1025, rate=100), native("cia", 1025, 90)]
        self.assertEqual(["not measured"], verdicts(elision.BANDS, *lines))

    def test_nothing_elided_near_every_named_size_holds(self):
        bad = (500, 1008, 1528, 2040, 2544, 3064, 4080)
        lines = [aborting(size=size, capacity=1000) for size in bad] + [aborting()]
        self.assertEqual(["holds"], verdicts(elision.CAPACITY, *lines))
        self.assertEqual(
            "With glibc nothing is elided at 7 of 8 sizes.", seen(elision.CAPACITY, *lines)
        )

    def test_a_named_size_at_which_most_commit_differs(self):
        lines = [aborting(size=500, capacity=899), aborting(size=1008, capacity=1000)]
        self.assertEqual(["differs"], verdicts(elision.CAPACITY, *lines))

    def test_elision_everywhere_differs(self):
        self.assertEqual(["differs"], verdicts(elision.CAPACITY, aborting(size=500)))

    def test_named_sizes_that_were_not_tried_give_no_verdict_on_capacity(self):
        lines = [aborting(size=size, capacity=1000) for size in (500, 1008, 1528, 2040, 2544, 3064)]
        self.assertEqual(
            ["not measured: no size just below 4096 B"], verdicts(elision.CAPACITY, *lines)
        )

    def test_two_caches_are_judged_apart(self):
        bad = (500, 1008, 1528, 2040, 2544, 3064, 4080)
        lines = [aborting(size=size, capacity=1000, cache="64x8") for size in bad]
        lines += [aborting(size=500, cache="64x12")]
        self.assertEqual(["holds", "differs"], verdicts(elision.CAPACITY, *lines))

    def test_capacity_stands_on_the_rows_of_all_allocators(self):
        (finding,) = judged(elision.CAPACITY, aborting("cia"), aborting("rand"), aborting())
        self.assertEqual(["glibc", "rand", "cia"], [malloc for malloc, _ in finding.series])


if __name__ == "__main__":
    unittest.main()
