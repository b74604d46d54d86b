# SPDX-License-Identifier: MIT
"""What figures and page call the things that were measured."""

from plot.machines import fact_of_processor
from plot.order import as_bytes
from plot.rates import is_drawn


def bench_text(key):
    """What was run."""
    if key.bench == "ring":
        return f"Ring of {key.nodes} nodes"
    return f"AVL tree, {key.threads} threads"


def machine_text(measured, cpu):
    """The processor, and the hosts that have it."""
    hosts = {row.host or "-" for row in measured.rows if is_drawn(row) and (row.cpu or "-") == cpu}
    if cpu.startswith("unknown"):
        cpu = "a processor without a name" + cpu.removeprefix("unknown")
    return f"{cpu} ({', '.join(sorted(hosts, key=as_bytes))})"


def elision_text(key):
    """What was run, and on what: of an emulated run the host says nothing."""
    mode, _, cache = key.what.partition(":")
    if mode != "emulated":
        on = f"transactions of {key.cpu}"
    elif cache:
        sets, _, ways = cache.partition("x")
        on = f"emulated transactions, L1D of {sets} sets × {ways} ways"
    else:
        on = "emulated transactions"
    return f"{bench_text(key)}, {on}"


def why_no_ttstle(measured, cpu):
    """Why no rate of ttstle is drawn for the processor; empty where one is."""
    of_ttstle = (row for row in measured.rows if row.lock == "ttstle" and is_drawn(row))
    if any((row.cpu or "-") == cpu for row in of_ttstle):
        return ""
    rtm = fact_of_processor(measured.machines, cpu, "rtm")
    if rtm == "absent":
        why = "this processor has no hardware transactions (RTM), and without them ttstle is tts."
    elif rtm == "always-abort":
        why = "this processor aborts every hardware transaction, and without them ttstle is tts."
    elif measured.futile():
        why = "it did not elide where it was measured, and without transactions ttstle is tts."
    else:
        why = "it was not measured."
    return f"No ttstle: {why}"
