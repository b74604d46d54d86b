# SPDX-License-Identifier: MIT
"""Capacity aborts by size, and their table."""

import unittest

from claims import aborts
from claims_examples import aborting, row, setting


class Tests(unittest.TestCase):
    def test_sizes_with_at_least_a_share_are_found(self):
        one = setting(*(aborting(size=share, capacity=share) for share in (899, 900, 10, 9)))
        found = aborts.capacity(one, "glibc")
        self.assertEqual([900], found.sizes(aborts.ALWAYS))
        self.assertEqual([10, 899, 900], found.sizes(aborts.NEVER))

    def test_sizes_without_transactions_are_not_judged(self):
        one = setting(aborting(), aborting(size=65, tx_started=""), aborting(size=66, tx_started=0))
        self.assertEqual([64], list(aborts.capacity(one, "glibc").shares))

    def test_the_most_is_told_at_the_least_size_that_has_it(self):
        one = setting(*(aborting(size=size, capacity=100) for size in (66, 65)), aborting())
        self.assertEqual("10 % at 65 B", aborts.capacity(one, "glibc").most_text())

    def test_the_table_has_an_allocator_a_line(self):
        lines = [aborting(size=size, capacity=1000) for size in (65, 66)]
        lines += [aborting(size=64, capacity=20), aborting(size=67)]
        table = aborts.capacity_table(setting(*lines, aborting("cia"), row(htm="emulated")))
        self.assertIn(" 90 % of the transactions or more | in fewer, but in 1 % or more |", table)
        self.assertEqual(
            [
                "| glibc | 4 | 2: 65 to 66 | 1: 64 | 100 % at 65 B |",
                "| cia | 1 | none | none | 0 % |",
            ],
            table.splitlines()[2:],
        )

    def test_an_allocator_without_transactions_has_no_line(self):
        one = setting(aborting(), aborting("cia", tx_started=""))
        self.assertNotIn("cia", aborts.capacity_table(one))

    def test_the_processors_own_counts_get_a_column(self):
        counters = "rtm-started@A=1000;rtm-aborted@B=1000;rtm-aborted-memory@C=990"
        measured = {"htm": "native", "rate": 1}
        lines = [
            aborting(capacity=1000, counters=counters, **measured),
            aborting(size=65, capacity=0, counters="rtm-started=1000;rtm-aborted=0", **measured),
            aborting("cia", **measured),
        ]
        self.assertEqual(
            [
                "| glibc | 2 | 1: 64 | none | 100 % at 64 B | 99 %, 100 % |",
                "| cia | 1 | none | none | 0 % |  |",
            ],
            aborts.capacity_table(setting(*lines)).splitlines()[2:],
        )


if __name__ == "__main__":
    unittest.main()
