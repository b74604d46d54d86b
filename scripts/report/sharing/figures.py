# SPDX-License-Identifier: MIT
"""Puts lines that moved for one reason together, and chooses what the page tells: what costs most, first.

A finding is all lines with the same main reason whose blocks were allocated at the same places. Of lines
without a heap block each that has a lock is a finding of its own, for what takes it is code of the C library; the
others are told apart by the code site whose accesses moved them most. Which one that is, and where a stack lies, may
differ in another run: what has no equal there is matched by that code among all that accesses the other's lines.
"""

from collections import defaultdict
from dataclasses import dataclass

from sharing.record import Line, Place, Run, Tally

# Reasons that a program or its allocator can do something about.
REASONS = ("true", "false_in_block", "between", "elsewhere")

# A finding is told from this share of the cycles of all accesses on.
WORTH_TELLING = 0.001

# Code sites told of a finding.
SITES_TOLD = 6


@dataclass(frozen=True)
class Use:
    """What one place in the code does to the lines of a finding."""

    at: str
    target: str  # where the block was allocated that it accesses; "": no block, or the only one
    started: Tally
    read: frozenset[int]  # bytes from the block's beginning; of no block: from the line's
    written: frozenset[int]
    cores: int


@dataclass(frozen=True)
class Finding:
    """Lines that move for one reason."""

    reason: str
    places: tuple[Place, ...]  # that allocated their blocks
    key: tuple  # the same in another run of the program
    all: Tally
    of: dict[str, Tally]
    lines: int
    address: int  # of the line that costs most
    sizes: tuple[int, int] | None  # of the blocks
    uses: list[Use]  # what moved lines most, first
    locks: tuple[str, ...]  # their kinds
    taken_at: tuple[str, ...]
    lock_and_data: bool  # a lock, and other bytes that are written, in one line


@dataclass(frozen=True)
class Findings:
    """What the page is about."""

    title: str
    machine: str
    own: Run
    other: Run | None
    all: list[Finding]
    told: list[Finding]
    theirs: dict  # by key: what becomes of the finding in the other run


def reason_of(line):
    """The reason with most cycles; None: the line was only handed over, or fetched again."""
    reason = max(REASONS, key=lambda kind: line.of[kind].cycles)
    return reason if line.of[reason].moves else None


def _costliest_site(line):
    """The name of the site that moved the line most; none of a line without sites."""
    cost = defaultdict(int)
    for site in line.sites:
        cost[site.at] += site.started.cycles
    return min(cost, key=lambda at: (-cost[at], at), default=None)


def key_of(line, reason):
    """What lines of one finding have in common, also with those of another run."""
    if line.blocks:
        return (reason, *sorted({(block.place.at, block.place.called_from) for block in line.blocks}))
    if line.locks:
        return (reason, line.address)
    return (reason, _costliest_site(line))


def _lock_and_data(line):
    written = {byte for site in line.sites for byte in site.written}
    return bool(line.locks) and any(
        all(byte < lock.offset or byte >= lock.end for lock in line.locks) for byte in written
    )


def _uses_of_line(line):
    """(site, target, offset of the target in the line) for each site and block that it accesses."""
    several = len(line.blocks) > 1
    for site in line.sites:
        rest = site.read | site.written
        for block in line.blocks:
            begin = block.address - line.address
            inside = {byte for byte in rest if begin <= byte < begin + block.size}
            if inside or not several:
                yield site, block.place.at if several else "", begin, inside if several else rest
                rest = rest - inside if several else frozenset()
        if rest:
            yield site, "", 0, rest


def _uses(lines):
    parts = {}
    for line in lines:
        for site, target, begin, inside in _uses_of_line(line):
            read, written, started, cores = parts.get((site.at, target), (set(), set(), Tally(), 0))
            read |= {byte - begin for byte in site.read & inside}
            written |= {byte - begin for byte in site.written & inside}
            parts[site.at, target] = (read, written, started + site.started, cores | site.cores)
    uses = [
        Use(at, target, started, frozenset(read), frozenset(written), cores)
        for (at, target), (read, written, started, cores) in parts.items()
    ]
    return sorted(uses, key=lambda use: (-use.started.cycles, use.at, use.target))


def _sum(tallies):
    return sum(tallies, Tally())


def _finding(reason, key, lines):
    blocks = [block for line in lines for block in line.blocks]
    sizes = [block.size for block in blocks]
    return Finding(
        reason,
        tuple(dict.fromkeys(block.place for block in blocks)),
        key,
        _sum(line.all for line in lines),
        {kind: _sum(line.of[kind] for line in lines) for kind in lines[0].of},
        len(lines),
        lines[0].address,
        (min(sizes), max(sizes)) if sizes else None,
        _uses(lines),
        tuple(dict.fromkeys(lock.kind for line in lines for lock in line.locks)),
        tuple(dict.fromkeys(at for line in lines for lock in line.locks for at in lock.taken_at)),
        any(_lock_and_data(line) for line in lines),
    )


def findings_of(run):
    """All findings of a run, what costs most first."""
    groups: dict[tuple, list[Line]] = defaultdict(list)
    for line in run.lines:
        if reason := reason_of(line):
            groups[key_of(line, reason)].append(line)
    found = [_finding(key[0], key, lines) for key, lines in groups.items()]
    return sorted(found, key=lambda finding: -finding.all.cycles)


def _is_same_code(finding, other):
    """Whether the other is taken at the same place, or accessed by what moved the finding's lines most."""
    if finding.locks:
        return bool(set(finding.taken_at) & set(other.taken_at))
    return bool(finding.uses) and finding.uses[0].at in {use.at for use in other.uses}


def _counterpart(finding, others):
    """What is the finding among those of another run, which come by cost; None: it is gone."""
    for other in others:
        if other.key == finding.key:
            return other
    if finding.places:
        return None
    return next(
        (
            other
            for other in others
            if other.reason == finding.reason
            and not other.places
            and bool(other.locks) == bool(finding.locks)
            and _is_same_code(finding, other)
        ),
        None,
    )


def weigh(title, machine, runs, top):
    """The findings of the first run, beside those of the second one."""
    own, other = runs[0], runs[1] if len(runs) > 1 else None
    found = findings_of(own)
    told = [finding for finding in found if finding.all.cycles >= WORTH_TELLING * own.cycles]
    others = findings_of(other) if other else []
    theirs = {finding.key: _counterpart(finding, others) for finding in found}
    return Findings(title, machine, own, other, found, told[:top], theirs)
