# SPDX-License-Identifier: MIT
"""What the simulator says of moved lines, with a few figures of a test's own."""

import json
import tempfile

from sharing.figures import weigh
from sharing.record import KINDS, read_run


def tally(moves=0, cycles=0):
    """Moves and their cycles."""
    return {"moves": moves, "cycles": cycles}


def site(at, moves=1, read="0", written="ff", cores="1"):
    """A place in the code that accesses the line."""
    return {"at": at, **tally(moves, 10 * moves), "read": read, "written": written, "cores": cores}


def block(address, size, *allocated_by, moves=1):
    """A heap block with bytes in the line."""
    return {"address": address, "size": size, "moves": moves, "cores": "3", "allocated_by": allocated_by}


def lock(offset, *taken_at, kind="mutex", size=40):
    """A lock with bytes in the line."""
    return {"offset": offset, "bytes": size, "kind": kind, "taken_at": taken_at}


def line(address, sites, blocks=(), locks=(), **of):
    """A line with so many moves for each reason, of ten cycles each."""
    tallies = {kind: tally(of.get(kind, 0), 10 * of.get(kind, 0)) for kind in KINDS}
    total = sum(of.values())
    return {
        "address": address, **tally(total, 10 * total), **tallies,
        "sites": sites, "blocks": list(blocks), "locks": list(locks),
    }


def record(*lines, accesses=1000, cycles=10000):
    """The whole of a run."""
    tallies = {
        kind: tally(sum(l[kind]["moves"] for l in lines), sum(l[kind]["cycles"] for l in lines))
        for kind in KINDS
    }
    return {
        "simulated": True, "protocol": "sparse", "cores": 4, "threads": 2, "block": 64,
        "accesses": accesses, "cycles_of_accesses": cycles, "lines_moved": len(lines),
        "moved": tally(sum(l["moves"] for l in lines), sum(l["cycles"] for l in lines)),
        **tallies, "not_followed": tally(), "lines": list(lines),
    }


def run(*lines, allocator="its own allocator", exit_status=0, **options):
    """A run as the page reads it."""
    with tempfile.NamedTemporaryFile("w") as file:
        json.dump(record(*lines, **options), file)
        file.flush()
        return read_run(file.name, allocator, exit_status)


def findings(*runs, top=5):
    """The findings of one run, or of two."""
    return weigh("program", "quad", list(runs), top)
