# SPDX-License-Identifier: MIT
"""Rates compared: the fastest, the degraded, one with another, and the knee."""

import unittest

from claims import rates
from claims_examples import row, setting


def at(size, **rates_of):
    """A row for each allocator at a size."""
    return [row(malloc, size=size, rate=rate) for malloc, rate in rates_of.items()]


def band(until, *sizes):
    """cia's rate is 100 up to a size, and 80 from there on."""
    return [row(size=size, rate=100 if size < until else 80) for size in sizes]


class Tests(unittest.TestCase):
    def test_the_first_of_two_that_are_as_fast_is_the_best(self):
        best = rates.best_of(setting(*at(64, rand=5, cia=9, glibc=9)), "tts", 64)
        self.assertEqual(rates.Best(9, "glibc", 3), best)

    def test_a_rate_of_zero_is_no_rival(self):
        best = rates.best_of(setting(*at(64, rand=5, cia=0)), "tts", 64)
        self.assertEqual(rates.Best(5, "rand", 1), best)

    def test_without_rates_there_is_no_best(self):
        self.assertEqual(rates.Best(0, "", 0), rates.best_of(setting(row()), "tts", 65))

    def test_below_seven_tenths_of_the_best_is_degraded(self):
        one = setting(*at(64, cia=100, glibc=69), *at(65, cia=100, glibc=70))
        self.assertEqual([64], rates.degradation(one, "glibc", "tts").sizes)

    def test_an_allocator_alone_is_compared_with_nothing(self):
        one = setting(*at(64, cia=100, glibc=100), *at(65, glibc=1), *at(66, cia=1))
        self.assertEqual(1, rates.degradation(one, "glibc", "tts").compared)

    def test_a_degraded_median_with_a_fast_run_is_doubtful(self):
        runs = [row("glibc", rate=rate, seed=rate) for rate in (20, 30, 70)]
        found = rates.degradation(setting(row(rate=100), *runs), "glibc", "tts")
        self.assertEqual(([], [64]), (found.sizes, found.doubtful))
        self.assertEqual(
            "glibc is degraded at 0 of 1 sizes."
            " At 1 more the median is below 0.7 and a run is not: other load.",
            found.text(),
        )

    def test_the_least_share_is_told_and_the_least_size_that_has_it(self):
        lines = at(66, cia=100, glibc=40) + at(65, cia=50, glibc=20) + at(64, cia=9, glibc=9)
        self.assertEqual(
            "glibc is degraded at 2 of 3 sizes; it has 0.40 of the best allocator's rate at 65 B,"
            " its least.",
            rates.degradation(setting(*lines), "glibc", "tts").text(),
        )

    def test_the_least_share_is_that_of_sizes_without_doubt_and_is_told_so(self):
        runs = [row("glibc", rate=rate, seed=rate) for rate in (20, 30, 70)]
        lines = at(66, cia=100, glibc=40) + at(65, cia=100, glibc=90) + [row(rate=100), *runs]
        self.assertEqual(
            "glibc is degraded at 1 of 3 sizes; it has 0.40 of the best allocator's rate at 66 B,"
            " its least where the runs agree."
            " At 1 more the median is below 0.7 and a run is not: other load.",
            rates.degradation(setting(*lines), "glibc", "tts").text(),
        )

    def test_ratios_are_those_of_sizes_with_both_locks(self):
        one = setting(
            row(size=64, rate=10), row(size=65, rate=10), row(size=66, rate=0),
            row(size=64, rate=8, lock="ttstle", htm="native"),
            row(size=66, rate=8, lock="ttstle", htm="native"),
            row(size=67, rate=8, lock="ttstle", htm="native"),
        )  # fmt: skip
        self.assertEqual({64: 0.8}, rates.ratios(one, "cia", "ttstle", "tts"))

    def test_below_nineteen_twentieths_at_one_size_of_ten_is_not_in_general(self):
        lines = [line for size in range(64, 73) for line in at(size, cia=100, rand=100)]
        one = setting(*lines, *at(500, cia=94, rand=100), *at(501, cia=1), *at(502, rand=1))
        found = rates.compared(one, "tts", "cia", "rand")
        self.assertTrue(found.holds())
        self.assertEqual(
            "cia is not below rand at 9 of 10 sizes; the ratio of their rates is 1.00 in the"
            " median, 0.94 at 500 B, its least. Below at 500 B.",
            found.text(),
        )

    def test_below_at_two_sizes_of_ten_is_below(self):
        lines = [line for size in range(64, 72) for line in at(size, cia=100, rand=100)]
        one = setting(*lines, *at(500, cia=94, rand=100), *at(501, cia=94, rand=100))
        self.assertFalse(rates.compared(one, "tts", "cia", "rand").holds())

    def test_a_run_that_is_not_below_makes_a_size_not_below(self):
        one = setting(*at(64, cia=90, rand=100), row(rate=95, seed=2))
        self.assertEqual([], rates.compared(one, "tts", "cia", "rand").losing)

    def test_two_medians_of_ten_that_not_every_run_confirms_decide_nothing(self):
        lines = [line for size in range(64, 72) for line in at(size, cia=100, rand=100)]
        for size in (500, 501):
            lines += [*at(size, cia=90, rand=100), row(size=size, rate=90, seed=2), row(size=size, rate=96, seed=3)]
        found = rates.compared(setting(*lines), "tts", "cia", "rand")
        self.assertIsNone(found.holds())
        self.assertIn("At 2 the median is below, and a run is not: the runs disagree.", found.text())

    def test_no_size_in_common_is_said(self):
        found = rates.compared(setting(*at(64, cia=9), *at(65, rand=9)), "tts", "cia", "rand")
        self.assertEqual("cia and rand have no size in common.", found.text())

    def test_the_knee_is_the_least_size_from_which_on_the_rate_stays_below_its_level(self):
        one = setting(*band(2048, 64, 1024, 1280, 2048, 2304, 4096))
        self.assertEqual(rates.Knee(100, 4096, 2048), rates.find_knee(one))

    def test_a_dip_that_ends_is_no_knee(self):
        one = setting(*band(2048, 64, 2048, 2304), row(size=4096, rate=100))
        self.assertEqual(0, rates.find_knee(one).size)

    def test_small_sizes_are_the_level_and_no_knee(self):
        one = setting(*band(128, 32, 64, 256, 512, 1024), row(size=2048, rate=10))
        self.assertEqual(rates.Knee(80, 2048, 2048), rates.find_knee(one))

    def test_sizes_up_to_1_kib_are_small(self):
        one = setting(row(size=1024, rate=100), row(size=1025, rate=90), row(size=1026, rate=89))
        self.assertEqual(rates.Knee(100, 1026, 1026), rates.find_knee(one))

    def test_without_small_sizes_there_is_no_level(self):
        self.assertEqual(rates.Knee(0, 2048, 0), rates.find_knee(setting(row(size=2048))))


if __name__ == "__main__":
    unittest.main()
