# SPDX-License-Identifier: MIT
"""Statements of a paper, each judged by rows, and the document of them."""

from collections.abc import Callable
from dataclasses import dataclass

from claims import words

HOLDS = "holds"
DIFFERS = "differs"
NO_ROWS = "not simulated"


@dataclass(frozen=True)
class Finding:
    """What the rows say of a statement."""

    verdict: str
    seen: str


@dataclass(frozen=True)
class Statement:
    """A statement of the paper."""

    title: str
    paper: str  # where it says so
    judge: Callable


def decided(holds, seen):
    """The finding of a statement that there are rows for."""
    return Finding(HOLDS if holds else DIFFERS, seen)


def no_rows(of):
    """The finding of a statement that there are no rows for."""
    return Finding(NO_ROWS, f"There are no rows of {of}.")


def change(ratio):
    """A ratio as a difference in per cent."""
    return f"{100 * (ratio - 1):+.1f} %"


def verdicts(statements, evidence):
    """The statements, each with what the rows say."""
    rows = []
    for number, statement in enumerate(statements, 1):
        finding = statement.judge(evidence)
        rows.append([number, f"{statement.title} ({statement.paper})", f"**{finding.verdict}**", finding.seen])
    return words.table(["", "the paper", "verdict", "what the rows say"], rows)


def document(head, statements, evidence, parts):
    """The head, the verdicts, then parts of a title and a text each; a part without text is left out."""
    parts = [("The statements of the paper", verdicts(statements, evidence)), *parts]
    return head + "\n".join(f"## {title}\n\n{text}" for title, text in parts if text)


def main(arguments, evidence_of, document_of):
    """Prints the document of a file of rows; the exit status."""
    (path,) = arguments
    evidence = evidence_of(path)
    if evidence is None:
        return 2
    print(document_of(evidence), end="")
    return 0
