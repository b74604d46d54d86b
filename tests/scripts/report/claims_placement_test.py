# SPDX-License-Identifier: MIT
"""The claims about degraded sizes, misses, the allocators' order, and cia."""

import unittest

from claims import placement
from claims_examples import aborting, judged, row, seen, setting, tree, verdicts

BAD = (500, 1008, 1528, 2040, 2544, 3064, 4080)
GOOD = (64, 256)


def ring(glibc_at_bad_sizes, bad=BAD):
    """glibc and cia at the same rate, but for glibc at the bad sizes."""
    lines = [row("cia", size=size, rate=100) for size in (*GOOD, *bad)]
    lines += [row("glibc", size=size, rate=100) for size in GOOD]
    return lines + [row("glibc", size=size, rate=glibc_at_bad_sizes) for size in bad]


def counted(misses_at_bad_sizes, role="l1d-misses"):
    """glibc at three good sizes with 3 misses a section, and at two bad ones."""
    lines = [row("glibc", size=size, rate=100, counters=f"{role}=3000") for size in (64, 128, 256)]
    counters = f"{role}={misses_at_bad_sizes}000"
    return lines + [row("glibc", size=size, rate=40, counters=counters) for size in (500, 1008)]


def every(cia, rand, glibc, lock="tts", htm="none"):
    """A row of the three at one size."""
    rates = {"cia": cia, "rand": rand, "glibc": glibc}
    return [row(malloc, lock, rate=rate, htm=htm) for malloc, rate in rates.items()]


class Tests(unittest.TestCase):
    def test_glibc_degraded_near_every_named_size_holds(self):
        self.assertEqual(["holds"], verdicts(placement.DEGRADATION, *ring(40)))

    def test_glibc_degraded_nowhere_differs(self):
        self.assertEqual(["differs"], verdicts(placement.DEGRADATION, *ring(90)))

    def test_a_named_size_that_is_good_differs(self):
        lines = [*ring(40, BAD[1:]), row(size=500, rate=100), row("glibc", size=500, rate=100)]
        self.assertEqual(["differs"], verdicts(placement.DEGRADATION, *lines))
        self.assertIn(" Not near 512 B.", seen(placement.DEGRADATION, *lines))

    def test_a_named_size_that_was_not_tried_leaves_no_verdict(self):
        self.assertEqual(
            ["not measured: no size just below 512 B"],
            verdicts(placement.DEGRADATION, *ring(40, BAD[1:])),
        )
        lines = ring(40, (500, 700))
        self.assertIn(
            " Just below 1024, 1536, 2048, 2560, 3072 and 4096 B no size was tried. Near none of"
            " the sizes that the paper names: 700 B.",
            seen(placement.DEGRADATION, *lines),
        )

    def test_runs_that_disagree_about_a_named_size_decide_nothing(self):
        fast, slow = (row("glibc", size=500, rate=rate, seed=rate) for rate in (70, 39))
        lines = [*ring(40), fast, slow]
        self.assertEqual(
            ["not decided: runs disagree"], verdicts(placement.DEGRADATION, *lines)
        )

    def test_glibc_alone_is_not_judged(self):
        for claim in (placement.DEGRADATION, placement.CLEAN):
            malloc = "glibc" if claim is placement.DEGRADATION else "cia"
            self.assertEqual(["not measured"], verdicts(claim, row(malloc)))
            self.assertEqual(
                f"There is no other allocator to compare {malloc} with.", seen(claim, row(malloc))
            )

    def test_rows_of_another_lock_or_of_the_tree_or_emulated_do_not_tell(self):
        lines = [row("glibc", "pthread"), tree("glibc"), aborting()]
        self.assertEqual(["not measured"], verdicts(placement.DEGRADATION, *lines))
        self.assertEqual(
            "No rows of the ring with glibc under tts.", seen(placement.DEGRADATION, *lines)
        )

    def test_the_table_has_a_degraded_size_a_line(self):
        lines = [
            row(size=500, rate=5000000), row(size=504, rate=5000000),
            row("glibc", size=500, rate=2000000, max_per_set=30),
            row("glibc", size=504, rate=1000000),
        ]  # fmt: skip
        (finding,) = judged(placement.DEGRADATION, *lines)
        self.assertEqual(
            "| size | glibc, M/s | best, M/s | glibc / best | most nodes in one set |\n"
            "|---|---|---|---|---|\n"
            "| 500 | 2.00 | 5.00 (cia) | 0.40 | 30 |\n"
            "| 504 | 1.00 | 5.00 (cia) | 0.20 |  |\n",
            finding.table,
        )

    def test_the_table_has_a_column_of_misses_where_they_were_counted(self):
        lines = [row(size=500, rate=5000000), row(size=504, rate=5000000)]
        lines += [row("glibc", size=500, rate=2000000, counters="l1d-misses=120000")]
        lines += [row("glibc", size=504, rate=2000000)]
        (finding,) = judged(placement.DEGRADATION, *lines)
        ends = [line.split(" | ")[-1] for line in finding.table.splitlines()]
        self.assertEqual(["L1D misses a traversal |", "120.0 |", " |"], [ends[0], *ends[2:]])

    def test_time_that_goes_with_misses_holds(self):
        self.assertEqual(["holds"], verdicts(placement.MISSES, *counted(120)))
        self.assertEqual(
            "The time of a traversal and its misses (SOME_EVENT) have a correlation of 1.00 over 5"
            " sizes below the knee of the TLB.",
            seen(placement.MISSES, *counted(120, "l1d-misses@SOME_EVENT")),
        )

    def test_time_that_goes_against_misses_differs(self):
        self.assertEqual(["differs"], verdicts(placement.MISSES, *counted(0)))

    def test_misses_that_never_vary_tell_nothing(self):
        self.assertEqual(
            ["not measured: needs hardware counters"], verdicts(placement.MISSES, *counted(3))
        )

    def test_misses_of_two_sizes_tell_nothing(self):
        lines = [line for line in counted(120) if line.size in ("64", "500")]
        self.assertEqual(
            ["not measured: needs hardware counters"], verdicts(placement.MISSES, *lines)
        )

    def test_sizes_above_the_knee_are_not_taken(self):
        lines = [*counted(120), row("glibc", size=4096, rate=1, counters="l1d-misses=0")]
        lines += [row(size=64, rate=100), row(size=2048, rate=80), row(size=4096, rate=80)]
        self.assertEqual(["holds"], verdicts(placement.MISSES, *lines))
        self.assertIn("over 5 sizes", seen(placement.MISSES, *lines))

    def test_without_counters_the_fullest_sets_are_told(self):
        lines = [row(size=size, rate=100) for size in (64, 128, 500)]
        lines += [row("glibc", size=size, rate=100, max_per_set=size // 64) for size in (64, 128)]
        lines += [row("glibc", size=500, rate=40, max_per_set=30)]
        self.assertEqual(
            "By addresses alone: in the fullest set begin 30 nodes at the sizes that are degraded,"
            " 1.5 at the others (medians).",
            placement.placement_text(setting(*lines)),
        )
        self.assertEqual("", placement.placement_text(setting(*lines[:-1])))

    def test_cia_not_below_rand_not_below_glibc_holds(self):
        self.assertEqual(["holds"], verdicts(placement.ORDER, *every(100, 100, 100)))
        self.assertEqual(["holds"], verdicts(placement.ORDER, *every(100, 80, 60)))

    def test_one_of_the_two_comparisons_is_enough_to_differ(self):
        self.assertEqual(["differs"], verdicts(placement.ORDER, *every(80, 100, 60)))
        self.assertEqual(["differs"], verdicts(placement.ORDER, *every(100, 80, 100)))

    def test_an_order_of_medians_that_not_every_run_confirms_is_not_decided(self):
        lines = [*every(90, 100, 60), row(rate=90, seed=2), row(rate=96, seed=3)]
        self.assertEqual(["not decided: runs disagree"], verdicts(placement.ORDER, *lines))

    def test_the_order_is_judged_under_each_lock_apart(self):
        lines = every(100, 80, 60) + every(80, 100, 60, "ttstle", "native")
        self.assertEqual(["holds", "differs"], verdicts(placement.ORDER, *lines))

    def test_the_order_needs_all_three_under_one_lock(self):
        lines = every(100, 80, 60)
        self.assertEqual(["not measured"], verdicts(placement.ORDER, *lines[:2]))
        lines[1:] = [row("rand", size=65), row("glibc", size=65)]
        self.assertIn("cia and rand have no size in common. rand is", seen(placement.ORDER, *lines))
        self.assertEqual(["not measured"], verdicts(placement.ORDER, *lines))

    def test_cia_without_a_degraded_size_holds(self):
        self.assertEqual(["holds"], verdicts(placement.CLEAN, *ring(40)))

    def test_cia_with_a_size_that_some_runs_find_degraded_is_not_decided(self):
        lines = [*ring(40), *(row(size=128, rate=rate, seed=seed) for seed, rate in enumerate((60, 60, 80))),
                 row("glibc", size=128, rate=100)]
        self.assertEqual(["not decided: runs disagree"], verdicts(placement.CLEAN, *lines))

    def test_cia_with_a_degraded_size_differs(self):
        lines = [*ring(40), row(size=128, rate=60), row("glibc", size=128, rate=100)]
        self.assertEqual(["differs"], verdicts(placement.CLEAN, *lines))
        self.assertTrue(seen(placement.CLEAN, *lines).endswith(" Degraded at 128 B."))

    def test_cias_capacity_aborts_from_one_per_cent_on_differ(self):
        few = [aborting("cia", capacity=9), aborting("cia", size=65)]
        self.assertEqual(["holds"], verdicts(placement.CLEAN, *few))
        self.assertEqual(
            "Ring. cia's capacity aborts are below 1 % of the transactions at all 2 sizes, the most"
            " 0.9 % at 64 B.",
            seen(placement.CLEAN, *few),
        )
        many = [aborting("cia", capacity=10), aborting("cia", size=65)]
        self.assertEqual(["differs"], verdicts(placement.CLEAN, *many))
        self.assertEqual(
            "Ring. cia's capacity aborts are 1 % of the transactions or more at 64 B, the most 1 %"
            " at 64 B.",
            seen(placement.CLEAN, *many),
        )

    def test_cia_without_any_capacity_abort_is_told(self):
        self.assertEqual(
            "Ring. cia has no capacity abort at any of 1 sizes.",
            seen(placement.CLEAN, aborting("cia")),
        )


if __name__ == "__main__":
    unittest.main()
