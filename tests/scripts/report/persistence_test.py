# SPDX-License-Identifier: MIT
"""The statements of the paper on loose-ordering consistency, judged by planted rows."""

import csv
import io
import unittest

from evidence.judged import DIFFERS, HOLDS, NO_ROWS
from evidence.rows import BadRow
from persistence import figure, main, statements, table

PLAIN = {name: 1000 for name in table.COUNTS}

# Normalised throughput of each configuration, in thousandths, for the statements to hold.
AS_THE_PAPER = {
    "none": 1000,
    "s-wal": 316,
    "h-wal": 331,
    "ec-wal": 352,
    "loc-wal": 651,
    "kiln": 700,
    "loc-kiln": 811,
    "loc-wal-1": 353,
    "loc-wal-2": 420,
    "loc-wal-4": 500,
    "loc-wal-8": 580,
    "loc-wal-32": 691,
    "none@35": 1000,
    "h-wal@35": 700,
    "loc-wal@35": 800,
    "none@95": 1000,
    "h-wal@95": 500,
    "loc-wal@95": 700,
    "none@1000": 1000,
    "h-wal@1000": 100,
    "loc-wal@1000": 500,
}


def row(configuration, throughput=1000, workload="hash", family="table-2", **counts):
    """A row with that throughput, in thousandths of none's."""
    return table.Row(workload, family, configuration, PLAIN | {"cycles": 1e9 / throughput} | counts)


def rows_of(throughputs, log_writes=None):
    """A row for each configuration, with the blocks that some of them write to the log."""
    more = {"loc-wal-32": 500} | (log_writes or {})
    return [
        row(configuration, throughput, log_writes=more.get(configuration, 1000))
        for configuration, throughput in throughputs.items()
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
        line = table.line_of("hash", "table-2", "loc-wal", "0.5", PLAIN | {"simulated": True, "cycles": 7})
        (found,) = table.read(text_of(line))
        self.assertEqual(("hash", "table-2", "loc-wal", 7), (*vars(found).values(),)[:3] + (found.count["cycles"],))

    def test_what_is_no_row_is_refused_with_its_line(self):
        with self.assertRaisesRegex(BadRow, "line 2"):
            table.read(text_of(["hash", "table-2", "none", "1", "yes"]))
        without = table.line_of("hash", "table-2", "none", "1", PLAIN | {"simulated": True, "transactions": 0})
        with self.assertRaisesRegex(BadRow, "line 2"):
            table.read(text_of(without))

    def test_a_memory_of_its_own_is_compared_with_none_on_that_memory(self):
        evidence = table.Evidence([row("none"), row("none@35", 500), row("h-wal", 250), row("h-wal@35", 250)])
        self.assertAlmostEqual(0.25, evidence.normalised("hash", "h-wal"))
        self.assertAlmostEqual(0.5, evidence.normalised("hash", "h-wal@35"))
        self.assertIsNone(evidence.normalised("hash", "h-wal@95"))

    def test_means_are_geometric_over_the_workloads_that_have_all_rows(self):
        rows = [row("none", workload=name) for name in ("hash", "sps", "graph")]
        rows += [row("h-wal", value, name) for name, value in (("hash", 100), ("sps", 400), ("graph", 900))]
        rows += [row("kiln", 500, name) for name in ("hash", "sps")]
        (h_wal, kiln) = table.Evidence(rows).means(["h-wal", "kiln"])
        self.assertAlmostEqual(0.2, h_wal)
        self.assertAlmostEqual(0.5, kiln)
        self.assertIsNone(table.Evidence(rows).means(["s-wal"]))

    def test_rows_as_the_paper_says_hold_everywhere(self):
        self.assertEqual([HOLDS] * len(statements.STATEMENTS), verdicts(rows_of(AS_THE_PAPER)))

    def test_one_figure_that_is_not_the_papers_differs_alone(self):
        for configuration, throughput, numbers in (
            ("s-wal", 340, [4]),
            ("s-wal", 260, [0, 4]),
            ("h-wal", 310, [4, 7]),
            ("ec-wal", 340, [7]),
            ("ec-wal", 380, [7]),
            ("loc-kiln", 880, [3]),
            ("kiln", 815, [6]),
            ("loc-wal-4", 410, [8]),
            ("loc-wal-1", 380, [9]),
            ("h-wal@95", 720, [11, 12]),
            ("loc-wal@1000", 150, [12]),
        ):
            found = verdicts(rows_of(AS_THE_PAPER | {configuration: throughput}))
            differing = [place for place, one in enumerate(found) if one == DIFFERS]
            self.assertEqual(numbers, differing, configuration)
        found = verdicts(rows_of(AS_THE_PAPER, {"loc-wal-32": 1000}))
        self.assertEqual([10], [place for place, one in enumerate(found) if one == DIFFERS])

    def test_loc_that_loses_as_much_as_h_wal_differs(self):
        found = verdicts(rows_of(AS_THE_PAPER | {"loc-wal": 602, "loc-wal-8": 580}))
        self.assertEqual([5], [place for place, one in enumerate(found) if one == DIFFERS])

    def test_transactions_of_eight_operations_have_a_table_of_their_own(self):
        rows = rows_of(AS_THE_PAPER) + [row("none", workload="hash-8"), row("ec-wal", 250, "hash-8")]
        self.assertIn("| ec-wal |  | 0.250 |  |  |  |  | 0.250 |", main.document(table.Evidence(rows)))
        self.assertEqual(verdicts(rows_of(AS_THE_PAPER)), verdicts(rows))

    def test_a_verdict_tells_the_means_under_other_readings(self):
        judge = statements.STATEMENTS[1].judge
        self.assertNotIn("Other readings", judge(table.Evidence(rows_of(AS_THE_PAPER))).seen)
        verdict = judge(table.Evidence(rows_of(AS_THE_PAPER | {"h-wal/keep": 500})))
        self.assertEqual(("h-wal 0.331. Other readings: h-wal/keep 0.500.", HOLDS), (verdict.seen, verdict.verdict))

    def test_a_workload_without_growth_is_named_where_the_mean_grows(self):
        rows = rows_of(AS_THE_PAPER) + [row("none", workload="btree")]
        rows += [row("loc-wal" + ("" if n == 16 else f"-{n}"), 400 + n % 32, "btree") for n in table.DEGREES]
        verdict = statements.STATEMENTS[8].judge(table.Evidence(rows))
        self.assertEqual(HOLDS, verdict.verdict)
        self.assertIn("Not at each step in btree.", verdict.seen)

    def test_a_statement_without_rows_is_not_judged(self):
        self.assertEqual([NO_ROWS] * len(statements.STATEMENTS), verdicts([]))
        self.assertEqual({NO_ROWS}, set(verdicts([row("h-wal", 331)])))

    def test_the_document_tells_what_goes_early_by_node_size_and_allocator(self):
        rows = [row("loc-wal", 500, "rbtree:512:cia", "sizes", version_overflows=250, forced_evictions=500)]
        rows += [row(name, value, "rbtree:512:cia", "sizes") for name, value in (("none", 1000), ("h-wal", 250))]
        rows.append(row("loc-wal", 500, "rbtree:64:glibc", "sizes", version_overflows=3000, forced_evictions=0))
        text = main.document(table.Evidence(rows))
        self.assertIn("| rbtree | 512 |  |  | 0.75 |  |  | 1000.0 |  |  | 0.500 |", text)
        self.assertIn("| rbtree | 512 |  |  | 0.250 |  |  |  |", text)
        self.assertLess(text.index("| rbtree | 64 | 3.00 |"), text.index("| rbtree | 512 |"))

    def test_a_figure_has_a_panel_for_what_there_are_rows_of(self):
        def panels(name, rows):
            return figure.FIGURES[name](table.Evidence(rows)).script().count("    plot ")

        self.assertEqual([0, 3], [panels("protocols", rows) for rows in ([], rows_of(AS_THE_PAPER))])
        sizes = [row(name, workload="rbtree:512:cia", family="sizes") for name in ("none", "loc-wal")]
        self.assertEqual([0, 2], [panels("sizes", rows) for rows in ([], sizes)])


if __name__ == "__main__":
    unittest.main()
