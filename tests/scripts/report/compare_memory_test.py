# SPDX-License-Identifier: MIT
"""The tables of memory over time: which moments they have, and what stands in each line."""

import re
import tempfile
import unittest
from pathlib import Path

import spread
from compare import as_text, figures, memory

HEADER = (
    "round,malloc,workload,variant,size,threads,second,moment,resident_kib,virtual_kib,mappings"
)


def read(lines):
    """The samples of lines of the result, without its header."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory.csv")
        path.write_text("\n".join([HEADER, *lines]) + "\n")
        return list(memory.read_samples(path))


def run(malloc, moments, number=1, job="phases,,8,1"):
    """A run's samples, from the resident MiB at each moment.

    Ten times as much is the address space, and three more is the number of mappings.
    """
    return [
        f"{number},{malloc},{job},0.5,{moment},{mib * 1024},{mib * 10240},{mib + 3}"
        for moment, mib in moments.items()
    ]


def tables(lines, rounds=1):
    """The tables of the samples, the subject cia beside glibc and rand."""
    comparison = figures.Comparison("cia", ("cia", "glibc", "rand"), rounds)
    report = memory.Report(comparison, spread.Bootstrap(rounds, 1), read(lines))
    return list(as_text.lines(list(report.document())))


def titles(lines):
    """The moments in the first table, between its heading and the most."""
    names = [re.split("  +", line)[0] for line in lines]
    return names[names.index("moment") + 1 : names.index("the most")]


def words(lines, start):
    """The words of the first line that begins so."""
    return next(line.split() for line in lines if line.strip().startswith(start))


class Tests(unittest.TestCase):
    def test_a_sample_of_a_passing_second_is_left_out(self):
        samples = read(run("cia", {"begun": 1, "": 9, "peak": 9}))
        self.assertEqual([sample.moment for sample in samples], ["begun", "peak"])

    def test_a_variant_is_part_of_the_workloads_name(self):
        (sample,) = read(run("cia", {"peak": 9}, job="peak-and-free,silence,,4"))
        self.assertEqual(str(sample.job), "peak-and-free/silence, 4 threads")

    def test_moments_are_in_the_order_in_which_they_came(self):
        lines = tables(run("cia", {"late": 1, "early": 2, "peak": 2}))
        self.assertEqual(titles(lines), ["late", "early"])

    def test_jobs_are_in_the_order_in_which_they_were_run(self):
        first, second = run("cia", {"peak": 1}, job="z,,8,1"), run("cia", {"peak": 1}, job="a,,8,1")
        lines = tables(first + second)
        named = [line for line in lines if line.endswith("thread: resident")]
        self.assertEqual(named, ["z 8, 1 thread: resident", "a 8, 1 thread: resident"])

    def test_a_moment_shows_medians_and_the_ratio_to_the_least_other(self):
        lines = []
        for number, error in ((1, 5), (2, 0), (3, -1)):
            lines += run("cia", {"built": 6 + error, "peak": 6}, number)
            lines += run("glibc", {"built": 4 + error, "peak": 6}, number)
        built = words(tables(lines, rounds=3), "built")
        self.assertEqual(built, "built 6.0 ±25% 4.0 ±38% - 1.50 ~ glibc".split())

    def test_every_quantity_has_its_most_and_its_last(self):
        cia = run("cia", {"begun": 1, "freed": 2, "peak": 4})
        glibc = run("glibc", {"begun": 1, "freed": 1, "peak": 8})
        lines = [" ".join(line.split()) for line in tables(cia + glibc)]
        expected = [
            "the most 4.0 8.0 - 0.50 ~ glibc",
            "address space, most 40.0 80.0 - 0.50 ~ glibc",
            "address space, freed 20.0 10.0 - 2.00 ~ glibc",
            "",
            "phases 8, 1 thread: mappings",
            "moment cia, mappings glibc, mappings rand, mappings ratio to",
            "most 7 11 - 0.64 ~ glibc",
            "freed 5 4 - 1.25 ~ glibc",
        ]
        self.assertEqual(lines[-8:], expected)

    def test_a_moment_that_only_some_came_to_is_left_out(self):
        both = run("cia", {"one": 1, "two": 2, "peak": 4}) + run("glibc", {"one": 1, "peak": 8})
        lines = tables(both)
        self.assertEqual(titles(lines), ["one"])
        # Nor is it the last of the address space.
        self.assertEqual(words(lines, "address space, one")[2], "one")

    def test_an_allocator_that_failed_the_job_takes_no_moment_from_the_others(self):
        moments = {"one": 1, "two": 2, "peak": 4}
        lines = tables(run("cia", moments) + run("glibc", moments) + run("rand", {"one": 1}))
        self.assertEqual(titles(lines), ["one", "two"])

    def test_what_missed_a_round_has_no_figure(self):
        lines = run("cia", {"built": 6, "peak": 6}, 1) + run("cia", {"built": 6, "peak": 6}, 2)
        lines += run("glibc", {"built": 4, "peak": 4}, 1)
        self.assertEqual(words(tables(lines, rounds=2), "built"), "built 6.0 ±0% - - - -".split())

    def test_zero_is_shown_and_no_ratio_is_to_it(self):
        both = run("cia", {"begun": 2, "peak": 4}) + run("glibc", {"begun": 0, "peak": 8})
        self.assertEqual(words(tables(both), "begun"), "begun 2.0 0.0 - - -".split())


if __name__ == "__main__":
    unittest.main()
