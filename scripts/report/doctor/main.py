# SPDX-License-Identifier: MIT
"""The page of mplace doctor in one of its forms, from the records of one or two runs."""

from doctor import as_html, as_json, as_text
from doctor.arguments import parser_of, runs_of
from doctor.figures import weigh
from doctor.record import read_run

FORMS = {"text": as_text.page, "html": as_html.page, "json": as_json.page}


def main(arguments):
    """Prints the page; the exit status."""
    parser = parser_of("report doctor", FORMS, top="places, sizes and sections told")
    options = parser.parse_args(arguments)
    runs = runs_of(parser, options, read_run)
    print(FORMS[options.form](weigh(options.title, runs, options.top)), end="")
    return 0
