# SPDX-License-Identifier: MIT
"""All findings as one JSON object. docs/doctor.md tells its members."""

import json

from doctor.as_json import plain_text
from sharing.figures import findings_of
from sharing.record import KINDS


def _tally(tally):
    return {"moves": tally.moves, "cycles": tally.cycles}


def _use(use):
    return {
        "at": plain_text(use.at),
        "of_block_by": plain_text(use.target),
        **_tally(use.started),
        "read": sorted(use.read),
        "written": sorted(use.written),
        "cores": [core for core in range(use.cores.bit_length()) if use.cores >> core & 1],
    }


def _finding(finding):
    return {
        "reason": finding.reason,
        **_tally(finding.all),
        "by_reason": {kind: _tally(finding.of[kind]) for kind in KINDS},
        "lines": finding.lines,
        "address": finding.address,
        "allocated": [
            {"at": plain_text(place.at), "called_from": plain_text(place.called_from)}
            for place in finding.places
        ],
        "size_least": finding.sizes[0] if finding.sizes else 0,
        "size_most": finding.sizes[1] if finding.sizes else 0,
        "locks": list(finding.locks),
        "locks_taken_at": [plain_text(at) for at in finding.taken_at],
        "lock_and_data": finding.lock_and_data,
        "code": [_use(use) for use in finding.uses],
    }


def _run(run):
    return {
        "malloc": run.allocator,
        "exit_status": run.exit_status,
        "threads": run.threads,
        "accesses": run.accesses,
        "cycles_of_accesses": run.cycles,
        "lines_moved": run.lines_moved,
        **_tally(run.all),
        "by_reason": {kind: _tally(run.of[kind]) for kind in KINDS},
        "not_followed": _tally(run.not_followed),
        "findings": [_finding(finding) for finding in findings_of(run)],
    }


def page(findings):
    """The page: a line of JSON."""
    own, other = findings.own, findings.other
    document = {
        "program": plain_text(findings.title),
        "simulated": True,
        "machine": plain_text(findings.machine),
        "protocol": own.protocol,
        "cores": own.cores,
        "line": own.block,
        "runs": [_run(run) for run in (own, other) if run],
    }
    return json.dumps(document, ensure_ascii=False) + "\n"
