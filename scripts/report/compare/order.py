# SPDX-License-Identifier: MIT
"""report compare-order: in which order mplace compare measures, drawn anew for each round.

A round measures every job once under every allocator. The allocators of a job follow each other, so that what is compared
is measured close together in time; neither a job nor an allocator has the same predecessor in every round.
"""

import argparse
import random


def order(rounds, jobs, allocators, seed):
    """(round, job, allocator) of each run; rounds count from 1, the others from 0.

    The order of a round depends on its number and the seed alone: more rounds only add to it.
    """
    for number in range(1, rounds + 1):
        draw = random.Random(f"{seed} {number}")
        for job in draw.sample(range(jobs), jobs):
            for allocator in draw.sample(range(allocators), allocators):
                yield number, job, allocator


def main(arguments):
    """Writes a line "ROUND JOB ALLOCATOR" a run; 0."""
    parser = argparse.ArgumentParser(prog="report compare-order", allow_abbrev=False)
    for name in ("rounds", "jobs", "allocators", "seed"):
        parser.add_argument(f"--{name}", required=True, type=int)
    options = parser.parse_args(arguments)
    for run in order(options.rounds, options.jobs, options.allocators, options.seed):
        print(*run)
    return 0
