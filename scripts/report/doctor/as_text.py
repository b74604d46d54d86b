# SPDX-License-Identifier: MIT
"""The page as text."""

import re
import textwrap

from doctor import wording
from doctor.figures import FILLERS_TOLD
from doctor.wording import grouped, percent, plural

COLUMNS = 100


def wrapped(text, indent=0):
    """The text in lines of at most 100 columns, indented, parted at blanks only."""
    return textwrap.fill(
        re.sub(" +", " ", text),
        COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _listed(number, title, place, details):
    """An item of a numbered list: a place, then what is known of it."""
    yield ""
    yield wrapped(f"{number}. {title}", 2)
    if place.called_from:
        yield wrapped(f"called from {place.called_from}", 7)
    for detail in details:
        yield wrapped(detail, 5)


def _site_details(own, other, place):
    tally = own.sites[place]
    saved = tally.lines.saved
    yield (
        f"{grouped(saved)} of their {plural(tally.lines.misses, 'miss', 'misses')} would be saved,"
        f" {percent(saved, own.saved)} % of what placement costs"
    )
    yield wording.spread(tally, own.geometry)
    yield wording.shares(tally, own)
    yield f"{grouped(tally.allocated)} allocated, {grouped(tally.live_most)} live at most"
    if other and place in other.sites:
        theirs = other.sites[place]
        yield (
            f"under {other.allocator} (modelled): {plural(theirs.lines.misses, 'miss', 'misses')},"
            f" {grouped(theirs.lines.saved)} to be saved; {wording.spread(theirs, other.geometry)}"
        )
    elif other:
        yield f"under {other.allocator}: not seen"


def _sites(findings):
    yield ""
    yield "Where the blocks were allocated whose placement costs most"
    own = findings.own
    for number, place in enumerate(findings.sites, 1):
        title = f"{place.at}: blocks of {wording.size_range(own.sites[place])} B"
        yield from _listed(number, title, place, _site_details(own, findings.other, place))
    if not findings.sites:
        yield ""
        yield wrapped(wording.NO_SITE, 2)
        if place := findings.busiest_site:
            tally = own.sites[place]
            yield wrapped(
                f"Those most visited are of {wording.size_range(tally)} B, allocated by {place.at}:"
                f" {wording.spread(tally, own.geometry)}.",
                2,
            )


def _size_cells(tally):
    lie = tally.spread
    return (
        f"{grouped(tally.lines.misses):>13} {grouped(tally.lines.saved):>13}"
        f" {lie.hot:>7} {lie.sets_used:>5} {lie.most_in_one_set:>8}"
    )


def _sizes(findings):
    own, other = findings.own, findings.other
    if not findings.sizes:
        return
    yield ""
    yield "By size"
    yield ""
    head = f"{'bytes':>15} {'misses':>13} {'to be saved':>13} {'hot':>7} {'sets':>5} {'fullest':>8}"
    yield head + (f"   under {other.allocator} (modelled), the same" if other else "")
    for size in findings.sizes:
        row = f"{wording.size_range(own.sizes[size]):>15} {_size_cells(own.sizes[size])}"
        yield row + (_size_cells(other.sizes[size]) if other and size in other.sizes else "")


def _section_details(own, other, place):
    section = own.sections[place]
    yield wording.one_section(section)
    beginnings = ["in the set that overflowed: ", *["and "] * (FILLERS_TOLD - 1)]
    for beginning, filler in zip(beginnings, section.fillers):
        yield beginning + wording.filler(section, filler)
    if other and place in other.sections:
        theirs = wording.one_section(other.sections[place])
        yield f"under {other.allocator} (modelled): {theirs}"
    elif other:
        yield f"under {other.allocator}: not seen"


def _sections(findings):
    yield ""
    yield "Critical sections"
    yield ""
    yield wrapped(wording.all_sections(findings.own), 2)
    for number, place in enumerate(findings.sections, 1):
        details = _section_details(findings.own, findings.other, place)
        yield from _listed(number, f"locked by {place.at}", place, details)


def _paragraphs(findings):
    own, other = findings.own, findings.other
    yield f"mplace doctor: {findings.title}"
    yield wrapped(wording.modelled(own, "x"))
    yield ""
    yield wrapped(wording.verdict(own))
    if other:
        yield wrapped(wording.comparison(own, other))
    yield from _sites(findings)
    yield from _sizes(findings)
    yield from _sections(findings)
    yield ""
    yield wrapped(wording.elsewhere(own))
    yield wrapped(
        "A visit is an access to another line than the thread's last; a block is hot if its first"
        f" line is visited twice within {grouped(own.window)} visits; the sets are those of the"
        " worst such stretch. docs/doctor.md tells how to read this page."
    )


def page(findings):
    """The page, in lines of at most 100 columns where the words allow it."""
    return "".join(f"{paragraph}\n" for paragraph in _paragraphs(findings))
