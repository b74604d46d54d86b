# SPDX-License-Identifier: MIT
"""What the tables of mplace compare are made of: medians, and ratios to the least."""

import unittest
from decimal import Decimal

from compare import figures


def medians_of(*numbers, rounds):
    """The median of one allocator's numbers, or None."""
    measured = [("job", "cia", Decimal(number)) for number in numbers]
    return figures.medians(measured, rounds).get("job", {}).get("cia")


class Tests(unittest.TestCase):
    def test_an_odd_number_of_rounds_has_the_middle_one_as_median(self):
        self.assertEqual(medians_of("900", "20.5", "3", rounds=3), 20.5)

    def test_an_even_number_of_rounds_has_the_mean_of_the_middle_two(self):
        self.assertEqual(medians_of("1000", "30", "20", "1", rounds=4), 25)

    def test_the_median_of_two_is_exact_before_it_is_rounded(self):
        # Half the sum of the two binary numbers is a little above 0.15.
        self.assertEqual(medians_of("0.1", "0.2", rounds=2), 0.15)

    def test_what_was_not_measured_in_every_round_has_no_median(self):
        self.assertIsNone(medians_of("1", "2", rounds=3))

    def test_what_is_no_number_ends_the_report_with_its_text(self):
        with self.assertRaisesRegex(SystemExit, "^mplace compare: '1.2.3' was measured and is not"):
            figures.number("1.2.3")

    def test_the_least_is_of_the_allocators_named(self):
        row = {"cia": 1.0, "glibc": 3.0, "jemalloc": 2.0}
        self.assertEqual(figures.least(row, ["glibc", "jemalloc"]), "jemalloc")

    def test_the_first_of_equals_is_the_least(self):
        row = {"glibc": 2.0, "jemalloc": 2.0}
        self.assertEqual(figures.least(row, ["jemalloc", "glibc"]), "jemalloc")

    def test_zero_is_nobodys_least(self):
        self.assertEqual(figures.least({"glibc": 0.0, "rand": 5.0}, ["glibc", "rand"]), "rand")
        self.assertIsNone(figures.least({"glibc": 0.0}, ["glibc", "rand"]))

    def test_the_ratio_and_its_allocator_are_the_last_columns(self):
        row = {"cia": 3.0, "glibc": 2.0}
        self.assertEqual(figures.ratio_cells(row, "cia", ["glibc"]), "    1.50  glibc")

    def test_without_the_subject_or_another_there_is_no_ratio(self):
        self.assertEqual(figures.ratio_cells({"glibc": 2.0}, "cia", ["glibc"]), "       -  -")
        self.assertEqual(figures.ratio_cells({"cia": 2.0}, "cia", ["glibc"]), "       -  -")

    def test_a_job_is_named_by_what_it_has(self):
        self.assertEqual(str(figures.Job("batch", "64", "2")), "batch 64, 2 threads")
        self.assertEqual(str(figures.Job("larson", "-", "1")), "larson, 1 thread")

    def test_memory_is_judged_against_the_common_allocators_that_are_there(self):
        some = figures.Comparison("cia", ("mimalloc", "cia", "rand", "glibc"), 1)
        self.assertEqual(some.memory_peers, ("mimalloc", "glibc"))

    def test_memory_is_judged_against_all_others_where_no_common_one_is_there(self):
        none = figures.Comparison("glibc", ("cia", "glibc", "rand"), 1)
        self.assertEqual(none.memory_peers, ("cia", "rand"))

    def test_a_column_has_at_most_ten_characters_of_a_name(self):
        heading = figures.heading(["rand+jemalloc", "cia"])
        self.assertEqual(heading, " rand+jemal        cia   ratio  to")


if __name__ == "__main__":
    unittest.main()
