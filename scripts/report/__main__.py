# SPDX-License-Identifier: MIT
"""What mplace computes and writes: tables, pages, judgements. See README.md.

Called by the subcommands, which run the programs: python3 -I -B -X utf8 FOLDER REPORT ARGUMENT...
"""

import importlib
import os
import signal
import sys

# The module of each report. Its main(arguments) writes to standard output and returns the exit status.
REPORTS = {
    "banks": "banks.main",
    "banks-figure": "banks.figure",
    "banks-row": "banks.row",
    "claims": "claims.main",
    "claims-page": "claims.page",
    "coherence": "coherence.main",
    "coherence-figure": "coherence.figure",
    "coherence-row": "coherence.row",
    "compare": "compare.main",
    "compare-order": "compare.order",
    "doctor": "doctor.main",
    "doctor-sections": "sections.main",
    "doctor-sharing": "sharing.main",
    "legacy": "legacy.main",
    "legacy-algorithm-row": "legacy.algorithm_row",
    "legacy-row": "legacy.row",
    "lines": "lines",
    "persistence": "persistence.main",
    "persistence-figure": "persistence.figure",
    "persistence-row": "persistence.row",
    "plot": "plot.main",
    "profile": "profiles.main",
}


def run(arguments):
    """Runs the report that the arguments name; the exit status."""
    if not arguments or arguments[0] not in REPORTS:
        raise SystemExit(f"report: one of {', '.join(REPORTS)} is wanted")
    return importlib.import_module(REPORTS[arguments[0]]).main(arguments[1:])


def end(status):
    """Ends the process. What cannot be written is exit 1; the subcommand says which output it was."""
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(1)
    sys.exit(status)


if __name__ == "__main__":
    # As other programs end, whose reader goes first.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Names of files and programs may be any bytes: they come and go as they are.
    sys.stdout.reconfigure(errors="surrogateescape", newline="\n")
    sys.stderr.reconfigure(errors="surrogateescape")
    end(run(sys.argv[1:]))
