# SPDX-License-Identifier: MIT
"""The page, from files to what is printed."""

import contextlib
import io
import os
import re
import tempfile
import unittest

from markup import escaped
from plot import main
from plot.as_html import inline_drawing
from plot_examples import emulated, ring, tree
from rows import COLUMNS, HEADER

SVG = '<?xml version="1.0"?>\n<svg>\n<g id="plot"/>\n</svg>\n'


def line(row):
    """The row as a line of a result."""
    texts = {name: getattr(row, name, "") for name in COLUMNS}
    texts["date"] = f"2026-01-0{row.seed}T00:00:00Z"
    return ",".join(texts.values())


class Tests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, *lines):
        """Writes lines to a file of the folder; its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{text}\n" for text in lines)
        return path

    def result(self, *rows, name="a.csv"):
        """Writes a result of these rows; its path."""
        return self.write(name, HEADER, *map(line, rows))

    def plot(self, what, *files, sizes=""):
        """The exit status, and what is printed as output and as error."""
        out, err = io.StringIO(), io.StringIO()
        options = ["--as", "mplace plot", "--drawn-in", self.folder, "--sets-size", sizes]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main([what, *options, "--", *files])
        return status, out.getvalue(), err.getvalue()

    def records(self, *files, sizes=""):
        """The number of rows, and the names of the figures and of the small charts."""
        rows, *figures, _ = self.plot("figures", *files, sizes=sizes)[1].split("\0")
        return rows, figures[::2]

    def figures(self, *files, sizes=""):
        """The names of the figures."""
        names = self.records(*files, sizes=sizes)[1]
        return [name for name in names if not name.startswith("panel-")]

    def page(self, *files):
        """The page, after every figure was drawn."""
        for name in self.records(*files)[1]:
            with open(os.path.join(self.folder, f"{name}.svg"), "w", encoding="utf-8") as file:
                file.write(SVG)
        status, page, err = self.plot("page", *files)
        self.assertEqual((status, err), (0, ""))
        return page

    def test_the_figures_come_with_the_number_of_rows_that_are_drawn(self):
        path = self.result(ring(), tree(), emulated(), ring(lock="ttstle"))
        self.assertEqual(self.records(path)[0], "3")
        self.assertEqual(
            self.figures(path),
            [
                "figure1-rate",
                "figure1-sets-used",
                "figure2-rate",
                "figure2-elided",
                "figure2-aborts",
            ],
        )

    def test_rows_without_rate_and_transactions_are_not_counted(self):
        path = self.result(ring(), emulated(tx_started=0), ring(lock="ttstle"))
        self.assertEqual(self.records(path)[0], "1")

    def test_each_figure_has_its_script(self):
        records = self.plot("figures", self.result(ring()))[1].split("\0")
        self.assertEqual(records[-1], "")
        self.assertIn("set output 'figure1-rate.'", records[2])
        self.assertIn("set output 'figure1-sets-used.'", records[4])

    def test_the_sets_of_the_wanted_sizes_are_drawn(self):
        path = self.result(ring())
        self.write("a.csv.sets", "cia,64,1,8,64,128", "cia,65,1,8,64,128")
        self.assertEqual(self.figures(path, sizes="65")[2:], ["figure1-sets-65"])

    def test_each_small_chart_is_in_the_page_under_its_allocators_name(self):
        path = self.result(ring(malloc="glibc"), ring(malloc="cia", rate=2))
        names = [name for name in self.records(path)[1] if name.startswith("panel-")]
        shown = re.findall('<div><h3>([a-z]*)</h3><svg>\n<g id="([a-z0-9-]*)-plot"', self.page(path))
        self.assertEqual([name for _, name in shown], names)
        self.assertEqual([malloc for malloc, _ in shown], ["glibc", "cia"] * 2)

    def test_every_mark_of_a_figure_is_in_its_key(self):
        self.write("a.csv.sets", "cia,64,1,8,64,128")
        page = self.page(self.result(ring(), ring(seed=2), ring(lock="pthread"), emulated(), emulated(bench="ring")))
        keys = re.findall('<figure id="([a-z0-9-]*)"><ul class="key">(.*?)</ul>', page)
        marks = {name: re.sub("<[^>]*>", "", key.replace("<li>", "|")) for name, key in keys}
        self.assertEqual(len(marks), page.count("<figure"))
        self.assertEqual(
            marks["figure1-rate"],
            "| median under pthread| median under tts| quartiles of the runs"
            "| the fastest allocator under tts at each size",
        )
        self.assertEqual(marks["figure2-elided"], "| elided share of all runs")
        self.assertIn("less than half", marks["figure1-elided"])

    def test_a_row_that_is_there_twice_counts_once(self):
        one = self.result(ring(), ring())
        two = self.result(ring(seed=1), ring(seed=2), name="b.csv")
        self.assertEqual(self.records(one, two)[0], "2")

    def test_what_shows_nothing_is_refused(self):
        path = self.result(ring(lock="ttstle"))
        status, out, err = self.plot("figures", path)
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, "^mplace plot: nothing to draw: no row has a rate .*\n$")

    def test_a_malformed_result_is_refused_by_its_name(self):
        status, out, err = self.plot("page", self.write("a.csv", HEADER))
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, f"mplace plot: {self.folder}/a.csv: no rows\n")

    def test_names_are_text(self):
        page = self.page(self.result(ring(cpu='A & B <CPU> "2^3"', host="<h>")))
        self.assertEqual(escaped("a&b"), "a&amp;b")
        self.assertIn("<h2>Ring of 128 nodes on A &amp; B &lt;CPU&gt; &quot;2^3&quot;</h2>", page)
        self.assertNotIn("<CPU>", page)
        self.assertNotIn("<h>", page)

    def test_the_ids_of_an_inline_figure_are_its_own(self):
        svg = (
            "<?xml version='1.0'?>\n<!DOCTYPE svg>\n<svg id='a'>\n<use href=\"#a\" id=\"b\"/>"
            "<path fill='url(#c)' xlink:href='#d'/>\n</svg>\n"
        )
        self.assertEqual(
            inline_drawing("f1", svg),
            "<svg id='f1-a'>\n<use href=\"#f1-a\" id=\"f1-b\"/>"
            "<path fill='url(#f1-c)' xlink:href='#f1-d'/>\n</svg>",
        )

    def test_the_claims_are_linked_where_they_were_judged(self):
        path = self.result(ring())
        self.assertNotIn("claims", self.page(path))
        self.write("claims.html", "judged")
        self.assertIn('<a href="claims.html">', self.page(path))

    def test_the_sets_are_with_the_ring_alone(self):
        path = self.result(ring(), tree())
        self.write("a.csv.sets", "cia,64,1,8,64,128")
        order = re.findall("PNG</a> <a href=.([a-z0-9-]*)", self.page(path))
        self.assertEqual(
            order, ["figure1-rate", "figure1-sets-used", "figure1-sets-64", "figure2-rate"]
        )

    def test_captions_are_those_of_the_benchmark(self):
        for row, its_own, the_others in (
            (ring(), "A good allocator is a flat line at the top", "An operation inserts"),
            (tree(), "An operation inserts", "A good allocator is a flat line at the top"),
            (emulated(bench="ring"), "A full bar is a size", "A good allocator is a flat line"),
            (emulated(), "An allocator with pthread mutexes", "A full bar is a size"),
        ):
            page = self.page(self.result(row))
            self.assertIn(its_own, page)
            self.assertNotIn(the_others, page)

    def test_what_is_not_drawn_is_told(self):
        page = self.page(self.result(emulated(), emulated(seed=2), tree(lock="ttstle")))
        self.assertIn("<p>1 rows of ttstle are not drawn: it did not elide there", page)
        self.assertIn("<p>2 rows were taken under the transaction emulator and have no rate", page)
        page = self.page(self.result(ring()))
        self.assertNotIn("not drawn", page)
        self.assertNotIn("emulator", page)

    def test_the_page_says_what_was_measured_where_and_when(self):
        rows = [ring(seed=3, host="host10"), ring(seed=1, host="host9", rate=5), emulated(seed=2)]
        page = self.page(self.result(*rows))
        self.assertIn("host host9, host10, somewhere: 2 runs; 1 more emulated, which tell no time.", page)
        self.assertIn(
            "Drawn from a.csv, measured between 2026-01-01T00:00:00Z and 2026-01-03T00:00:00Z.",
            page,
        )

    def test_the_machine_is_described_in_words(self):
        path = self.result(ring())
        self.write("a.csv.machine", "host=somewhere", "l1d=64x12x64", "l2=1x2x3", "emulator=usable")
        page = self.page(path)
        for text in (
            "<dt>Host</dt><dd>somewhere</dd>",
            "<dt>L1 data cache</dt><dd>64 × 12 × 64 (sets × ways × bytes a line)</dd>",
            "<dt>L2 cache</dt><dd>1 × 2 × 3</dd>",
        ):
            self.assertIn(text, page)
        self.assertNotIn("usable", page)

    def test_warnings_come_after_the_first_findings_or_first_of_all(self):
        machine = ("host=somewhere", "warning=Turbo is on & hot.")
        for row, before in ((ring(), "</ul>"), (emulated(), "cannot commit.</p>")):
            path = self.result(row)
            self.write("a.csv.machine", *machine)
            page = self.page(path).split("\n")
            at = page.index("<li>Turbo is on &amp; hot.</li>")
            self.assertTrue(page[at - 2].endswith(before), page[at - 2])
            self.assertIn("What spoils this measurement", page[at - 1])

    def test_settings_and_commands_are_told(self):
        path = self.result(
            ring(size=64, pinned=3, wait="park"), ring(size=500, seed=2, policy="paper"),
            emulated(), emulated(seed=3),
        )  # fmt: skip
        self.write("a.csv.plan", "# settings=", "# settings=TTS_WAIT=spin", "# program=ring <n>")
        self.write(
            "a.csv.machine", "sweep_command='mplace' \"x\"", "sweep_library=l", "sweep_library=l"
        )
        page = self.page(path).partition("<h2>Settings and command</h2>\n")[2]
        self.assertEqual(
            page.split("\n")[:-3],
            [
                "<dl>",
                "<dt>Runs a point</dt><dd>1; the point is their median</dd>",
                "<dt>Runs a point of elision</dt><dd>2; the point is the share over all of them"
                "</dd>",
                "<dt>Sizes</dt><dd>2, from 64 to 500 B</dd>",
                "<dt>Seeds</dt><dd>1, 2, 3: the same for all allocators and locks in a repetition"
                "</dd>",
                "<dt>On CPU</dt><dd>3</dd>",
                "<dt>Waiting of the lock</dt><dd>park</dd>",
                "<dt>Retry policy of ttstle</dt><dd>paper</dd>",
                "<dt>Set in the environment</dt><dd>TTS_WAIT=spin</dd>",
                "<dt>Each run</dt><dd>ring &lt;n&gt;</dd>",
                "<dt>Library</dt><dd>l</dd>",
                "</dl>",
                "<pre>'mplace' &quot;x&quot;</pre>",
            ],
        )

    def test_settings_that_no_row_has_are_left_out(self):
        page = self.page(self.result(ring()))
        for name in ("On CPU", "Waiting of the lock", "Retry policy", "Runs a point of elision"):
            self.assertNotIn(f"<dt>{name}", page)


if __name__ == "__main__":
    unittest.main()
