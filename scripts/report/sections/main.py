# SPDX-License-Identifier: MIT
"""The page of mplace doctor --sections in one of its forms, from one emulated run."""

from doctor.arguments import parser_of, runs_of
from sections import as_html, as_json, as_text
from sections.figures import weigh
from sections.record import read_run

FORMS = {"text": as_text.page, "html": as_html.page, "json": as_json.page}


def main(arguments):
    """Prints the page; the exit status."""
    parser = parser_of("report doctor-sections", FORMS, top="sections told")
    options = parser.parse_args(arguments)
    runs = runs_of(parser, options, read_run)
    print(FORMS[options.form](weigh(options.title, runs[0], options.top)), end="")
    return 0
