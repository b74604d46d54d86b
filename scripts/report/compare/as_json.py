# SPDX-License-Identifier: MIT
"""A document of mplace compare as JSON.

{"paragraphs": [text], "tables": [{"title", "columns": [{"title", "unit"}], "rows": [[cell]]}]}. A cell is text, a number,
null, {"median", "spread"} or {"ratio", "low", "high", "differs"}; spread is a part of the median.
"""

import json

import spread
from compare.document import Figure, Table


def lines(document):
    """The one object, indented."""
    content = {
        "paragraphs": [block for block in document if not isinstance(block, Table)],
        "tables": [table(block) for block in document if isinstance(block, Table)],
    }
    yield json.dumps(content, indent=1, ensure_ascii=True)


def table(block):
    """A table with its columns and rows."""
    return {
        "title": block.title,
        "columns": [{"title": column.title, "unit": column.unit} for column in block.columns],
        "rows": [[cell_value(cell) for cell in row] for row in block.rows],
    }


def cell_value(cell):
    """What stands in a cell, with its numbers as they are."""
    if isinstance(cell, Figure):
        return {"median": cell.median, "spread": cell.spread}
    if isinstance(cell, spread.Ratio):
        return {"ratio": cell.value, "low": cell.low, "high": cell.high, "differs": cell.differs}
    return cell
