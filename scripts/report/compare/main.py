# SPDX-License-Identifier: MIT
"""report compare: the tables of mplace compare, from the jobs and what was measured of them."""

import argparse

from compare import figures, memory, programs, table


def parse(arguments):
    """The options and files that mplace compare passes."""
    parser = argparse.ArgumentParser(prog="report compare")
    parser.add_argument("--subject", required=True, help="the allocator whose ratios are taken")
    parser.add_argument("--names", required=True, help="all allocators, separated by blanks")
    parser.add_argument("--rounds", required=True, type=int, help="how often each was measured")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap samples")
    parser.add_argument("--programs", action="store_true", help="the jobs are programs")
    parser.add_argument("jobs", help="lines: workload size threads operations")
    parser.add_argument("rows", help="the result of mplace compare --csv")
    parser.add_argument("memory", help="the result of mplace compare --memory")
    return parser.parse_args(arguments)


def main(arguments):
    """Writes the tables of times and peaks, and of memory over time where that was sampled; 0."""
    options = parse(arguments)
    comparison = figures.Comparison(options.subject, tuple(options.names.split()), options.rounds)
    if options.programs:
        works = list(programs.read_works(options.jobs))
        measured = list(figures.read_records(options.rows))
        for line in programs.Tables(comparison, works, measured, options.seed).lines():
            print(line)
        return 0
    for line in table.Tables(comparison, options.jobs, options.rows).lines():
        print(line)
    samples = list(memory.read_samples(options.memory))
    if samples:
        print()
        for line in memory.Tables(comparison, samples).lines():
            print(line)
    return 0
