# SPDX-License-Identifier: MIT
"""doctor/as_text.py: the page as text."""

import unittest

import doctor_records as records
from doctor import as_text

COSTLY = (900, 400, 0, 0)


def page(*runs, **options):
    return as_text.page(records.findings(*runs, **options))


def own_and_cia(own, cia):
    return records.run(*own), records.run(*cia, allocator="cia")


class Tests(unittest.TestCase):
    def test_the_page_begins_with_what_ran(self):
        self.assertTrue(page(records.run(), title="a  b").startswith("mplace doctor: a  b\n"))

    def test_lines_are_at_most_100_columns_and_filled(self):
        run = records.run(records.site("f", ", ".join(["caller (a.c:1)"] * 20), counts=COSTLY))
        lengths = [len(line) for line in page(run).splitlines()]
        self.assertLessEqual(max(lengths), 100)
        self.assertGreater(max(lengths), 90)

    def test_a_letter_of_several_bytes_is_one_column(self):
        name = "é" * 60
        self.assertIn(f"\n  1. {name}: blocks of 8 B\n", page(
            records.run(records.site(name, counts=COSTLY))
        ))

    def test_a_name_is_never_parted(self):
        name = "a-" * 80
        self.assertIn(f"  {name}:\n", page(records.run(records.site(name, counts=COSTLY))))

    def test_lines_of_an_item_are_indented(self):
        run = records.run(records.site("f", "g", counts=COSTLY), heap=COSTLY)
        self.assertIn(
            "\n\n  1. f: blocks of 8 B\n       called from g\n"
            "     400 of their 400 misses would be saved, 100 % of what placement costs\n",
            page(run),
        )

    def test_without_a_costly_place_the_busiest_is_named(self):
        run = records.run(records.site("f", counts=(90, 0, 0, 0), hot_by_set=(1, 1, 0, 0)))
        text = page(run)
        self.assertIn("\n  No place in the program allocates blocks whose placement costs", text)
        self.assertIn("\n  Those most visited are of 8 B, allocated by f: 2 hot blocks", text)

    def test_sizes_stand_in_columns_with_the_other_run_beside(self):
        own, cia = own_and_cia(
            [records.size(1, counts=COSTLY, sizes=(4000, 5000), hot_by_set=(3, 0, 0, 0))],
            [records.size(1, counts=(900, 1, 0, 0), hot_by_set=(1, 1, 1, 0))],
        )
        self.assertIn(
            "          bytes        misses   to be saved     hot  sets  fullest"
            "   under cia (modelled), the same\n"
            "    4,000-5,000           400           400       3     1        3"
            "            1             1       3     3        1\n",
            page(own, cia),
        )

    def test_a_size_that_the_other_run_lacks_has_empty_columns(self):
        own, cia = own_and_cia([records.size(1, counts=COSTLY)], [])
        self.assertIn("\n              8           400           400       0     0        0\n",
                      page(own, cia))

    def test_without_costly_sizes_there_is_no_table(self):
        self.assertNotIn("By size", page(records.run(records.size(1))))

    def test_a_place_that_the_other_run_lacks_is_not_seen(self):
        own, cia = own_and_cia([records.site("f", counts=COSTLY)], [])
        self.assertIn("     under cia: not seen\n", page(own, cia))

    def test_sections_that_overflow_are_numbered(self):
        run = records.run(records.section("f", "g", entered=1, overflowed=1, lines=9, lines_most=9))
        self.assertIn(
            "\n\n  1. locked by f\n       called from g\n"
            "     1 of 1 overflow; lines written (until then) on average 9.0, at most 9\n",
            page(run),
        )

    def test_a_section_that_the_other_run_lacks_is_not_seen(self):
        own, cia = own_and_cia([records.section("f", entered=1, overflowed=1)], [])
        self.assertIn("     under cia: not seen\n", page(own, cia))

    def test_a_place_of_the_other_run_is_told_beside(self):
        own, cia = own_and_cia(
            [records.site("f", counts=COSTLY)], [records.site("f", counts=(900, 1, 1, 0))]
        )
        self.assertIn(
            "     under cia (modelled): 1 miss, 0 to be saved; no block of them was hot\n",
            page(own, cia),
        )

    def test_at_most_three_kinds_of_block_fill_a_set(self):
        run = records.run(
            records.section("f", entered=1, overflowed=1),
            *(records.filler(lines) for lines in (5, 4, 3, 2)),
        )
        self.assertIn(
            "     in the set that overflowed: 5.0 lines of no known heap block\n"
            "     and 4.0 lines of no known heap block\n"
            "     and 3.0 lines of no known heap block\n\n",
            page(run),
        )


if __name__ == "__main__":
    unittest.main()
