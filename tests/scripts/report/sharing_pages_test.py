# SPDX-License-Identifier: MIT
"""sharing/as_text.py, as_html.py and as_json.py: the page in its three forms."""

import json
import unittest

import sharing_records as records
from sharing import as_html, as_json, as_text

LINE = 4096
BLOCKS = [records.block(LINE, 16, "red"), records.block(LINE + 32, 16, "blue", "main")]
SITES = [records.site("f", 3), records.site("g", 2, written="ff00000000", cores="6")]


def moved(**options):
    return records.run(records.line(LINE, SITES, BLOCKS, between=5), **options)


def flat(text):
    return " ".join(text.split())


class Tests(unittest.TestCase):
    def test_a_finding_names_both_places_and_what_the_code_does(self):
        text = flat(as_text.page(records.findings(moved())))
        self.assertIn("1. Blocks side by side in one line: blocks allocated by red and by blue", text)
        self.assertIn("f writes bytes 0-7 of the block by red; 1 core, 3 moves", text)
        self.assertIn("g writes bytes 0-7 of the block by blue; 2 cores, 2 moves", text)

    def test_a_finding_with_several_reasons_has_the_moves_of_each(self):
        run = records.run(records.line(LINE, SITES, true=5, false_in_block=2))
        text = flat(as_text.page(records.findings(run)))
        self.assertIn("of those of all accesses: 5 true sharing, 2 false sharing in one block", text)
        self.assertNotIn("accesses: 5 blocks", flat(as_text.page(records.findings(moved()))))

    def test_figures_are_called_simulated(self):
        found = records.findings(moved(), moved(allocator="cia"))
        for page in (as_text.page(found), as_html.page(found)):
            self.assertIn("Simulated: machine quad, 4 cores", flat(page))
            self.assertIn("5 moves of 1 line between cores took 50 cycles (simulated)", flat(page))
        self.assertIs(True, json.loads(as_json.page(found))["simulated"])

    def test_what_the_other_run_has_not_is_gone(self):
        found = records.findings(moved(), records.run(allocator="cia"))
        self.assertIn("under cia (simulated): gone", as_text.page(found))

    def test_what_the_other_run_has_stands_beside(self):
        found = records.findings(moved(), moved(allocator="cia"))
        self.assertIn("under cia (simulated): 5 moves of 1 line, 50 cycles", as_text.page(found))

    def test_a_second_run_with_fewer_accesses_is_told(self):
        fewer = records.findings(moved(), moved(allocator="cia", accesses=700))
        self.assertIn("It made fewer accesses", as_text.page(fewer))
        as_many = records.findings(moved(), moved(allocator="cia", accesses=900))
        self.assertNotIn("It made fewer accesses", as_text.page(as_many))

    def test_lines_of_the_text_have_at_most_100_columns(self):
        site = records.site("f (" + "a" * 30 + ".c:1)", read="f0f0f0f0f0f0f0f", written="f0f0f0f0f0f0f0f")
        run = records.run(records.line(LINE, [site] * 9, true=9))
        self.assertLessEqual(max(map(len, as_text.page(records.findings(run)).splitlines())), 100)

    def test_without_a_finding_the_page_says_so(self):
        found = records.findings(records.run(records.line(LINE, [], first=2)))
        self.assertIn("No line costs 0.1 % of the cycles", as_text.page(found))
        self.assertIn("No line costs", as_html.page(found))

    def test_names_are_text_in_html(self):
        run = records.run(records.line(LINE, [records.site("operator<<(a&)")], true=5))
        page = as_html.page(records.findings(run))
        self.assertIn("operator&lt;&lt;(a&amp;)", page)

    def test_the_json_has_every_finding_of_both_runs(self):
        small = records.line(2 * LINE, [records.site("h")], true=1)
        own = records.run(records.line(LINE, SITES, BLOCKS, between=5), small, cycles=10**9)
        document = json.loads(as_json.page(records.findings(own, moved(allocator="cia"), top=1)))
        self.assertEqual([2, 1], [len(run["findings"]) for run in document["runs"]])
        use = document["runs"][0]["findings"][0]["code"][1]
        self.assertEqual(("g", "blue", [1, 2]), (use["at"], use["of_block_by"], use["cores"]))


if __name__ == "__main__":
    unittest.main()
