# SPDX-License-Identifier: MIT
"""doctor/figures.py: the verdict, and what the page tells first."""

import unittest

import doctor_records as records
from doctor.figures import verdict


def names(places):
    return [place.name for place in places]


class Tests(unittest.TestCase):
    def test_5_misses_to_be_saved_in_1000_accesses_hurt(self):
        self.assertEqual("hurts", verdict(records.run(heap=(50, 5, 0, 0))))

    def test_fewer_than_5_cost_a_little(self):
        self.assertEqual("little", verdict(records.run(accesses=10000, heap=(50, 49, 0, 0))))

    def test_1_in_1000_costs_a_little(self):
        self.assertEqual("little", verdict(records.run(heap=(50, 1, 0, 0))))

    def test_fewer_than_1_cost_nothing(self):
        self.assertEqual("no", verdict(records.run(accesses=10000, heap=(50, 9, 0, 0))))

    def test_the_luck_of_one_place_takes_nothing_off_what_another_costs(self):
        sites = records.site("costs", counts=(90, 80, 10, 0)), records.site("lucky", counts=(90, 10, 80, 0))
        run = records.run(*sites, heap=(180, 90, 90, 0))
        self.assertEqual((70, "hurts"), (run.saved, verdict(run)))

    def test_misses_outside_the_heap_are_not_judged(self):
        self.assertEqual("no", verdict(records.run(elsewhere=(500, 500, 0, 0))))

    def test_the_place_with_most_to_be_saved_comes_first(self):
        run = records.run(
            records.site("some", counts=(90, 5, 0, 0)),
            records.site("large", counts=(90, 80, 79, 0)),
            records.site("most", counts=(10, 9, 0, 0)),
        )
        self.assertEqual(["most", "some", "large"], names(records.findings(run).sites))

    def test_of_equal_places_the_earlier_comes_first(self):
        run = records.run(*(records.site(name, counts=(9, 5, 0, 0)) for name in "bac"))
        self.assertEqual(["b", "a"], names(records.findings(run, top=2).sites))

    def test_no_more_than_asked_for_are_told(self):
        sites = [records.site(name, counts=(9, 5, 0, 0)) for name in "abc"]
        sizes = [records.size(number, counts=(9, 5, 0, 0)) for number in range(3)]
        sections = [records.section(n, number=n, entered=2, overflowed=2) for n in range(3)]
        findings = records.findings(records.run(*sites, *sizes, *sections), top=1)
        told = len(findings.sites), len(findings.sizes), len(findings.sections)
        self.assertEqual((1, 1, 1), told)

    def test_a_place_needs_a_tenth_of_a_miss_in_1000_accesses_to_be_told(self):
        lines = [
            records.site("enough", counts=(9, 10, 0, 0)),
            records.site("few", counts=(9, 9, 0, 0)),
        ]
        run = records.run(*lines, accesses=100000)
        self.assertEqual(["enough"], names(records.findings(run).sites))

    def test_sections_are_told_by_how_many_overflow(self):
        run = records.run(
            records.section("fits", number=1, entered=900),
            records.section("once", number=2, entered=800, overflowed=1),
            records.section("often", number=3, entered=9, overflowed=8),
        )
        self.assertEqual(["often", "once"], names(records.findings(run).sections))

    def test_the_busiest_site_is_the_most_visited_with_several_hot_blocks(self):
        run = records.run(
            records.site("few", counts=(50, 0, 0, 0), hot_by_set=(1, 1, 0, 0)),
            records.site("one", counts=(90, 0, 0, 0), hot_by_set=(1, 0, 0, 0)),
            records.site("more", counts=(60, 0, 0, 0), hot_by_set=(0, 2, 0, 0)),
        )
        self.assertEqual("more", records.findings(run).busiest_site.name)

    def test_without_several_hot_blocks_there_is_no_busiest_site(self):
        run = records.run(records.site("one", counts=(90, 0, 0, 0), hot_by_set=(1, 0, 0, 0)))
        self.assertIsNone(records.findings(run).busiest_site)


if __name__ == "__main__":
    unittest.main()
