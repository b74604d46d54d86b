# SPDX-License-Identifier: MIT
"""report compare: the tables of mplace compare, from the jobs and what was measured of them."""

import argparse

import spread
from compare import as_html, as_json, as_markdown, as_text, counters, figures, memory, programs, table

FORMS = {"text": as_text, "markdown": as_markdown, "html": as_html, "json": as_json}


def parse(arguments):
    """The options and files that mplace compare passes."""
    parser = argparse.ArgumentParser(prog="report compare", allow_abbrev=False)
    parser.add_argument("--subject", required=True, help="the allocator whose ratios are taken")
    parser.add_argument("--names", required=True, help="all allocators, separated by blanks")
    parser.add_argument("--rounds", required=True, type=int, help="how often each was measured")
    parser.add_argument("--seed", type=int, default=1, help="of the order and the bootstrap samples")
    parser.add_argument("--programs", action="store_true", help="the jobs are programs or a command")
    parser.add_argument("--as", dest="form", choices=FORMS, default="text")
    parser.add_argument("jobs", help="lines: workload size threads operations")
    parser.add_argument("rows", help="the result of mplace compare --csv")
    parser.add_argument("memory", help="the result of mplace compare --memory")
    return parser.parse_args(arguments)


def document(options):
    """What the options ask for, as paragraphs and tables."""
    names = tuple(options.names.split())
    comparison = figures.Comparison(options.subject, names, options.rounds, options.seed)
    bootstrap = spread.Bootstrap(options.rounds, options.seed)
    records = list(figures.read_records(options.rows))
    jobs = list(table.read_jobs(options.jobs))
    counted = counters.Report(comparison, bootstrap, jobs, records)
    if options.programs:
        works = list(programs.read_works(options.jobs))
        yield from programs.Report(comparison, bootstrap, works, records).document()
        yield from counted.document()
        return
    yield from table.Report(comparison, bootstrap, jobs, records).document()
    yield from counted.document()
    samples = list(memory.read_samples(options.memory))
    if samples:
        yield from memory.Report(comparison, bootstrap, samples).document()


def main(arguments):
    """Writes the tables in the form that is asked for; 0."""
    options = parse(arguments)
    for line in FORMS[options.form].lines(list(document(options))):
        print(line)
    return 0
