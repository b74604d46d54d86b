# SPDX-License-Identifier: MIT
"""The page as one HTML file that needs nothing else: no script, no font, no other file."""

from doctor.markup import escaped, paragraph
from doctor.style import STYLE
from doctor.wording import grouped, percent
from sections import wording
from style import opening, scrolled


def _head(findings):
    title = escaped(findings.title)
    yield from opening(f"mplace doctor --sections: {title}", STYLE)
    yield f"<h1>{title}</h1>"
    yield f'<p class="soft">{escaped(wording.emulated(findings.own))}</p>'
    yield f'<p class="verdict">{escaped(wording.verdict(findings.own))}</p>'


def _table(findings):
    yield (
        "<table><caption>Sections by emulated instructions lost.</caption><thead><tr><th>section</th>"
        "<th>entries</th><th>commit</th><th>lost in aborts</th><th>lost by waiting</th><th>under the lock</th></tr></thead>"
        "<tbody>"
    )
    for section in findings.told:
        cells = (
            grouped(section.entered),
            f"{percent(section.committed, section.entered)} %",
            grouped(section.in_aborts),
            grouped(section.in_waits),
            grouped(section.in_holds),
        )
        row = "".join(f"<td>{escaped(cell)}</td>" for cell in cells)
        yield f"<tr><td>{escaped(wording.title(section))}</td>{row}</tr>"
    yield "</tbody></table>"


def _section(findings, number, section):
    yield f"<h3>{number}. {escaped(wording.title(section))}</h3>"
    if section.place.called_from:
        yield paragraph(f"Called from {section.place.called_from}.")
    yield paragraph(f"{wording.one_section(section, findings.own)}.")
    yield "<ul>"
    for stop in section.stops[: wording.STOPS_TOLD]:
        details = ". ".join(wording.stop_details(stop, section, findings.own))
        yield f"<li><strong>{escaped(wording.stop_title(stop, findings))}</strong>: {escaped(details)}.</li>"
    left = len(section.stops) - wording.STOPS_TOLD
    if left > 0:
        yield f"<li>{left} more that lose less.</li>"
    yield "</ul>"


def page(findings):
    """The page."""
    lines = list(_head(findings))
    if findings.told:
        lines += scrolled(_table(findings), "Sections")
        lines.append("<h2>What loses most</h2>")
        for number, section in enumerate(findings.told, 1):
            lines += _section(findings, number, section)
        lines += ["<h2>How to read this</h2>"]
        if rest := wording.rest(findings):
            lines.append(paragraph(rest))
        lines.append(paragraph(wording.EXPLANATION))
    lines.append("</body></html>")
    return "".join(f"{line}\n" for line in lines)
