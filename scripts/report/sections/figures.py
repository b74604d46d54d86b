# SPDX-License-Identifier: MIT
"""Chooses what the page tells of a run's critical sections: what loses most, first."""

from dataclasses import dataclass

from sections.record import Run, Section


@dataclass(frozen=True)
class Findings:
    """What the page is about."""

    title: str
    own: Run
    all: list[Section]
    told: list[Section]


def weigh(title, run, top):
    """The findings of the run, with at most top sections; of equal ones those that ran longer under the lock first."""
    entered = [section for section in run.sections if section.entered or section.stops]
    ordered = sorted(entered, key=lambda section: (-section.lost, -section.in_holds, -section.entered))
    return Findings(title, run, ordered, ordered[:top])
