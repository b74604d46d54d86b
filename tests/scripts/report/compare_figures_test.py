# SPDX-License-Identifier: MIT
"""What the tables of mplace compare are made of: medians, and ratios to the least."""

import unittest
from decimal import Decimal

import spread
from compare import figures


def quantity_of(measured, rounds=1):
    """What was measured under cia and others, {allocator: numbers of the rounds}, of one job."""
    comparison = figures.Comparison("cia", ("cia", "glibc", "jemalloc"), rounds)
    runs = [
        ("job", name, str(number), Decimal(str(value)))
        for name, values in measured.items()
        for number, value in enumerate(values, 1)
    ]
    return figures.Quantity(comparison, spread.Bootstrap(rounds, 1), runs)


def median_of(*numbers, rounds):
    """The median of one allocator's numbers, or None."""
    return quantity_of({"cia": numbers}, rounds).median("job", "cia")


class Tests(unittest.TestCase):
    def test_an_odd_number_of_rounds_has_the_middle_one_as_median(self):
        self.assertEqual(median_of("900", "20.5", "3", rounds=3), 20.5)

    def test_an_even_number_of_rounds_has_the_mean_of_the_middle_two(self):
        self.assertEqual(median_of("1000", "30", "20", "1", rounds=4), 25)

    def test_the_median_of_two_is_exact_before_it_is_rounded(self):
        # Half the sum of the two binary numbers is a little above 0.15.
        self.assertEqual(median_of("0.1", "0.2", rounds=2), 0.15)

    def test_what_was_not_measured_in_every_round_has_no_median(self):
        self.assertIsNone(median_of("1", "2", rounds=3))

    def test_rounds_beyond_those_that_are_asked_for_do_not_count(self):
        self.assertEqual(median_of("1", "2", "3", "99", "99", rounds=3), 2)

    def test_the_numbers_are_in_the_order_of_the_rounds(self):
        comparison = figures.Comparison("cia", ("cia", "glibc"), 3)
        runs = [("job", "cia", number, Decimal(number)) for number in ("2", "3", "1")]
        quantity = figures.Quantity(comparison, spread.Bootstrap(3, 1), runs)
        self.assertEqual(quantity.series("job", "cia"), (1, 2, 3))

    def test_what_is_no_number_ends_the_report_with_its_text(self):
        for text in ("1.2.3", "NaN", "-Infinity"):
            with self.assertRaisesRegex(SystemExit, f"^mplace compare: '{text}' was measured and is not"):
                figures.number(text)

    def test_the_least_is_of_the_allocators_named(self):
        quantity = quantity_of({"cia": [1], "glibc": [3], "jemalloc": [2]})
        self.assertEqual(quantity.least("job", ["glibc", "jemalloc"]), "jemalloc")

    def test_the_first_of_equals_is_the_least(self):
        quantity = quantity_of({"glibc": [2], "jemalloc": [2]})
        self.assertEqual(quantity.least("job", ["jemalloc", "glibc"]), "jemalloc")

    def test_zero_is_the_least_of_all(self):
        quantity = quantity_of({"glibc": [0], "jemalloc": [5]})
        self.assertEqual(quantity.least("job", ["glibc", "jemalloc"]), "glibc")

    def test_to_a_least_of_zero_there_is_no_ratio(self):
        quantity = quantity_of({"cia": [2], "glibc": [0], "jemalloc": [3]})
        self.assertEqual(quantity.ratio_to_least("job", ["glibc", "jemalloc"]), (None, None))

    def test_the_ratio_is_to_the_least_and_names_it(self):
        ratio, name = quantity_of({"cia": [3], "glibc": [2], "jemalloc": [4]}).ratio_to_least(
            "job", ["glibc", "jemalloc"]
        )
        self.assertEqual((ratio.value, name), (1.5, "glibc"))

    def test_without_the_subject_or_another_there_is_no_ratio(self):
        for measured in ({"glibc": [2]}, {"cia": [2]}):
            quantity = quantity_of(measured)
            self.assertEqual(quantity.ratio_to_least("job", ["glibc"]), (None, None))

    def test_a_run_of_zero_has_no_ratio(self):
        for measured in ({"cia": [0, 1, 1], "glibc": [1] * 3}, {"cia": [1] * 3, "glibc": [1, 0, 1]}):
            self.assertIsNone(quantity_of(measured, rounds=3).ratio("job", "glibc"))

    def test_the_interval_is_over_the_rounds(self):
        quantity = quantity_of({"cia": [2, 4, 6, 8, 10], "glibc": [1, 2, 3, 4, 5]}, rounds=5)
        ratio = quantity.ratio("job", "glibc")
        self.assertAlmostEqual(ratio.low, 2)
        self.assertAlmostEqual(ratio.high, 2)
        self.assertTrue(ratio.differs)

    def test_a_mean_is_of_the_ratios_that_there_are(self):
        quantity = quantity_of({"cia": [8], "glibc": [2], "jemalloc": [4]})
        mean, count = quantity.mean_ratio([("job", "glibc"), ("none", "glibc"), ("job", "jemalloc")])
        self.assertAlmostEqual(mean.value, 8**0.5)
        self.assertEqual(count, 2)
        self.assertEqual(quantity.mean_ratio([("none", "glibc")]), (None, 0))

    def test_a_figure_has_its_spread_and_is_in_the_unit(self):
        figure = quantity_of({"cia": [1024, 2048, 3072]}, rounds=3).figure("job", "cia", 1024, 1)
        self.assertEqual((figure.median, figure.spread, figure.digits), (2, 0.25, 1))

    def test_the_reading_says_where_the_rounds_are_too_few(self):
        for rounds, said in ((4, True), (5, False)):
            comparison = figures.Comparison("cia", ("cia", "glibc"), rounds)
            text = figures.reading(comparison, "a ratio")
            self.assertEqual("give no interval and tell no difference" in text, said)

    def test_a_job_is_named_by_what_it_has(self):
        self.assertEqual(str(figures.Job("batch", "64", "2")), "batch 64, 2 threads")
        self.assertEqual(str(figures.Job("larson", "-", "1")), "larson, 1 thread")

    def test_memory_is_judged_against_the_common_allocators_that_are_there(self):
        some = figures.Comparison("cia", ("mimalloc", "cia", "rand", "glibc"), 1)
        self.assertEqual(some.memory_peers, ("mimalloc", "glibc"))

    def test_memory_is_judged_against_all_others_where_no_common_one_is_there(self):
        none = figures.Comparison("glibc", ("cia", "glibc", "rand"), 1)
        self.assertEqual(none.memory_peers, ("cia", "rand"))


if __name__ == "__main__":
    unittest.main()
