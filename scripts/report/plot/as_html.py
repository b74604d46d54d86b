# SPDX-License-Identifier: MIT
"""Text, lists and drawings in HTML."""

import re

from markup import escaped


def definitions(pairs):
    """The lines of a list of names, which are HTML, and texts, which are not."""
    lines = [f"<dt>{name}</dt><dd>{escaped(text)}</dd>" for name, text in pairs]
    return ["<dl>", *lines, "</dl>"]


def inline_figure(name, caption, svg):
    """The lines of a figure inline, its ids made its own: several drawings share one page."""
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub("""( id=["'])""", rf"\1{name}-", drawing)
    drawing = re.sub("""(href=["']#|url\\(#)""", rf"\1{name}-", drawing)
    links = f'<a href="{name}.png">PNG</a> <a href="{name}.svg">SVG</a>'
    return [
        '<figure><div class="wide">',
        drawing.removesuffix("\n"),
        f"</div><figcaption>{caption} {links}</figcaption></figure>",
    ]
