# SPDX-License-Identifier: MIT
"""The page of mplace doctor in one of its forms, from the records of one or two runs."""

import argparse

from doctor import as_html, as_json, as_text
from doctor.figures import weigh
from doctor.record import read_run

FORMS = {"text": as_text.page, "html": as_html.page, "json": as_json.page}


def parse(arguments):
    """The options. --run is given once for the program as it is, and again for the run beside."""
    parser = argparse.ArgumentParser(prog="report doctor", allow_abbrev=False)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("--title", required=True, help="the command line that ran")
    parser.add_argument("--top", type=int, required=True, help="places, sizes and sections told")
    parser.add_argument(
        "--run",
        nargs=3,
        action="append",
        required=True,
        dest="runs",
        metavar=("ALLOCATOR", "EXIT_STATUS", "RECORD"),
    )
    options = parser.parse_args(arguments)
    if len(options.runs) > 2:
        parser.error("--run is given at most twice")
    return options


def main(arguments):
    """Prints the page; the exit status."""
    options = parse(arguments)
    runs = [read_run(record, name, int(status)) for name, status, record in options.runs]
    print(FORMS[options.form](weigh(options.title, runs, options.top)), end="")
    return 0
