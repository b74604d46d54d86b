# SPDX-License-Identifier: MIT
"""The tables of Ruan, Vyas, Liu and Spear, judged by planted rows; locks in groups."""

import io
import unittest

from evidence.rows import BadRow
from legacy import branches, elided, main, statements

SETS = 1000
# Transactions a set, and of them: switched in flight, alone from the start, alone after aborts.
AS_THE_PAPER = {
    "ip": (18, 1, 1, 0),
    "it": (5.5, 1, 2, 0),
    "ip-callable": (17, 1, 1, 0),
    "it-callable": (5.5, 1, 2, 0),
    "ip-max": (39, 1.9, 0, 0.14),
    "it-max": (10, 0.9, 2, 0.1),
    "ip-lib": (41, 1, 0, 0.02),
    "it-lib": (13, 0, 1, 0.02),
    "ip-oncommit": (64, 0, 0, 0.08),
    "it-oncommit": (13, 0, 0, 0.01),
}


def line(branch, counts, seed=1, runtime="itm"):
    """A line as cache_server writes it."""
    cells = dict.fromkeys(branches.COLUMNS, "0") | {"bench": "cache", "branch": branch, "runtime": runtime}
    cells |= {"threads": "4", "operations": str(SETS // 4), "seed": str(seed)}
    cells |= {name: str(round(count * SETS)) for name, count in zip(branches.COUNTS, counts)}
    return ",".join(cells[name] for name in branches.COLUMNS)


def rows_of(table):
    """The rows of a table of branches."""
    lines = [",".join(branches.COLUMNS), *(line(branch, counts) for branch, counts in table.items())]
    return branches.read(io.StringIO("\n".join(lines)))


def verdicts(table):
    """The verdict of each statement."""
    evidence = branches.Evidence(rows_of(table), "itm")
    return [statement.judge(evidence).verdict for statement in statements.STATEMENTS]


def differing(**changes):
    """The numbers of the statements that differ when some branches have other counts than the paper's."""
    table = AS_THE_PAPER | {name.replace("_", "-"): counts for name, counts in changes.items()}
    return [number for number, verdict in enumerate(verdicts(table), 1) if verdict == "differs"]


def lock(address, acquisitions, conflict):
    """A lock of the library's statistics."""
    aborts = dict.fromkeys(elided.CAUSES, 0) | {"conflict": conflict}
    counts = dict.fromkeys(elided.COUNTS[:5], 0) | {"acquisitions": acquisitions}
    return {"address": hex(address), **counts, "aborts": aborts}


def run_of(locks):
    """A run's lines as rows."""
    result = {"totals": lock(0, 100, 9), "others": lock(0, 10, 1), "locks": locks, "locks_seen": len(locks) + 5}
    lines = elided.lines_of(["paper", 4, 1, 400], result)
    return elided.read(io.StringIO("\n".join(",".join(map(str, cells)) for cells in [elided.COLUMNS, *lines])))


class Tests(unittest.TestCase):
    """A method for each entry of legacy.cmake."""

    def test_rows_as_the_paper_says_hold_everywhere(self):
        self.assertEqual(differing(), [])

    def test_a_count_that_is_not_the_papers_differs_where_it_says_so(self):
        self.assertEqual(differing(it_lib=(70, 0, 1, 0.02)), [1])
        self.assertEqual(differing(ip_callable=(17, 0.5, 1.45, 0)), [2])
        self.assertEqual(differing(ip=(18, 1.6, 1, 0), ip_callable=(17, 1.6, 1, 0)), [3, 7])
        self.assertEqual(differing(it_max=(10, 0.9, 2, 0)), [9])
        self.assertEqual(differing(ip_oncommit=(64, 0, 0.001, 0.08)), [12])
        self.assertEqual(differing(it_oncommit=(13, 0, 0, 0.2)), [13])

    def test_a_statement_without_rows_is_not_judged(self):
        table = {branch: counts for branch, counts in AS_THE_PAPER.items() if branch != "it-max"}
        without = [number for number, verdict in enumerate(verdicts(table), 1) if verdict == "not measured"]
        self.assertEqual(without, [1, 8, 9, 10])

    def test_each_library_of_transactions_has_a_part_of_its_own(self):
        lines = [",".join(branches.COLUMNS), line("ip", (1, 0, 0, 0)), line("ip", (2, 0, 0, 0), runtime="tm_runtime")]
        text = main.document(branches.read(io.StringIO("\n".join(lines))), [])
        self.assertIn("library itm", text)
        self.assertIn("library tm_runtime", text)
        self.assertNotIn("memcached, elided", text)

    def test_of_two_rows_of_a_seed_the_last_counts(self):
        lines = [",".join(branches.COLUMNS), line("ip", (1, 0, 0, 0)), line("ip", (5, 0, 0, 0))]
        (row,) = branches.read(io.StringIO("\n".join(lines)))
        self.assertEqual(row.count["transactions"], 5 * SETS)

    def test_what_is_no_row_is_refused_with_its_line(self):
        for text in (",".join(branches.COLUMNS) + "\ncache,ip\n", "bench,branch\n"):
            with self.assertRaises(BadRow):
                branches.read(io.StringIO(text))

    def test_locks_of_an_array_are_one_line_and_variables_one_each(self):
        locks = [lock(0x155880, 3, 1), lock(0x156280, 4, 0)]
        locks += [lock(0x5000000 + 40 * number, 10, 2) for number in (0, 7, 100)] + [lock(0x5000008, 5, 0)]
        found = {row.lock: (row.locks, row.count["acquisitions"]) for row in run_of(locks)}
        self.assertEqual(found.pop("all"), (11, 100))
        self.assertEqual(found.pop("others"), (5, 10))
        self.assertEqual(
            found,
            {
                "variable 0x155880": (1, 3),
                "variable 0x156280": (1, 4),
                "array 0x5000000": (3, 30),
                "array 0x5000008": (1, 5),
            },
        )

    def test_memcacheds_counts_are_told_as_emulated(self):
        text = main.document([], run_of([lock(0x155880, 3, 1)]))
        self.assertIn("All counts are emulated", text)
        self.assertRegex(text, r"\| paper \| 4 \| 1 \| 0\.25 \|")
        self.assertRegex(text, r"\| variable 0x155880 \| 3 \|")


if __name__ == "__main__":
    unittest.main()
