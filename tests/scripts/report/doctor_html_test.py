# SPDX-License-Identifier: MIT
"""doctor/as_html.py and doctor/picture.py: the page as HTML."""

import re
import unittest
import xml.etree.ElementTree as xml

import doctor_records as records
from doctor import as_html

COSTLY = (900, 400, 0, 0)


def page(*runs, **options):
    return as_html.page(records.findings(*runs, **options))


def pictures(text):
    return [xml.fromstring(svg) for svg in re.findall(r"<svg viewBox.*?</svg>", text, re.S)]


def bars(picture, kind):
    return [bar for bar in picture.iter("rect") if bar.get("class") == kind]


def site_with(hot_by_set, **options):
    return records.run(records.site("f", counts=COSTLY, hot_by_set=hot_by_set), **options)


class Tests(unittest.TestCase):
    def test_markup_in_names_stays_text(self):
        run = records.run(records.site("<b>&f", '"g"', counts=COSTLY))
        text = page(run, title="<i>'x'</i>")
        self.assertIn("<h1>&lt;i&gt;'x'&lt;/i&gt;</h1>", text)
        self.assertIn("<h3>1. &lt;b&gt;&amp;f: blocks of 8 B</h3>", text)
        self.assertIn("called from &quot;g&quot;</p>", text)

    def test_bytes_that_are_no_text_leave_it_utf_8(self):
        run = records.run(records.site("\udcfff", "g", counts=COSTLY))
        text = page(run, title="./\udcff\udcfe.prog")
        self.assertIn("<h1>./\ufffd\ufffd.prog</h1>", text)
        text.encode("utf-8")

    def test_no_line_ends_before_a_sign_for_per_cent(self):
        self.assertNotIn(" %", page(site_with((3, 0, 1, 0))))

    def test_each_set_with_hot_blocks_has_a_bar_and_its_number(self):
        [picture] = pictures(page(site_with((1, 0, 2, 0))))
        titles = [title.text for title in picture.iter("title")]
        self.assertEqual(["set 0: 1 hot block", "set 2: 2 hot blocks"], titles)

    def test_a_bar_stands_at_its_set(self):
        [picture] = pictures(page(site_with((1, 0, 2, 0))))
        # Four sets share 360 from 32 on; a bar takes 0.8 of a set's share.
        places = [(bar.get("x"), bar.get("width")) for bar in bars(picture, "fits")]
        self.assertEqual([("32.00", "72.00"), ("212.00", "72.00")], places)

    def test_a_bar_stands_on_the_axis(self):
        [picture] = pictures(page(site_with((1, 0, 4, 0))))
        for bar in bars(picture, "fits"):
            self.assertEqual(106, float(bar.get("y")) + float(bar.get("height")))

    def test_a_line_at_the_ways_and_the_highest_bar_are_numbered(self):
        [picture] = pictures(page(site_with((1, 0, 4, 0))))
        [ways] = [path for path in picture.iter("path") if path.get("class") == "ways"]
        self.assertEqual("M30 62.00H394", ways.get("d"))
        numbers = [text.text for text in picture.iter("text") if text.get("x") == "27"]
        self.assertEqual(["2", "4"], numbers)

    def test_a_bar_that_is_hardly_higher_than_the_ways_has_no_number(self):
        [picture] = pictures(page(site_with((3, 0, 0, 0))))
        numbers = [text.text for text in picture.iter("text") if text.get("x") == "27"]
        self.assertEqual(["2"], numbers)

    def test_a_picture_says_in_words_what_it_shows(self):
        own, cia = site_with((3, 0, 0, 0)), site_with((1, 1, 1, 0), allocator="cia")
        text = page(own, cia)
        self.assertIn("<figcaption>Under its own allocator: 3 hot blocks begin in 1 of 4 ", text)
        self.assertIn("<figcaption>Under cia (modelled): 3 hot blocks begin in 3 of 4 ", text)
        label = pictures(text)[1].get("aria-label")
        self.assertTrue(label.startswith("hot blocks by cache set under cia: 3 hot "), label)

    def test_what_is_above_the_ways_is_drawn_apart(self):
        [picture] = pictures(page(site_with((1, 0, 4, 0))))
        self.assertEqual(2, len(bars(picture, "fits")))
        [over] = bars(picture, "over")
        # 88 high are 4 blocks: two of them are above the two ways.
        self.assertEqual(("18.00", "44.00"), (over.get("y"), over.get("height")))

    def test_what_is_above_the_ways_is_hatched(self):
        text = page(site_with((1, 0, 4, 0)))
        self.assertEqual(1, text.count('fill="url(#hatch)"'))
        self.assertEqual(1, text.count('<pattern id="hatch"'))

    def test_the_pictures_of_a_place_have_one_scale(self):
        own, cia = pictures(page(site_with((4, 0, 0, 0)), site_with((1, 1, 1, 1), allocator="cia")))
        self.assertEqual("44.00", bars(own, "fits")[0].get("height"))
        self.assertEqual("22.00", bars(cia, "fits")[0].get("height"))

    def test_the_ways_have_room_above_where_nothing_is_higher(self):
        [picture] = pictures(page(site_with((2, 0, 0, 0))))
        # Two ways are 1 / 1.25 of the height.
        self.assertEqual("70.40", bars(picture, "fits")[0].get("height"))

    def test_a_place_without_hot_blocks_has_no_picture(self):
        self.assertEqual([], pictures(page(site_with(()))))

    def test_a_place_that_the_other_run_lacks_has_one_picture(self):
        text = page(site_with((3, 0, 0, 0)), records.run(allocator="cia"))
        self.assertEqual(1, len(pictures(text)))

    def test_the_busiest_place_is_drawn_where_none_is_to_blame(self):
        run = records.run(records.site("f", counts=(90, 0, 0, 0), hot_by_set=(1, 1, 0, 0)))
        text = page(run)
        self.assertIn("<p>Those most visited are of 8 B, allocated by f.</p>", text)
        self.assertEqual(1, len(pictures(text)))

    def test_the_verdict_has_a_class_of_its_own(self):
        self.assertIn('<p class="verdict hurts">Placement hurts', page(records.run(heap=COSTLY)))

    def test_sizes_are_a_table_with_a_column_for_each_figure_of_each_run(self):
        line = records.size(1, counts=COSTLY, hot_by_set=(3, 0, 0, 0))
        text = page(records.run(line), records.run(allocator="cia"))
        self.assertIn(
            "<tr><td>8</td><td>400</td><td>400</td><td>3</td><td>1</td><td>3</td>"
            '<td class="other"></td><td></td><td></td><td></td><td></td></tr>',
            text,
        )
        # One more is the empty head above the sizes; the other run's first is told from those before it.
        self.assertEqual((10, 1), (text.count("<th>") - 1, text.count('<th class="other">')))

    def test_a_section_that_the_other_run_lacks_is_not_seen(self):
        own = records.run(records.section("f", entered=1, overflowed=1))
        self.assertIn("<p>Under cia: not seen.</p>", page(own, records.run(allocator="cia")))

    def test_at_most_three_kinds_of_block_fill_a_set(self):
        run = records.run(
            records.section("f", entered=1, overflowed=1),
            *(records.filler(lines) for lines in (5, 4, 3, 2)),
        )
        self.assertEqual(3, page(run).count("<li>"))


if __name__ == "__main__":
    unittest.main()
