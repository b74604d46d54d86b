# SPDX-License-Identifier: MIT
"""sections/as_text.py, as_html.py and as_json.py: the page in its three forms."""

import json
import unittest

import sections_records as records
from sections import as_html, as_json, as_text
from sections_records import section, stop, variable


def flat(text):
    return " ".join(text.split())


def said(*stops, **counts):
    """The text of a page on one section with these stops."""
    return flat(as_text.page(records.findings(section("f (a.c:1)", stops=stops, entered=9, **counts))))


class Tests(unittest.TestCase):
    def test_each_cause_has_its_name_and_place(self):
        at = "g (a.c:5)"
        for kind, fields, text in (
            ("system_call", {"call": "write"}, f"system call write at {at}"),
            ("system_call", {"call": "write", "through": "printf"}, f"system call write, through printf at {at}"),
            ("system_call", {"number": 999}, f"system call number 999 at {at}"),
            ("wake", {"through": "pthread_cond_signal"}, f"wake-up of a waiter, through pthread_cond_signal at {at}"),
            ("wait", {}, f"wait for a condition at {at}"),
            ("page_fault", {"data": variable("table", 8)}, f"first touch of a page at {at}: table+8"),
            ("instruction", {"name": "cpuid"}, f"instruction cpuid at {at}"),
            ("write_capacity", {}, f"capacity: a written line has to leave the L1 cache at {at}"),
            ("read_capacity", {}, f"capacity: too many lines read at {at}"),
            ("inner_lock", {"data": variable("inner")}, f"a lock inside is held, inner at {at}, by code outside"),
            ("left", {"through": "pthread_mutex_timedlock"}, "pthread_mutex_timedlock inside, for which it leaves"),
            ("not_tried", {}, "never tried: a lock of a kind that is not elided"),
            ("other", {"abort": "signal"}, f"a signal at {at}"),
        ):
            self.assertIn(f"- {text}", said(stop(kind, at, aborts=1, **fields)))

    def test_a_conflict_names_the_data_both_lines_and_the_other_section(self):
        conflict = stop("conflict", aborts=1, data=variable("count"), instruction=["f (a.c:2)"],
                        requester=["g (a.c:8)"], other=1)
        pair = (section("f (a.c:1)", in_aborts=1, entered=1, stops=[conflict]), section("g (a.c:7)", entered=1))
        text = "conflict over count, accessed at f (a.c:2), with g (a.c:8) in "
        self.assertIn(text + "section 2", flat(as_text.page(records.findings(*pair))))
        self.assertIn(text + "the section of lock mutex, locked by g (a.c:7)",
                      flat(as_text.page(records.findings(*pair, top=1))))

    def test_data_beside_the_lock_is_told_apart_from_data_of_the_section(self):
        beside = stop("conflict", aborts=1, data=variable("count"), requester=["g (a.c:8)"], in_line_of_lock=True)
        text = said(beside)
        self.assertIn("conflict over count, in one line with the lock, with g (a.c:8)", text)
        self.assertIn("give the lock a line of its own", text)

    def test_a_call_that_is_none_natively_is_called_the_emulators(self):
        self.assertIn("this stop is the emulator's", said(stop("system_call", call="clock_gettime", aborts=1)))
        self.assertNotIn("the emulator's", said(stop("system_call", call="write", aborts=1)))

    def test_figures_are_called_emulated_in_every_form(self):
        found = records.findings(section("f", entered=4, committed=3, in_aborts=5000))
        for page in (as_text.page(found), as_html.page(found)):
            self.assertIn("Emulated: hardware transactions (RTM) on 4 processors", flat(page))
            self.assertIn("5,000 emulated instructions are lost, 0.5", flat(page))
        self.assertIs(True, json.loads(as_json.page(found))["emulated"])

    def test_without_a_section_the_page_is_one_line_more(self):
        found = records.findings()
        text = as_text.page(found)
        self.assertIn("\n\nNo critical section: the program took no pthread or C11 lock", text)
        self.assertNotIn("How to read", as_html.page(found))
        self.assertEqual([], json.loads(as_json.page(found))["sections"])

    def test_lines_of_the_text_have_at_most_100_columns(self):
        stops = [stop("conflict", aborts=1, data=variable("a" * 40), instruction=["f (b.c:2)"], requester=["g (b.c:3)"])]
        found = records.findings(section("f (" + "a" * 40 + ".c:1)", stops=stops, entered=1))
        self.assertLessEqual(max(map(len, as_text.page(found).splitlines())), 100)

    def test_names_are_text_in_html(self):
        page = as_html.page(records.findings(section("operator<<(a&)", entered=1)))
        self.assertIn("operator&lt;&lt;(a&amp;)", page)

    def test_the_json_has_all_sections_which_name_each_other_by_their_places(self):
        taken = stop("lock_taken", aborts=1, other=0)
        few, many = section("few", entered=1), section("many", entered=1, in_aborts=9, stops=[taken])
        document = json.loads(as_json.page(records.findings(few, many, top=1)))
        self.assertEqual(["many", "few"], [part["at"] for part in document["sections"]])
        self.assertEqual(1, document["sections"][0]["stops"][0]["other_section"])


if __name__ == "__main__":
    unittest.main()
