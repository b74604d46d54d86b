# SPDX-License-Identifier: MIT
"""Rows and results made up for the tests of plot: they test arithmetic, and are no measurements."""

from rows import Result, Row

BLANK = dict.fromkeys(Row.__dataclass_fields__, "")
RING = BLANK | {
    "bench": "ring",
    "cpu": "Some CPU",
    "nodes": "128",
    "threads": "1",
    "malloc": "cia",
    "lock": "tts",
    "htm": "none",
    "size": "64",
    "rate": "1000000.0",
    "unit": "traversals/s",
    "sets_used": "64",
    "max_per_set": "2",
    "host": "somewhere",
    "seed": "1",
}
TREE = {
    "bench": "avltree",
    "nodes": "32767",
    "threads": "4",
    "unit": "operations/s",
    "sets_used": "",
    "max_per_set": "",
}
TRANSACTIONS = {
    "lock": "ttstle",
    "htm": "emulated",
    "rate": "",
    "acquisitions": "1000",
    "slow_path": "0",
    "tx_started": "1000",
    "abort_conflict": "0",
    "abort_capacity": "0",
    "abort_explicit": "0",
    "abort_other": "0",
}


def ring(**changes):
    """A row of the ring."""
    return Row(**RING | _texts(changes))


def tree(**changes):
    """A row of the tree."""
    return Row(**RING | TREE | _texts(changes))


def emulated(**changes):
    """A row of the tree whose 1000 transactions were emulated."""
    return Row(**RING | TREE | TRANSACTIONS | _texts(changes))


def result(*rows, machine=(), name="a.csv"):
    """A result of these rows."""
    return Result(name, rows, tuple(machine))


def _texts(changes):
    return {name: str(value) for name, value in changes.items()}
