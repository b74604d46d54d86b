# SPDX-License-Identifier: MIT
"""How many nodes begin in each cache set: FILE.csv.sets, a line an allocator and a size."""

import os
import re
from dataclasses import dataclass

from rows import Refused, read_text

DEFAULT_SIZES = (1008, 1024)


@dataclass(frozen=True)
class Occupancy:
    """The nodes of one size in each set of a cache, under one allocator."""

    malloc: str
    size: int
    sets: int
    ways: int
    counts: tuple[str, ...]  # one for each set


def _occupancy(line):
    """The occupancy of a line malloc,size,sets,ways,line,counts; None where it is not one."""
    fields = line.split(",")
    if len(fields) != 6 or not all(re.fullmatch("[1-9][0-9]{0,8}", text) for text in fields[1:4]):
        return None
    malloc, size, sets, ways, _, counts = fields
    found = Occupancy(malloc, int(size), int(sets), int(ways), tuple(counts.split(" ")))
    if len(found.counts) != found.sets or not all(re.fullmatch("[0-9]{1,9}", text) for text in found.counts):
        return None
    return found


def read_occupancies(name):
    """The occupancies beside a result; none without a file. Refused where it is malformed."""
    path = f"{name}.sets"
    text = read_text(path) if os.path.isfile(path) else ""
    found = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
        occupancy = _occupancy(line)
        if occupancy is None:
            raise Refused(f"{path}, line {number}: not a row of set counts")
        found.append(occupancy)
    return found


def drawn_sizes(occupancies, wanted):
    """The sizes whose occupancy is drawn: those wanted, else 1008 and 1024, else the smallest."""
    there = {occupancy.size for occupancy in occupancies}
    for size in wanted:
        if size not in there:
            raise Refused(f"--sets-size {size}: no file.csv.sets has this size")
    if wanted or not there:
        return tuple(wanted)
    return tuple(size for size in DEFAULT_SIZES if size in there) or (min(there),)
