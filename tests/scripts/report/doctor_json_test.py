# SPDX-License-Identifier: MIT
"""doctor/as_json.py: the page as JSON, which programs read."""

import json
import unittest

import doctor_records as records
from doctor import as_json


def page(*runs, **options):
    return json.loads(as_json.page(records.findings(*runs, **options)))


def text_of(data):
    return data.decode("utf-8", "surrogateescape")


class Tests(unittest.TestCase):
    def test_quotes_and_backslashes_come_through(self):
        title = r's/\d"//p </script> %s'
        self.assertEqual(title, page(records.run(), title=title)["program"])

    def test_control_characters_are_blanks(self):
        self.assertEqual("a b c d", page(records.run(), title="a\tb\nc\x1fd")["program"])

    def test_what_is_no_utf8_is_left_out(self):
        run = records.run(records.site(text_of(b"\xff\xc3\xa4b\xc3")))
        document = page(run, title=text_of(b"x\xed\xa0\x80, \xc3 y"))
        self.assertEqual("x,  y", document["program"])
        self.assertEqual("äb", document["runs"][0]["sites"][0]["at"])

    def test_the_page_is_utf8_itself(self):
        text = as_json.page(records.findings(records.run(), title=text_of(b"\xff\xc3\xa4")))
        self.assertIn(b'"\xc3\xa4"', text.encode("utf-8"))

    def test_the_cache_and_the_verdict_come_before_the_runs(self):
        document = page(records.run(heap=(50, 5, 0, 0)))
        self.assertEqual(
            ["program", "modelled", "l1d", "window_visits", "verdict", "runs"], list(document)
        )
        self.assertEqual({"sets": 4, "ways": 2, "line": 64}, document["l1d"])
        self.assertEqual((16384, "hurts"), (document["window_visits"], document["verdict"]))

    def test_each_run_has_its_allocator_and_exit_status(self):
        own, cia = page(records.run(), records.run(allocator="cia", exit_status=7))["runs"]
        self.assertEqual(("its own allocator", 0), (own["malloc"], own["exit_status"]))
        self.assertEqual(("cia", 7), (cia["malloc"], cia["exit_status"]))

    def test_a_run_tells_what_it_became(self):
        self.assertEqual(
            [None, "/bin/"],
            [page(records.run(*lines))["runs"][0]["becomes"]
             for lines in ([], ["becomes\t" + text_of(b"/bin/\xff")])],
        )

    def test_all_places_are_there_and_not_only_the_first(self):
        run = records.run(*(records.site(name) for name in "abc"))
        sites = page(run, top=1)["runs"][0]["sites"]
        self.assertEqual(["a", "b", "c"], [site["at"] for site in sites])

    def test_a_site_has_all_its_figures(self):
        run = records.run(records.site(
            "f", "g", counts=(9, 7, 2, 1), first=(5, 4, 0, 0), allocated=3, live=2, sizes=(8, 16),
            hot_by_set=(2, 0, 1, 0),
        ))
        self.assertEqual([{
            "visits": 9, "misses": 7, "misses_fully_associative": 2, "misses_within": 1, "saved": 4,
            "first_line_visits": 5, "first_line_misses": 4, "allocated": 3, "live_most": 2,
            "size_least": 8, "size_most": 16, "hot": 3, "sets_used": 2, "most_in_one_set": 2,
            "hot_by_set": [2, 0, 1, 0], "at": "f", "called_from": "g",
        }], page(run)["runs"][0]["sites"])

    def test_a_size_has_no_place(self):
        [size] = page(records.run(records.size(1)))["runs"][0]["sizes"]
        self.assertNotIn("at", size)
        self.assertEqual([], size["hot_by_set"])

    def test_a_section_has_what_fills_the_set(self):
        run = records.run(
            records.section(
                "f", entered=3, overflowed=2, waited=1, held=1, lines=30, lines_most=20
            ),
            records.filler(16, 5000000000, "g"),
            records.filler(2),
        )
        self.assertEqual([{
            "entered": 3, "overflowed": 2, "waited": 1, "held_at_end": 1, "lines_written": 30,
            "lines_most": 20, "at": "f", "called_from": "",
            "filled_by": [{"lines": 16, "size": 5000000000, "at": "g"}, {"lines": 2}],
        }], page(run)["runs"][0]["sections"])


if __name__ == "__main__":
    unittest.main()
