# SPDX-License-Identifier: MIT
"""A row of a simulation as CSV, for the reports whose tables are of simulations."""

import csv
import json
import sys


def write(table, arguments):
    """Prints NAME... FILE.json as a row of the table, or --header: its line of column names. The exit status."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if arguments == ["--header"]:
        writer.writerow(table.COLUMNS)
        return 0
    *names, path = arguments
    with open(path, encoding="utf-8") as file:
        writer.writerow(table.line_of(*names, json.load(file)))
    return 0
