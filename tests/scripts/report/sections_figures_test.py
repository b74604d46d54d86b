# SPDX-License-Identifier: MIT
"""sections/record.py and figures.py: which sections and stops are one, what is lost, what a change wins."""

import unittest

import sections_records as records
from sections_records import section, stop, variable


class Tests(unittest.TestCase):
    def test_sections_with_one_text_are_added_up_and_so_are_their_stops(self):
        write = stop("system_call", "f (a.c:2)", call="write", aborts=2, in_aborts=30, holds=2, in_holds=50)
        one = section("f (a.c:1)", "main (a.c:9)", entered=3, committed=1, in_aborts=30, stops=[write])
        found = records.findings(one, one).all
        self.assertEqual([(6, 2, 60)], [(s.entered, s.committed, s.in_aborts) for s in found])
        self.assertEqual([(4, 60, 4)], [(s.aborts, s.in_aborts, s.holds) for s in found[0].stops])

    def test_locks_of_one_array_at_one_place_are_told_as_one(self):
        found = records.findings(
            section("f (a.c:1)", lock=variable("locks", 0), entered=1),
            section("f (a.c:1)", lock=variable("locks", 40), entered=1),
            section("f (a.c:7)", lock=variable("locks", 40), entered=1),
        ).all
        self.assertEqual([(2, "f (a.c:1)"), (1, "f (a.c:7)")], [(s.locks, s.place.at) for s in found])

    def test_how_a_thread_starts_is_no_caller(self):
        found = records.findings(section("f (a.c:1)", "start_thread (b.c:2)", "clone (c.S:3)", entered=1)).all
        self.assertEqual(("f (a.c:1)", ""), (found[0].place.at, found[0].place.called_from))

    def test_code_of_system_headers_is_passed_over_and_folders_are_left_out(self):
        found = records.findings(section(
            "lock (/usr/include/c++/12/bits/std_mutex.h:100)", "std::lock_guard<int>::f() (/src/a.h:7)",
            "f() (/home/me/src/a.cpp:1)", "__invoke (/usr/include/c++/12/bits/invoke.h:61)", "main (/src/a.cpp:9)",
            entered=1,
        )).all
        self.assertEqual(("f() (a.cpp:1)", "main (a.cpp:9)"), (found[0].place.at, found[0].place.called_from))
        only = records.findings(section("lock (/usr/include/c++/12/bits/std_mutex.h:100)", entered=1)).all
        self.assertEqual("lock (std_mutex.h:100)", only[0].place.at)

    def test_what_loses_most_comes_first_and_a_lock_that_nobody_waits_for_loses_nothing(self):
        held = section("held", entered=1, held=1, in_holds=9000)
        waited = section("waited", entered=1, held=1, in_holds=90, in_waits=60)
        aborted = section("aborted", entered=1, in_aborts=70)
        found = records.findings(held, waited, aborted, top=2)
        self.assertEqual(["aborted", "waited", "held"], [s.place.at for s in found.all])
        self.assertEqual(["aborted", "waited"], [s.place.at for s in found.told])
        self.assertEqual((0, 130), (found.all[2].lost, found.own.lost))

    def test_a_change_wins_the_attempts_and_the_waits_behind_this_cause_alone(self):
        write = stop("system_call", "f", call="write", aborts=3, in_aborts=30, holds=3, in_holds=99,
                     in_waits=50, holds_alone=1, in_waits_alone=20)
        found = records.findings(section("f", entered=3, held=3, stops=[write])).all[0].stops[0]
        self.assertEqual((80, 50), (found.lost, found.won))

    def test_a_section_that_was_never_entered_nor_tried_is_none(self):
        self.assertEqual([], records.findings(section("f")).all)


if __name__ == "__main__":
    unittest.main()
