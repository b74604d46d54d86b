# SPDX-License-Identifier: MIT
"""The tables of times and peaks: each cell, each mean, and where the subject is far behind."""

import tempfile
import unittest
from pathlib import Path

import spread
from compare import as_text, figures, table

COLUMNS = "round malloc workload size threads ns peak_rss_kib".split()


def tables(jobs, measured, names=("cia", "glibc", "jemalloc"), rounds=1):
    """The lines for jobs "WORKLOAD SIZE THREADS" and what was measured, "JOB ALLOCATOR NS KIB"."""
    records, seen = [], {}
    for line in measured:
        workload, size, threads, malloc, ns, kib = line.split()
        number = seen[workload, size, threads, malloc] = seen.get((workload, size, threads, malloc), 0) + 1
        records.append(dict(zip(COLUMNS, (str(number), malloc, workload, size, threads, ns, kib))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs")
        path.write_text("".join(f"{job} 10\n" for job in jobs))
        read = list(table.read_jobs(path))
    comparison = figures.Comparison(names[0], tuple(names), rounds)
    report = table.Report(comparison, spread.Bootstrap(rounds, 1), read, records)
    return list(as_text.lines(list(report.document())))


def words(lines, start, skip=0):
    """The words of the line that begins so, after so many others that do."""
    return [line.split() for line in lines if line.startswith(start)][skip]


def behind(lines):
    """What comes after the title of the jobs far behind, without the heading."""
    title = next(line for line in lines if "lies wholly above 1.25" in line)
    return [" ".join(line.split()) for line in lines[lines.index(title) + 2 :]]


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
    def test_times_are_in_ns_and_long_ones_without_decimals(self):
        lines = tables(["job 0 1"], ["job - 1 cia 9999.94 1", "job - 1 glibc 61500000000 1"])
        self.assertEqual(words(lines, "job")[3:5], ["9,999.9", "61,500,000,000"])

    def test_every_column_of_numbers_has_its_unit(self):
        lines = tables(["fast 0 1"], TWO[:3])
        heads = [line for line in lines if line.startswith("workload")]
        self.assertEqual(
            [" ".join(head.split()) for head in heads],
            [
                "workload size, B threads cia, ns glibc, ns jemalloc, ns ratio to",
                "workload size, B threads cia, MiB glibc, MiB jemalloc, MiB ratio to",
            ],
        )

    def test_a_median_has_its_spread_and_a_ratio_its_interval(self):
        measured = [f"job - 1 cia {ns} 1024" for ns in (100, 110, 90, 120, 80)]
        measured += [f"job - 1 glibc {2 * ns} 1024" for ns in (100, 110, 90, 120, 80)]
        lines = tables(["job 0 1"], measured, names=("cia", "glibc"), rounds=5)
        expected = "job - 1 100.0 ±10% 200.0 ±10% 0.50 [0.50, 0.50] glibc"
        self.assertEqual(words(lines, "job"), expected.split())

    def test_a_ratio_that_the_rounds_cannot_tell_from_1_is_marked(self):
        measured = [f"job - 1 cia {ns} 1024" for ns in (100, 300, 90, 400, 80)]
        measured += [f"job - 1 glibc {ns} 1024" for ns in (200, 110, 190, 120, 180)]
        lines = tables(["job 0 1"], measured, names=("cia", "glibc"), rounds=5)
        self.assertEqual(words(lines, "job")[-2:], ["~", "glibc"])

    def test_a_row_has_the_time_of_each_and_the_ratio_to_the_fastest_other(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "fast"), "fast - 1 100.0 400.0 200.0 0.50 ~ jemalloc".split())
        self.assertEqual(words(lines, "slow"), "slow - 2 300.0 200.0 600.0 1.50 ~ glibc".split())

    def test_a_row_of_memory_is_in_mebibytes(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "fast", 1), "fast - 1 20.0 40.0 10.0 2.00 ~ jemalloc".split())

    def test_times_are_compared_with_all_others(self):
        lines = tables(["job 8 1"], WITH_RAND, names=("cia", "glibc", "rand"))
        self.assertEqual(words(lines, "job"), "job 8 1 6.0 4.0 2.0 3.00 ~ rand".split())

    def test_memory_is_compared_with_the_common_allocators_alone(self):
        lines = tables(["job 8 1"], WITH_RAND, names=("cia", "glibc", "rand"))
        self.assertEqual(words(lines, "job", 1), "job 8 1 40.0 20.0 10.0 2.00 ~ glibc".split())
        # The means over each other have a column for all; the best is of the common ones.
        self.assertEqual(words(lines, "1 ", 1), "1 2.00 ~ 4.00 ~ 2.00 ~ 1".split())

    def test_rows_are_in_the_order_of_the_jobs(self):
        lines = tables(["slow 0 2", "fast 0 1"], TWO)
        heading = next(line for line in lines if line.startswith("workload"))
        rows = lines[lines.index(heading) + 1 :][:2]
        self.assertEqual([line.split()[0] for line in rows], ["slow", "fast"])

    def test_an_allocator_that_missed_a_round_failed(self):
        whole = ["job 8 1 cia 7 1024", "job 8 1 jemalloc 14 1024"] * 2
        lines = tables(["job 8 1"], [*whole, "job 8 1 glibc 5 1024"], rounds=2)
        self.assertEqual(words(lines, "job"), "job 8 1 7.0 ±0% failed 14.0 ±0% 0.50 ~ jemalloc".split())

    def test_a_job_that_failed_under_all_has_no_ratio(self):
        lines = tables(["job 8 1", "fast 0 1"], TWO)
        self.assertEqual(words(lines, "job"), "job 8 1 failed failed failed - -".split())

    def test_means_over_each_other_and_over_the_best_are_geometric(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        # sqrt(1/4 * 3/2), sqrt(1/2 * 1/2), sqrt(1/2 * 3/2).
        self.assertEqual(words(lines, "all"), "all 0.61 ~ 0.50 ~ 0.87 ~ 2".split())

    def test_means_are_by_numbers_of_threads_too(self):
        lines = tables(["fast 0 1", "slow 0 2"], TWO)
        self.assertEqual(words(lines, "1 "), "1 0.25 ~ 0.50 ~ 0.50 ~ 1".split())
        self.assertEqual(words(lines, "2 "), "2 1.50 ~ 0.50 ~ 1.50 ~ 1".split())

    def test_one_number_of_threads_has_no_mean_of_all(self):
        lines = tables(["fast 0 1"], TWO[:3])
        self.assertEqual([line for line in lines if line.startswith("all")], [])
        self.assertEqual(words(lines, "1 "), "1 0.25 ~ 0.50 ~ 0.50 ~ 1".split())

    def test_means_of_memory_leave_out_jobs_whose_least_peak_is_below_10_mib(self):
        enough = ["more 8 1 cia 1 20480", "more 8 1 glibc 1 10240", "more 8 1 jemalloc 1 10240"]
        little = ["less 8 1 cia 1 81920", "less 8 1 glibc 1 10239", "less 8 1 jemalloc 1 20480"]
        lines = tables(["more 8 1", "less 8 1"], enough + little)
        self.assertEqual(words(lines, "1 ", 1), "1 2.00 ~ 2.00 ~ 2.00 ~ 1".split())

    def test_a_mean_of_no_job_is_a_dash(self):
        lines = tables(["slow 0 2"], TWO[3:])
        self.assertEqual(words(lines, "2 ", 1), "2 - - - 0".split())

    def test_jobs_far_behind_come_worst_first_and_equals_in_their_order(self):
        measured = []
        for workload, ns in (("mild", 130), ("first", 150), ("worst", 900), ("second", 150)):
            measured += [f"{workload} 8 1 cia {ns} 1", f"{workload} 8 1 glibc 100 1"] * 5
        jobs = ["mild 8 1", "first 8 1", "worst 8 1", "second 8 1"]
        expected = [
            "worst 8, 1 thread 9.00 [9.00, 9.00] glibc",
            "first 8, 1 thread 1.50 [1.50, 1.50] glibc",
            "second 8, 1 thread 1.50 [1.50, 1.50] glibc",
            "mild 8, 1 thread 1.30 [1.30, 1.30] glibc",
        ]
        self.assertEqual(behind(tables(jobs, measured, rounds=5)), expected)

    def test_a_job_whose_interval_reaches_125_percent_is_not_far_behind(self):
        measured = [f"job 8 1 cia {ns} 1" for ns in (900, 124, 900, 124, 900)]
        measured += ["job 8 1 glibc 100 1"] * 5
        lines = tables(["job 8 1"], measured, rounds=5)
        self.assertTrue(lines[-1].endswith("the fastest other in: no workload."))

    def test_too_few_rounds_name_no_job_as_far_behind(self):
        lines = tables(["job 8 1"], ["job 8 1 cia 900 1", "job 8 1 glibc 100 1"])
        self.assertTrue(lines[-1].endswith("the fastest other in: no workload."))


if __name__ == "__main__":
    unittest.main()
