# SPDX-License-Identifier: MIT
"""The small charts as gnuplot gets them: one an allocator, at one scale."""

import re
import unittest

from plot.figures import panels
from plot.elision import elision_groups
from plot.rates import rate_groups
from plot_examples import emulated, ring


def rates_of(*rows):
    return list(panels.rate_panels(rate_groups(rows)[0]))


def aborts_of(*rows):
    return list(panels.aborts_panels(elision_groups(rows)[0]))


def scales(charts):
    """The different ranges of the y axis."""
    return {re.search("yrange (.*)", chart.figure.commands)[1] for chart in charts}


class Tests(unittest.TestCase):
    def test_each_allocator_has_one_with_the_points_of_all_its_locks_and_of_no_other(self):
        charts = rates_of(ring(malloc="glibc"), ring(malloc="cia"), ring(malloc="cia", lock="pthread"))
        self.assertEqual([chart.title for chart in charts], ["glibc", "cia"])
        drawn = [len(re.findall("pointtype [67] .* title", chart.figure.commands)) for chart in charts]
        self.assertEqual(drawn, [1, 2])

    def test_all_have_one_scale_with_room_for_the_third_quartile_of_any(self):
        charts = rates_of(ring(malloc="glibc", rate=1e6), ring(rate=2e6), ring(rate=4e6, seed=2))
        self.assertEqual(scales(charts), {"[0:3.675]"})

    def test_rates_stand_before_the_fastest_allocator_at_each_size(self):
        rows = [ring(malloc="glibc", rate=1e6), ring(rate=3e6), ring(malloc="glibc", size=65, rate=2e6)]
        for chart in rates_of(*rows):
            self.assertEqual(chart.figure.blocks["fastest"], ["64 3.0", "65 2.0"])
            self.assertLess(chart.figure.commands.index("$fastest"), chart.figure.commands.index("pointtype"))

    def test_the_range_of_the_runs_is_drawn(self):
        (chart,) = rates_of(ring(rate=1e6), ring(seed=2, rate=5e6), ring(seed=3, rate=2e6))
        self.assertEqual(chart.figure.blocks["series1"], ["64 2.0 1.5 3.5"])
        self.assertIn("using 1:3:(0):($4-$3) with vectors", chart.figure.commands)

    def test_the_elided_share_has_the_range_of_its_runs(self):
        group = elision_groups([emulated(slow_path=100), emulated(slow_path=300, seed=2)])[0]
        (chart,) = panels.elided_panels(group)
        self.assertRegex(chart.figure.blocks["series1"][0], "^64 80.0 .* 75.0 85.0$")
        self.assertIn("using 1:7:(0):($8-$7) with vectors", chart.figure.commands)

    def test_a_cause_of_aborts_has_one_scale_in_all_and_1_percent_at_the_least(self):
        charts = aborts_of(emulated(malloc="glibc", abort_capacity=250), emulated(abort_conflict=5))
        for chart in charts:
            self.assertIn("capacity, full height 25 %", chart.figure.commands)
            self.assertIn("conflict, full height 1 %", chart.figure.commands)

    def test_they_are_narrow_and_for_the_page_alone(self):
        group = elision_groups([emulated(bench="ring", malloc="glibc"), emulated(bench="ring")])[0]
        (rows,) = panels.elided_panels(group)
        for chart in (rows, *rates_of(ring())):
            self.assertEqual((chart.figure.width, chart.figure.formats), (420, ("svg",)))
            self.assertTrue(chart.figure.name.startswith("panel-"))


if __name__ == "__main__":
    unittest.main()
