# SPDX-License-Identifier: MIT
"""The statements of FLASK's paper, judged by planted rows."""

import csv
import io
import unittest

from coherence import figure, main, statements, table
from evidence.judged import DIFFERS, HOLDS, NO_ROWS
from evidence.rows import BadRow

# Counts of a row that nothing is asked of.
PLAIN = {name: 1000 for name in table.COUNTS} | {"filter_false_positives": 0}

# What each configuration has for the statements to hold, in thousandths of sparse at 160 %: time, and more.
AS_THE_PAPER = {
    "token": {"cycles": 1150, "edp": 1300},
    "sparse-160": {},
    "sparse-80": {},
    "sparse-40": {},
    "sparse-25": {"cycles": 1020},
    "sparse-20": {"cycles": 1060},
    "sparse-10": {"cycles": 1200},
    "sparse-5": {"cycles": 1450, "average_latency": 1900},
    "flask-160": {},
    "flask-50": {"filter_false_positives": 50},
    "flask-40": {"cycles": 1010, "energy_pj": 1020},
    "flask-20": {"filter_false_positives": 60},
    "flask-5": {"cycles": 1075, "filter_false_positives": 300},
    "flask-100-cbf": {"filter_false_positives": 50},
    "flask-50-cbf": {"filter_false_positives": 200},
    "flask-20-adaptive": {"cycles": 1020},
}


def row(configuration, workload="tree", family="server", calls=0, **counts):
    """A row with some counts as given."""
    return table.Row(workload, family, configuration, calls, 1.0, PLAIN | counts)


def rows_of(configurations, **named):
    """A row for each configuration."""
    return [row(configuration, **named, **counts) for configuration, counts in configurations.items()]


def verdicts(rows):
    """The verdict of each statement."""
    return [statement.judge(table.Evidence(rows)).verdict for statement in statements.STATEMENTS]


def text_of(*lines):
    """Lines as the file that has them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.COLUMNS, *lines])
    return io.StringIO(text.getvalue())


class Tests(unittest.TestCase):
    def test_a_row_is_read_as_it_was_written(self):
        result = PLAIN | {"simulated": True, "average_latency": 1.5, "cycles": 7}
        (found,) = table.read(text_of(table.line_of("tree", "server", "token", "12", "0.5", result)))
        self.assertEqual(("tree", "server", "token", 12, 0.5), (*vars(found).values(),)[:5])
        self.assertEqual((7, 1.5), (found.count["cycles"], found.count["average_latency"]))

    def test_what_is_no_row_is_refused_with_its_line(self):
        with self.assertRaisesRegex(BadRow, "line 2"):
            table.read(text_of(["tree", "server", "token", "", "", "yes"]))
        with self.assertRaisesRegex(BadRow, "first line"):
            table.read(io.StringIO("bench,malloc\n"))

    def test_a_result_that_is_not_simulated_is_refused(self):
        with self.assertRaises(BadRow):
            table.line_of("tree", "server", "token", "", "1", PLAIN)

    def test_of_two_rows_of_a_workload_and_configuration_the_last_counts(self):
        lines = [table.line_of("tree", "server", "token", "", "1", PLAIN | {"simulated": True, "cycles": n}) for n in (1, 2)]
        self.assertEqual([2], [found.count["cycles"] for found in table.read(text_of(*lines))])

    def test_coherence_misses_are_those_that_neither_level_nor_memory_served(self):
        self.assertEqual(7, row("token", accesses=100, l1_hits=50, memory_reads=60, coherence_misses=7).coherence_misses)

    def test_of_a_row_without_coherence_misses_they_are_what_is_left_and_none_at_least(self):
        for reads, left in ((5, 5), (12, 0)):
            counts = {"accesses": 100, "l1_hits": 50, "l2_hits": 30, "llc_hits": 10, "memory_reads": reads}
            line = table.line_of("tree", "server", "token", "", "1", PLAIN | counts | {"simulated": True})
            line[table.COLUMNS.index("coherence_misses")] = ""
            (found,) = table.read(text_of(line))
            self.assertEqual(left, found.coherence_misses)

    def test_means_are_geometric_and_of_one_family_where_asked(self):
        rows = [row("a", name, family, cycles=cycles) for name, family, cycles in
                (("one", "server", 2000), ("two", "server", 8000), ("three", "numerical", 500))]
        rows += [row("b", name, family) for name, family in (("one", "server"), ("two", "server"), ("three", "numerical"))]
        ratios = table.Evidence(rows).ratios("a", "b", "cycles")
        self.assertAlmostEqual(4, ratios.mean("server"))
        self.assertAlmostEqual(2, ratios.mean())
        self.assertIsNone(ratios.mean("multi-programmed"))
        self.assertEqual(("three", "two"), (ratios.least, ratios.greatest))

    def test_rows_as_the_paper_says_hold_everywhere(self):
        self.assertEqual([HOLDS] * len(statements.STATEMENTS), verdicts(rows_of(AS_THE_PAPER)))

    def test_one_figure_that_is_not_the_papers_differs_alone(self):
        for configuration, counts, number in (
            ("flask-40", {"cycles": 1010, "energy_pj": 1040}, 0),
            ("token", {"cycles": 1050, "edp": 1300}, 1),
            ("token", {"cycles": 1150, "edp": 1200}, 2),
            ("flask-5", {"cycles": 1070}, None),
            ("sparse-25", {"cycles": 1040}, 5),
            ("sparse-5", {"cycles": 1450, "average_latency": 1700}, 6),
            ("flask-50", {"filter_false_positives": 80}, 7),
            ("flask-50-cbf", {"filter_false_positives": 40}, 7),
            ("flask-20", {"filter_false_positives": 80}, 8),
            ("flask-20-adaptive", {"cycles": 1040}, 9),
        ):
            found = verdicts(rows_of(AS_THE_PAPER | {configuration: counts}))
            differing = [place for place, one in enumerate(found) if one == DIFFERS]
            self.assertEqual([] if number is None else [number], differing, configuration)

    def test_a_statement_without_rows_is_not_judged(self):
        self.assertEqual([NO_ROWS] * len(statements.STATEMENTS), verdicts([]))
        self.assertEqual({NO_ROWS}, set(verdicts(rows_of({"token": {}}))))

    def test_misses_of_allocators_are_told_by_the_call(self):
        counts = {"accesses": 100, "l1_hits": 50, "l2_hits": 30, "llc_hits": 10, "memory_reads": 5, "coherence_misses": 5}
        rows = [row("sparse-160", "larson:cia:64", "allocators", 10, **counts)]
        self.assertIn("| larson | 64 | 0.50 |", main.document(table.Evidence(rows)))

    def test_a_figure_has_a_panel_for_each_family_with_rows(self):
        rows = rows_of(AS_THE_PAPER) + rows_of(AS_THE_PAPER, workload="xz", family="multi-programmed")
        script = figure.figure(table.Evidence(rows), "cycles").script()
        self.assertEqual(2, script.count("set title '"))
        self.assertNotIn("numerical", script)


if __name__ == "__main__":
    unittest.main()
