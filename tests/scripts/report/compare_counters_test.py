# SPDX-License-Identifier: MIT
"""The tables of counted events: which there are, and what stands in each row."""

import unittest

import spread
from compare import counters, figures


def record(malloc, counts, number=1, workload="batch", size="64", threads="2"):
    """A row of the result as far as counts need it."""
    return {
        "round": str(number),
        "malloc": malloc,
        "workload": workload,
        "size": size,
        "threads": threads,
        "counters": counts,
    }


def tables(records, jobs=(figures.Job("batch", "64", "2"),), rounds=1):
    """The tables of the records, the subject cia beside glibc."""
    comparison = figures.Comparison("cia", ("cia", "glibc"), rounds)
    report = counters.Report(comparison, spread.Bootstrap(rounds, 1), list(jobs), records)
    return list(report.document())[1:]


class Tests(unittest.TestCase):
    def test_each_event_has_a_table_in_the_order_in_which_it_was_asked_for(self):
        counts = "page-faults=30;l1d-misses@MEM=9"
        titles = [table.title for table in tables([record("cia", counts), record("glibc", counts)])]
        self.assertEqual([title.split(" of a run")[0] for title in titles], ["page-faults", "l1d-misses@MEM"])

    def test_a_row_is_medians_and_the_ratio_to_the_least_other(self):
        records = [record("cia", f"cycles={100 + n}", n) for n in (1, 2, 3)]
        records += [record("glibc", f"cycles={50 + n}", n) for n in (1, 2, 3)]
        ((row,),) = (table.rows for table in tables(records, rounds=3))
        self.assertEqual(row[:3], ["batch", "64", "2"])
        self.assertEqual([cell.median for cell in row[3:5]], [102, 52])
        self.assertAlmostEqual(row[5].value, 102 / 52)
        self.assertEqual(row[6], "glibc")

    def test_every_head_of_a_number_has_its_unit(self):
        (table,) = tables([record("cia", "cycles=1"), record("glibc", "cycles=2")])
        heads = [column.heading for column in table.columns]
        self.assertEqual(heads, ["workload", "size, B", "threads", "cia, events", "glibc, events", "ratio", "to"])

    def test_of_programs_there_are_no_sizes_and_threads(self):
        programs = [record(name, "cycles=3", workload="perl", size="-", threads="-") for name in ("cia", "glibc")]
        (table,) = tables(programs, [figures.Job("perl", "-", "-")])
        self.assertEqual([column.title for column in table.columns], ["program", "cia", "glibc", "ratio", "to"])
        self.assertEqual(table.rows[0][0], "perl")

    def test_a_count_that_misses_a_round_has_no_figure(self):
        records = [record(name, "cycles=5", n) for name in ("cia", "glibc") for n in (1, 2)]
        records[3]["counters"] = ""
        ((row,),) = (table.rows for table in tables(records, rounds=2))
        self.assertIsNotNone(row[3])
        self.assertEqual(row[4:], [None, None, None])

    def test_without_counts_there_is_no_table(self):
        bare = record("cia", "")
        del bare["counters"]
        self.assertEqual(tables([bare, record("glibc", "")]), [])


if __name__ == "__main__":
    unittest.main()
