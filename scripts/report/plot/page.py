# SPDX-License-Identifier: MIT
"""The page: one self-contained index.html. Every number in it is from the rows that were drawn."""

from markup import escaped
from plot import keys
from plot.figures import panels
from plot.as_html import inline_figure
from plot.figures.narrow import narrow_drawing
from plot.figures.rate_figures import rate_title, sets_used_title
from plot.settings import machine_list, settings_list, sources_text, values_of, warnings_box
from plot.figures.sets_figure import sets_figure_name
from plot.style import STYLE
from plot.tables import elision_findings, rate_findings, summary_table, worst_table
from plot.words import bench_text, elision_text, why_no_ttstle
from style import opening

WHAT_IT_IS_ABOUT = (
    "A cache set holds as many lines as the cache has ways. An allocator that spaces equal blocks"
    " by a power of two puts them all into a few sets: a structure far smaller than the cache does"
    " not fit into it, and a hardware transaction that writes to it cannot commit."
)
CLAIMS_LINK = (
    '<a href="claims.html">What these rows say of each claim of the paper</a>: measured, emulated, or'
    " left to a processor with transactions."
)
RATE_CAPTION = (
    "Each point is the median rate of one allocator on one lock at one node size; the line through"
    " it reaches from the first quartile of its runs to the third. Where the lines of two points overlap the"
    " runs may not tell them apart."
)
RING_CAPTION = (
    "A good allocator is a flat line at the top: points that drop out of it are sizes whose nodes"
    " fall on too few cache sets. A slow fall common to all at large sizes is the TLB, not the"
    " cache."
)
TREE_CAPTION = (
    "An operation inserts, deletes or looks up a random key; malloc and free are part of it. Points"
    " that drop out of the others at one size are nodes on too few cache sets; the fall common to"
    " all is the memory that 32767 nodes of that size lie in: caches and TLB reach less of it."
)
SETS_USED_CAPTION = (
    "The same sizes: how many sets of the L1 data cache the nodes begin in. This is arithmetic on"
    " addresses and owes nothing to the clock."
)
SETS_CAPTION = (
    "One column a cache set, one row an allocator. Red sets hold more nodes than the cache has"
    " ways, so that each traversal evicts some of them."
)
ELIDED_CAPTION = (
    "The share of the lock acquisitions that were elided: run as a transaction that committed. The"
    " others took the lock."
)
ELIDED_ROWS_CAPTION = (
    "A full bar is a size at which all are, a cross one at which less than half are."
)
ABORTS_SCALE = "Each cause has a scale of its own, the same in all charts."
OWN_MUTEX_CAPTION = "An allocator with pthread mutexes of its own is counted with them."
ABORTS_CAPTION = (
    "Of the transactions started, those that aborted, by what the processor gave as the cause. A"
    " good allocator has no capacity aborts at any size: they come from nodes that fall on too few"
    " cache sets. Conflicts are the workload's own, where no two nodes share a line."
)


class Page:
    """The page of what was measured. drawing is a function from a figure's name to its SVG."""

    def __init__(self, measured, drawing, has_claims):
        self.measured = measured
        self.drawing = drawing
        self.has_claims = has_claims
        self.shown = []  # title, name, key and panels of each figure

    def narrow_drawings(self):
        """The name and the narrow drawing of each figure."""
        self.shown = []
        for _ in self.lines():
            pass
        for title, name, key, charts in self.shown:
            yield name, narrow_drawing(title, key, charts)

    def lines(self):
        """The lines of the page."""
        first, *others = self.measured.rates or (None,)
        yield from self._head()
        if first:
            yield from self._rates(first, is_first=True)
        else:
            yield from warnings_box(self.measured.machines)
        for group in others:
            yield from self._rates(group)
        for group in self.measured.elision:
            yield from self._elision(group)
        yield from self._left_out()
        yield from self._foot()

    def _figure(self, title, name, caption, key, shown, has_overview=True):
        """A figure with the panels shown; the drawing of all is inline where it adds to them."""
        wide = self.drawing(name) if has_overview else ""
        charts = [(panel, self.drawing(panel.figure.name)) for panel in shown]
        key = list(key)
        self.shown.append((title, name, key, charts))
        return inline_figure(name, caption, wide, key, charts)

    def _head(self):
        rows = self.measured.shown()
        cpus, hosts = escaped(values_of(rows, "cpu")), escaped(values_of(rows, "host"))
        yield from opening(f"mplace: where blocks lie, on {cpus}", STYLE)
        yield "<h1>Where malloc puts blocks, and what it costs</h1>"
        emulated = sum(row.htm == "emulated" for row in rows)
        runs = f"{len(rows) - emulated} runs; {emulated} more emulated, which tell no time"
        if emulated in (0, len(rows)):
            runs = f"{len(rows)} runs{', emulated: they tell no time' if emulated else ''}"
        yield f'<p class="where">Measured on {cpus}, host {hosts}: {runs}.</p>'
        yield f"<p>{WHAT_IT_IS_ABOUT}</p>"
        if self.has_claims:
            yield f"<p>{CLAIMS_LINK}</p>"

    def _rates(self, group, is_first=False):
        key, number = group.key, group.number
        yield f"<h2>{escaped(f'{bench_text(key)} on {key.cpu}')}</h2>"
        yield from ("<ul>", *rate_findings(group), "</ul>")
        if is_first:
            yield from warnings_box(self.measured.machines)
        what = RING_CAPTION if key.bench == "ring" else TREE_CAPTION
        caption = f"Figure {number}. {RATE_CAPTION}\n{what}"
        title, charts = rate_title(self.measured, key), panels.rate_panels(group)
        yield from self._figure(title, group.figure("rate"), caption, keys.rates(group), charts)
        reason = why_no_ttstle(self.measured, key.cpu)
        if reason:
            yield f"<p>{escaped(reason)}</p>"
        if key.bench == "ring":
            caption = f"Figure {number}, sets. {SETS_USED_CAPTION}"
            sets = self.measured.sets_of(key.cpu)
            shown = panels.sets_used_panels(group, sets)
            title = sets_used_title(key, sets)
            yield from self._figure(
                title, group.figure("sets-used"), caption, keys.sets_used(sets), shown, has_overview=False
            )
            for size in self.measured.sets_sizes if is_first else ():
                caption = f"Figure 1, nodes of {size} B. {SETS_CAPTION}"
                shown = [panels.sets_panel(self.measured, size)]
                title = f"Nodes of {size} B that begin in each set of the L1 data cache"
                yield from self._figure(title, sets_figure_name(size), caption, keys.SETS, shown)
        yield "<h2>Tables</h2>"
        yield from summary_table(group)
        yield from worst_table(group)

    def _elision(self, group):
        number = group.number
        yield f"<h2>{escaped(elision_text(group.key))}</h2><ul>"
        yield from (*elision_findings(group), "</ul>")
        rows_caption = ELIDED_ROWS_CAPTION if group.key.bench == "ring" else ""
        caption = f"Figure {number}, elision. {ELIDED_CAPTION} {rows_caption} {OWN_MUTEX_CAPTION}"
        is_ring = group.key.bench == "ring"
        key = keys.ELIDED_ROWS if is_ring else keys.elided(group)
        shown = panels.elided_panels(group)
        title = f"Elided sections: {elision_text(group.key)}"
        yield from self._figure(title, group.figure("elided"), caption, key, shown, has_overview=is_ring)
        caption = f"Figure {number}, aborts. {ABORTS_CAPTION} {ABORTS_SCALE}"
        shown = panels.aborts_panels(group)
        title = f"Aborts: {elision_text(group.key)}"
        yield from self._figure(
            title, group.figure("aborts"), caption, keys.ABORTS, shown, has_overview=False
        )

    def _left_out(self):
        """What is not drawn, and why."""
        futile = self.measured.futile()
        emulated = sum(row.htm == "emulated" for row in self.measured.rows)
        if futile:
            yield (
                f"<p>{futile} rows of ttstle are not drawn: it did not elide there,"
                " and is tts then.</p>"
            )
        if emulated:
            yield (
                f"<p>{emulated} rows were taken under the transaction emulator and have no rate:"
                " time means nothing there.</p>"
            )

    def _foot(self):
        yield "<h2>The machine</h2>"
        yield from machine_list(self.measured.machines)
        yield "<h2>Settings and command</h2>"
        yield from settings_list(self.measured)
        yield f'<p class="where">{escaped(sources_text(self.measured.results))}</p>'
        yield "</body></html>"
