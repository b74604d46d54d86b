# SPDX-License-Identifier: MIT
"""The page as one HTML file that needs nothing else: no script, no font, no other file."""

from doctor import figures, picture, wording
from doctor.markup import escaped, paragraph
from doctor.style import STYLE
from doctor.wording import grouped, percent, plural
from style import opening, scrolled

# What the pictures fill the part of a bar with that is above the ways.
HATCH = (
    '<svg style="position:absolute;width:0;height:0" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="3" height="3" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><path d="M0 0V3" stroke="#fff" stroke-width="1.1"/></pattern>'
    "</defs></svg>"
)

SIZE_COLUMNS = ("misses", "to be saved", "hot", "sets", "in the fullest")


def _head(findings):
    title = escaped(findings.title)
    own, other = findings.own, findings.other
    yield from opening(f"mplace doctor: {title}", STYLE)
    yield HATCH
    yield f"<h1>{title}</h1>"
    yield f'<p class="soft">{escaped(wording.modelled(own, "×"))}</p>'
    yield f'<p class="verdict {figures.verdict(own)}">{escaped(wording.verdict(own))}</p>'
    if other:
        yield paragraph(wording.comparison(own, other))


def _callers(place):
    if place.called_from:
        yield f'<p class="soft">called from {escaped(place.called_from)}</p>'


def _pictures(findings, place):
    """How the place's hot blocks lie in each run that has the place, at one scale."""
    runs = [run for run in (findings.own, findings.other) if run and place in run.sites]
    spreads = [run.sites[place].spread for run in runs]
    high = picture.scale(findings.own.geometry, spreads)
    for run, spread in zip(runs, spreads):
        if not spread.hot_by_set:
            continue
        text = wording.spread(run.sites[place], run.geometry)
        label = f"hot blocks by cache set under {run.allocator}: {text}"
        bars = picture.bars(spread, run.geometry, high, run.allocator, label)
        under = "Under " + run.allocator + (": " if run is findings.own else " (modelled): ")
        yield f"<figure>{bars}"
        yield f"<figcaption>{escaped(under + text)}.</figcaption></figure>"


def _site(findings, number, place):
    own, other = findings.own, findings.other
    tally = own.sites[place]
    saved = tally.lines.saved
    yield f"<h3>{number}. {escaped(place.at)}: blocks of {wording.size_range(tally)} B</h3>"
    yield from _callers(place)
    yield paragraph(
        f"{grouped(saved)} of their {plural(tally.lines.misses, 'miss', 'misses')} would be saved,"
        f" {percent(saved, own.saved)} % of what placement costs. {grouped(tally.allocated)}"
        f" allocated, {grouped(tally.live_most)} live at most; {wording.shares(tally, own)}."
    )
    if other and place in other.sites:
        theirs = other.sites[place].lines
        yield paragraph(
            f"Under {other.allocator} (modelled): {plural(theirs.misses, 'miss', 'misses')},"
            f" {grouped(theirs.saved)} to be saved."
        )
    yield from _pictures(findings, place)


def _sites(findings):
    yield "<h2>Where the blocks were allocated whose placement costs most</h2>"
    for number, place in enumerate(findings.sites, 1):
        yield from _site(findings, number, place)
    if not findings.sites:
        yield paragraph(wording.NO_SITE)
        if place := findings.busiest_site:
            sizes = wording.size_range(findings.own.sites[place])
            yield paragraph(f"Those most visited are of {sizes} B, allocated by {place.at}.")
            yield from _pictures(findings, place)


def _row_cells(tag, cells, is_other):
    """Cells of a run; the first one of the other run has a line before it."""
    starts = [f'<{tag} class="other">' if is_other and not at else f"<{tag}>" for at in range(len(cells))]
    return "".join(f"{start}{cell}</{tag}>" for start, cell in zip(starts, cells))


def _size_cells(run, size, is_other):
    if size not in run.sizes:
        return _row_cells("td", [""] * len(SIZE_COLUMNS), is_other)
    tally = run.sizes[size]
    lie = tally.spread
    cells = (
        grouped(tally.lines.misses),
        grouped(tally.lines.saved),
        lie.hot,
        lie.sets_used,
        lie.most_in_one_set,
    )
    return _row_cells("td", cells, is_other)


def _sizes(findings):
    own, other = findings.own, findings.other
    runs = [run for run in (own, other) if run]
    if not findings.sizes:
        return
    yield "<h2>By size</h2>"
    yield from scrolled(_size_table(findings, runs), "By size")


def _size_table(findings, runs):
    own, other = findings.own, findings.other
    yield (
        "<table><caption>Requested bytes. Hot blocks, and the"
        " sets that their first lines are in, of the worst stretch of the run.</caption><thead>"
    )
    if other:
        yield (
            f'<tr><th></th><th colspan="{len(SIZE_COLUMNS)}">{escaped(own.allocator)}</th>'
            f'<th class="other" colspan="{len(SIZE_COLUMNS)}">{escaped(other.allocator)} (modelled)</th></tr>'
        )
    heads = "".join(_row_cells("th", SIZE_COLUMNS, run is other) for run in runs)
    yield f"<tr><th>bytes</th>{heads}</tr></thead><tbody>"
    for size in findings.sizes:
        cells = "".join(_size_cells(run, size, run is other) for run in runs)
        yield f"<tr><td>{wording.size_range(own.sizes[size])}</td>{cells}</tr>"
    yield "</tbody></table>"


def _section(findings, number, place):
    section, other = findings.own.sections[place], findings.other
    yield f"<h3>{number}. locked by {escaped(place.at)}</h3>"
    yield from _callers(place)
    yield paragraph(f"{wording.one_section(section)}.")
    if section.fillers:
        yield "<p>In the set that overflowed:</p><ul>"
        for filler in section.fillers[: figures.FILLERS_TOLD]:
            yield f"<li>{escaped(wording.filler(section, filler))}</li>"
        yield "</ul>"
    if other and place in other.sections:
        theirs = wording.one_section(other.sections[place])
        yield paragraph(f"Under {other.allocator} (modelled): {theirs}.")
    elif other:
        yield paragraph(f"Under {other.allocator}: not seen.")


def _sections(findings):
    yield "<h2>Critical sections</h2>"
    yield paragraph(wording.all_sections(findings.own))
    for number, place in enumerate(findings.sections, 1):
        yield from _section(findings, number, place)


def _explanation(own):
    yield "<h2>How to read this</h2>"
    yield paragraph(wording.elsewhere(own))
    yield paragraph(
        "A visit is an access to another line than the thread's last one. A block is hot if its"
        f" first line is visited twice within {grouped(own.window)} visits; the sets are those of"
        " the worst such stretch of the run. A miss would be saved if a fully associative cache of"
        " the same size had the line, and the block was not in its own way."
    )


def page(findings):
    """The page."""
    parts = [_head, _sites, _sizes, _sections]
    lines = [line for part in parts for line in part(findings)]
    lines += [*_explanation(findings.own), "</body></html>"]
    return "".join(f"{line}\n" for line in lines)
