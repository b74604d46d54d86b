# SPDX-License-Identifier: MIT
"""All that is in the records, as one JSON object. docs/doctor.md tells its members."""

import json
import re

from doctor.figures import verdict


def plain_text(text):
    """The text without control characters, and without bytes that are no UTF-8."""
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")
    return re.sub("[\x01-\x1f]", " ", valid)


def _counts(counts):
    return {
        "visits": counts.visits,
        "misses": counts.misses,
        "misses_fully_associative": counts.misses_fully_associative,
        "misses_within": counts.misses_within,
        "saved": counts.saved,
    }


def _place(place):
    return {"at": plain_text(place.at), "called_from": plain_text(place.called_from)}


def _tally(tally):
    return {
        **_counts(tally.lines),
        "first_line_visits": tally.first_lines.visits,
        "first_line_misses": tally.first_lines.misses,
        "allocated": tally.allocated,
        "live_most": tally.live_most,
        "size_least": tally.size_least,
        "size_most": tally.size_most,
        "hot": tally.spread.hot,
        "sets_used": tally.spread.sets_used,
        "most_in_one_set": tally.spread.most_in_one_set,
        "hot_by_set": tally.spread.hot_by_set,
    }


def _filler(filler):
    if not filler.place.at:
        return {"lines": filler.lines}
    return {"lines": filler.lines, "size": filler.size, "at": plain_text(filler.place.at)}


def _section(place, section):
    return {
        "entered": section.entered,
        "overflowed": section.overflowed,
        "waited": section.waited,
        "held_at_end": section.held_at_end,
        "lines_written": section.lines_written,
        "lines_most": section.lines_most,
        **_place(place),
        "filled_by": [_filler(filler) for filler in section.fillers],
    }


def _run(run):
    return {
        "malloc": run.allocator,
        "exit_status": run.exit_status,
        "becomes": run.becomes if run.becomes is None else plain_text(run.becomes),
        "threads": run.threads,
        "accesses": run.accesses,
        "saved": run.saved,
        "heap": _counts(run.heap),
        "elsewhere": _counts(run.elsewhere),
        "sites": [_tally(tally) | _place(place) for place, tally in run.sites.items()],
        "sizes": [_tally(tally) for tally in run.sizes.values()],
        "sections": [_section(place, section) for place, section in run.sections.items()],
    }


def page(findings):
    """The page: a line of JSON."""
    own, other = findings.own, findings.other
    document = {
        "program": plain_text(findings.title),
        "modelled": True,
        "l1d": {
            "sets": own.geometry.sets,
            "ways": own.geometry.ways,
            "line": own.geometry.line,
        },
        "window_visits": own.window,
        "verdict": verdict(own),
        "runs": [_run(run) for run in (own, other) if run],
    }
    return json.dumps(document, ensure_ascii=False) + "\n"
