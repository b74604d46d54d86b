# SPDX-License-Identifier: MIT
"""A document of mplace compare as text, Markdown, HTML and JSON."""

import json
import unittest

from compare import as_html, as_json, as_markdown, as_text
from compare.document import Column, Figure, Table, cell_text
from spread import Ratio

TABLE = Table(
    "Times",
    (Column("name", left=True), Column("cia", "ns"), Column("ratio")),
    [
        ["a<b", Figure(1234.56, 0.054, 1), Ratio(1.25, 1.125, 1.5)],
        ["c", Figure(2.0, None, 1), Ratio(1.0, 0.5, 2.0)],
        ["d|e", "failed", None],
    ],
)


class Tests(unittest.TestCase):
    def test_a_cell_shows_what_it_holds(self):
        shown = {
            "1,234.6 ±5%": Figure(1234.56, 0.054, 1),
            "2.000": Figure(2.0, None, 3),
            "1.25 [1.12, 1.50]": Ratio(1.25, 1.1249, 1.5),
            "1.00 [0.50, 2.00] ~": Ratio(1.0, 0.5, 2.0),
            "1.25 ~": Ratio(1.25, None, None),
            "-": None,
            "7": 7,
            "failed": "failed",
        }
        for text, cell in shown.items():
            self.assertEqual(cell_text(cell), text)

    def test_text_has_columns_in_line_and_marks_beside_them(self):
        self.assertEqual(
            list(as_text.lines([TABLE])),
            [
                "Times",
                "name      cia, ns                ratio",
                "a<b   1,234.6 ±5%  1.25 [1.12, 1.50]",
                "c             2.0  1.00 [0.50, 2.00] ~",
                "d|e        failed                    -",
            ],
        )

    def test_long_paragraphs_are_wrapped_in_text_alone(self):
        paragraph = "word " * 50 + "end"
        self.assertEqual(max(map(len, as_text.lines([paragraph]))) <= 110, True)
        self.assertIn(paragraph, list(as_markdown.lines([paragraph])))

    def test_markdown_has_a_table_under_its_title(self):
        lines = list(as_markdown.lines([TABLE]))
        start = lines.index("## Times")
        self.assertEqual(
            lines[start + 2 : start + 5],
            [
                "| name | cia, ns | ratio |",
                "| --- | ---: | ---: |",
                "| a<b | 1,234.6 ±5% | 1.25 [1.12, 1.50] |",
            ],
        )

    def test_a_bar_in_markdown_does_not_end_a_cell(self):
        self.assertEqual(list(as_markdown.lines([TABLE]))[-1], "| d\\|e | failed | - |")

    def test_html_escapes_every_text(self):
        table = Table("<t>", (Column("<h>", "<u>"),), [["<cell>"]])
        page = "\n".join(as_html.lines(["<p>aragraph", table]))
        for text in ("t", "h", "u", "cell"):
            self.assertIn(f"&lt;{text}&gt;", page)
        self.assertIn("<p>&lt;p&gt;aragraph</p>", page)

    def test_html_shows_what_the_rounds_cannot_tell_in_another_colour(self):
        page = "\n".join(as_html.lines([TABLE]))
        self.assertIn('<td class="open">1.00 [0.50, 2.00] ~<', page)
        self.assertIn("<td>1.25 [1.12, 1.50]<", page)

    def test_html_draws_the_interval_of_a_ratio_and_says_so(self):
        page = "\n".join(as_html.lines(["How to read it.", TABLE]))
        # From half to twice: 1.125 is 0.585 of the way, 1.5 is 0.792, the ratio 1.25 is 0.661.
        self.assertIn('<path d="M35.1 6H47.5"', page)
        self.assertIn('<circle cx="39.7"', page)
        self.assertIn("<p>How to read it.</p>\n<p>Beside a ratio its interval is drawn", page)
        table = Table("t", (Column("ratio"),), [[Ratio(1.5, None, None)]])
        self.assertNotIn("drawn", "\n".join(as_html.lines(["few rounds", table])))

    def test_html_has_a_shadow_where_a_table_goes_on_beside_the_page(self):
        page = "\n".join(as_html.lines([TABLE]))
        self.assertIn(f'<div class="wide" tabindex="0" role="region" aria-label="{TABLE.title}">', page)
        self.assertIn("no-repeat local", page)

    def test_json_has_the_numbers_as_they_are_with_their_units(self):
        content = json.loads("\n".join(as_json.lines(["text", TABLE])))
        self.assertEqual(content["paragraphs"], ["text"])
        (table,) = content["tables"]
        self.assertEqual(table["columns"][1], {"title": "cia", "unit": "ns"})
        self.assertEqual(
            table["rows"][0],
            [
                "a<b",
                {"median": 1234.56, "spread": 0.054},
                {"ratio": 1.25, "low": 1.125, "high": 1.5, "differs": True},
            ],
        )
        self.assertEqual(table["rows"][2], ["d|e", "failed", None])


if __name__ == "__main__":
    unittest.main()
