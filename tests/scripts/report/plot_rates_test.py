# SPDX-License-Identifier: MIT
"""Rates: which rows become points, and how points are divided into figures and series."""

import unittest

from plot.rates import rate_groups
from plot_examples import emulated, ring, tree


def points(rows):
    """The points of the first series of the first group."""
    return rate_groups(rows)[0].series[0].points


class Tests(unittest.TestCase):
    def test_a_point_is_the_median_of_its_runs(self):
        rows = [ring(rate=rate) for rate in (1, 9, 2)]
        self.assertEqual([(p.rate, p.runs) for p in points(rows)], [(2, 3)])

    def test_a_point_has_the_quartiles_of_its_runs(self):
        (point,) = points([ring(rate=rate) for rate in (2, 9, 1, 5, 4)])
        self.assertEqual((point.low, point.high), (2, 5))

    def test_the_median_of_an_even_number_lies_between_the_two_in_the_middle(self):
        self.assertEqual(points([ring(rate=rate) for rate in (8, 1, 2, 3)])[0].rate, 2.5)

    def test_the_points_of_a_series_are_in_the_order_of_their_sizes(self):
        rows = [ring(size=size) for size in (1024, 64, 500)]
        self.assertEqual([p.size for p in points(rows)], [64, 500, 1024])

    def test_the_sets_are_those_of_the_first_run(self):
        rows = [ring(sets_used=sets, max_per_set=most) for sets, most in ((63, 3), (7, 9))]
        self.assertEqual((points(rows)[0].sets_used, points(rows)[0].max_per_set), ("63", "3"))

    def test_the_best_is_under_the_same_lock_at_the_same_size(self):
        rows = [
            ring(malloc="glibc", rate=1),
            ring(malloc="cia", rate=4),
            ring(malloc="cia", lock="pthread", rate=8),
            ring(malloc="cia", size=500, rate=16),
        ]
        glibc = rate_groups(rows)[0].series[0].points[0]
        self.assertEqual((glibc.best, glibc.share, glibc.is_bad), (4, 0.25, True))

    def test_half_of_the_best_is_not_bad(self):
        glibc = points([ring(malloc="glibc", rate=2), ring(malloc="cia", rate=4)])[0]
        self.assertEqual((glibc.share, glibc.is_bad), (0.5, False))

    def test_where_no_allocator_has_any_rate_none_is_bad(self):
        point = points([ring(rate="0.0")])[0]
        self.assertEqual((point.share, point.is_bad), (1, False))

    def test_ttstle_that_did_not_elide_is_no_series(self):
        rows = [ring(), ring(lock="ttstle"), ring(lock="ttstle", htm="native", malloc="rand")]
        self.assertEqual(
            [series.name for series in rate_groups(rows)[0].series], ["rand, ttstle", "cia, tts"]
        )

    def test_a_row_without_a_rate_is_no_point(self):
        self.assertEqual(rate_groups([emulated()]), ())

    def test_the_series_are_in_the_order_of_the_legend(self):
        names = ("cia tts", "glibc ttstle", "mine tts", "rand+cia tts", "glibc pthread", "rand tts")
        rows = [
            ring(malloc=malloc, lock=lock, htm="native")
            for malloc, lock in map(str.split, names)
        ]
        self.assertEqual(
            [series.name for series in rate_groups(rows)[0].series],
            [
                "glibc, pthread",
                "glibc, ttstle",
                "rand, tts",
                "rand+cia, tts",
                "mine, tts",
                "cia, tts",
            ],
        )

    def test_the_ring_is_figure_1_and_comes_first_and_the_tree_is_figure_2(self):
        groups = rate_groups([tree(), ring()])
        names = [group.figure("rate") for group in groups]
        self.assertEqual(names, ["figure1-rate", "figure2-rate"])

    def test_the_tree_alone_is_figure_2(self):
        self.assertEqual(rate_groups([tree()])[0].figure("rate"), "figure2-rate")

    def test_a_second_group_of_a_benchmark_has_a_number_behind_its_name(self):
        groups = rate_groups([tree(threads=12), tree(threads=2), ring()])
        self.assertEqual(
            [(group.figure("rate"), group.key.threads) for group in groups],
            [("figure1-rate", "1"), ("figure2-rate", "2"), ("figure2-rate-2", "12")],
        )

    def test_processors_have_groups_of_their_own(self):
        groups = rate_groups([ring(cpu="CPU 10"), ring(cpu="CPU 9"), ring(cpu="")])
        self.assertEqual([group.key.cpu for group in groups], ["CPU 9", "CPU 10", "-"])

    def test_the_sizes_of_a_group_are_those_of_all_its_series(self):
        rows = [ring(size=500), ring(size=64), ring(size=100, malloc="rand")]
        self.assertEqual(rate_groups(rows)[0].sizes(), [64, 100, 500])


if __name__ == "__main__":
    unittest.main()
