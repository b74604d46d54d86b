# SPDX-License-Identifier: MIT
"""The tables of Ruan, Vyas, Liu and Spear, judged by planted rows; locks in groups."""

import io
import unittest

from evidence.rows import BadRow
from legacy import algorithms, branches, elided, figures, main, statements

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


# Times over that of locks with 1 and 2 threads, and aborts a commit with 8.
FIGURES_AS_THE_PAPER = {
    "locks": (1, 1, None),
    "ip-rwlock-none": (1.6, 2, 12.6),
    "it-rwlock-none": (1.8, 2.2, 5),
    "ip-eager-none": (1.2, 1.25, 12.6),
    "it-eager-none": (1.3, 1.4, 5),
    "ip-eager-backoff": (1.4, 1.6, 3),
    "ip-eager-hourglass": (1.2, 1.26, 10),
    "ip-lazy-none": (1.5, 1.8, 14),
    "ip-norec-none": (1.4, 2.4, 0.2),
}


def runs_of(table, rounds=9):
    """Rows as cache_server gives them: rounds that differ, all runs of one alike."""
    lines = [",".join(algorithms.COLUMNS)]
    for name, (one, two, aborts) in table.items():
        for seed in range(1, rounds + 1):
            for threads, time in ((1, one), (2, two)):
                rate = 1e6 * (1 + seed % 3 / 100) / time
                fields = {"branch": "b", "runtime": "r", "threads": threads, "operations": 9, "seed": seed}
                fields |= {"rate": f"{rate:.1f}", "transactions": 9, "abort_serial": 0}
                cells = algorithms.line_of(name, fields | {"host": "h", "cpu": "c", "date": "d"}, None)
                lines.append(",".join(map(str, cells)))
        if aborts is not None:
            report = {"totals": {"committed": 1000, "aborts": {"read_locked": int(1000 * aborts), "cancelled": 7}}}
            fields |= {"threads": 8, "host": "h", "cpu": "c", "date": "d"}
            lines.append(",".join(map(str, algorithms.line_of(name, fields, report))))
    return algorithms.read(io.StringIO("\n".join(lines)))


def verdicts_of_figures(rounds=9, without=(), **changes):
    """The verdict of each statement on the figures, where some runs are not as in the paper."""
    table = FIGURES_AS_THE_PAPER | {name.replace("_", "-"): run for name, run in changes.items()}
    table = {name: run for name, run in table.items() if name not in without}
    evidence = algorithms.Evidence(runs_of(table, rounds))
    return [statement.judge(evidence).verdict for statement in figures.STATEMENTS]


def numbers_of(verdict, verdicts):
    """The numbers of the statements with this verdict."""
    return [number for number, found in enumerate(verdicts, 1) if found == verdict]


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

    def test_figures_as_the_paper_has_them_hold_everywhere(self):
        self.assertEqual(set(verdicts_of_figures()), {"holds"})

    def test_a_figure_that_is_not_the_papers_differs_where_it_says_so(self):
        def differing(**changes):
            return numbers_of("differs", verdicts_of_figures(**changes))

        self.assertEqual(differing(it_rwlock_none=(1.2, 1.3, 5)), [1])
        self.assertEqual(differing(ip_rwlock_none=(1.3, 1.4, 9)), [2])
        self.assertEqual(differing(ip_eager_hourglass=(1.2, 2.5, 10)), [5])
        self.assertEqual(differing(ip_eager_backoff=(1.2, 1.1, 3)), [6])
        self.assertEqual(differing(ip_lazy_none=(1.1, 1.1, 14)), [7, 8])
        self.assertEqual(differing(ip_norec_none=(1.4, 2.4, 20)), [9, 10])
        self.assertEqual(differing(ip_eager_none=(1.2, 1.25, 0.5)), [11])

    def test_what_the_rounds_cannot_tell_is_not_decided(self):
        self.assertEqual(numbers_of("cannot tell", verdicts_of_figures(it_eager_none=(1.2, 1.25, 5))), [4])
        # Of four rounds no interval follows; aborts are added up.
        self.assertEqual(numbers_of("holds", verdicts_of_figures(rounds=4)), [9, 10, 11])

    def test_of_aborts_every_seed_must_tell_the_same(self):
        lines = []
        for seed, norec in ((1, 1), (2, 100)):
            for name, aborts in (("ip-eager-none", 50), ("ip-lazy-none", 60), ("ip-norec-none", norec)):
                report = {"totals": {"committed": 1000, "aborts": {"read_locked": aborts}}}
                fields = dict.fromkeys(algorithms.COLUMNS, "0") | {"threads": 8, "seed": seed}
                lines.append(",".join(map(str, algorithms.line_of(name, fields, report))))
        rows = algorithms.read(io.StringIO("\n".join([",".join(algorithms.COLUMNS), *lines])))
        finding = figures.norec_aborts_least(algorithms.Evidence(rows))
        self.assertEqual(finding.verdict, "cannot tell")
        self.assertIn("in 1 of 2 runs", finding.seen)

    def test_a_statement_on_a_figure_without_rows_is_not_judged(self):
        verdicts = verdicts_of_figures(without=["ip-lazy-none"])
        self.assertEqual(numbers_of("not measured", verdicts), [7, 8, 9, 10, 11])

    def test_cancelled_transactions_are_no_aborts(self):
        (row,) = (row for row in runs_of({"ip-eager-none": (1, 1, 0.5)}) if row.kind == "counted")
        self.assertEqual((row.committed, row.aborts, row.rate), (1000, 500, None))

    def test_algorithms_are_told_with_their_intervals(self):
        text = main.document([], [], runs_of(FIGURES_AS_THE_PAPER))
        self.assertRegex(text, r"\| ip-lazy-none \| \d+(\.\d+)? \| 1\.50 \[1\.\d\d, 1\.\d\d\] \|.*\| 14 \|")

    def test_memcacheds_counts_are_told_as_emulated(self):
        text = main.document([], run_of([lock(0x155880, 3, 1)]))
        self.assertIn("All counts are emulated", text)
        self.assertRegex(text, r"\| paper \| 4 \| 1 \| 0\.25 \| 0\.25 \(100 %\) \| 0\.000 \(0 %\) \|")
        self.assertRegex(text, r"\| variable 0x155880 \| 3 \|")


if __name__ == "__main__":
    unittest.main()
