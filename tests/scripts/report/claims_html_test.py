# SPDX-License-Identifier: MIT
"""The judgement as a page."""

import unittest

from claims import as_html
from claims.words import escaped, table


def body(markdown):
    return "\n".join(as_html.body(markdown))


class Tests(unittest.TestCase):
    def test_marks_become_elements_and_text_stays_text(self):
        self.assertEqual(
            as_html.inline("**Holds.** *nearly* at `a < b` & <c>, 2 * 3"),
            "<strong>Holds.</strong> <em>nearly</em> at <code>a &lt; b</code> &amp; &lt;c&gt;, 2 * 3",
        )

    def test_foreign_text_in_a_cell_is_shown_as_it_is(self):
        text = "a|b \\ `c` <d>"
        page = body(table(["file"], [[escaped(text)]]))
        self.assertIn("<td>a|b \\ `c` &lt;d&gt;</td>", page)

    def test_numbers_are_to_the_right_under_their_heading(self):
        page = body(table(["size", "best"], [["500", "5.14 (rand)"], ["504", "4.95 (cia)"]]))
        self.assertIn('<th class="n">size</th><th>best</th>', page)
        self.assertIn('<td class="n">500</td><td>5.14 (rand)</td>', page)

    def test_a_verdict_has_its_colour_and_the_number_of_its_claim_leads_there(self):
        rows = [["1", "a", "holds for aborts"], ["", "b", "differs"], ["2", "c", "not measured"]]
        page = body(table(["", "claim", "verdict"], rows) + "\n## 2. c\n")
        for cell in ('"holds">holds for aborts', '"differs">differs', '"open">not measured'):
            self.assertIn(f"<td class={cell}</td>", page)
        self.assertIn('<td><a href="#claim-2">2</a></td>', page)
        self.assertIn('<h2 id="claim-2">2. c</h2>', page)

    def test_a_paragraph_or_item_of_several_lines_is_one(self):
        page = body("one\ntwo\n\n* three\n  four\n* five\n\nsix\n")
        self.assertEqual(page, "<p>one two</p>\n<ul>\n<li>three   four</li>\n<li>five</li>\n</ul>\n<p>six</p>")

    def test_a_table_scrolls_and_says_what_it_is(self):
        page = body("## Verdicts\n\n" + table(["a"], [["b"]]))
        self.assertIn('<div class="wide" tabindex="0" role="region" aria-label="Verdicts">', page)


if __name__ == "__main__":
    unittest.main()
