# SPDX-License-Identifier: MIT
"""What the page says of the machines, and of how the sweeps were run on them."""

import os

from markup import escaped
from plot.as_html import definitions
from plot.machines import warnings_of
from plot.order import as_bytes, by_version
from rows import read_text

FACTS = {
    "host": "Host",
    "cpu": "Processor",
    "cpus": "CPUs",
    "l1d": "L1 data cache",
    "l2": "L2 cache",
    "rtm": "Hardware transactions (RTM)",
    "counters": "Hardware counters",
    "rseq": "rseq",
    "numa_nodes": "NUMA nodes",
    "huge_pages": "Huge pages",
    "turbo": "Turbo",
    "governor": "Frequency governor",
    "smt": "SMT",
    "hypervisor": "Hypervisor",
    "load": "Load at the start",
    "kernel": "Kernel",
    "libc": "C library",
}


def warnings_box(machines):
    """What spoils the measurement, or nothing."""
    warnings = warnings_of(machines)
    if not warnings:
        return []
    return [
        '<div class="warn"><p>What spoils this measurement</p><ul>',
        *(f"<li>{escaped(warning)}</li>" for warning in warnings),
        "</ul></div>",
    ]


def _fact_text(key, value):
    if key in ("l1d", "l2"):
        value = value.replace("x", " × ")
    return f"{value} (sets × ways × bytes a line)" if key == "l1d" else value


def machine_list(machines):
    """The facts about all machines that the page has a name for."""
    return definitions(
        (FACTS[key], _fact_text(key, value))
        for machine in machines
        for key, value in machine.facts
        if key in FACTS
    )


def values_of(rows, column):
    """The distinct values of a column of rows, for people; blank ones left out."""
    values = {getattr(row, column) for row in rows} - {""}
    return ", ".join(sorted(values, key=by_version))


def _runs_a_point(groups):
    """The distinct numbers of runs that points of the groups are of."""
    runs = {p.runs for group in groups for series in group.series for p in series.points}
    return ", ".join(map(str, sorted(runs)))


def _tagged(lines, tag):
    """What follows the tag in the lines that begin with it; blank ones left out."""
    found = (line.removeprefix(tag) for line in lines if line.startswith(tag))
    return [text for text in found if text]


def _planned(result):
    """What the plan beside a result says of its runs."""
    path = f"{result.name}.plan"
    lines = read_text(path).split("\n") if os.path.isfile(path) else []
    return [
        *(("Set in the environment", text) for text in _tagged(lines, "# settings=")),
        *(("Each run", text) for text in _tagged(lines, "# program=")),
    ]


def _settings(measured):
    """Names and texts of what was set."""
    rows = measured.shown()
    sizes = {int(row.size) for row in rows}
    seeds = values_of(rows, "seed")
    yield "Runs a point", _runs_a_point(measured.rates), "; the point is their median"
    elision_runs = _runs_a_point(measured.elision)
    yield "Runs a point of elision", elision_runs, "; the point is the share over all of them"
    yield "Sizes", f"{len(sizes)}, from {min(sizes)} to {max(sizes)} B", ""
    yield "Seeds", seeds, ": the same for all allocators and locks in a repetition"
    yield "On CPU", values_of(rows, "pinned"), ""
    yield "Waiting of the lock", values_of(rows, "wait"), ""
    yield "Retry policy of ttstle", values_of(rows, "policy"), ""


def settings_list(measured):
    """What was set, and the libraries and commands of the sweeps."""
    settings = [(name, value + more) for name, value, more in _settings(measured) if value]
    planned = [pair for result in measured.results for pair in _planned(result)]
    libraries = dict.fromkeys(
        text for result in measured.results for text in _tagged(result.machine, "sweep_library=")
    )
    commands = [
        text for result in measured.results for text in _tagged(result.machine, "sweep_command=")
    ]
    return [
        *definitions([*settings, *planned, *(("Library", text) for text in libraries)]),
        *(f"<pre>{escaped(command)}</pre>" for command in commands),
    ]


def sources_text(results):
    """Which files the page is from, and when their rows were measured."""
    names = ", ".join(os.path.basename(result.name) for result in results)
    dates = [
        line.split(",")[22]
        for result in results
        for line in read_text(result.name).removesuffix("\n").split("\n")[1:]
    ]
    first, last = min(dates, key=as_bytes), max(dates, key=as_bytes)
    return f"Drawn from {names}, measured between {first} and {last}."
