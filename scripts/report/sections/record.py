# SPDX-License-Identifier: MIT
"""Reads what rtmgrind says of a program's critical sections. docs/rtmgrind.md tells the members.

Sections with the same text are one to a reader, as are stops: their figures are added up.
"""

import json
import re
from dataclasses import dataclass, field, replace

from doctor.record import SYMBOL_VERSION
from sharing.record import Place, place_of

# A place in the code with its line.
LINE = re.compile(r"(.*) \((.*):(\d+)\)$")

# Code of headers that came with the compiler or the system, inlined into the program.
SYSTEM_FILE = re.compile(r" \(/usr/(include|lib/gcc)/[^()]*\)$")

# Counts of a section.
COUNTS = ("entered", "committed", "held", "visited", "in_commits", "in_aborts", "in_holds", "in_waits")

# What starts a thread, or main: tells a reader nothing.
START = re.compile(r"(start_thread|clone3?|\(below main\)|__libc_start\w*) \(|libstdc\+\+\.so[^ ]*\+0x[0-9a-f]+$")


@dataclass(frozen=True)
class Data:
    """Data that a stop is about, or a lock: a variable, a member of heap blocks, or an address."""

    symbol: str = ""
    object: str = ""  # the file that it is static data of, where no variable is known
    offset: int | None = None  # in the variable, the file or the block; None: somewhere in it
    size: int = 0  # of the block
    allocated: Place = Place("")
    address: int = 0


@dataclass(frozen=True)
class Filler:
    """Lines in the set that overflowed, added up over the overflows; no name: of no known block."""

    lines: int
    size: int
    allocated: Place


@dataclass(frozen=True)
class Stop:
    """One cause that stops a section."""

    kind: str
    detail: str  # the system call, the instruction, what else aborted; "lock" of a conflict: in the lock's line
    place: Place
    through: str  # the function of a library that was called there
    instruction: str  # of a conflict: that had come to the line first
    requester: str  # and the other thread's
    data: Data | None
    other: int | None  # the number of the other section in the record
    aborts: int
    in_aborts: int
    holds: int
    in_holds: int
    in_waits: int
    holds_alone: int
    in_waits_alone: int
    seen: int
    fillers: tuple[Filler, ...]

    @property
    def lost(self):
        """Instructions of the attempts, and those under the lock while another thread waited."""
        return self.in_aborts + self.in_waits

    @property
    def won(self):
        """Instructions that would not be lost without it: an estimate, see docs/doctor.md."""
        return self.in_aborts + self.in_waits_alone

    @property
    def key(self):
        """What tells it from another one of its section."""
        return (
            self.kind,
            self.detail,
            self.place,
            self.through,
            self.instruction,
            self.requester,
            self.data,
            self.other,
        )

    def __add__(self, more):
        return replace(
            self,
            aborts=self.aborts + more.aborts,
            in_aborts=self.in_aborts + more.in_aborts,
            holds=self.holds + more.holds,
            in_holds=self.in_holds + more.in_holds,
            in_waits=self.in_waits + more.in_waits,
            holds_alone=self.holds_alone + more.holds_alone,
            in_waits_alone=self.in_waits_alone + more.in_waits_alone,
            seen=self.seen + more.seen,
            fillers=self.fillers + more.fillers,
        )


@dataclass
class Section:
    """The entries of a lock at one place, or of several locks of one array."""

    lock: Data  # the first of them
    locks: int
    place: Place
    entered: int
    committed: int
    held: int
    visited: int
    in_commits: int
    in_aborts: int
    in_holds: int
    in_waits: int
    stops: list[Stop] = field(default_factory=list)

    @property
    def lost(self):
        """Instructions of attempts that aborted, and those under the lock while another thread waited."""
        return self.in_aborts + self.in_waits


@dataclass(frozen=True)
class Run:
    """A run of the program, its locks elided."""

    allocator: str
    exit_status: int
    l1d: str
    cpus: int
    instructions: int
    unseen: int
    sections: list[Section]

    @property
    def lost(self):
        """What all sections lose."""
        return sum(section.lost for section in self.sections)


def _text(frame):
    """function (file:line), without the file's folder."""
    name = SYMBOL_VERSION.sub("", frame)
    found = LINE.match(name)
    return f"{found[1]} ({found[2].rsplit('/', 1)[-1]}:{found[3]})" if found else name


def _place(frames):
    """The innermost place that is no library's, and two callers; of frames of libraries alone, the first."""
    own = [frame for frame in frames if not START.match(frame) and not SYSTEM_FILE.search(frame)]
    return place_of([_text(frame) for frame in own or frames])


def _data(fields):
    if fields is None:
        return None
    return Data(
        fields.get("symbol", ""),
        fields.get("object", ""),
        fields.get("offset"),
        fields.get("size", 0),
        _place(fields.get("allocated", [])),
        # Where there is a name, the address says nothing.
        0 if "symbol" in fields or "object" in fields else fields.get("address", 0),
    )


def _family(lock):
    """What locks have in common that are told as one: the array that they are in."""
    return (lock.symbol, lock.object) if lock.symbol or lock.object else lock


def _filler(fields):
    return Filler(fields["lines"], fields.get("size", 0), _place(fields.get("allocated", [])))


def _stop(fields, numbers):
    detail = fields.get("call") or fields.get("name") or fields.get("abort") or ""
    if fields["kind"] == "system_call" and not detail:
        detail = f"number {fields['number']}"
    if fields.get("in_line_of_lock"):
        detail = "lock"
    other = fields.get("other")
    return Stop(
        fields["kind"],
        detail,
        _place(fields.get("at", [])),
        SYMBOL_VERSION.sub("", fields.get("through", "")),
        _place(fields.get("instruction", [])).at,
        _place(fields.get("requester", [])).at,
        _data(fields.get("data")),
        None if other is None else numbers[other],
        *(fields[name] for name in ("aborts", "in_aborts", "holds", "in_holds", "in_waits")),
        *(fields[name] for name in ("holds_alone", "in_waits_alone", "seen")),
        tuple(_filler(filler) for filler in fields.get("filled_by", [])),
    )


def _sections(listed):
    """The sections that were entered or tried, those with the same text as one."""
    locks = [_data(fields.get("lock")) or Data() for fields in listed]
    places = [(_family(lock), _place(fields["at"])) for lock, fields in zip(locks, listed)]
    first = {}
    numbers = [first.setdefault(place, len(first)) for place in places]
    members = [[] for _ in first]
    for number, lock in zip(numbers, locks):
        members[number].append(lock)
    sections = [
        Section(found[0], len(set(found)), place, *[0] * len(COUNTS))
        for found, (_, place) in zip(members, first)
    ]
    stops = [{} for _ in sections]
    for number, fields in zip(numbers, listed):
        section = sections[number]
        for name in COUNTS:
            setattr(section, name, getattr(section, name) + fields[name])
        for stop in (_stop(part, numbers) for part in fields["stops"]):
            known = stops[number].get(stop.key)
            stops[number][stop.key] = known + stop if known else stop
    for section, found in zip(sections, stops):
        section.stops = sorted(found.values(), key=lambda stop: (-stop.lost, -stop.in_holds, -stop.aborts))
    return sections


def read_run(path, allocator, exit_status):
    """The run that is told in the file."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        fields = json.load(file)
    sections = fields["sections"]
    return Run(
        allocator,
        exit_status,
        fields["l1d"],
        fields["cpus"],
        sections["instructions"],
        sections["unseen"],
        _sections(sections["list"]),
    )
