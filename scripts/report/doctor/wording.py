# SPDX-License-Identifier: MIT
"""The sentences that the page as text and as HTML share."""

from decimal import Decimal

from doctor import figures

NO_SITE = (
    "No place in the program allocates blocks whose placement costs 0.1 misses for every 1000"
    " accesses."
)


def grouped(number):
    """1234567 as 1,234,567"""
    return f"{number:,}"


def plural(number, one, more):
    """The number and what it counts, which is named for one or for more."""
    return f"{grouped(number)} {one if number == 1 else more}"


def percent(part, whole):
    """The part in whole per cent, or as many digits as tell it from none and from all; 0 of nothing."""
    share = 100 * part / whole if whole else 0
    digits = 0
    while 0 < share < 100 and round(share, digits) in (0, 100):
        digits += 1
    return f"{share:.{digits}f}"


def rate(value):
    """A small number with one digit that counts, at least: 0.04 rather than 0.0."""
    if value >= 10:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.1 or value == 0 else f"{Decimal(f'{value:.2g}'):f}"


def share(part, whole):
    """The part in per cent, a small one as a rate: neither all nor nothing unless it is; 0 of nothing."""
    return percent(part, whole) if 10 * part >= whole else rate(100 * part / whole)


def size_range(tally):
    """The sizes of the blocks: 500, or 100-200."""
    least, most = grouped(tally.size_least), grouped(tally.size_most)
    return least if least == most else f"{least}-{most}"


def modelled(run, times):
    """What was modelled, with this sign for a multiplication."""
    shape = run.geometry
    return (
        f"Modelled: L1 data caches of {shape.sets} sets {times} {shape.ways} ways {times}"
        f" {shape.line} B, one a thread, true LRU, no prefetch;"
        f" {plural(run.threads, 'thread', 'threads')},"
        f" {plural(run.accesses, 'access', 'accesses')} under {run.allocator}."
    )


def verdict(run):
    """The answer, in one sentence."""
    answer = {
        "hurts": "Placement hurts this program",
        "little": "Placement costs this program a little",
        "no": "Placement does not hurt this program",
    }[figures.verdict(run)]
    saved = run.saved
    became = ""
    if run.becomes is not None:
        another = f"{run.becomes}, another program" if run.becomes else "another program"
        became = f" Then it became {another}, which this page is not about."
    return (
        f"{answer}: of its {plural(run.misses, 'modelled L1 miss', 'modelled L1 misses')},"
        f" {grouped(saved)} ({percent(saved, run.misses)} %) would be saved by a better placement"
        f" of its heap blocks, {rate(run.per_1000(saved))} for every 1000 accesses.{became}"
    )


def comparison(own, other):
    """What the other run has instead."""
    text = (
        f"Under {other.allocator} (modelled): {plural(other.misses, 'miss', 'misses')} in"
        f" {plural(other.accesses, 'access', 'accesses')}, {rate(other.per_1000(other.misses))} for"
        f" every 1000 accesses instead of {rate(own.per_1000(own.misses))};"
        f" {grouped(other.saved)} of them would still be saved by a better placement."
    )
    if own.exit_status != other.exit_status:
        text += (
            f" The exit statuses differ ({own.exit_status} and {other.exit_status}): the two runs"
            " may not have done the same."
        )
    return text


def spread(tally, geometry):
    """How the hot blocks lie."""
    lie = tally.spread
    if not lie.hot:
        return "no block of them was hot"
    even = (lie.hot + geometry.sets - 1) // geometry.sets
    return (
        f"{plural(lie.hot, 'hot block begins', 'hot blocks begin')} in {lie.sets_used} of"
        f" {geometry.sets} sets, {lie.most_in_one_set} in the fullest (even: {even}; the cache has"
        f" {geometry.ways} ways)"
    )


def shares(tally, run):
    """Which share of the run's visits the blocks have."""
    first = tally.first_lines.visits
    others = tally.lines.visits - first
    return (
        f"{percent(first, run.visits)} % of all visits to memory go to first lines of these blocks,"
        f" {percent(others, run.visits)} % to their other lines"
    )


def all_sections(run):
    """Whether the critical sections of the run fit into transactions."""
    entered = sum(section.entered for section in run.sections.values())
    overflowed = sum(section.overflowed for section in run.sections.values())
    if not entered:
        return "No pthread lock was taken."
    if overflowed:
        return (
            f"{grouped(overflowed)} of {plural(entered, 'critical section', 'critical sections')}"
            " would overflow the write set of a transaction: a line that it wrote has to leave the"
            " L1 cache before it ends."
        )
    most = max(section.lines_most for section in run.sections.values())
    those = "The one critical section fits"
    if entered != 1:
        those = f"All {grouped(entered)} critical sections fit"
    return (
        f"{those} into the write set of a transaction; at most"
        f" {plural(most, 'line was', 'lines were')} written in one."
    )


def one_section(section):
    """The critical sections of one place."""
    average = section.lines_written / section.entered if section.entered else 0.0
    text = (
        f"{grouped(section.overflowed)} of {grouped(section.entered)} overflow; lines written"
        f" {'(until then) ' if section.overflowed else ''}on average {average:.1f}, at most"
        f" {section.lines_most}"
    )
    if section.waited:
        text += f"; {grouped(section.waited)} wait for a condition, where a transaction ends"
    if section.held_at_end:
        text += f"; {grouped(section.held_at_end)} not left when the program ended"
    return text


def filler(section, part):
    """The part of the section's fillers, for each overflow. The section has overflowed."""
    lines = f"{part.lines / section.overflowed:.1f} lines"
    if not part.place.at:
        return f"{lines} of no known heap block"
    return f"{lines} of blocks of {grouped(part.size)} B, allocated by {part.place.at}"


def elsewhere(run):
    """What the page says nothing about."""
    return (
        f"{percent(run.elsewhere.visits, run.visits)} % of the visits and"
        f" {percent(run.elsewhere.misses, run.misses)} % of the misses are to memory that is no"
        " known heap block: stacks, static data, mapped memory, pools of the program's own. Nothing"
        " is said of their placement."
    )
