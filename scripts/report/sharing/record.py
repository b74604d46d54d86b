# SPDX-License-Identifier: MIT
"""Reads what the simulator says of the lines that moved in a run."""

import json
import re
from dataclasses import dataclass

# How the simulator names the reasons of moves; sim/chip/sharing/sharing.h tells what each is.
KINDS = ("first", "true", "false_in_block", "between", "elsewhere", "again")

# Allocating frames of the C++ standard library, which no program can change.
LIBRARY = re.compile(r"(std::|__gnu_cxx::|operator new|void\* std::)")


@dataclass(frozen=True)
class Tally:
    """Moves, and the cycles that they took."""

    moves: int = 0
    cycles: int = 0

    def __add__(self, other):
        return Tally(self.moves + other.moves, self.cycles + other.cycles)


@dataclass(frozen=True)
class Place:
    """Where a block was allocated; no name: not known."""

    at: str
    called_from: str = ""


@dataclass(frozen=True)
class Block:
    """A heap block with bytes in the line, whose accesses made it move."""

    place: Place
    address: int
    size: int
    moves: int


@dataclass(frozen=True)
class Site:
    """A place in the code that accessed the line; bytes are counted from the line's first."""

    at: str
    started: Tally
    read: frozenset[int]
    written: frozenset[int]
    cores: int  # a bit each


@dataclass(frozen=True)
class Lock:
    """A lock with bytes in the line."""

    offset: int  # of its first byte; negative where it begins in the line before
    end: int  # of the first byte behind it
    kind: str
    taken_at: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A line that moved."""

    address: int
    all: Tally
    of: dict[str, Tally]  # by kind
    sites: list[Site]
    blocks: list[Block]
    locks: list[Lock]


@dataclass(frozen=True)
class Run:
    """A run of the program under an allocator, simulated."""

    allocator: str
    exit_status: int
    protocol: str
    cores: int
    threads: int
    block: int  # bytes of a line
    accesses: int
    cycles: int  # of all accesses together
    lines_moved: int
    all: Tally
    of: dict[str, Tally]
    not_followed: Tally
    lines: list[Line]


def _bytes(mask):
    bits = int(mask, 16)
    return frozenset(at for at in range(bits.bit_length()) if bits >> at & 1)


def _tally(fields):
    return Tally(fields["moves"], fields["cycles"])


def _tallies(fields):
    return {kind: _tally(fields[kind]) for kind in KINDS}


def place_of(frames):
    """The innermost place of the program's own, and two callers."""
    own = [frame for frame in frames if not LIBRARY.match(frame)] or frames
    return Place(own[0], ", ".join(own[1:3])) if own else Place("")


def _site(fields):
    return Site(
        fields["at"],
        _tally(fields),
        _bytes(fields["read"]),
        _bytes(fields["written"]),
        int(fields["cores"], 16),
    )


def _block(fields):
    return Block(
        place_of(fields["allocated_by"]), fields["address"], fields["size"], fields["moves"]
    )


def _lock(fields):
    offset = fields["offset"]
    return Lock(
        offset, offset + fields["bytes"], fields["kind"], tuple(dict.fromkeys(fields["taken_at"]))
    )


def _line(fields):
    return Line(
        fields["address"],
        _tally(fields),
        _tallies(fields),
        [_site(site) for site in fields["sites"]],
        [_block(block) for block in fields["blocks"] if block["moves"]],
        [_lock(lock) for lock in fields["locks"]],
    )


def read_run(path, allocator, exit_status):
    """The run whose lines are in the file."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        fields = json.load(file)
    return Run(
        allocator,
        exit_status,
        fields["protocol"],
        fields["cores"],
        fields["threads"],
        fields["block"],
        fields["accesses"],
        fields["cycles_of_accesses"],
        fields["lines_moved"],
        _tally(fields["moved"]),
        _tallies(fields),
        _tally(fields["not_followed"]),
        [_line(line) for line in fields["lines"]],
    )
