# SPDX-License-Identifier: MIT
"""What a report of mplace compare is made of: paragraphs, and tables whose cells keep their numbers.

A document is a list of paragraphs (text) and tables. A cell is text, a whole number, a Figure, a spread.Ratio, or None where
there is nothing to show.
"""

from dataclasses import dataclass

import spread

# Behind a ratio that the rounds cannot tell from 1.
MARK = "~"


@dataclass(frozen=True, slots=True)
class Figure:
    """A median with its spread, which is None for a single measurement."""

    median: float
    spread: float | None
    digits: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column with the unit of its numbers; of text if it is to the left."""

    title: str
    unit: str = ""
    left: bool = False

    @property
    def heading(self):
        """The title with the unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


@dataclass(frozen=True)
class Table:
    """A table; each row has a cell a column."""

    title: str
    columns: tuple[Column, ...]
    rows: list


def cell_text(cell):
    """The text of a cell."""
    if cell is None:
        return "-"
    if isinstance(cell, Figure):
        part = "" if cell.spread is None else f" ±{100 * cell.spread:.0f}%"
        return f"{cell.median:,.{cell.digits}f}{part}"
    if isinstance(cell, spread.Ratio):
        interval = "" if cell.low is None else f" [{cell.low:.2f}, {cell.high:.2f}]"
        return f"{cell.value:.2f}{interval}{'' if cell.differs else ' ' + MARK}"
    return str(cell)
