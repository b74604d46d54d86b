# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV: WORKLOAD POLICY VARIANT SEED SECONDS FILE.json, or --header."""

import csv
import json
import sys

from banks import table


def main(arguments):
    """Prints the row, or the line of column names."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if arguments == ["--header"]:
        writer.writerow(table.COLUMNS)
        return 0
    *names, path = arguments
    with open(path, encoding="utf-8") as file:
        writer.writerow(table.line_of(*names, json.load(file)))
    return 0
