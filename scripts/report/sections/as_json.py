# SPDX-License-Identifier: MIT
"""All sections as one JSON object. docs/doctor.md tells its members."""

import json

from doctor.as_json import plain_text
from sections.record import COUNTS


def _place(place):
    return {"at": plain_text(place.at), "called_from": plain_text(place.called_from)}


def _data(data):
    if data is None:
        return None
    return {
        "symbol": plain_text(data.symbol),
        "object": plain_text(data.object),
        "offset": data.offset,
        "size": data.size,
        "allocated": _place(data.allocated),
        "address": data.address,
    }


def _filler(filler):
    return {"lines": filler.lines, "size": filler.size, **_place(filler.allocated)}


def _stop(stop, numbers):
    return {
        "kind": stop.kind,
        "detail": plain_text(stop.detail),
        **_place(stop.place),
        "through": plain_text(stop.through),
        "instruction": plain_text(stop.instruction),
        "requester": plain_text(stop.requester),
        "data": _data(stop.data),
        "other_section": None if stop.other is None else numbers.get(stop.other),
        "aborts": stop.aborts,
        "in_aborts": stop.in_aborts,
        "holds": stop.holds,
        "in_holds": stop.in_holds,
        "in_waits": stop.in_waits,
        "holds_alone": stop.holds_alone,
        "in_waits_alone": stop.in_waits_alone,
        "seen": stop.seen,
        "won": stop.won,
        "filled_by": [_filler(filler) for filler in stop.fillers],
    }


def _section(section, numbers):
    return {
        "lock": _data(section.lock),
        "locks": section.locks,
        **_place(section.place),
        **{name: getattr(section, name) for name in COUNTS},
        "lost": section.lost,
        "stops": [_stop(stop, numbers) for stop in section.stops],
    }


def page(findings):
    """The page: a line of JSON. Sections refer to each other by their places in the list."""
    run = findings.own
    places = {id(section): at for at, section in enumerate(findings.all)}
    numbers = {
        number: places[id(section)] for number, section in enumerate(run.sections) if id(section) in places
    }
    document = {
        "program": plain_text(findings.title),
        "emulated": True,
        "l1d": run.l1d,
        "processors": run.cpus,
        "malloc": run.allocator,
        "exit_status": run.exit_status,
        "instructions": run.instructions,
        "lost": run.lost,
        "unseen": run.unseen,
        "sections": [_section(section, numbers) for section in findings.all],
    }
    return json.dumps(document, ensure_ascii=False) + "\n"
