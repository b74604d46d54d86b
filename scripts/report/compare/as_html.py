# SPDX-License-Identifier: MIT
"""A document of mplace compare as one HTML file that needs nothing else."""

import math

import spread
import style
from compare.document import Table, cell_text
from markup import escaped

MORE = """\
body { max-width: 80rem; }
h2 { font-size: 1.1rem; }
th, td { text-align: right; white-space: nowrap; }
.left { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
/* What the rounds cannot tell. */
.open { color: var(--soft); }
td svg { display: inline-block; width: 60px; height: 12px; margin-left: .5rem; vertical-align: -1px; }
"""
KEY = (
    "Beside a ratio its interval is drawn, from half (left) to twice (right); the line in the middle is 1, and an"
    " interval that reaches it tells no difference."
)
# A ratio's drawing, in its own units.
WIDTH, HEIGHT = 60, 12


def lines(document):
    """The lines of the page. The first block of the document says how to read it."""
    yield from style.opening("mplace compare", style.sheet(MORE))
    yield "<h1>mplace compare</h1>"
    tables = [block for block in document if isinstance(block, Table)]
    if any(has_interval(cell) for table in tables for row in table.rows for cell in row):
        document = [*document[:1], KEY, *document[1:]]
    for block in document:
        if isinstance(block, Table):
            yield from table_lines(block)
        else:
            yield f"<p>{escaped(block)}</p>"
    yield "</body></html>"


def table_lines(table):
    """A table under its title."""
    heads = "".join(f"<th{classes(column)}>{escaped(column.heading)}</th>" for column in table.columns)
    rows = []
    for row in table.rows:
        cells = (
            f"<td{classes(column, cell)}>{escaped(cell_text(cell))}{interval(cell)}</td>"
            for column, cell in zip(table.columns, row)
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    yield f"<h2>{escaped(table.title)}</h2>"
    yield from style.scrolled(
        [f"<table><thead><tr>{heads}</tr></thead><tbody>", *rows, "</tbody></table>"], table.title
    )


def has_interval(cell):
    """Whether a cell is a ratio with an interval."""
    return isinstance(cell, spread.Ratio) and cell.low is not None


def interval(cell):
    """The drawing of a ratio's interval: a bar and a dot, the line of 1 between; empty without one."""
    if not has_interval(cell):
        return ""
    low, value, high = map(place, (cell.low, cell.value, cell.high))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f'<path d="M{WIDTH / 2:g} 0V{HEIGHT}" stroke="#8c959f"/>'
        f'<path d="M{low:.1f} {HEIGHT / 2:g}H{high:.1f}" stroke="currentColor" stroke-width="2.5"/>'
        f'<circle cx="{value:.1f}" cy="{HEIGHT / 2:g}" r="3.5" fill="currentColor"/></svg>'
    )


def place(ratio):
    """Where a ratio lies in the drawing: a half at the left, 2 at the right, what is beyond at the edge."""
    return WIDTH * min(max((math.log2(ratio) + 1) / 2, 0.05), 0.95)


def classes(column, cell=None):
    """The attribute of a cell: where it stands, and whether its ratio may be 1."""
    if column.left:
        return ' class="left"'
    if isinstance(cell, spread.Ratio) and not cell.differs:
        return ' class="open"'
    return ""
