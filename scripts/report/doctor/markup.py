# SPDX-License-Identifier: MIT
"""Text in HTML and SVG."""

from xml.sax.saxutils import escape


def escaped(text):
    """The text as content or in a quoted attribute. No line ends before a sign for per cent."""
    return escape(text, {'"': "&quot;"}).replace(" %", "\u00a0%")


def paragraph(text):
    """The text, escaped, as a paragraph."""
    return f"<p>{escaped(text)}</p>"
