# SPDX-License-Identifier: MIT
"""Text in HTML and SVG, for every page."""

from xml.sax.saxutils import escape


def escaped(text):
    """The text as content or in a quoted attribute."""
    return escape(text, {'"': "&quot;"})
