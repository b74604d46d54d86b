# SPDX-License-Identifier: MIT
"""A document of mplace compare as Markdown."""

from compare.document import Table, cell_text


def lines(document):
    """The lines: a paragraph one, a table under a heading of its own."""
    yield "# mplace compare"
    for block in document:
        yield ""
        if isinstance(block, Table):
            yield f"## {block.title}"
            yield ""
            yield row_line(column.heading for column in block.columns)
            yield row_line("---" if column.left else "---:" for column in block.columns)
            for row in block.rows:
                yield row_line(cell_text(cell) for cell in row)
        else:
            yield block


def row_line(texts):
    """A row of a table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
