# SPDX-License-Identifier: MIT
"""The page as one HTML file that needs nothing else: no script, no font, no other file."""

from doctor.markup import escaped, paragraph
from doctor.style import STYLE
from doctor.wording import grouped
from sharing import wording
from sharing.record import KINDS
from style import opening, scrolled

KIND_NAMES = {
    **wording.NAMES,
    "first": "A core's first move of a line",
    "again": "Fetched again, unchanged",
}


def _head(findings):
    title = escaped(findings.title)
    yield from opening(f"mplace doctor --sharing: {title}", STYLE)
    yield f"<h1>{title}</h1>"
    yield f'<p class="soft">{escaped(wording.simulated(findings))}</p>'
    yield f'<p class="verdict">{escaped(wording.verdict(findings.own))}</p>'
    if findings.other:
        yield paragraph(wording.comparison(findings.own, findings.other))


def _totals(findings):
    runs = [run for run in (findings.own, findings.other) if run]
    yield "<table><caption>Moves by reason, and the cycles that they took (simulated).</caption><thead><tr><th></th>"
    for run in runs:
        name = escaped(run.allocator)
        yield f'<th class="other">moves, {name}</th><th>cycles</th>'
    yield "</tr></thead><tbody>"
    for kind in sorted(KINDS, key=list(KIND_NAMES).index):
        cells = "".join(
            f'<td class="other">{grouped(run.of[kind].moves)}</td><td>{grouped(run.of[kind].cycles)}</td>'
            for run in runs
        )
        yield f"<tr><td>{escaped(KIND_NAMES[kind])}</td>{cells}</tr>"
    yield "</tbody></table>"


def _finding(findings, number, finding):
    yield f"<h3>{number}. {escaped(wording.title(finding))}</h3>"
    for detail in wording.details(findings, finding):
        yield paragraph(detail[0].upper() + detail[1:] + ".")
    yield "<ul>"
    for use in wording.uses(finding):
        yield f"<li>{escaped(use)}</li>"
    yield "</ul>"


def _findings(findings):
    yield "<h2>What moves most</h2>"
    for number, finding in enumerate(findings.told, 1):
        yield from _finding(findings, number, finding)
    if not findings.told:
        yield paragraph(wording.NO_FINDING)


def page(findings):
    """The page."""
    lines = [*_head(findings), *_findings(findings), "<h2>All moves</h2>"]
    lines += scrolled(_totals(findings), "All moves")
    lines += ["<h2>How to read this</h2>", paragraph(wording.rest(findings)), paragraph(wording.EXPLANATION)]
    lines.append("</body></html>")
    return "".join(f"{line}\n" for line in lines)
