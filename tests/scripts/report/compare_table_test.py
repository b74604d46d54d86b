# SPDX-License-Identifier: MIT
"""The tables of times and peaks: each cell, each mean, and where the subject is far behind."""

import tempfile
import unittest
from pathlib import Path

from compare import figures, table

HEADER = "round,malloc,workload,size,threads,operations,seconds,processor_seconds,ns,peak_rss_kib"


def tables(jobs, measured, names=("cia", "glibc", "jemalloc"), rounds=1):
    """The lines for jobs "WORKLOAD SIZE THREADS" and what was measured, "JOB ALLOCATOR NS KIB"."""
    rows = [HEADER]
    for line in measured:
        workload, size, threads, malloc, ns, kib = line.split()
        rows.append(f"1,{malloc},{workload},{size},{threads},10,0.5,,{ns},{kib}")
    with tempfile.TemporaryDirectory() as folder:
        jobs_path, rows_path = Path(folder, "jobs"), Path(folder, "rows.csv")
        jobs_path.write_text("".join(f"{job} 10\n" for job in jobs))
        rows_path.write_text("\n".join(rows) + "\n")
        comparison = figures.Comparison(names[0], tuple(names), rounds)
        return list(table.Tables(comparison, jobs_path, rows_path).lines())


def words(lines, start, skip=0):
    """The words of the line that begins so, after so many others that do."""
    return [line.split() for line in lines if line.startswith(start)][skip]


def behind(lines):
    """What comes after "is slower than"."""
    title = next(line for line in lines if "is slower than" in line)
    return [" ".join(line.split()) for line in lines[lines.index(title) + 1 :]]


TWO = [
    "fast - 1 cia 100 20480",
    "fast - 1 glibc 400 40960",
    "fast - 1 jemalloc 200 10240",
    "slow - 2 cia 300 5120",
    "slow - 2 glibc 200 1024",
    "slow - 2 jemalloc 600 2048",
]

WITH_RAND = ["job 8 1 cia 6 40960", "job 8 1 glibc 4 20480", "job 8 1 rand 2 10240"]


class Tests(unittest.TestCase):
    def test_times_are_in_the_unit_that_leaves_few_digits(self):
        self.assertEqual(table.duration(9999.9), "9999.9")
        self.assertEqual(table.duration(10000), "10.0 us")
        self.assertEqual(table.duration(2345678), "2.35 ms")
        self.assertEqual(table.duration(61500000000), "61.50 s")

    def test_a_row_has_the_time_of_each_and_the_ratio_to_the_fastest_other(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "fast"), "fast - 1 100.0 400.0 200.0 0.50 jemalloc".split())
        self.assertEqual(words(lines, "slow"), "slow - 2 300.0 200.0 600.0 1.50 glibc".split())

    def test_a_row_of_memory_is_in_mebibytes(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "fast", 1), "fast - 1 20.0 40.0 10.0 2.00 jemalloc".split())

    def test_times_are_compared_with_all_others(self):
        lines = tables(["job 8 1"], WITH_RAND, names=("cia", "glibc", "rand"))
        self.assertEqual(words(lines, "job"), "job 8 1 6.0 4.0 2.0 3.00 rand".split())

    def test_memory_is_compared_with_the_common_allocators_alone(self):
        lines = tables(["job 8 1"], WITH_RAND, names=("cia", "glibc", "rand"))
        self.assertEqual(words(lines, "job", 1), "job 8 1 40.0 20.0 10.0 2.00 glibc".split())
        # The means over each other have a column for all; the best is of the common ones.
        self.assertEqual(words(lines, "1 ", 1), "1 2.00 4.00 2.00 1".split())

    def test_rows_are_in_the_order_of_the_jobs(self):
        lines = tables(["slow 0 2", "fast 0 1"], TWO)
        self.assertEqual([line.split()[0] for line in lines[2:4]], ["slow", "fast"])

    def test_an_allocator_that_missed_a_round_failed(self):
        whole = ["job 8 1 cia 7 1024", "job 8 1 jemalloc 14 1024"] * 2
        lines = tables(["job 8 1"], [*whole, "job 8 1 glibc 5 1024"], rounds=2)
        self.assertEqual(words(lines, "job"), "job 8 1 7.0 failed 14.0 0.50 jemalloc".split())

    def test_a_job_that_failed_under_all_has_no_ratio(self):
        lines = tables(["job 8 1", "fast 0 1"], TWO)
        self.assertEqual(words(lines, "job"), "job 8 1 failed failed failed - -".split())

    def test_means_over_each_other_and_over_the_best_are_geometric(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        # sqrt(1/4 * 3/2), sqrt(1/2 * 1/2), sqrt(1/2 * 3/2).
        self.assertEqual(words(lines, "all"), "all 0.61 0.50 0.87 2".split())

    def test_means_are_by_numbers_of_threads_too(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "1 "), "1 0.25 0.50 0.50 1".split())
        self.assertEqual(words(lines, "2 "), "2 1.50 0.50 1.50 1".split())

    def test_one_number_of_threads_has_no_mean_of_all(self):
        lines = tables(["fast 0 1"], TWO[:3])
        self.assertEqual([line for line in lines if line.startswith("all")], [])
        self.assertEqual(words(lines, "1 "), "1 0.25 0.50 0.50 1".split())

    def test_means_of_memory_leave_out_jobs_whose_least_peak_is_below_10_mib(self):
        enough = ["more 8 1 cia 1 20480", "more 8 1 glibc 1 10240", "more 8 1 jemalloc 1 10240"]
        little = ["less 8 1 cia 1 81920", "less 8 1 glibc 1 10239", "less 8 1 jemalloc 1 20480"]
        lines = tables(["more 8 1", "less 8 1"], enough + little)
        self.assertEqual(words(lines, "1 ", 1), "1 2.00 2.00 2.00 1".split())

    def test_a_mean_of_no_job_is_a_dash(self):
        lines = tables(["slow 0 2"], TWO[3:])
        self.assertEqual(words(lines, "2 ", 1), "2 - - - 0".split())

    def test_jobs_far_behind_come_worst_first_and_equals_in_their_order(self):
        measured = []
        for workload, ns in (("mild", 130), ("first", 150), ("worst", 900), ("second", 150)):
            measured += [f"{workload} 8 1 cia {ns} 1", f"{workload} 8 1 glibc 100 1"]
        lines = tables(["mild 8 1", "first 8 1", "worst 8 1", "second 8 1"], measured)
        expected = [
            "9.00 worst 8, 1 thread",
            "1.50 first 8, 1 thread",
            "1.50 second 8, 1 thread",
            "1.30 mild 8, 1 thread",
        ]
        self.assertEqual(behind(lines), expected)

    def test_a_job_at_125_percent_is_not_far_behind(self):
        lines = tables(["job 8 1"], ["job 8 1 cia 125 1", "job 8 1 glibc 100 1"])
        self.assertEqual(behind(lines), ["- none"])

    def test_a_command_has_the_two_tables_and_no_means(self):
        lines = tables(["sh 0 -"], ["sh - - cia 2000000000 1024", "sh - - glibc 1000000000 2048"])
        self.assertEqual(lines[0], "Time of a run, median of 1; ratio of cia to the fastest other")
        self.assertEqual(words(lines, "sh"), "sh - - 2.00 s 1.00 s failed 2.00 glibc".split())
        self.assertEqual(lines[-1].split(), "sh - - 1.0 2.0 failed 0.50 glibc".split())


if __name__ == "__main__":
    unittest.main()
