# SPDX-License-Identifier: MIT
"""Text, lists and drawings in HTML."""

import re

from markup import escaped

# The marks of keys, as the panels have them, 16 by 12.
MARKS = {
    "disc": '<circle cx="8" cy="6" r="3.5" fill="currentColor"/>',
    "circle": '<circle cx="8" cy="6" r="3.5" fill="none" stroke="currentColor" stroke-width="1.5"/>',
    "small circle": '<circle cx="8" cy="6" r="2.2" fill="none" stroke="currentColor" stroke-width="1.5"/>',
    "range": '<path d="M8 0V12" stroke="currentColor" stroke-width="1.5"/>',
    "reference": '<path d="M0 6H16" stroke="#c3c8ce" stroke-width="3"/>',
    "bar": '<path d="M5 12V2M8 12V2M11 12V2" stroke="currentColor" stroke-width="2"/>',
    "cross": '<path d="M5 3l6 6M11 3l-6 6" stroke="currentColor" stroke-width="1.5"/>',
    "few": '<rect width="16" height="12" fill="#9ecae1"/>',
    "full": '<rect width="16" height="12" fill="#08519c"/>',
    "too many": '<rect width="16" height="12" fill="#a50f15"/>',
}


def definitions(pairs):
    """The lines of a list of names, which are HTML, and texts, which are not."""
    lines = [f"<dt>{name}</dt><dd>{escaped(text)}</dd>" for name, text in pairs]
    return ["<dl>", *lines, "</dl>"]


def key(marks):
    """The line of a key: names of MARKS and what they mean."""
    items = (
        f'<li><svg viewBox="0 0 16 12" aria-hidden="true">{MARKS[mark]}</svg> {escaped(text)}</li>'
        for mark, text in marks
    )
    return f'<ul class="key">{"".join(items)}</ul>'


def inline_drawing(name, svg):
    """The drawing inline, its ids made its own: several drawings share one page."""
    drawing = svg[svg.index("<svg") :].removesuffix("\n")
    drawing = re.sub("""( id=["'])""", rf"\1{name}-", drawing)
    return re.sub("""(href=["']#|url\\(#)""", rf"\1{name}-", drawing)


def inline_figure(name, caption, wide, marks, panels):
    """The lines of a figure: its drawing for wide pages, where there is one, and its panels with their key.

    wide is a drawing as SVG, each of panels a panel and its drawing.
    """
    is_same = not any(panel.title for panel, _ in panels)  # one panel, which is the drawing, narrower
    yield f'<figure id="{name}">{key(marks)}'
    if wide:
        yield f'<div class="overview">{inline_drawing(name, wide)}</div>'
    yield f'<div class="panels{" narrow" if is_same else ""}">'
    for panel, svg in panels:
        title = f"<h3>{escaped(panel.title)}</h3>" if panel.title else ""
        yield f"<div>{title}{inline_drawing(panel.figure.name, svg)}</div>"
    files = (("PNG", f"{name}.png"), ("SVG", f"{name}.svg"), ("SVG for phones", f"{name}-narrow.svg"))
    links = " ".join(f'<a href="{file}">{text}</a>' for text, file in files)
    yield f"</div><figcaption>{caption} As a file: {links}</figcaption></figure>"
