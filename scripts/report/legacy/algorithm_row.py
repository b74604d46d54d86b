# SPDX-License-Identifier: MIT
"""A row of cache_server under an algorithm as CSV: CONFIGURATION ROW.csv [STATISTICS.json], or --header."""

import csv
import json
import sys

from legacy import algorithms


def main(arguments):
    """Prints the row of a run, or the line of column names."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if arguments == ["--header"]:
        writer.writerow(algorithms.COLUMNS)
        return 0
    configuration, row_path, *statistics_path = arguments
    with open(row_path, encoding="utf-8", newline="") as file:
        (fields,) = csv.DictReader(file)
    report = None
    for path in statistics_path:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    writer.writerow(algorithms.line_of(configuration, fields, report))
    return 0
