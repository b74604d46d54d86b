# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV: WORKLOAD FAMILY CONFIGURATION CALLS SECONDS FILE.json, or --header."""

from coherence import table
from evidence import rows


def main(arguments):
    """Prints the row, or the line of column names."""
    return rows.write(table, arguments)
