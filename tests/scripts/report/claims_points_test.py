# SPDX-License-Identifier: MIT
"""Rows added up: what is kept apart, what is added, what is left out."""

import unittest

from claims import points
from claims_examples import aborting, result, row, setting, settings, tree


class Tests(unittest.TestCase):
    def test_the_rate_of_a_point_is_the_median_of_its_rows(self):
        one = setting(row(rate="10"), row(rate="30.5", seed=2), row(rate="20", seed=3))
        self.assertEqual(20, one.rate("cia", "tts", 64))

    def test_a_point_without_rows_has_no_rate(self):
        self.assertEqual(0, setting(row()).rate("cia", "tts", 65))

    def test_sizes_rise(self):
        one = setting(row(size=1000), row(size=99), row(size=500), row(size=99, seed=2))
        self.assertEqual([99, 500, 1000], one.sizes("cia", "tts"))

    def test_processors_nodes_and_threads_are_kept_apart(self):
        lines = [row(), row(cpu="Other CPU"), row(nodes=64), tree(), tree(threads=1), tree(cpu="")]
        self.assertEqual(
            [
                "measured: Some CPU, 128 nodes",
                "measured: Other CPU, 128 nodes",
                "measured: Some CPU, 64 nodes",
                "measured: Some CPU, 4 threads",
                "measured: Some CPU, 1 thread",
                "measured: -, 4 threads",
            ],
            [one.where for one in settings(*lines)],
        )

    def test_emulated_rows_are_told_apart_by_cache_and_not_by_processor(self):
        lines = [aborting(), aborting(cpu="Other CPU"), aborting(cache="64x12")]
        self.assertEqual(
            ["emulated, 128 nodes", "emulated: L1D of 64 sets × 12 ways, 128 nodes"],
            [one.where for one in settings(*lines)],
        )

    def test_measured_settings_come_first(self):
        found = settings(aborting(), row(), aborting(cache="64x8"), tree())
        self.assertEqual([True, True, False, False], [one.measured for one in found])

    def test_ttstle_without_transactions_is_left_out(self):
        rows = [row(), row(lock="ttstle"), row(lock="ttstle", size=65)]
        added = points.add_up([result(*rows)])
        self.assertEqual(2, added.left_out)
        self.assertFalse(added.settings[0].has("cia", "ttstle"))

    def test_a_row_of_two_files_counts_once_for_the_first(self):
        added = points.add_up([result(row(), row(seed=2)), result(row(), row(seed=3))])
        point = added.settings[0].point("cia", "tts", 64)
        self.assertEqual((3, [1, 2]), (point.rows, point.files))

    def test_the_usual_allocators_come_first_and_others_as_they_are_seen(self):
        rows = [row(malloc) for malloc in ("zmalloc", "cia", "amalloc", "glibc")]
        self.assertEqual(["glibc", "cia", "zmalloc", "amalloc"], setting(*rows).mallocs)

    def test_the_fullest_set_is_that_of_all_rows_of_a_size(self):
        one = setting(row(max_per_set=2), row(max_per_set=30, lock="pthread"), row(size=65))
        self.assertEqual({("cia", 64): 30}, one.fullest)

    def test_capacity_aborts_are_a_share_of_all_transactions_of_a_point(self):
        point = setting(aborting(capacity=1000), aborting(seed=2)).point("glibc", "ttstle", 64)
        self.assertEqual(0.5, point.capacity_share())

    def test_without_transactions_there_is_no_share(self):
        one = setting(row(lock="ttstle", htm="native"))
        self.assertIsNone(one.point("cia", "ttstle", 64).capacity_share())
        self.assertFalse(one.counts_transactions("cia"))

    def test_a_run_of_ttstle_that_began_none_elided_none_and_one_that_does_not_say_is_in_no_share(self):
        lines = [aborting(capacity=100), aborting(tx_started=0, capacity=100, seed=2)]
        lines += [aborting(tx_started="", capacity=100, seed=3)]
        point = setting(*lines).point("glibc", "ttstle", 64)
        self.assertEqual(
            (200, 1000, 200, 2000),
            (point.slow_path, point.started, point.capacity, point.acquisitions),
        )

    def test_a_counter_is_told_for_each_section_that_it_was_counted_over(self):
        one = setting(
            row(counters="l1d-misses@SOME_EVENT=3000"),
            row(counters="l1d-misses@SOME_EVENT=5000", acquisitions=3000, seed=2),
            row(acquisitions=5000, seed=3),
        )
        self.assertEqual(2, one.point("cia", "tts", 64).count("l1d-misses"))
        self.assertEqual({"l1d-misses": "SOME_EVENT"}, one.events)

    def test_a_role_that_was_not_counted_has_no_count(self):
        one = setting(row(counters="cycles=1"))
        self.assertEqual(0.001, one.point("cia", "tts", 64).count("cycles"))
        self.assertIsNone(one.point("cia", "tts", 64).count("l1d-misses"))

    def test_counters_of_emulated_rows_are_not_taken(self):
        one = setting(aborting(counters="rtm-aborted=1000"))
        self.assertIsNone(one.point("glibc", "ttstle", 64).count("rtm-aborted"))


if __name__ == "__main__":
    unittest.main()
