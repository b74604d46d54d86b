# SPDX-License-Identifier: MIT
"""Rows of memcached under libttstle_lock.so as CSV: POLICY CPUS SEED OPERATIONS FILE.json, or --header."""

import csv
import json
import sys

from legacy import elided


def main(arguments):
    """Prints the rows of a run, or the line of column names."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if arguments == ["--header"]:
        writer.writerow(elided.COLUMNS)
        return 0
    *names, path = arguments
    with open(path, encoding="utf-8") as file:
        writer.writerows(elided.lines_of(names, json.load(file)))
    return 0
