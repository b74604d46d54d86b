# SPDX-License-Identifier: MIT
"""Made-up rows for the tests of the judgement; they are no measurements."""

from dataclasses import replace

import rows
from claims import points


def row(malloc="cia", lock="tts", size=64, rate="5000000", **others):
    """A row of the ring, measured; others are its further columns."""
    columns = {column: "" for column in rows.COLUMNS if column != "date"}
    columns |= {"bench": "ring", "cpu": "Some CPU", "nodes": "128", "threads": "1", "htm": "none"}
    columns |= {"host": "somewhere", "seed": "1", "acquisitions": "1000", "cache": ""}
    columns |= {"malloc": malloc, "lock": lock, "size": size, "rate": rate} | others
    return rows.Row(**{name: str(value) for name, value in columns.items()})


def tree(malloc="cia", lock="tts", size=64, rate="5000000", **others):
    """A row of the tree with 4 threads, measured."""
    shape = {"bench": "avltree", "nodes": "32767", "threads": "4"}
    return row(malloc, lock, size, rate, **shape | others)


def aborting(malloc="glibc", size=64, capacity=0, rate="", **others):
    """An emulated row of ttstle: that many of 1000 transactions abort for capacity."""
    counts = {"slow_path": capacity, "tx_started": 1000, "abort_capacity": capacity}
    return row(malloc, "ttstle", size, rate, **{"htm": "emulated"} | counts | others)


def result(*lines, name="a.csv", machine=()):
    """A result with these rows."""
    return rows.Result(name, tuple(lines), tuple(machine))


def settings(*lines):
    """All settings of rows."""
    return points.add_up([result(*lines)]).settings


def setting(*lines):
    """The one setting of rows."""
    (one,) = settings(*lines)
    return one


def often(lines):
    """The rows, measured ones three times: as often as a verdict needs them."""
    for line in lines:
        yield line
        if line.htm != "emulated":
            yield from (replace(line, seed=f"{line.seed}{number}") for number in (2, 3))


def judged(claim, *lines):
    """The findings of a claim on rows; each can be told with the rows that it stands on."""
    return judged_once(claim, *often(lines))


def judged_once(claim, *lines):
    """The same of rows that were measured once each."""
    findings = claim.findings(settings(*lines))
    for finding in findings:
        assert ("\nRows: " in finding.text()) == (finding.setting is not None)
    return findings


def verdicts(claim, *lines):
    """The verdicts on a claim by rows."""
    return [finding.verdict for finding in judged(claim, *lines)]


def seen(claim, *lines):
    """What the only finding of a claim says was seen."""
    (finding,) = judged(claim, *lines)
    return finding.seen
