# SPDX-License-Identifier: MIT
"""What the descriptions beside results (FILE.csv.machine) say of the machines."""

import re
from dataclasses import dataclass

from rows import CACHE, Refused


@dataclass(frozen=True)
class Machine:
    """The facts about one machine, as described; a key may come more than once."""

    facts: tuple[tuple[str, str], ...]

    def fact(self, key):
        """The first fact of that key; empty where there is none."""
        return next((value for name, value in self.facts if name == key), "")


def _described(lines):
    """The machines of the lines: "host=" begins one; what comes before is one without a name."""
    blocks = [[]]
    for line in lines:
        if not re.match("[a-z0-9_]+=", line) or line.startswith("sweep_"):
            continue
        key, _, value = line.partition("=")
        if key == "host":
            blocks.append([])
        blocks[-1].append((key, value))
    return [Machine(tuple(facts)) for facts in blocks if facts]


def check_caches(results):
    """Refuses a result beside which a data cache of no size is described."""
    for result in results:
        for number, line in enumerate(result.machine, 1):
            if line.startswith("l1d=") and not re.fullmatch(f"{CACHE}|unknown", line.removeprefix("l1d=")):
                raise Refused(f"{result.name}.machine, line {number}: '{line}' is no cache, such as l1d=64x12x64")


def machines_of(results):
    """The machines of results, each host once; where no description is, what the rows say."""
    lines = [line for result in results for line in result.machine]
    machines = {}
    for machine in _described(lines):
        machines.setdefault(machine.fact("host"), machine)
    undescribed = dict.fromkeys(
        (row.host, row.cpu) for result in results if not result.machine for row in result.rows
    )
    return (
        *machines.values(),
        *(Machine((("host", host), ("cpu", cpu))) for host, cpu in undescribed),
    )


def fact_of_processor(machines, cpu, key):
    """A fact about the first machine with that processor whose description has it; or empty."""
    facts = (machine.fact(key) for machine in machines if machine.fact("cpu") == cpu)
    return next(filter(None, facts), "")


def warnings_of(machines):
    """What spoils the measurement, each warning once."""
    facts = (fact for machine in machines for fact in machine.facts)
    return tuple(dict.fromkeys(value for key, value in facts if key == "warning"))
