# SPDX-License-Identifier: MIT
"""What the files of a judgement say of themselves: the table of files, and the sweeps' warnings."""

import os
import re

from claims import words


def command_of(result):
    """The command of the sweep as its description has it; empty where that does not tell.

    Where the result lay is left out: it is of no use to a reader elsewhere.
    """
    for line in result.machine:
        if found := re.fullmatch(r"sweep_command=(.*[^ ]) *", line):
            return re.sub(r"(--out[ =])[^ ]*/", r"\1", found[1], count=1)
    return ""


def file_table(results):
    """A line a file, numbered as the findings name them."""
    rows = []
    for number, result in enumerate(results, 1):
        name = os.path.basename(result.name)
        hosts = dict.fromkeys(row.host for row in result.rows if row.host)
        command = command_of(result) or f"not known: no {name}.machine"
        cells = (name, ", ".join(hosts), command)
        name, hosts, command = (words.escaped(cell) for cell in cells)
        rows.append([f"{number}: {name}", len(result.rows), hosts, command])
    return words.table(["file", "rows", "host", "command"], rows)


def warnings(results):
    """What the sweeps said of their machines, each once; empty, or it begins with a blank line."""
    lines = (line for result in results for line in result.machine)
    told = dict.fromkeys(
        line.removeprefix("warning=") for line in lines if line.startswith("warning=")
    )
    if not told:
        return ""
    points = "".join(f"* {words.escaped(warning)}\n" for warning in told)
    return f"\nWhat spoils the measured rows:\n\n{points}"
