# SPDX-License-Identifier: MIT
"""A document of mplace compare as text for a terminal."""

import textwrap

import spread
from compare.document import MARK, Table, cell_text

WIDTH = 110


def lines(document):
    """The lines, an empty one between paragraphs and tables."""
    for number, block in enumerate(document):
        if number:
            yield ""
        if isinstance(block, Table):
            yield from table_lines(block)
        else:
            yield from textwrap.wrap(block, WIDTH, break_long_words=False, break_on_hyphens=False)


def table_lines(table):
    """The title, the headings, and a line a row; each column as wide as it needs."""
    yield table.title
    headings = [column.heading for column in table.columns]
    rows = [[padded(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, texts)) for texts in zip(headings, *rows)]
    for texts in [headings, *rows]:
        cells = [
            text.ljust(width) if column.left else text.rjust(width)
            for text, width, column in zip(texts, widths, table.columns)
        ]
        yield "  ".join(cells).rstrip()


def padded(cell):
    """The text of a cell; a ratio has the place of the mark, so that the figures stand in line."""
    marked = isinstance(cell, spread.Ratio) and not cell.differs
    ratio = isinstance(cell, spread.Ratio)
    return cell_text(cell) + (" " * (1 + len(MARK)) if ratio and not marked else "")
