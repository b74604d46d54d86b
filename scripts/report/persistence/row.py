# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV: WORKLOAD FAMILY CONFIGURATION SECONDS FILE.json, or --header."""

from evidence import rows
from persistence import table


def main(arguments):
    """Prints the row, or the line of column names."""
    return rows.write(table, arguments)
