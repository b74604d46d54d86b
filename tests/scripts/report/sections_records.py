# SPDX-License-Identifier: MIT
"""What rtmgrind says of critical sections, with a few figures of a test's own."""

import json
import tempfile

from sections.figures import weigh
from sections.record import COUNTS, read_run

OF_A_STOP = ("aborts", "in_aborts", "holds", "in_holds", "in_waits", "holds_alone", "in_waits_alone", "seen")


def variable(symbol, offset=0, address=4096):
    """Static data with a name."""
    return {"address": address + offset, "symbol": symbol, "offset": offset}


def stop(kind, *at, **fields):
    """A cause, with the counts and other members that are given."""
    counts = {name: fields.pop(name, 0) for name in OF_A_STOP}
    return {"kind": kind, **counts, **({"at": at} if at else {}), **fields}


def section(*at, lock=None, stops=(), **counts):
    """A section that is locked there."""
    return {
        **{name: counts.get(name, 0) for name in COUNTS},
        "lock": lock or variable("mutex"), "at": at, "through": "pthread_mutex_lock", "stops": list(stops),
    }


def run(*sections, instructions=1000000, unseen=0):
    """A run as the page reads it."""
    told = {"instructions": instructions, "unseen": unseen, "list": list(sections)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"l1d": "64x8", "cpus": 4, "sections": told}, file)
        file.flush()
        return read_run(file.name, "its own allocator", 0)


def findings(*sections, top=5, **options):
    """What the page is about."""
    return weigh("program", run(*sections, **options), top)
