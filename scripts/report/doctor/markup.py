# SPDX-License-Identifier: MIT
"""Text of the doctor in HTML and SVG."""

import markup


def escaped(text):
    """The text as content or in a quoted attribute. No line ends before a sign for per cent."""
    return markup.escaped(text).replace(" %", "\u00a0%")


def paragraph(text):
    """The text, escaped, as a paragraph."""
    return f"<p>{escaped(text)}</p>"
