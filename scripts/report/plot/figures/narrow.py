# SPDX-License-Identifier: MIT
"""A figure as one narrow drawing, for documents that are read on a phone: title, key, and its panels in one column."""

import textwrap

from markup import escaped
from plot.as_html import MARKS, inline_drawing

WIDTH = 420
LETTERS = 50  # of a line; the font is DejaVu's, or one that is no wider
LINE = 18  # its height
FONT = "font-family=\"DejaVu Sans,Helvetica,Arial,sans-serif\" fill=\"#222222\""


def _text(lines, x, y, size=13):
    """Lines of text from y on."""
    for number, line in enumerate(lines):
        yield f'<text x="{x}" y="{y + LINE * number + 13}" font-size="{size}" {FONT}>{escaped(line)}</text>'


def _key(marks, y):
    """The key from y on, a mark above the other, and where it ends."""
    lines = []
    for mark, text in marks:
        wrapped = textwrap.wrap(text, LETTERS)
        lines.append(f'<svg x="8" y="{y + 3}" width="16" height="12" color="#444444">{MARKS[mark]}</svg>')
        lines += _text(wrapped, 30, y)
        y += LINE * len(wrapped)
    return lines, y


def narrow_drawing(title, marks, charts):
    """The drawing as SVG. marks: the key, names of MARKS and what they mean; charts: panels and their drawings."""
    wrapped = textwrap.wrap(title, LETTERS - 4)
    lines = list(_text(wrapped, 8, 6, 14))
    key, y = _key(marks, 12 + LINE * len(wrapped))
    lines += key
    for panel, svg in charts:
        if panel.title:
            lines += _text([panel.title], 8, y + 4, 14)
            y += LINE + 4
        drawing = inline_drawing(panel.figure.name, svg).removeprefix("<svg")
        height = panel.figure.height * WIDTH // panel.figure.width
        lines.append(f'<svg x="0" y="{y}" width="{WIDTH}" height="{height}"{drawing}')
        y += height
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {WIDTH} {y}">',
        f'<title>{escaped(title)}</title><rect width="{WIDTH}" height="{y}" fill="#ffffff"/>',
        *lines, "</svg>"))
