# SPDX-License-Identifier: MIT
"""The figures as gnuplot gets them."""

import re
import unittest

from plot.figures import gnuplot
from plot.elision import elision_groups
from plot.figures.elision_figures import aborts_figure, elided_figure
from plot.machines import machines_of
from plot.measured import Measured
from plot.occupancy import Occupancy
from plot.figures.rate_figures import rate_figure, sets_used_figure
from plot.rates import rate_groups
from plot.figures.sets_figure import sets_figure
from plot_examples import emulated, result, ring, tree


def measured(*rows, machine=("host=somewhere",), occupancies=()):
    """What a result of these rows holds."""
    results = (result(*rows, machine=machine),)
    return Measured(
        results, rows, rate_groups(rows), elision_groups(rows), machines_of(results),
        tuple(occupancies), (),
    )  # fmt: skip


def rates_of(*rows, **more):
    """The figure of the rates of the first group."""
    found = measured(*rows, **more)
    return rate_figure(found, found.rates[0])


def elided_of(*rows):
    return elided_figure(elision_groups(rows)[0])


def sets_used_of(*rows, **more):
    found = measured(*rows, **more)
    return sets_used_figure(found, found.rates[0])


def shapes(figure):
    """The point type and size of each series of the legend, by its title."""
    pattern = "pointtype ([0-9]+) pointsize ([0-9.]+) .* title '([^']*)'"
    return {
        title: (int(shape), float(size))
        for shape, size, title in re.findall(pattern, figure.commands)
    }


class Tests(unittest.TestCase):
    def test_a_quote_in_a_text_is_doubled(self):
        self.assertEqual(gnuplot.quoted("it's {x} \\n"), "'it''s {x} \\n'")

    def test_the_axis_is_marked_at_powers_of_two_from_16(self):
        self.assertIn("('64' 64, '128' 128)", gnuplot.size_axis([64, 130]))
        self.assertIn("('16' 16)", gnuplot.size_axis([8, 31]))
        self.assertIn("('512' 512, '1 Ki' 1024, '2 Ki' 2048)", gnuplot.size_axis([500, 2048]))
        self.assertIn("xtics ()", gnuplot.size_axis([500]))

    def test_a_script_has_the_data_and_draws_both_formats(self):
        script = rates_of(ring(rate=2500000, size=64), ring(rate=1000000, size=500)).script()
        self.assertIn("$series1 << END_OF_DATA\n64 2.5 2.5 2.5\n500 1.0 1.0 1.0\nEND_OF_DATA\n", script)
        self.assertIn("for [format in 'svg png']", script)
        self.assertIn("set output 'figure1-rate.'.format", script)

    def test_the_title_names_benchmark_processor_and_hosts(self):
        self.assertIn(
            "'Ring of 128 nodes on Some CPU (a, b)'",
            rates_of(ring(host="b"), ring(host="a", size=65)).commands,
        )
        self.assertIn(
            "'AVL tree, 4 threads on a processor without a name (somewhere)'",
            rates_of(tree(cpu="unknown")).commands,
        )

    def test_a_figure_without_ttstle_says_why(self):
        for rtm, why in (
            ("absent", "has no hardware transactions"),
            ("always-abort", "aborts every hardware transaction"),
            ("usable", "it was not measured."),
        ):
            machine = ("host=somewhere", "cpu=Some CPU", f"rtm={rtm}")
            self.assertIn(why, rates_of(ring(), machine=machine).commands)
        self.assertIn("it did not elide", rates_of(ring(), ring(lock="ttstle")).commands)
        elided = rates_of(ring(), ring(lock="ttstle", htm="native"))
        self.assertNotIn("No ttstle", elided.commands)

    def test_the_last_lock_is_filled_the_one_before_open_the_first_of_three_small(self):
        rows = [ring(lock="pthread"), ring(lock="tts"), ring(lock="ttstle", htm="native")]
        self.assertEqual(
            shapes(rates_of(*rows)),
            {"cia, pthread": (12, 0.35), "cia, tts": (12, 0.7), "cia, ttstle": (13, 0.7)},
        )
        self.assertEqual(shapes(rates_of(*rows[:2]))["cia, pthread"], (12, 0.7))
        self.assertEqual(shapes(rates_of(rows[0]))["cia, pthread"], (13, 0.7))

    def test_long_names_make_a_legend_of_three_columns(self):
        self.assertIn("maxcols 4", rates_of(ring(malloc="a" * 10)).commands)
        self.assertIn("maxcols 3", rates_of(ring(malloc="a" * 11)).commands)

    def test_the_values_of_a_point_come_up_under_its_series(self):
        self.assertIn(
            "sprintf('cia, tts: %d B, %.4g (%.4g to %.4g)', $1, $2, $3, $4)",
            rates_of(ring()).commands,
        )
        self.assertIn("sprintf('cia, tts: %d B, %.4g', $1, $2)", sets_used_of(ring()).commands)

    def test_a_line_below_the_points_reaches_from_quartile_to_quartile(self):
        figure = rates_of(*(ring(rate=rate) for rate in (4e6, 1e6, 2e6)))
        self.assertEqual(figure.blocks["series1"], ["64 2.0 1.5 3.0"])
        line, point = (figure.commands.index(what) for what in ("1:3:(0):($4-$3)", "1:2 with"))
        self.assertLess(line, point)

    def test_a_figure_with_ranges_says_what_they_are(self):
        note = "from quartile to quartile of its runs"
        self.assertIn(note, rates_of(ring(), ring(seed=2)).commands)
        self.assertNotIn(note, rates_of(ring()).commands)

    def test_sets_are_drawn_once_an_allocator_each_smaller_than_the_one_below(self):
        rows = [ring(lock=lock, malloc=m) for lock in ("tts", "pthread") for m in ("cia", "rand")]
        self.assertEqual(shapes(sets_used_of(*rows)), {"rand": (9, 1.15), "cia": (13, 0.9775)})

    def test_sets_that_were_not_counted_are_missing_values(self):
        figure = sets_used_of(ring(sets_used=7), ring(sets_used="", size=65))
        self.assertEqual(figure.blocks, {"series1": ["64 7", "65 -"]})

    def test_the_sets_are_those_of_the_processor_or_of_the_cache_that_was_counted_or_64(self):
        machine = ("host=somewhere", "cpu=Some CPU", "l1d=128x4x64")
        counted = [Occupancy("cia", 64, 32, 8, ("1",) * 32)]
        for sets, figure in (
            (128, sets_used_of(ring(), machine=machine, occupancies=counted)),
            (32, sets_used_of(ring(), occupancies=counted)),
            (64, sets_used_of(ring())),
        ):
            self.assertIn(f"begin in, of {sets}'", figure.commands)

    def test_the_axis_of_elision_begins_below_the_least_in_fixed_steps(self):
        for slow, low in ((10, 98), (11, 88), (100, 88), (101, 50), (450, 50), (451, 0)):
            self.assertIn(f"yrange [{low}:", elided_of(emulated(slow_path=slow)).commands, slow)

    def test_the_rings_elision_is_a_row_an_allocator_the_last_of_the_legend_below(self):
        ring_of_128 = {"bench": "ring", "nodes": 128, "threads": 1}
        figure = elided_of(emulated(**ring_of_128), emulated(**ring_of_128, malloc="glibc"))
        self.assertIn("set ytics ('cia' 0 + 0.4, 'glibc' 1 + 0.4)", figure.commands)
        self.assertEqual(figure.height, 140 + 2 * 56)

    def test_the_title_of_elision_names_the_cache_or_the_processor(self):
        for changes, text in (
            ({}, "AVL tree, 4 threads, emulated transactions'"),
            ({"cache": "64x12"}, "emulated transactions, L1D of 64 sets × 12 ways'"),
            ({"htm": "native"}, "4 threads, transactions of Some CPU'"),
        ):
            self.assertIn(text, elided_of(emulated(**changes)).commands)

    def test_each_cause_has_a_scale_of_its_own_to_1_percent_at_the_least(self):
        group = elision_groups([emulated(abort_conflict=5, abort_capacity=500)])[0]
        panel = r"yrange \[0:([0-9.]+)\]\n    set title '(\w+)"
        scales = re.findall(panel, aborts_figure(group).commands)
        self.assertEqual(
            scales,
            [("54", "capacity"), ("1.04", "conflict"), ("1.04", "explicit"), ("1.04", "other")],
        )

    def test_the_left_causes_name_the_y_axis_and_the_lower_ones_the_x_axis(self):
        commands = aborts_figure(elision_groups([emulated()])[0]).commands
        labels = re.findall(r"xlabel '([^']*)'\n    set ylabel '([^']*)' offset", commands)
        x, y = "Node size in bytes", "Aborts, % of transactions"
        self.assertEqual(labels, [("", y), ("", ""), (x, y), (x, "")])

    def test_the_legend_of_aborts_has_no_points(self):
        commands = aborts_figure(elision_groups([emulated()])[0]).commands
        legend = commands.partition("    plot ")[2].partition("\n")[0]
        self.assertRegex(legend, r"^\$series1 using 1:\(NaN\) .* title 'cia'$")

    def test_sets_are_a_row_an_allocator_and_a_column_a_set(self):
        occupancies = [
            Occupancy("glibc", 64, 2, 8, ("9", "0")),
            Occupancy("cia", 64, 2, 8, ("4", "5")),
            Occupancy("cia", 65, 2, 8, ("6", "7")),
            Occupancy("cia", 64, 2, 8, ("8", "8")),
        ]
        figure = sets_figure(measured(ring(), occupancies=occupancies), 64)
        self.assertEqual(figure.blocks["cells"], ["0 0 4", "1 0 5", "0 1 9", "1 1 0"])
        self.assertIn("set ytics ('cia' 0, 'glibc' 1)", figure.commands)
        self.assertIn("each of the 2 sets of the L1 data cache (8 ways)", figure.commands)


if __name__ == "__main__":
    unittest.main()
