# SPDX-License-Identifier: MIT
"""A document of mplace compare as one HTML file that needs nothing else."""

import spread
from compare.document import Table, cell_text
from markup import escaped

STYLE = (
    "body{margin:0 auto;max-width:80rem;padding:1.2rem 1rem 3rem;color:#1b1f24;background:#fff;"
    "font:1rem/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}\n"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .3rem}p{max-width:46rem}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem}"
    "th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid #d8dee4;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}.left{text-align:left}\n"
    "/* What the rounds cannot tell. */.open{color:#57606a}"
)


def lines(document):
    """The lines of the page."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>mplace compare</title><style>\n{STYLE}\n</style></head><body>"
    yield "<h1>mplace compare</h1>"
    for block in document:
        if isinstance(block, Table):
            yield from table_lines(block)
        else:
            yield f"<p>{escaped(block)}</p>"
    yield "</body></html>"


def table_lines(table):
    """A table under its title."""
    yield f"<h2>{escaped(table.title)}</h2>"
    yield '<div class="wide"><table><thead><tr>'
    for column in table.columns:
        yield f"<th{classes(column)}>{escaped(column.heading)}</th>"
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = (
            f"<td{classes(column, cell)}>{escaped(cell_text(cell))}</td>"
            for column, cell in zip(table.columns, row)
        )
        yield "<tr>" + "".join(cells) + "</tr>"
    yield "</tbody></table></div>"


def classes(column, cell=None):
    """The attribute of a cell: where it stands, and whether its ratio may be 1."""
    if column.left:
        return ' class="left"'
    if isinstance(cell, spread.Ratio) and not cell.differs:
        return ' class="open"'
    return ""
