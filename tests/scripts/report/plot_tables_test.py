# SPDX-License-Identifier: MIT
"""The tables of the page, and its sentences about series."""

import re
import unittest

from plot.elision import elision_groups
from plot.rates import rate_groups
from plot.tables import elision_findings, rate_findings, summary_table, worst_table
from plot_examples import emulated, ring

MILLION = 1_000_000


def group(**rates):
    """A group: allocators, and their rates in millions at sizes 100, 101 and so on."""
    rows = [
        ring(malloc=malloc, size=size, rate=rate * MILLION)
        for malloc, values in rates.items()
        for size, rate in enumerate(values, 100)
    ]
    return rate_groups(rows)[0]


def cells(lines):
    """The texts of the cells of each row of a table's body, those that are bad marked."""
    rows = [re.findall("<td([^>]*)>([^<]*)</td>", line) for line in lines]
    return [[text + ("!" if "bad" in kind else "") for kind, text in row] for row in rows if row]


def plain(lines):
    """The texts of lines without markup."""
    return [re.sub("<[^>]*>", "", line) for line in lines]


class Tests(unittest.TestCase):
    def test_the_summary_has_median_and_lowest_rate_and_the_bad_sizes(self):
        lines = summary_table(group(cia=[8, 8, 8, 8], glibc=[8, 6, 2, 1]))
        self.assertEqual(
            cells(lines),
            [
                ["cia", "tts", "8.00 M/s", "8.00 M/s", "100 B", "0", "4"],
                ["glibc", "tts", "4.00 M/s", "1.00 M/s", "103 B", "2!", "4"],
            ],
        )

    def test_tables_have_the_legend_from_below(self):
        lines = summary_table(group(glibc=[1], rand=[1], cia=[1]))
        self.assertEqual([row[0] for row in cells(lines)], ["cia", "rand", "glibc"])

    def test_the_five_worst_sizes_are_told_the_worst_first(self):
        lines = worst_table(group(cia=[100] * 7, glibc=[90, 40, 60, 50, 0.001, 70, 80]))
        glibc = [row[2:5] for row in cells(lines) if row[0] == "glibc"]
        self.assertEqual(
            glibc,
            [
                ["104 B", "0.00 M/s", "0 %!"],
                ["101 B", "40.00 M/s", "40 %!"],
                ["103 B", "50.00 M/s", "50 %"],
                ["102 B", "60.00 M/s", "60 %"],
                ["105 B", "70.00 M/s", "70 %"],
            ],
        )

    def test_the_rate_of_several_runs_has_their_quartiles(self):
        runs = [ring(rate=rate * 1e6) for rate in (2, 4, 1)]
        (row,) = cells(worst_table(rate_groups(runs)[0]))
        self.assertEqual(row[3], "2.00 M/s (1.50 to 3.00)")

    def test_the_worst_sizes_have_their_sets(self):
        (row,) = cells(worst_table(rate_groups([ring(sets_used=7, max_per_set=19)])[0]))
        self.assertEqual(row[5:], ["7", "19"])

    def test_sets_that_were_not_counted_are_blank(self):
        (row,) = cells(worst_table(rate_groups([ring(sets_used="", max_per_set="")])[0]))
        self.assertEqual(row[5:], ["", ""])

    def test_each_series_has_a_body_of_its_own_among_the_worst(self):
        lines = worst_table(group(glibc=[1], cia=[1]))
        self.assertEqual(lines.count("<tbody>"), 2)

    def test_a_series_that_is_bad_is_found_with_its_worst_size(self):
        self.assertIn(
            "glibc, tts falls below half of the best allocator at 2 of 3 sizes, to 25 % of it"
            " at 101 B.",
            plain(rate_findings(group(cia=[4, 4, 4], glibc=[1.9, 1, 2]))),
        )

    def test_a_series_that_is_not_bad_is_found_with_its_worst_size(self):
        self.assertIn(
            "rand, tts stays above half of the best allocator at all 2 sizes; its worst is 75 % of"
            " it, at 101 B.",
            plain(rate_findings(group(cia=[4, 4], rand=[4, 3]))),
        )

    def test_of_sizes_as_bad_as_each_other_the_first_as_text_is_told(self):
        rows = [ring(size=size) for size in (64, 500, 1024)]
        self.assertIn("at 1024 B", rate_findings(rate_groups(rows)[0])[0])

    def test_findings_begin_with_the_fewest_bad_sizes_then_follow_the_legend(self):
        found = rate_findings(group(glibc=[1, 1], jemalloc=[1, 9], rand=[9, 9], cia=[9, 9]))
        self.assertEqual(
            [re.search("<b>(.*), tts</b>", line)[1] for line in found],
            ["rand", "cia", "jemalloc", "glibc"],
        )

    def test_an_allocator_without_capacity_aborts_is_found(self):
        rows = [
            emulated(size=64, slow_path=50, abort_capacity=0),
            emulated(size=500, abort_capacity=5),
        ]
        self.assertEqual(
            plain(elision_findings(elision_groups(rows)[0])),
            [
                "cia: 95.0 % elided at the worst size, 64 B. Capacity aborts are below 1 % of the"
                " transactions at all 2 sizes; the most is 0.50 %, at 500 B."
            ],
        )

    def test_an_allocator_with_capacity_aborts_is_found_and_comes_last(self):
        rows = [emulated(malloc="glibc", size=64, abort_capacity=300), emulated(size=64)]
        rows += [emulated(malloc="glibc", size=65, abort_capacity=10)]
        self.assertEqual(
            plain(elision_findings(elision_groups(rows)[0]))[1],
            "glibc: 100.0 % elided at the worst size, 64 B. Capacity aborts are 1 % of the transactions or"
            " more at 2 of 2 sizes, 30.0 % at 64 B.",
        )


if __name__ == "__main__":
    unittest.main()
