# SPDX-License-Identifier: MIT
"""The sentences that the page as text and as HTML share."""

from doctor.wording import grouped, percent, plural, share

# Of the stops of a section, and of the kinds of block in a set, as many are told.
STOPS_TOLD = 5
FILLERS_TOLD = 3

NO_SECTION = (
    "No critical section: the program took no pthread or C11 lock (mutex, rwlock, spin lock) that a"
    " lock library could elide."
)

ABORTS = {
    "shootdown": "a change of the address space, by any thread of the process",
    "signal": "a signal",
    "interrupt": "an interrupt",
    "context_switch": "its processor went on with another thread",
    "nesting": "more than seven locks inside each other",
    "fault": "a fault (arithmetic, undefined instruction)",
    "breakpoint": "a breakpoint",
    "client_request": "a request to Valgrind",
    "explicit": "an abort of the program's own",
}

# Natively they call no system: the kernel has them answered by code that it maps into the process.
VDSO = ("clock_gettime", "gettimeofday", "time", "getcpu")

OF_THE_EMULATION = "natively it calls no system (vDSO): this stop is the emulator's"

ADVICE = {
    "system_call": "move it behind the unlock, or collect what it needs and do it there",
    "wake": "move it behind the unlock: a waiter that wakes needs no lock of who woke it",
    "page_fault": "touch the memory before the section; the second entry finds it there",
    "write_capacity": "write less in the section, or spread the blocks over the sets"
    " (mplace doctor --compare tells what cia would do)",
    "read_capacity": "read less in the section",
    "instruction": "take it out of the section",
    "conflict": "give each thread its own copy, or move the access out of the section",
    "inner_lock": "goes if that section commits; or take that lock first",
    "lock_taken": "goes if that section commits",
    "wait": "a wait gives the lock up: it cannot be part of a transaction",
    "left": "try the lock before this one is taken, or after it is given back",
    "not_tried": "a default mutex would be elided",
    "other": "",
}


def data_name(data):
    """What the data is called."""
    if data.symbol:
        return data.symbol + (f"+{data.offset}" if data.offset else "")
    if data.object:
        return f"{data.object}+{data.offset:#x}"
    if data.size:
        where = "somewhere in" if data.offset is None else f"{grouped(data.offset)} bytes into"
        return f"{where} blocks of {grouped(data.size)} B allocated by {data.allocated.at or '?'}"
    return f"memory at {data.address:#x}" if data.address else "unknown memory"


def lock_name(section):
    """The lock of a section, or its locks."""
    lock = section.lock
    if section.locks > 1:
        return f"{grouped(section.locks)} locks in {lock.symbol or f'static data of {lock.object}'}"
    if lock.symbol or lock.object:
        return f"lock {data_name(lock)}"
    return f"a lock {data_name(lock)}" if lock.size else f"the lock at {lock.address:#x}"


def title(section):
    """The section: its lock or locks, and its place."""
    return f"{lock_name(section)}, locked by {section.place.at or 'code without a name'}"


def emulated(run):
    """What was emulated."""
    ways = run.l1d.replace("x", " sets x ")
    return (
        f"Emulated: hardware transactions (RTM) on {plural(run.cpus, 'processor', 'processors')},"
        f" L1 data caches of {ways} ways; {plural(run.instructions, 'instruction', 'instructions')}"
        f" under {run.allocator}. All figures are counts of emulated instructions and attempts, no"
        " times."
    )


def verdict(run):
    """The answer, in one sentence."""
    entered = sum(section.entered for section in run.sections)
    committed = sum(section.committed for section in run.sections)
    if not entered:
        return NO_SECTION
    others = "" if committed == entered else ", the others take their lock"
    return (
        f"{grouped(committed)} of {plural(entered, 'entry', 'entries')} of critical sections"
        f" ({percent(committed, entered)} %) commit as transactions{others}."
        f" {grouped(run.lost)} emulated instructions are lost, {share(run.lost, run.instructions)} % of all: those of"
        " attempts that abort, and those that run under a lock for which another thread waits."
    )


def one_section(section, run):
    """How the entries of a section end, and what they lose."""
    text = (
        f"{grouped(section.committed)} of {plural(section.entered, 'entry', 'entries')} commit"
        f" ({percent(section.committed, section.entered)} %); {grouped(section.lost)} instructions"
        f" lost ({share(section.lost, run.instructions)} % of all): {grouped(section.in_aborts)} in attempts that"
        f" aborted, {grouped(section.in_waits)} under the lock while another thread waited for it"
    )
    if section.held:
        came = f"others came {plural(section.visited, 'time', 'times')}" if section.visited else "nobody came"
        text += f"; under the lock {grouped(section.in_holds)} in all, and {came} meanwhile"
    if section.committed:
        text += f"; an entry that commits runs {grouped(section.in_commits // section.committed)}"
    return text


def _at(stop):
    text = f" at {stop.place.at}" if stop.place.at else ""
    if stop.through and stop.through not in (stop.detail, f"__{stop.detail}"):
        text = f", through {stop.through}{text}"
    return text


def stop_title(stop, findings):
    """What stops a section, and where."""
    match stop.kind:
        case "system_call":
            return f"system call {stop.detail}{_at(stop)}"
        case "wake":
            return f"wake-up of a waiter{_at(stop)}"
        case "wait":
            return f"wait for a condition{_at(stop)}"
        case "page_fault":
            data = f": {data_name(stop.data)}" if stop.data else ""
            return f"first touch of a page{_at(stop)}{data}"
        case "instruction":
            return f"instruction {stop.detail or 'that no transaction survives'}{_at(stop)}"
        case "write_capacity":
            return f"capacity: a written line has to leave the L1 cache{_at(stop)}"
        case "read_capacity":
            return f"capacity: too many lines read{_at(stop)}"
        case "conflict":
            return _conflict(stop, findings)
        case "lock_taken":
            return f"the lock is held, by {_other(stop, findings)}"
        case "inner_lock":
            return f"a lock inside is held, {data_name(stop.data)}{_at(stop)}, by {_other(stop, findings)}"
        case "left":
            at = f" at {stop.place.at}" if stop.place.at else ""
            return f"{stop.through or 'a call of the lock library'} inside, for which it leaves the transaction{at}"
        case "not_tried":
            return "never tried: a lock of a kind that is not elided (recursive, error-checking, process-shared)"
    return ABORTS.get(stop.detail, stop.detail) + _at(stop)


def _other(stop, findings):
    """The other section: its number on the page, or its name."""
    if stop.other is None:
        return "code outside of sections"
    section = findings.own.sections[stop.other]
    if section in findings.told:
        return f"section {findings.told.index(section) + 1}"
    return f"the section of {title(section)}"


def _conflict(stop, findings):
    text = f"conflict over {data_name(stop.data)}" if stop.data else "conflict"
    if stop.detail == "lock":
        text += ", in one line with the lock"
    elif stop.instruction:
        text += f", accessed at {stop.instruction}"
    if not stop.requester:
        return f"{text}, with a system call of {_other(stop, findings)}"
    return f"{text}, with {stop.requester} in {_other(stop, findings)}"


def stop_details(stop, section, run):
    """How often it happens, and what a change would win."""
    if stop.place.called_from:
        yield f"called from {stop.place.called_from}"
    parts = []
    if stop.aborts:
        parts.append(
            f"{plural(stop.aborts, 'attempt', 'attempts')} aborted after {grouped(stop.in_aborts)} instructions in all"
        )
    if stop.holds:
        parts.append(
            f"{plural(stop.holds, 'entry', 'entries')} took the lock for it and ran"
            f" {grouped(stop.in_holds)} instructions under it, {grouped(stop.in_waits)} of them while"
            " another thread waited"
        )
    if stop.seen and not stop.aborts:
        parts.append(f"met {plural(stop.seen, 'time', 'times')} under the lock, where it would have aborted")
    yield "; ".join(parts)
    lines = sum(filler.lines for filler in stop.fillers)
    if lines:
        told = [_filler(filler, stop) for filler in _fillers(stop)[:FILLERS_TOLD]]
        yield f"in the set that overflowed, on average: {', '.join(told)}"
    yield _win(stop, section)


def _fillers(stop):
    """Those of one place as one, most lines first."""
    found = {}
    for filler in stop.fillers:
        lines, size = found.get(filler.allocated, (0, 0))
        found[filler.allocated] = (lines + filler.lines, max(size, filler.size))
    return sorted(found.items(), key=lambda item: -item[1][0])


def _filler(filler, stop):
    place, (lines, size) = filler
    text = f"{lines / stop.aborts:.1f} lines of "
    return text + (f"blocks of {grouped(size)} B allocated by {place.at}" if place.at else "no known heap block")


def _win(stop, section):
    advice = ADVICE[stop.kind]
    if stop.detail in VDSO:
        advice = OF_THE_EMULATION
    elif stop.detail == "lock":
        advice = "give the lock a line of its own (alignas(64))"
    if not stop.aborts and not stop.holds:
        return f"has to go before a change elsewhere wins these entries: {advice}"
    text = (
        f"without it (estimate): {grouped(stop.won)} instructions won,"
        f" {percent(stop.won, section.lost)} % of what this section loses"
    )
    if stop.holds:
        text += f", and {plural(stop.holds_alone, 'more entry commits', 'more entries commit')}"
    return f"{text}; {advice}" if advice else text


def rest(findings):
    """What the page leaves out."""
    parts = []
    left = len(findings.all) - len(findings.told)
    if left:
        parts.append(f"{plural(left, 'section loses', 'sections lose')} no more than those above.")
    if findings.own.unseen:
        parts.append(
            f"{plural(findings.own.unseen, 'transaction', 'transactions')} began outside of any lock"
            " call that is seen (locks inside of an allocator, the check at the start)."
        )
    return " ".join(parts)


EXPLANATION = (
    "An entry is an acquisition outside of a transaction. It is tried as a transaction each time; a conflict is"
    " tried again, anything else takes the lock. Lost are the instructions of attempts that aborted, and those under"
    " a lock from where another thread came to it; the kernel's time is not in it. The estimate for a change counts"
    " the same of this cause alone: of the entries under the lock, those in which nothing else was seen that stops a"
    " transaction. docs/doctor.md tells how to read this page."
)
