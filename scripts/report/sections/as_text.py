# SPDX-License-Identifier: MIT
"""The page as text."""

from doctor.as_text import wrapped
from sections import wording


def _section(findings, number, section):
    yield ""
    yield wrapped(f"{number}. {wording.title(section)}", 2)
    if section.place.called_from:
        yield wrapped(f"called from {section.place.called_from}", 7)
    yield wrapped(wording.one_section(section, findings.own), 5)
    for stop in section.stops[: wording.STOPS_TOLD]:
        yield wrapped(f"- {wording.stop_title(stop, findings)}", 5)
        for detail in wording.stop_details(stop, section, findings.own):
            yield wrapped(detail, 9)
    left = len(section.stops) - wording.STOPS_TOLD
    if left > 0:
        yield wrapped(f"- {left} more that lose less", 5)


def _paragraphs(findings):
    yield f"mplace doctor --sections: {findings.title}"
    yield wrapped(wording.emulated(findings.own))
    yield ""
    yield wrapped(wording.verdict(findings.own))
    if not findings.told:
        return
    yield ""
    yield "What loses most"
    for number, section in enumerate(findings.told, 1):
        yield from _section(findings, number, section)
    yield ""
    if rest := wording.rest(findings):
        yield wrapped(rest)
    yield wrapped(wording.EXPLANATION)


def page(findings):
    """The page, in lines of at most 100 columns where the words allow it."""
    return "".join(f"{paragraph}\n" for paragraph in _paragraphs(findings))
