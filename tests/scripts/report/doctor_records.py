# SPDX-License-Identifier: MIT
"""Records of setgrind with a few figures of a test's own, for the tests of mplace doctor's page."""

import tempfile

from doctor.figures import weigh
from doctor.record import read_run

NO_COUNTS = (0, 0, 0, 0)


def line(*fields):
    """A line of a record."""
    return "\t".join(str(field) for field in fields)


def tally(kind, number, counts, first, allocated, live, sizes, hot_by_set, name, callers):
    """A line of the blocks of one place or size. All lines are first lines if none are given."""
    used = [blocks for blocks in hot_by_set if blocks]
    spread = (sum(used), len(used), max(used, default=0), ",".join(map(str, hot_by_set)))
    blocks = (allocated, live, *sizes, *spread)
    return line(kind, number, *counts, *(first or counts), *blocks, name, callers)


def site(
    name, callers="", counts=NO_COUNTS, first=None, allocated=1, live=1, sizes=(8, 8), hot_by_set=()
):
    """A line of blocks allocated at one place."""
    return tally("site", 1, counts, first, allocated, live, sizes, hot_by_set, name, callers)


def size(number, counts=NO_COUNTS, sizes=(8, 8), hot_by_set=()):
    """A line of blocks of one group of sizes."""
    return tally("size", number, counts, None, 1, 1, sizes, hot_by_set, "", "")


def section(
    name, callers="", number=1, entered=0, overflowed=0, waited=0, held=0, lines=0, lines_most=0
):
    """A line of the critical sections of one place."""
    figures = (entered, overflowed, waited, held, lines, lines_most)
    return line("section", number, *figures, 0, name, callers)


def filler(lines, size_most=0, name="", callers="", number=1):
    """A line of blocks in the sets that overflowed."""
    return line("filler", number, lines, size_most, name, callers)


def text(*lines, accesses=1000, heap=NO_COUNTS, elsewhere=NO_COUNTS):
    """A record with these lines, of a run in a cache of 4 sets and 2 ways."""
    record = [
        line("setgrind", 1),
        line("geometry", 4, 2, 64),
        line("window", 16384),
        line("process", 77),
        line("threads", 1),
        line("accesses", accesses),
        line("heap", *heap),
        line("elsewhere", *elsewhere),
        *lines,
        "end\n",
    ]
    return "\n".join(record)


def run(*lines, allocator="its own allocator", exit_status=0, **figures):
    """The run that is read from the record with these lines and figures."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(text(*lines, **figures).encode("utf-8", "surrogateescape"))
        file.flush()
        return read_run(file.name, allocator, exit_status)


def findings(*runs, title="program", top=5):
    """What the page tells of the runs."""
    return weigh(title, list(runs), top)
