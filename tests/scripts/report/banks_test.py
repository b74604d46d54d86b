# SPDX-License-Identifier: MIT
"""The statements of Chandru and Mueller's paper, judged by planted rows."""

import csv
import io
import unittest

from banks import figure, main, statements, table
from evidence.judged import DIFFERS, HOLDS, NO_ROWS
from evidence.rows import BadRow

# Counts of a row that nothing is asked of.
PLAIN = {name: 1000 for name in (*table.COUNTS, *table.OF_CONTROLLERS)}
# What mplace simulate --json says of such a row.
RESULT = {name: 1000 for name in table.COUNTS} | {
    "simulated": True,
    "controllers": [{"memory_reads": 30, "average_latency": 40.0}, {"memory_reads": 10, "average_latency": 80.0}],
}

# Of each workload: of each policy the mean time of the paper's statements, and how far the runs are from it.
AS_THE_PAPER = {
    "composite-32-2": {
        "colours-8": (100, 0.02),
        "colours-4": (103, 0.6),
        "colours-2": (108, 0.4),
        "local": (102, 0.1),
        "opposite": (110, 0.2),
        "one-node": (150, 0.1),
        "two-nodes": (112, 0.05),
        "circular": (140, 0.04),
    },
    "composite-8-10": {"colours-8": (400, 1.1), "local": (400, 0.7)},
    "composite-16-10": {"colours-8": (400, 0.4), "local": (420, 0.2)},
    "composite-24-10": {"colours-8": (400, 0.4), "local": (450, 0.2)},
    "composite-32-10": {"colours-8": (415, 0.4), "local": (500, 0.2)},
    "composite-48-10": {"colours-8": (430, 2.2), "local": (525, 0.4)},
    "stream-32-0": {"colours-8": (100, 0.3), "colours-4": (102, 0.3), "local": (120, 3)},
    "is-32-0": {"colours-8": (80, 0.1), "colours-4": (85, 0.1), "local": (100, 0.9)},
}


def rows_of(times):
    """Three runs each: the mean, and one as far above as the other below it."""
    return [
        table.Row(workload, policy, table.MACHINE, seed, PLAIN | {"cycles": 1000 * (mean + spread * (seed - 2))})
        for workload, policies in times.items()
        for policy, (mean, spread) in policies.items()
        for seed in (1, 2, 3)
    ]


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
        line = table.line_of("composite-8-10", "local", "wide", "3", "0.5", RESULT | {"cycles": 7})
        (found,) = table.read(text_of(line))
        self.assertEqual(("composite-8-10", "local", "wide", 3), (found.workload, found.policy, found.variant, found.seed))
        self.assertEqual((7, 50, 0.75), tuple(found.count[name] for name in ("cycles", "read_latency", "busiest")))

    def test_what_is_no_row_is_refused_with_its_line(self):
        with self.assertRaisesRegex(BadRow, "line 2"):
            table.read(text_of(["composite", "8", "10", "local", "wide", "", "", "yes"]))
        with self.assertRaisesRegex(BadRow, "first line"):
            table.read(io.StringIO("bench,malloc\n"))

    def test_a_result_that_is_not_simulated_is_refused(self):
        with self.assertRaises(BadRow):
            table.line_of("is-32-0", "local", "wide", "1", "1", {name: 1 for name in RESULT})

    def test_of_two_rows_of_a_seed_the_last_counts(self):
        lines = [table.line_of("is-32-0", "local", "wide", "1", "1", RESULT | {"cycles": n}) for n in (1, 2)]
        self.assertEqual([2], [found.count["cycles"] for found in table.read(text_of(*lines))])

    def test_ratios_are_of_the_seeds_that_both_have(self):
        rows = [table.Row("is-32-0", policy, table.MACHINE, seed, PLAIN | {"cycles": cycles})
                for policy, seed, cycles in (("a", 1, 300), ("a", 2, 900), ("b", 1, 100), ("b", 3, 10))]
        evidence = table.Evidence(rows)
        self.assertEqual(3, evidence.ratio("is-32-0", "a", "b"))
        self.assertIsNone(evidence.ratio("is-32-0", "a", "c"))

    def test_rows_as_the_paper_says_hold_everywhere(self):
        self.assertEqual([HOLDS] * len(statements.STATEMENTS), verdicts(rows_of(self.as_the_paper())))

    def test_one_figure_that_is_not_the_papers_differs_alone(self):
        for workload, policy, value, numbers in (
            ("is-32-0", "local", (95, 0.9), [0]),
            ("is-32-0", "colours-4", (80, 0.1), [1]),
            ("stream-32-0", "local", (103, 3), [2]),
            ("stream-32-0", "local", (120, 0.2), [3]),
            ("composite-32-2", "two-nodes", (99, 0.05), [4]),
            ("composite-32-2", "opposite", (145, 0.2), [5]),
            ("composite-32-2", "local", (100.9, 0.1), [6]),
            ("composite-32-2", "colours-2", (103.5, 0.4), [7]),
            ("composite-32-2", "two-nodes", (112, 0.01), [8]),
            ("composite-48-10", "local", (437, 0.4), [11]),
            ("composite-8-10", "local", (410, 0.7), [12]),
            ("composite-8-10", "colours-8", (400, 0.5), [13]),
        ):
            times = self.as_the_paper()
            times[workload] = times[workload] | {policy: value}
            found = verdicts(rows_of(times))
            differing = [place for place, one in enumerate(found) if one == DIFFERS]
            self.assertEqual(numbers, differing, f"{workload} {policy}")
        # The same rows carry two statements here.
        times = self.as_the_paper()
        times["composite-32-10"] = {"colours-8": (420, 0.4), "local": (470, 0.2)}
        self.assertEqual(DIFFERS, verdicts(rows_of(times))[10])
        times["composite-32-10"] = {"colours-8": (520, 0.4), "local": (620, 0.2)}
        self.assertEqual(DIFFERS, verdicts(rows_of(times))[9])

    def test_a_statement_without_rows_is_not_judged(self):
        self.assertEqual([NO_ROWS] * len(statements.STATEMENTS), verdicts([]))
        self.assertEqual({NO_ROWS}, set(verdicts(rows_of({"is-32-0": {"local": (1, 0)}}))))

    def test_a_changed_machine_has_lines_of_its_own(self):
        rows = [table.Row("composite-32-10", policy, "wide", 1, PLAIN | {"cycles": cycles})
                for policy, cycles in (("local", 1000), ("colours-8", 900))]
        document = main.document(table.Evidence(rows))
        self.assertIn("| composite, 32 threads, 10 pages | wide | colours-8 | 1 | 0.9 | 0.0 | ? | -10.0 |", document)
        self.assertNotIn("## Policies", document)

    def test_the_loaded_machine_is_told_beside_and_decides_nothing(self):
        rows = rows_of(self.as_the_paper())
        rows += [table.Row("composite-32-10", policy, statements.LOADED, 1, PLAIN | {"cycles": cycles})
                 for policy, cycles in (("local", 1000), ("local-5", 2000), ("colours-8", 1500))]
        found = statements.STATEMENTS[10].judge(table.Evidence(rows))
        self.assertEqual(HOLDS, found.verdict)
        self.assertIn("On block-16-l2-8-ways: over local +50.0 %, over local-5 -25.0 %.", found.seen)

    def test_a_figure_has_a_panel_for_each_workload_and_machine_with_rows(self):
        script = figure.figure(table.Evidence(rows_of(self.as_the_paper()))).script()
        self.assertEqual(3, script.count("set title '"))
        self.assertIn("$data0 << END_OF_DATA\n0 0.8300 0.8292 0.8308\n", script)
        self.assertNotIn(statements.LOADED, script)

    @staticmethod
    def as_the_paper():
        """A copy, to change."""
        return {workload: dict(policies) for workload, policies in AS_THE_PAPER.items()}


if __name__ == "__main__":
    unittest.main()
