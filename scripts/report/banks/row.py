# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV: WORKLOAD POLICY VARIANT SEED SECONDS FILE.json, or --header."""

import evidence_row

from banks import table


def main(arguments):
    """Prints the row, or the line of column names."""
    return evidence_row.write(table, arguments)
