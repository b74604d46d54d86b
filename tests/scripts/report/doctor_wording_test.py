# SPDX-License-Identifier: MIT
"""doctor/wording.py: the sentences that text and HTML share."""

import unittest

import doctor_records as records
from doctor import wording


def only(dictionary):
    [value] = dictionary.values()
    return value


def only_section(*arguments, **figures):
    return only(records.run(records.section("f", *arguments, **figures)).sections)


class Tests(unittest.TestCase):
    def test_thousands_are_parted(self):
        self.assertEqual("999", wording.grouped(999))
        self.assertEqual("1,234,567", wording.grouped(1234567))

    def test_one_is_named_as_one(self):
        self.assertEqual("1 miss", wording.plural(1, "miss", "misses"))
        self.assertEqual("0 misses", wording.plural(0, "miss", "misses"))
        self.assertEqual("2,000 misses", wording.plural(2000, "miss", "misses"))

    def test_halves_of_a_per_cent_go_to_the_even_number(self):
        self.assertEqual(["12", "14"], [wording.percent(25, 200), wording.percent(27, 200)])

    def test_a_part_is_neither_all_nor_nothing(self):
        parts = [wording.percent(part, 1200) for part in (0, 1, 1194, 1195, 1199, 1200)]
        self.assertEqual(["0", "0.1", "99.5", "99.6", "99.9", "100"], parts)
        self.assertEqual(["99.99999", "0.00001"], [wording.percent(part, 10**7) for part in (10**7 - 1, 1)])

    def test_a_small_rate_has_no_exponent(self):
        self.assertEqual(["0.00007", "0.00012"], [wording.rate(value) for value in (7e-05, 1.2e-04)])

    def test_a_share_is_exact_at_both_ends(self):
        shares = [wording.share(part, 1000) for part in (0, 0.0007, 4, 99, 100, 999, 1000)]
        self.assertEqual(["0.0", "0.00007", "0.4", "9.9", "10", "99.9", "100"], shares)
        self.assertEqual("0", wording.share(0, 0))

    def test_of_nothing_any_part_is_0_per_cent(self):
        self.assertEqual("0", wording.percent(0, 0))

    def test_a_rate_has_a_digit_that_counts(self):
        rates = [wording.rate(value) for value in (221.4, 10, 9.96, 0.1, 0.0437, 0)]
        self.assertEqual(["221", "10", "10.0", "0.1", "0.044", "0.0"], rates)

    def test_sizes_are_one_number_if_they_are_equal(self):
        same = records.run(records.site("f", sizes=(1500, 1500)))
        range_of = records.run(records.site("f", sizes=(100, 1500)))
        self.assertEqual("1,500", wording.size_range(only(same.sites)))
        self.assertEqual("100-1,500", wording.size_range(only(range_of.sites)))

    def test_the_verdict_is_a_sentence_with_its_figures(self):
        run = records.run(heap=(500, 300, 40, 10), elsewhere=(900, 700, 700, 0))
        self.assertEqual(
            "Placement hurts this program: of its 1,000 modelled L1 misses, 250 (25 %) would be"
            " saved by a better placement of its heap blocks, 250 for every 1000 accesses.",
            wording.verdict(run),
        )

    def test_what_is_modelled_is_told(self):
        self.assertEqual(
            "Modelled: L1 data caches of 4 sets x 2 ways x 64 B, one a thread, true LRU, no"
            " prefetch; 1 thread, 2,000 accesses under its own allocator.",
            wording.modelled(records.run(accesses=2000), "x"),
        )

    def test_a_harmless_placement_is_said_to_be_so(self):
        text = wording.verdict(records.run())
        self.assertTrue(text.startswith("Placement does not hurt this program: of its 0 "), text)

    def test_the_comparison_has_both_rates(self):
        own = records.run(heap=(500, 300, 0, 0))
        other = records.run(allocator="cia", accesses=2000, heap=(500, 90, 10, 0))
        self.assertEqual(
            "Under cia (modelled): 90 misses in 2,000 accesses, 45 for every 1000 accesses instead"
            " of 300; 80 of them would still be saved by a better placement.",
            wording.comparison(own, other),
        )

    def test_exit_statuses_that_differ_are_told(self):
        text = wording.comparison(records.run(), records.run(allocator="cia", exit_status=3))
        self.assertIn(" The exit statuses differ (0 and 3): ", text)

    def test_the_spread_tells_how_even_it_could_be(self):
        run = records.run(records.site("f", hot_by_set=(4, 0, 1, 0)))
        self.assertEqual(
            "5 hot blocks begin in 2 of 4 sets, 4 in the fullest (even: 2; the cache has 2 ways)",
            wording.spread(only(run.sites), run.geometry),
        )

    def test_as_many_blocks_as_sets_could_lie_one_in_each(self):
        run = records.run(records.site("f", hot_by_set=(4, 0, 0, 0)))
        self.assertIn("(even: 1;", wording.spread(only(run.sites), run.geometry))

    def test_blocks_that_are_never_hot_lie_nowhere(self):
        run = records.run(records.site("f", hot_by_set=()))
        text = wording.spread(only(run.sites), run.geometry)
        self.assertEqual("no block of them was hot", text)

    def test_the_shares_are_of_all_visits(self):
        lines = records.site("f", counts=(60, 0, 0, 0), first=(20, 0, 0, 0))
        run = records.run(lines, heap=(60, 0, 0, 0), elsewhere=(140, 0, 0, 0))
        self.assertEqual(
            "10 % of all visits to memory go to first lines of these blocks, 20 % to their other"
            " lines",
            wording.shares(only(run.sites), run),
        )

    def test_a_program_without_a_mutex_is_told_so(self):
        self.assertEqual("No pthread lock was taken.", wording.all_sections(records.run()))

    def test_sections_that_fit_are_told_with_the_largest(self):
        run = records.run(
            records.section("f", number=1, entered=1000, lines_most=7),
            records.section("g", number=2, entered=500, lines_most=3),
        )
        self.assertEqual(
            "All 1,500 critical sections fit into the write set of a transaction; at most 7 lines"
            " were written in one.",
            wording.all_sections(run),
        )

    def test_a_single_section_that_fits_is_one(self):
        run = records.run(records.section("f", entered=1, lines_most=1))
        self.assertEqual(
            "The one critical section fits into the write set of a transaction; at most 1 line was"
            " written in one.",
            wording.all_sections(run),
        )

    def test_sections_that_overflow_are_counted(self):
        run = records.run(
            records.section("f", number=1, entered=3, overflowed=2),
            records.section("g", number=2, entered=5),
        )
        text = wording.all_sections(run)
        self.assertTrue(text.startswith("2 of 8 critical sections would overflow"), text)

    def test_a_section_is_told_with_its_average(self):
        self.assertEqual(
            "0 of 4 overflow; lines written on average 2.5, at most 6",
            wording.one_section(only_section(entered=4, lines=10, lines_most=6)),
        )

    def test_of_a_section_that_overflows_the_lines_until_then_are_told(self):
        section = only_section(entered=2, overflowed=1, lines=10, lines_most=6)
        self.assertEqual(
            "1 of 2 overflow; lines written (until then) on average 5.0, at most 6",
            wording.one_section(section),
        )

    def test_waits_and_sections_that_never_end_are_told(self):
        section = only_section(entered=2, waited=1, held=1)
        self.assertEqual(
            "0 of 2 overflow; lines written on average 0.0, at most 0; 1 wait for a condition,"
            " where a transaction ends; 1 not left when the program ended",
            wording.one_section(section),
        )

    def test_what_fills_a_set_is_told_for_each_overflow(self):
        run = records.run(
            records.section("f", entered=9, overflowed=4),
            records.filler(10, 5000, "g (a.c:1)"),
            records.filler(2),
        )
        section = only(run.sections)
        self.assertEqual(
            [
                "2.5 lines of blocks of 5,000 B, allocated by g (a.c:1)",
                "0.5 lines of no known heap block",
            ],
            [wording.filler(section, part) for part in section.fillers],
        )

    def test_what_is_elsewhere_is_told_in_per_cent(self):
        run = records.run(heap=(30, 10, 0, 0), elsewhere=(10, 40, 0, 0))
        text = wording.elsewhere(run)
        self.assertTrue(text.startswith("25 % of the visits and 80 % of the misses are to"), text)


if __name__ == "__main__":
    unittest.main()
