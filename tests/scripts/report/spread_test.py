# SPDX-License-Identifier: MIT
"""Spread and bootstrap intervals, against cases computed by hand and samples of known distributions."""

import itertools
import random
import statistics
import unittest

import spread

NINE = (9.0, 1.0, 5.0, 3.0, 7.0, 2.0, 8.0, 4.0, 6.0)


def drawn(draw, rounds, factor, shared=0.2):
    """Two series of rounds whose ratio is the factor, each round with a slowness that both share."""
    slowness = [draw.lognormvariate(0, shared) for _ in range(rounds)]
    one = [factor * slow * draw.lognormvariate(0, 0.03) for slow in slowness]
    return one, [slow * draw.lognormvariate(0, 0.03) for slow in slowness]


class Tests(unittest.TestCase):
    def test_the_spread_is_half_the_distance_between_the_quartiles_over_the_median(self):
        # The quartiles of 1 to 9 are 3 and 7.
        self.assertAlmostEqual(spread.spread(NINE), (7 - 3) / 2 / 5)

    def test_one_measurement_has_no_spread(self):
        self.assertIsNone(spread.spread((5.0,)))

    def test_the_ratio_is_that_of_the_medians(self):
        # The median of the ratios would be 1.
        ratio = spread.Bootstrap(3, 1).ratio((1.0, 2.0, 9.0), (1.0, 4.0, 9.0))
        self.assertAlmostEqual(ratio.value, 0.5)

    def test_a_constant_ratio_has_an_interval_of_one_point(self):
        ratio = spread.Bootstrap(9, 1).ratio(tuple(3 * value for value in NINE), NINE)
        for bound in (ratio.value, ratio.low, ratio.high):
            self.assertAlmostEqual(bound, 3)

    def test_rounds_are_drawn_in_pairs(self):
        # Drawn apart, medians of 1 to 9 differ by more than a tenth.
        noisy = tuple(value * 1.5 + index * 0.001 for index, value in enumerate(NINE))
        ratio = spread.Bootstrap(9, 1).ratio(noisy, NINE)
        self.assertLess(ratio.high - ratio.low, 0.01)

    def test_the_interval_of_five_rounds_is_that_of_all_samples(self):
        # All 3125 samples of five rounds: the least and the greatest median have 5.8 % each.
        values, ones = (1.0, 2.0, 3.0, 4.0, 5.0), (1.0,) * 5
        medians = sorted(statistics.median(s) for s in itertools.product(values, repeat=5))
        outside = round(0.025 * len(medians))
        ratio = spread.Bootstrap(5, 1).ratio(values, ones)
        self.assertAlmostEqual(ratio.low, medians[outside])
        self.assertAlmostEqual(ratio.high, medians[-1 - outside])
        self.assertEqual((medians[outside], medians[-1 - outside]), (1, 5))

    def test_the_interval_leaves_out_two_and_a_half_per_cent_at_each_end(self):
        # Of all 46,656 samples of six rounds: at 5 % the medians would be 2 and 5.
        values = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        medians = sorted(statistics.median(s) for s in itertools.product(values, repeat=6))
        outside = round(0.025 * len(medians))
        ratio = spread.Bootstrap(6, 1).ratio(values, (1.0,) * 6)
        self.assertAlmostEqual(ratio.low, medians[outside])
        self.assertAlmostEqual(ratio.high, medians[-1 - outside])

    def test_fewer_than_five_rounds_give_no_interval_and_no_difference(self):
        ratio = spread.Bootstrap(4, 1).ratio((2.0,) * 4, (1.0,) * 4)
        self.assertEqual((ratio.value, ratio.low, ratio.high), (2, None, None))
        self.assertFalse(ratio.differs)
        self.assertFalse(ratio.lies_above(1))

    def test_a_ratio_differs_only_where_its_interval_leaves_out_1(self):
        self.assertTrue(spread.Ratio(0.9, 0.8, 0.99).differs)
        self.assertTrue(spread.Ratio(1.1, 1.01, 1.2).differs)
        self.assertFalse(spread.Ratio(0.9, 0.8, 1.0).differs)
        self.assertFalse(spread.Ratio(1.1, 1.0, 1.2).differs)

    def test_the_whole_interval_must_lie_above_a_bound(self):
        self.assertTrue(spread.Ratio(1.2, 1.09, 1.3).lies_above(1.08))
        self.assertFalse(spread.Ratio(1.2, 1.08, 1.3).lies_above(1.08))

    def test_the_same_seed_gives_the_same_interval(self):
        other = tuple(reversed(NINE))
        first, again = (spread.Bootstrap(9, 7).ratio(NINE, other) for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(spread.Bootstrap(9, 7).samples, spread.Bootstrap(9, 8).samples)

    def test_the_mean_ratio_is_geometric_and_draws_the_same_rounds_for_all(self):
        # What one program loses in a round the other wins: drawn apart the mean would vary.
        ones = (1.0,) * 9
        inverse = tuple(1 / value for value in NINE)
        bootstrap = spread.Bootstrap(9, 1)
        mean = bootstrap.mean_ratio([(NINE, ones), (inverse, ones)])
        for bound in (mean.value, mean.low, mean.high):
            self.assertAlmostEqual(bound, 1)
        four, nine = tuple(4.0 for _ in NINE), tuple(9.0 for _ in NINE)
        self.assertAlmostEqual(bootstrap.mean_ratio([(four, ones), (nine, ones)]).value, 6)

    def test_the_mean_of_one_pair_is_its_ratio(self):
        bootstrap, other = spread.Bootstrap(9, 1), tuple(reversed(NINE))
        self.assertEqual(bootstrap.mean_ratio([(NINE, other)]), bootstrap.ratio(NINE, other))

    def test_of_equal_series_few_intervals_leave_out_1(self):
        draw = random.Random(1)
        bootstrap = spread.Bootstrap(7, 1)
        told = sum(bootstrap.ratio(*drawn(draw, 7, 1.0)).differs for _ in range(100))
        self.assertLessEqual(told, 10)

    def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says(self):
        draw = random.Random(2)
        bootstrap = spread.Bootstrap(9, 1)
        held = 0
        for _ in range(100):
            ratio = bootstrap.ratio(*drawn(draw, 9, 1.3))
            held += ratio.low <= 1.3 <= ratio.high
        self.assertGreaterEqual(held, 90)


if __name__ == "__main__":
    unittest.main()
