# SPDX-License-Identifier: MIT
"""The tables of mplace compare --programs: each cell, the means, and which programs are far behind."""

import unittest

import spread
from compare import as_text, figures, programs

STEADY = (1.0, 1.01, 0.99, 1.02, 0.98)
BEHIND = "cia's interval of processor time lies wholly above"
WILD = (1.0, 2.0, 0.5, 1.5, 0.7)


def records(program, malloc, user, system=0.0, kib=20480, rounds=STEADY):
    """The rows of a program under an allocator: the times by the factors of the rounds."""
    return [
        {
            "round": str(number),
            "malloc": malloc,
            "workload": program,
            "seconds": str(2 * (user + system) * factor),
            "user_seconds": str(user * factor),
            "system_seconds": str(system * factor),
            "peak_rss_kib": str(kib),
        }
        for number, factor in enumerate(rounds, 1)
    ]


def lines_of(*measured, names=("cia", "glibc", "jemalloc"), works=("gcc", "perl"), rounds=5):
    """The lines of the tables, blanks squeezed."""
    comparison = figures.Comparison(names[0], tuple(names), rounds)
    jobs = [programs.Work(name, "7 things") for name in works]
    rows = [record for some in measured for record in some]
    report = programs.Report(comparison, spread.Bootstrap(rounds, 1), jobs, rows)
    return [" ".join(line.split()) for line in as_text.lines(list(report.document()))]


def after(lines, title):
    """The lines behind the one that begins so."""
    return lines[next(i for i, line in enumerate(lines) if line.startswith(title)) + 1 :]


def row(lines, title, name):
    """The line of an allocator in the table with this title."""
    return next(line for line in after(lines, title) if line.startswith(f"{name} "))


class Tests(unittest.TestCase):
    def test_times_are_of_user_and_system_and_ratios_the_subjects(self):
        lines = lines_of(records("gcc", "cia", 1.0, 0.5), records("gcc", "glibc", 2.5, 0.5))
        self.assertEqual(
            row(lines, "gcc: 7 things", "glibc"),
            "glibc 3.000 ±1% 0.50 [0.50, 0.50] 0.500 ±1% 6.000 ±1% 0.50 [0.50, 0.50] 20.0 ±0% 1.00 [1.00, 1.00] ~",
        )

    def test_memory_is_in_mebibytes_with_a_ratio_of_its_own(self):
        lines = lines_of(records("gcc", "cia", 1, kib=40960), records("gcc", "glibc", 1, kib=20480))
        self.assertTrue(row(lines, "gcc", "glibc").endswith("20.0 ±0% 2.00 [2.00, 2.00]"))

    def test_the_subject_has_no_ratio_to_itself(self):
        lines = lines_of(records("gcc", "cia", 1), records("gcc", "glibc", 1))
        self.assertEqual(row(lines, "gcc", "cia"), "cia 1.000 ±1% 0.000 2.000 ±1% 20.0 ±0%")

    def test_a_difference_that_the_rounds_cannot_tell_is_marked(self):
        lines = lines_of(records("gcc", "cia", 1.1, rounds=WILD), records("gcc", "glibc", 1.0))
        self.assertRegex(row(lines, "gcc", "glibc"), r"1\.10 \[0\.\d\d, 2\.\d\d\] ~ 0\.000")

    def test_too_few_rounds_have_no_interval_and_say_so(self):
        one = records("gcc", "cia", 2, rounds=(1.0,)), records("gcc", "glibc", 1, rounds=(1.0,))
        lines = lines_of(*one, rounds=1)
        self.assertEqual(row(lines, "gcc", "glibc"), "glibc 1.000 2.00 ~ 0.000 2.000 2.00 ~ 20.0 1.00 ~")
        self.assertIn("Fewer than 5 rounds give no interval", " ".join(lines))

    def test_an_allocator_that_missed_a_round_failed(self):
        lines = lines_of(records("gcc", "cia", 1), records("gcc", "glibc", 1, rounds=STEADY[:4]))
        self.assertEqual(row(lines, "gcc", "glibc"), "glibc failed - - - - - -")

    def test_means_are_geometric_over_the_programs_that_have_both(self):
        lines = lines_of(
            records("gcc", "cia", 4),
            records("gcc", "glibc", 1),
            records("gcc", "jemalloc", 2),
            records("perl", "cia", 1),
            records("perl", "glibc", 1),
        )
        mean = "Geometric mean"
        self.assertTrue(row(lines, mean, "glibc").startswith("glibc 2.00 [2.00, 2.00] 2 "))
        self.assertTrue(row(lines, mean, "jemalloc").startswith("jemalloc 2.00 [2.00, 2.00] 1 "))

    def test_means_of_memory_are_of_programs_above_11_mb_under_glibc(self):
        # 11,000,000 B are 10742.2 KiB.
        lines = lines_of(
            records("gcc", "cia", 1, kib=21486),
            records("gcc", "glibc", 1, kib=10743),
            records("perl", "cia", 1, kib=99999),
            records("perl", "glibc", 1, kib=10742),
        )
        self.assertTrue(row(lines, "Geometric mean", "glibc").endswith(" 2 2.00 [2.00, 2.00] 1"))

    def test_the_best_other_mean_is_named_with_the_ratio_to_it(self):
        lines = lines_of(
            records("gcc", "cia", 3, kib=30720),
            records("gcc", "glibc", 1, kib=61440),
            records("gcc", "jemalloc", 2, kib=20480),
        )
        time, memory = [line for line in lines if line.startswith("Against the best other mean")]
        self.assertTrue(time.endswith("processor time, glibc's: 3.00 [3.00, 3.00]."))
        self.assertTrue(memory.endswith("memory, jemalloc's: 1.50 [1.50, 1.50]."))

    def test_without_glibc_the_next_allocator_says_which_programs_are_large(self):
        lines = lines_of(
            records("gcc", "cia", 1, kib=40000),
            records("gcc", "jemalloc", 1, kib=10742),
            names=("cia", "jemalloc"),
        )
        self.assertTrue(row(lines, "Geometric mean", "jemalloc").endswith(" 1 - 0"))
        self.assertTrue(any(line.endswith("above 11 MB under jemalloc") for line in lines))

    def test_a_program_wholly_above_108_percent_of_the_best_is_named(self):
        lines = lines_of(
            records("gcc", "cia", 1.1),
            records("gcc", "glibc", 2.0),
            records("gcc", "jemalloc", 1.0),
        )
        self.assertEqual(after(lines, BEHIND), ["program ratio to", "gcc 1.10 [1.10, 1.10] jemalloc"])

    def test_a_program_above_108_percent_of_another_than_the_best_is_not_named(self):
        lines = lines_of(
            records("gcc", "cia", 1.2),
            records("gcc", "glibc", 1.01),
            records("gcc", "jemalloc", 1.0, rounds=WILD),
        )
        self.assertIn("1.19 [1.19, 1.19]", row(lines, "gcc", "glibc"))
        self.assertEqual(lines[-1], f"{BEHIND} 1.08 of the best other in: no program.")

    def test_a_program_whose_interval_reaches_108_percent_is_not_named(self):
        lines = lines_of(records("gcc", "cia", 1.3, rounds=WILD), records("gcc", "glibc", 1.0))
        self.assertEqual(lines[-1], f"{BEHIND} 1.08 of the best other in: no program.")

    def test_a_command_has_its_table_alone(self):
        comparison = figures.Comparison("cia", ("cia", "glibc"), 5)
        rows = records("sh", "cia", 1) + records("sh", "glibc", 1)
        report = programs.Report(comparison, spread.Bootstrap(5, 1), [programs.Work("sh", "")], rows)
        tables = [block.title for block in report.document() if not isinstance(block, str)]
        self.assertEqual(tables, ["sh"])

    def test_programs_are_in_the_order_of_the_jobs(self):
        both = records("gcc", "cia", 1), records("perl", "cia", 1)
        titles = [line for line in lines_of(*both, works=("perl", "gcc")) if line.endswith("things")]
        self.assertEqual(titles, ["perl: 7 things", "gcc: 7 things"])


if __name__ == "__main__":
    unittest.main()
