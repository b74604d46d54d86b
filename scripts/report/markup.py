# SPDX-License-Identifier: MIT
"""Text in HTML and SVG, for every page."""

from xml.sax.saxutils import escape


def escaped(text):
    """The text as content or in a quoted attribute. Bytes that are no UTF-8 become the sign for them."""
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return escape(valid, {'"': "&quot;"})
