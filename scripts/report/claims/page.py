# SPDX-License-Identifier: MIT
"""report claims-page: the judgement of mplace claims as a page, for mplace plot."""

import rows
from claims import as_html
from claims.main import judgement


def write_page(results):
    """Prints the page."""
    for line in as_html.lines(judgement(results)):
        print(line)


def main(arguments):
    """Prints the judgement of the results that are named; see rows.run_report."""
    return rows.run_report(arguments, write_page)
