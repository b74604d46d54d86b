# SPDX-License-Identifier: MIT
"""How far medians and their ratios can be trusted: bootstrap intervals over rounds.

A series is what one allocator took in each round, in the order of the rounds. Series that are compared were measured in
the same rounds, so a bootstrap sample draws whole rounds: what slowed a round down stays in both series.
"""

import math
import random
import statistics
from dataclasses import dataclass

SAMPLES = 2000
CONFIDENCE = 0.95
# The median of fewer rounds lies outside of all measurements too often: of 5, in 1 of 16 cases, of 4, in 1 of 8.
LEAST_ROUNDS = 5


def quartiles(series):
    """The first and the third quartile; of a single measurement, that one twice."""
    if len(series) < 2:
        return series[0], series[0]
    first, _, third = statistics.quantiles(series, n=4, method="inclusive")
    return first, third


def spread(series):
    """Half the distance between the quartiles, as a part of the median; None for a single measurement."""
    middle = statistics.median(series)
    if len(series) < 2 or middle == 0:
        return None
    first, third = quartiles(series)
    return float((third - first) / 2 / middle)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its interval; low and high are None where the rounds are too few for one."""

    value: float
    low: float | None
    high: float | None

    @property
    def differs(self):
        """Whether the runs can tell the ratio from 1."""
        return self.low is not None and not self.low <= 1 <= self.high

    def lies_above(self, bound):
        """Whether the whole interval does."""
        return self.low is not None and self.low > bound


class Bootstrap:
    """Intervals from the same samples of the rounds for every ratio; the seed decides them."""

    def __init__(self, rounds, seed):
        draw = random.Random(seed)
        samples = SAMPLES if rounds >= LEAST_ROUNDS else 0
        self.samples = [draw.choices(range(rounds), k=rounds) for _ in range(samples)]
        self.known = {}

    def medians(self, series):
        """The logarithm of the median in each sample. All numbers are above 0."""
        key = tuple(series)
        if key not in self.known:
            numbers = [float(value) for value in key]
            self.known[key] = [math.log(median([numbers[i] for i in s])) for s in self.samples]
        return self.known[key]

    def ratio(self, series, other):
        """The ratio of the medians of two series."""
        return self.mean_ratio([(series, other)])

    def mean_ratio(self, pairs):
        """The geometric mean of the ratios of the medians of pairs of series, at least one."""
        value = geometric_mean([math.log(median(a) / median(b)) for a, b in pairs])
        if not self.samples:
            return Ratio(value, None, None)
        columns = [(self.medians(a), self.medians(b)) for a, b in pairs]
        means = sorted(
            geometric_mean([a[sample] - b[sample] for a, b in columns])
            for sample in range(len(self.samples))
        )
        outside = round((1 - CONFIDENCE) / 2 * len(means))
        return Ratio(value, means[outside], means[-1 - outside])


def median(numbers):
    """The median as a binary number."""
    return float(statistics.median(numbers))


def geometric_mean(logarithms):
    """The geometric mean of numbers, from their logarithms."""
    return math.exp(math.fsum(logarithms) / len(logarithms))
