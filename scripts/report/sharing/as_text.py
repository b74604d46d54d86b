# SPDX-License-Identifier: MIT
"""The page as text."""

from doctor.as_text import wrapped
from sharing import wording


def _finding(findings, number, finding):
    yield ""
    yield wrapped(f"{number}. {wording.title(finding)}", 2)
    for detail in wording.details(findings, finding):
        yield wrapped(detail, 5)
    for use in wording.uses(finding):
        yield wrapped(use, 7)


def _paragraphs(findings):
    yield f"mplace doctor --sharing: {findings.title}"
    yield wrapped(wording.simulated(findings))
    yield ""
    yield wrapped(wording.verdict(findings.own))
    if findings.other:
        yield wrapped(wording.comparison(findings.own, findings.other))
    yield ""
    yield "What moves most"
    for number, finding in enumerate(findings.told, 1):
        yield from _finding(findings, number, finding)
    if not findings.told:
        yield ""
        yield wrapped(wording.NO_FINDING, 2)
    yield ""
    yield wrapped(wording.rest(findings))
    yield wrapped(wording.EXPLANATION)


def page(findings):
    """The page, in lines of at most 100 columns where the words allow it."""
    return "".join(f"{paragraph}\n" for paragraph in _paragraphs(findings))
