# SPDX-License-Identifier: MIT
"""The sentences that the page as text and as HTML share."""

from doctor.wording import grouped, plural, share
from sharing.figures import SITES_TOLD

NAMES = {
    "true": "True sharing",
    "false_in_block": "False sharing in one block",
    "between": "Blocks side by side in one line",
    "elsewhere": "False sharing outside of heap blocks",
}

ADVICE = {
    "true": "the threads use the same bytes: only other code, fewer accesses or a copy for each thread, helps",
    "false_in_block": "no byte is shared: give what each thread writes a line of its own (alignas(64))",
    "between": "no byte is shared: another allocator, or blocks of whole lines (aligned_alloc), parts them",
    "elsewhere": "no byte is shared: give what each thread writes a line of its own (alignas(64))",
}

# A second run with fewer accesses than this part of the first one's has not done the same.
LESS_WORK = 0.8

# Places told that take a lock.
TAKERS_TOLD = 4

LOCK_AND_DATA = (
    "the lock lies in one line with other data that is written: who waits for the lock takes the line"
    " from who writes the data"
)

NO_FINDING = "No line costs 0.1 % of the cycles of all accesses by moving again and again."


def _share(run, tally):
    """The part of the cycles of all accesses, in per cent."""
    return share(tally.cycles, run.cycles)


def simulated(findings):
    """What was simulated."""
    run = findings.own
    return (
        f"Simulated: machine {findings.machine}, {plural(run.cores, 'core', 'cores')}, protocol"
        f" {run.protocol}, lines of {run.block} B; {plural(run.threads, 'thread', 'threads')},"
        f" {plural(run.accesses, 'access', 'accesses')} under {run.allocator}."
    )


def _lower(name):
    return name[0].lower() + name[1:]


def _mix(finding):
    """The finding's moves by reason, where it has several."""
    parts = [f"{grouped(finding.of[kind].moves)} {_lower(NAMES[kind])}" for kind in NAMES if finding.of[kind].moves]
    return f": {', '.join(parts)}" if len(parts) > 1 else ""


def _parts(run):
    parts = [
        f"{_share(run, run.of[kind])} % {_lower(NAMES[kind])}"
        for kind in NAMES
        if run.of[kind].moves
    ]
    return ": " + ", ".join(parts) if parts else ""


def verdict(run):
    """The answer, in one sentence."""
    return (
        f"{plural(run.all.moves, 'move', 'moves')} of {plural(run.lines_moved, 'line', 'lines')}"
        f" between cores took {grouped(run.all.cycles)} cycles (simulated),"
        f" {_share(run, run.all)} % of those of all accesses{_parts(run)}."
    )


def comparison(own, other):
    """What the other run has instead."""
    text = f"Under {other.allocator}, in {plural(other.accesses, 'access', 'accesses')}: {verdict(other)}"
    if other.accesses < LESS_WORK * own.accesses:
        text += " It made fewer accesses: what is missing there may be work that it was not given."
    if own.exit_status != other.exit_status:
        text += (
            f" The exit statuses differ ({own.exit_status} and {other.exit_status}): the two runs may"
            " not have done the same."
        )
    return text


def title(finding):
    """What the finding is, and whose blocks are in its lines."""
    text = NAMES[finding.reason]
    if finding.locks:
        text += f", with a {' and a '.join(finding.locks)}"
    if finding.places:
        return f"{text}: blocks allocated by {' and by '.join(place.at or '?' for place in finding.places)}"
    if finding.lines == 1:
        return f"{text}: no heap block, line {finding.address:#x}"
    return f"{text}: no heap block"


def _ranges(places):
    """{0, 1, 2, 8} as 0-2, 8; at most four ranges."""
    ranges = []
    for at in sorted(places):
        if ranges and at == ranges[-1][1] + 1:
            ranges[-1][1] = at
        else:
            ranges.append([at, at])
    told = [f"{begin}-{end}" if begin != end else str(begin) for begin, end in ranges[:4]]
    return ", ".join(told) + (", ..." if len(ranges) > 4 else "")


def what_it_does(use):
    """The bytes that a place in the code reads and writes."""
    if use.read and use.read == use.written:
        return f"reads and writes bytes {_ranges(use.read)}"
    parts = []
    if use.read:
        parts.append(f"reads bytes {_ranges(use.read)}")
    if use.written:
        parts.append(f"writes bytes {_ranges(use.written)}")
    return " and ".join(parts)


def use(part, finding):
    """A place in the code, and what it does to the finding's lines."""
    text = f"{part.at or '?'} {what_it_does(part)}"
    if part.target:
        text += f" of the block by {part.target}"
    elif len(finding.places) > 1:
        text += " of the line, outside of the blocks"
    cores = bin(part.cores).count("1")
    return f"{text}; {plural(cores, 'core', 'cores')}, {plural(part.started.moves, 'move', 'moves')}"


def uses(finding):
    """What is told of the code."""
    told = [use(part, finding) for part in finding.uses[:SITES_TOLD]]
    if rest := len(finding.uses) - len(told):
        told.append(f"and {plural(rest, 'other place', 'other places')}")
    return told


def details(findings, finding):
    """What is known of a finding, a sentence each, before its code sites."""
    own = findings.own
    yield (
        f"{plural(finding.all.moves, 'move', 'moves')} of {plural(finding.lines, 'line', 'lines')} took"
        f" {grouped(finding.all.cycles)} cycles (simulated), {_share(own, finding.all)} % of those of all"
        f" accesses{_mix(finding)}"
    )
    for place in finding.places:
        if place.called_from:
            yield f"{place.at} is called from {place.called_from}"
    if finding.sizes:
        least, most = finding.sizes
        yield f"blocks of {grouped(least)}{'' if least == most else '-' + grouped(most)} B"
    if finding.taken_at:
        told = finding.taken_at[:TAKERS_TOLD]
        more = ", ..." if len(finding.taken_at) > len(told) else ""
        yield f"the lock is taken by {', '.join(at or '?' for at in told)}{more}"
    if finding.lock_and_data:
        yield LOCK_AND_DATA
    yield ADVICE[finding.reason]
    if findings.other:
        yield beside(findings, finding)


def beside(findings, finding):
    """What becomes of the finding under the other allocator."""
    name = findings.other.allocator
    theirs = findings.theirs.get(finding.key)
    if theirs is None:
        return f"under {name} (simulated): gone"
    return (
        f"under {name} (simulated): {plural(theirs.all.moves, 'move', 'moves')} of"
        f" {plural(theirs.lines, 'line', 'lines')}, {grouped(theirs.all.cycles)} cycles"
    )


def rest(findings):
    """What the findings leave out."""
    run = findings.own
    text = (
        f"{grouped(run.of['first'].moves)} moves were a core's first ones of a line, which are neither"
        f" true nor false sharing; {grouped(run.of['again'].moves)} fetched again what the core had"
        " evicted and nobody had changed."
    )
    if run.not_followed.moves:
        text += f" {grouped(run.not_followed.moves)} moves were of more lines than are told apart."
    return text


EXPLANATION = (
    "A move is a miss that another core's caches answer. It is true sharing if the core then accesses a"
    " byte that another one wrote since, or writes one that another one used; else false sharing. Bytes"
    " are counted from the beginning of the block, or of the line where there is none. docs/doctor.md"
    " tells how to read this page."
)
