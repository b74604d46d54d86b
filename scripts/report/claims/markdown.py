# SPDX-License-Identifier: MIT
"""Claims, what was found of each, and the Markdown of both: the verdicts first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from claims import words
from claims.points import Setting

HOLDS = "holds"
DIFFERS = "differs"
NOT_MEASURED = "not measured"
NEEDS_TSX = "not measured: needs TSX hardware"
NEEDS_COUNTERS = "not measured: needs hardware counters"
RUNS_DISAGREE = "not decided: runs disagree"
# A rate is one of a machine that does other things: fewer runs of a size do not tell it from them.
LEAST_RUNS = 3
TOO_FEW_RUNS = f"not measured: fewer than {LEAST_RUNS} runs of a size"


def verdict(holds):
    """The verdict where the rows decide."""
    return HOLDS if holds else DIFFERS


def verdict_of_runs(holds, clearly):
    """The same where the medians say whether it holds, and the runs whether they tell it."""
    return RUNS_DISAGREE if holds and not clearly else verdict(holds)


@dataclass
class Finding:
    """What the rows of one setting say of a claim; no setting where no row speaks of it."""

    setting: Setting | None
    verdict: str
    seen: str = ""  # sentences
    table: str = ""
    series: list[tuple[str, str]] = field(default_factory=list)  # allocators and locks judged by

    @property
    def where(self):
        """The conditions, in words."""
        return self.setting.where if self.setting else ""

    def text(self):
        """A paragraph of its claim, with its table and what it stands on."""
        where = f"{words.capitalised(self.where)}. " if self.where else ""
        seen = f" {self.seen}" if self.seen else ""
        text = f"\n{where}**{words.capitalised(self.verdict)}.**{seen}\n"
        if self.table:
            text += f"\n{self.table}"
        if self.series:
            text += f"\n{self.sources()}\n"
        return text

    def sources(self):
        """The rows and files that the finding stands on."""
        points = [point for one in self.series for point in self.setting.series[one].values()]
        files = dict.fromkeys(str(file) for point in points for file in point.files)
        series = "; ".join(f"{malloc} under {lock}" for malloc, lock in self.series)
        rows = sum(point.rows for point in points)
        return f"Rows: {rows} of {self.setting.bench}, {series}; file {', '.join(files)}."


def often_enough(finding):
    """The finding, without its verdict where measured rates of a size that it stands on are too few.

    What is counted under the emulator is the same in each run.
    """
    if not finding.setting or not finding.setting.measured or finding.verdict not in (HOLDS, DIFFERS):
        return finding
    series = [finding.setting.series.get(one, {}) for one in finding.series]
    few = sorted({size for points in series for size in points if 0 < points[size].runs < LEAST_RUNS})
    if not few:
        return finding
    seen = f"{finding.seen} Fewer than {LEAST_RUNS} runs at {words.shortened(few)} B."
    return replace(finding, verdict=TOO_FEW_RUNS, seen=seen)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper. Where no setting has a finding, the claim is told as not measured."""

    title: str
    paper: str  # what the paper says, in our words
    command: str  # what measures it
    judge: Callable[[Setting], Iterable[Finding]]
    not_measured: str  # the verdict where nothing is found
    missing: str = ""  # what is said then

    def findings(self, settings):
        """The findings of all settings, in their order; at least one."""
        found = [often_enough(finding) for setting in settings for finding in self.judge(setting)]
        return found or [Finding(None, self.not_measured, self.missing)]


def verdict_lines(number, title, findings):
    """The lines of a claim in the table of verdicts; its number and title are in the first."""
    starts = [f"| {number} | {title} |"] + ["| | |"] * (len(findings) - 1)
    return "".join(
        f"{start} {finding.where} | {finding.verdict} |\n"
        for start, finding in zip(starts, findings)
    )


def judgement(claims, points):
    """Every claim judged: the table of verdicts, then a section a claim."""
    findings = [claim.findings(points.settings) for claim in claims]
    text = "## Verdicts\n\n| | claim | where | verdict |\n|---|---|---|---|\n"
    for number, (claim, found) in enumerate(zip(claims, findings), 1):
        text += verdict_lines(number, claim.title, found)
    for number, (claim, found) in enumerate(zip(claims, findings), 1):
        text += f"\n## {number}. {claim.title}\n\nThe paper: {claim.paper}\n"
        text += "".join(finding.text() for finding in found)
        text += f"\nTo measure it: `{claim.command}`\n"
    if points.left_out:
        rows = f"{points.left_out} row{'' if points.left_out == 1 else 's'}"
        text += f"\nLeft out: {rows} of ttstle that did not elide, and is tts then.\n"
    return text
