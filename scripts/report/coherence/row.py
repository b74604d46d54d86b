# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV: WORKLOAD FAMILY CONFIGURATION CALLS SECONDS FILE.json, or --header."""

import evidence_row

from coherence import table


def main(arguments):
    """Prints the row, or the line of column names."""
    return evidence_row.write(table, arguments)
