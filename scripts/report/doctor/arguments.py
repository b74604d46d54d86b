# SPDX-License-Identifier: MIT
"""The options of a page about one run of a program, or about two."""

import argparse


def parser_of(program, forms, top):
    """The options that every such page has. --run is given once for the program as it is, and again for the run beside.

    forms: what the page can be; top: what --top counts.
    """
    parser = argparse.ArgumentParser(prog=program, allow_abbrev=False)
    parser.add_argument("form", choices=forms)
    parser.add_argument("--title", required=True, help="the command line that ran")
    parser.add_argument("--top", type=int, required=True, help=top)
    parser.add_argument(
        "--run",
        nargs=3,
        action="append",
        required=True,
        dest="runs",
        metavar=("ALLOCATOR", "EXIT_STATUS", "RECORD"),
    )
    return parser


def runs_of(parser, options, read_run):
    """What read_run(record, allocator, exit_status) makes of each --run."""
    if len(options.runs) > 2:
        parser.error("--run is given at most twice")
    return [read_run(record, name, int(status)) for name, status, record in options.runs]
