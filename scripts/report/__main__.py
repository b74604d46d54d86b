# SPDX-License-Identifier: MIT
"""What mplace computes and writes: tables, pages, judgements. See README.md.

Called by the subcommands, which run the programs: python3 -I -B -X utf8 FOLDER REPORT ARGUMENT...
MPLACE_PROGRAM is the name under which they complain.
"""

import contextlib
import errno
import importlib
import io
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


def write(text):
    """Writes what a report has printed to standard output, which may be closed or on a full disk: OSError."""
    if sys.stdout is None:  # the number of standard output may be that of another file
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    with open(1, "wb", closefd=False) as output:
        # Names of files and programs may be any bytes: they come and go as they are.
        output.write(text.encode("utf-8", "surrogateescape"))


def output_name():
    """The file that standard output goes to, where it is one."""
    name = "" if sys.stdout is None else os.readlink("/proc/self/fd/1")
    return name if name.startswith("/") else "standard output"


def main(arguments):
    """Prints all of a report or, where it cannot be written, one line; the exit status, 2 then."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            status = run(arguments)
        except SystemExit as end:
            status = end.code
    try:
        write(printed.getvalue())
    except OSError as error:
        program = os.environ.get("MPLACE_PROGRAM", "report")
        print(f"{program}: {output_name()} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    # As other programs end, whose reader goes first.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stderr.reconfigure(errors="surrogateescape")
    sys.exit(main(sys.argv[1:]))
