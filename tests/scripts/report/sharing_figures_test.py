# SPDX-License-Identifier: MIT
"""sharing/figures.py: which lines are one finding, and what is told of it."""

import unittest

import sharing_records as records
from sharing.figures import findings_of

LINE = 4096


class Tests(unittest.TestCase):
    def test_lines_of_one_allocation_site_are_one_finding(self):
        found = findings_of(records.run(
            records.line(LINE, [records.site("f")], [records.block(LINE, 16, "make (a.c:1)")], true=3),
            records.line(2 * LINE, [records.site("f")], [records.block(2 * LINE, 64, "make (a.c:1)")], true=4),
            records.line(3 * LINE, [records.site("f")], [records.block(3 * LINE, 16, "other (a.c:2)")], true=5),
        ))
        self.assertEqual([(2, 7, (16, 64)), (1, 5, (16, 16))], [(f.lines, f.all.moves, f.sizes) for f in found])

    def test_a_line_is_told_by_the_reason_that_costs_most(self):
        (found,) = findings_of(records.run(records.line(LINE, [], first=9, true=2, false_in_block=3)))
        self.assertEqual("false_in_block", found.reason)
        self.assertEqual(14, found.all.moves)

    def test_what_only_came_once_is_no_finding(self):
        self.assertEqual([], findings_of(records.run(records.line(LINE, [], first=9, again=4))))

    def test_bytes_are_counted_from_the_beginning_of_the_only_block(self):
        sites = [records.site("f", written="ff00000000000000")]
        (found,) = findings_of(records.run(
            records.line(LINE, sites, [records.block(LINE - 32, 128, "make")], true=1)
        ))
        self.assertEqual(set(range(88, 96)), found.uses[0].written)

    def test_of_blocks_side_by_side_each_use_names_its_block(self):
        blocks = [records.block(LINE, 16, "red"), records.block(LINE + 32, 16, "blue")]
        sites = [records.site("f", written="ff"), records.site("g", written="ff00000000")]
        (found,) = findings_of(records.run(records.line(LINE, sites, blocks, between=2)))
        uses = {(use.at, use.target): use.written for use in found.uses}
        self.assertEqual({("f", "red"): set(range(8)), ("g", "blue"): set(range(8))}, uses)

    def test_blocks_that_nobody_accessed_are_not_blamed(self):
        blocks = [records.block(LINE, 16, "red"), records.block(LINE + 32, 16, "blue", moves=0)]
        (found,) = findings_of(records.run(records.line(LINE, [], blocks, true=2)))
        self.assertEqual(["red"], [place.at for place in found.places])

    def test_code_of_the_standard_library_allocates_for_its_caller(self):
        frames = ("operator new(unsigned long)", "std::vector<int>::push_back()", "fill (a.cpp:3)", "main")
        (found,) = findings_of(records.run(records.line(LINE, [], [records.block(LINE, 16, *frames)], true=2)))
        self.assertEqual([("fill (a.cpp:3)", "main")], [(p.at, p.called_from) for p in found.places])

    def test_a_lock_alone_is_not_called_a_lock_with_data(self):
        alone = records.line(LINE, [records.site("f", written="f0f")], locks=[records.lock(0, "g")], true=1)
        (found,) = findings_of(records.run(alone))
        self.assertEqual((("mutex",), ("g",), False), (found.locks, found.taken_at, found.lock_and_data))
        beside = records.line(LINE, [records.site("f", written="ff0000000000")], locks=[records.lock(0)], true=1)
        self.assertTrue(findings_of(records.run(beside))[0].lock_and_data)

    def test_a_lock_that_begins_in_the_line_before_is_no_data(self):
        spilled = records.line(LINE, [records.site("f", written="ff")], locks=[records.lock(-24)], true=1)
        self.assertFalse(findings_of(records.run(spilled))[0].lock_and_data)

    def test_without_a_block_lines_are_told_apart_by_code_and_locks_by_address(self):
        found = findings_of(records.run(
            records.line(LINE, [records.site("f")], true=1),
            records.line(2 * LINE, [records.site("f")], true=1),
            records.line(3 * LINE, [records.site("lock")], locks=[records.lock(0)], true=1),
            records.line(4 * LINE, [records.site("lock")], locks=[records.lock(0)], true=1),
        ))
        self.assertEqual([1, 1, 2], sorted(f.lines for f in found))

    def test_without_a_block_the_other_run_is_matched_by_code_whatever_moved_most_there(self):
        own = records.run(
            records.line(LINE, [records.site("f", 9), records.site("g", 8)], true=17),
            records.line(2 * LINE, [records.site("lock", 9)], locks=[records.lock(0, "take")], true=9),
            records.line(3 * LINE, [records.site("h", 9), records.site("i", 1)], elsewhere=10),
        )
        other = records.run(
            records.line(LINE - 64, [records.site("g", 7), records.site("f", 6), records.site("main", 1)], true=14),
            records.line(2 * LINE - 64, [records.site("lock", 8)], locks=[records.lock(0, "take")], true=8),
            records.line(3 * LINE, [records.site("h", 9), records.site("main", 2)], elsewhere=11),
        )
        found = records.findings(own, other)
        self.assertEqual([14, 11, 8], [found.theirs[finding.key].all.moves for finding in found.all])

    def test_what_other_code_shares_in_the_other_run_is_no_counterpart(self):
        own = records.run(
            records.line(LINE, [records.site("f", 5), records.site("g", 1)], true=6),
            records.line(2 * LINE, [records.site("f")], [records.block(2 * LINE, 16, "make")], true=4),
        )
        other = records.run(
            records.line(LINE, [records.site("g")], true=5),
            records.line(2 * LINE, [records.site("f")], locks=[records.lock(0)], true=4),
            records.line(3 * LINE, [records.site("f")], between=3),
        )
        found = records.findings(own, other)
        self.assertEqual([None, None], [found.theirs[finding.key] for finding in found.all])

    def test_what_costs_less_than_a_thousandth_is_not_told_on_the_page(self):
        own = records.run(
            records.line(LINE, [records.site("f")], true=1), records.line(2 * LINE, [records.site("g")], true=5),
            cycles=20000,
        )
        found = records.findings(own)
        self.assertEqual((2, 1), (len(found.all), len(found.told)))


if __name__ == "__main__":
    unittest.main()
