# SPDX-License-Identifier: MIT
"""Rows of simulations as CSV: written from a result of mplace simulate --json, and read back.

A report's table is a module with COLUMNS, and with line_of(*names, result), the cells of a row.
"""

import csv
import json
import sys


class BadRow(Exception):
    """A file of rows that is none; the text says what is wrong."""


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


def check(result):
    """Refuses what is no result of mplace simulate --json."""
    if result.get("simulated") is not True:
        raise BadRow("this is no result of mplace simulate")


def read(lines, columns, script, row_of):
    """The rows of a table that a script wrote, row_of(fields) each; of rows with the same `key` the last counts."""
    table = csv.DictReader(lines)
    if table.fieldnames != columns:
        raise BadRow(f"its first line is not that of scripts/{script}.sh")
    rows = {}
    for number, fields in enumerate(table, 2):
        try:
            row = row_of(fields)
        except (TypeError, ValueError):
            raise BadRow(f"line {number} is no row") from None
        rows[row.key] = row
    return list(rows.values())


def read_file(path, report, read_lines):
    """The rows of a file; None, and one line on standard error with the report's name, if it cannot be read."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return read_lines(file)
    except (OSError, UnicodeDecodeError, BadRow) as error:
        print(f"mplace {report}: {path}: {error}", file=sys.stderr)
        return None
