# SPDX-License-Identifier: MIT
"""The page of mplace doctor --sharing in one of its forms, from one or two simulated runs."""

from doctor.arguments import parser_of, runs_of
from sharing import as_html, as_json, as_text
from sharing.figures import weigh
from sharing.record import read_run

FORMS = {"text": as_text.page, "html": as_html.page, "json": as_json.page}


def main(arguments):
    """Prints the page; the exit status."""
    parser = parser_of("report doctor-sharing", FORMS, top="findings told")
    parser.add_argument("--machine", required=True, help="the simulated machine, for people")
    options = parser.parse_args(arguments)
    runs = runs_of(parser, options, read_run)
    print(FORMS[options.form](weigh(options.title, options.machine, runs, options.top)), end="")
    return 0
