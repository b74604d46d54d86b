# SPDX-License-Identifier: MIT
"""The order in which mplace compare measures."""

import unittest

from compare.order import order


class Tests(unittest.TestCase):
    def test_every_round_has_each_job_under_each_allocator_once(self):
        runs = list(order(4, 3, 5, seed=1))
        whole = [(n, job, malloc) for n in (1, 2, 3, 4) for job in range(3) for malloc in range(5)]
        self.assertEqual(sorted(runs), whole)
        self.assertEqual([number for number, _, _ in runs], sorted(number for number, _, _ in runs))

    def test_the_allocators_of_a_job_follow_each_other(self):
        runs = list(order(2, 4, 3, seed=1))
        for first in range(0, len(runs), 3):
            self.assertEqual(len({run[:2] for run in runs[first : first + 3]}), 1)

    def test_rounds_differ_in_their_order(self):
        runs = list(order(2, 6, 6, seed=1))
        self.assertNotEqual([run[1:] for run in runs[:36]], [run[1:] for run in runs[36:]])

    def test_the_same_seed_gives_the_same_order(self):
        self.assertEqual(list(order(2, 4, 4, seed=5)), list(order(2, 4, 4, seed=5)))
        self.assertNotEqual(list(order(2, 4, 4, seed=5)), list(order(2, 4, 4, seed=6)))

    def test_more_rounds_begin_with_the_fewer(self):
        self.assertEqual(list(order(5, 4, 4, seed=5))[:32], list(order(2, 4, 4, seed=5)))


if __name__ == "__main__":
    unittest.main()
