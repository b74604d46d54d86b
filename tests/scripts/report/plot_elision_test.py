# SPDX-License-Identifier: MIT
"""Elision: which rows tell of it, and how their counts are added up."""

import unittest

from plot.elision import elision_groups
from plot_examples import emulated, ring


def point(*rows):
    """The only point of the rows."""
    ((only,),) = [series.points for group in elision_groups(rows) for series in group.series]
    return only


class Tests(unittest.TestCase):
    def test_each_locked_section_weighs_the_same_whichever_run_it_is_of(self):
        # 1 - (0 + 100) / (1000 + 3000) are 97.5 %.
        found = point(
            emulated(acquisitions=1000, slow_path=0, seed=1),
            emulated(acquisitions=3000, slow_path=100, seed=2),
        )
        self.assertEqual((found.elided, found.runs), (97.5, 2))

    def test_a_run_in_which_no_transaction_began_elided_nothing(self):
        found = point(
            emulated(acquisitions=100, slow_path=10, seed=1),
            emulated(acquisitions=100, slow_path=100, tx_started=0, seed=2),
        )
        self.assertEqual((found.elided, found.runs), (45, 2))

    def test_aborts_are_in_percent_of_the_transactions_started(self):
        found = point(
            emulated(
                tx_started=2000, abort_conflict=20, abort_capacity=40, abort_explicit=1,
                abort_other=500,
            )
        )  # fmt: skip
        self.assertEqual(
            (found.conflict, found.capacity, found.explicit, found.other), (1, 2, 0.05, 25)
        )

    def test_one_percent_of_capacity_aborts_is_full(self):
        self.assertTrue(point(emulated(abort_capacity=10)).is_full)
        self.assertFalse(point(emulated(abort_capacity=9)).is_full)

    def test_shares_have_six_digits(self):
        self.assertEqual(point(emulated(tx_started=3, abort_other=1)).other, 33.3333)

    def test_a_blank_count_is_none(self):
        self.assertEqual(point(emulated(slow_path="", abort_other="")).elided, 100)

    def test_rows_without_transactions_tell_nothing(self):
        for row in (
            emulated(tx_started=""),
            emulated(tx_started=0),
            emulated(acquisitions=0),
            emulated(htm="none"),
            emulated(lock="tts"),
            ring(),
        ):
            self.assertEqual(elision_groups([row]), (), row)

    def test_an_emulated_cache_has_a_group_of_its_own(self):
        groups = elision_groups([emulated(cache=cache) for cache in ("64x12", "64x8", "")])
        self.assertEqual(
            [group.key.what for group in groups], ["emulated", "emulated:64x8", "emulated:64x12"]
        )

    def test_native_transactions_come_after_emulated_ones(self):
        groups = elision_groups([emulated(htm="native", rate=5), emulated()])
        self.assertEqual(
            [(group.key.what, group.figure("elided")) for group in groups],
            [("emulated", "figure2-elided"), ("native", "figure2-elided-2")],
        )

    def test_a_series_is_an_allocator(self):
        rows = [emulated(malloc=name, size=size) for name in ("cia", "glibc") for size in (9, 8)]
        (group,) = elision_groups(rows)
        self.assertEqual(
            [(series.malloc, [p.size for p in series.points]) for series in group.series],
            [("glibc", [8, 9]), ("cia", [8, 9])],
        )


if __name__ == "__main__":
    unittest.main()
