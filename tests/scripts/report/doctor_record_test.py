# SPDX-License-Identifier: MIT
"""doctor/record.py: what a record of setgrind says."""

import unittest

import doctor_records as records
from doctor.record import Counts, Geometry, Place, Spread


class Tests(unittest.TestCase):
    def test_the_figures_of_the_whole_run_are_read(self):
        run = records.run(accesses=900, heap=(10, 5, 2, 1), elsewhere=(20, 7, 6, 0))
        self.assertEqual(Geometry(sets=4, ways=2, line=64), run.geometry)
        self.assertEqual((16384, 1, 900), (run.window, run.threads, run.accesses))
        self.assertEqual((30, 12), (run.visits, run.misses))

    def test_a_site_is_found_by_its_text(self):
        run = records.run(records.site("f (a.c:1)", "g (a.c:2)", counts=(9, 4, 1, 0)))
        self.assertEqual(Counts(9, 4, 1, 0), run.sites[Place("f (a.c:1)", "g (a.c:2)")].lines)

    def test_sites_with_the_same_text_are_added_up(self):
        run = records.run(
            records.site("f", counts=(9, 4, 1, 2), allocated=3, live=2, sizes=(16, 32)),
            records.site("f", counts=(1, 1, 0, 1), allocated=5, live=1, sizes=(8, 24)),
        )
        [tally] = run.sites.values()
        self.assertEqual(Counts(10, 5, 1, 3), tally.lines)
        self.assertEqual((8, 3), (tally.allocated, tally.live_most))
        self.assertEqual((8, 32), (tally.size_least, tally.size_most))

    def test_of_sites_with_the_same_text_the_one_with_more_hot_blocks_tells_how_they_lie(self):
        run = records.run(
            records.site("f", hot_by_set=(1, 0, 0, 0)),
            records.site("f", hot_by_set=(0, 2, 1, 0)),
            records.site("f", hot_by_set=(1, 1, 1, 0)),
        )
        [tally] = run.sites.values()
        self.assertEqual(Spread(3, 2, 2, [0, 2, 1, 0]), tally.spread)

    def test_sites_of_different_callers_stay_apart(self):
        run = records.run(records.site("f", "g"), records.site("f", "h"))
        self.assertEqual([Place("f", "g"), Place("f", "h")], list(run.sites))

    def test_sections_with_the_same_text_are_added_up(self):
        run = records.run(
            records.section("f", number=1, entered=3, overflowed=1, lines=9, lines_most=5),
            records.section("f", number=2, entered=4, waited=1, held=1, lines=7, lines_most=6),
        )
        [section] = run.sections.values()
        self.assertEqual((7, 1, 1, 1), (
            section.entered, section.overflowed, section.waited, section.held_at_end
        ))
        self.assertEqual((16, 6), (section.lines_written, section.lines_most))

    def test_fillers_belong_to_the_section_of_their_number(self):
        run = records.run(
            records.section("f", number=5),
            records.section("g", number=6),
            records.filler(30, 500, "h", number=6),
        )
        self.assertEqual([], run.sections[Place("f", "")].fillers)
        [filler] = run.sections[Place("g", "")].fillers
        self.assertEqual((30, 500, "h"), (filler.lines, filler.size, filler.place.at))

    def test_of_sections_at_one_place_a_kind_of_filler_is_told_once_the_greatest_first(self):
        run = records.run(
            records.section("f", number=1),
            records.filler(20, 500, "p", number=1),
            records.section("f", number=2),
            records.filler(30, 500, "q", number=2),
            records.section("f", number=3),
            records.filler(30, 500, "q", number=3),
        )
        fillers = run.sections[Place("f", "")].fillers
        self.assertEqual([(60, "q"), (20, "p")], [(filler.lines, filler.place.at) for filler in fillers])

    def test_the_version_of_a_symbol_is_not_told(self):
        place = Place("memcpy@@GLIBC_2.14 (x.c:1)", "g@GLIBC_2.2.5, mail@example")
        self.assertEqual("memcpy (x.c:1)", place.at)
        self.assertEqual("g, mail@example", place.called_from)

    def test_any_byte_may_be_in_a_name(self):
        name = b"pr\xff\xc3\xb6g\xe2\x80\xa8 \xc2\x85".decode("utf-8", "surrogateescape")
        self.assertEqual([Place(name, "")], list(records.run(records.site(name)).sites))

    def test_numbers_of_64_bits_are_exact(self):
        self.assertEqual(2**64 - 1, records.run(accesses=2**64 - 1).accesses)

    def test_misses_for_size_and_in_a_blocks_own_way_are_not_to_be_saved(self):
        self.assertEqual(6, Counts(100, 10, 3, 1).saved)

    def test_a_cache_with_sets_that_does_better_leaves_nothing_to_be_saved(self):
        self.assertEqual(0, Counts(100, 10, 11, 0).saved)

    def test_a_rate_is_for_every_1000_accesses(self):
        self.assertEqual(2.5, records.run(accesses=2000).per_1000(5))

    def test_a_run_without_accesses_has_a_rate_of_0(self):
        self.assertEqual(0, records.run(accesses=0).per_1000(0))


if __name__ == "__main__":
    unittest.main()
