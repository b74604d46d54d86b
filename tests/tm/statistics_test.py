#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What TM_STATS says of a program whose transactions are known.

usage: statistics_test.py LIBRARY PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

COUNTS = {
    # function: started, committed, in flight, from start, cancelled
    "switching": (400, 400, 40, 0, 0),
    "serial_from_start": (60, 60, 0, 60, 0),
    "cancelling": (100, 50, 0, 0, 50),
}


def expect(what, expected, got):
    if expected != got:
        sys.exit(f"{what}: expected {expected}, got {got}")


def run(library, program, stats, algorithm):
    environment = dict(os.environ, LD_PRELOAD=library, TM_STATS=stats, TM_ALGORITHM=algorithm)
    done = subprocess.run([program], env=environment, stderr=subprocess.PIPE, text=True, check=True)
    return done.stderr


def check(report, algorithm):
    expect("algorithm", algorithm, report["algorithm"])
    rows = {row["begin"]["function"]: row for row in report["transactions"]}
    expect("functions", sorted(COUNTS), sorted(rows))
    for function, counts in COUNTS.items():
        row = rows[function]
        got = tuple(row[name] for name in ("started", "committed", "in_flight_switch", "start_serial"))
        expect(function, counts, got + (row["aborts"]["cancelled"],))
    expect("all started", 560, report["totals"]["started"])
    places = {tuple(frame["call"]["function"] for frame in switch["frames"][:2])
              for switch in report["switches"]}
    expect("who switches", {("_ZGTt15forces_a_switch", "switching")}, places)
    expect("switches", 40, sum(switch["count"] for switch in report["switches"]))


def main():
    library, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for algorithm in "eager", "lazy", "norec":
            name = os.path.join(folder, "report.json")
            expect("what JSON writes on standard error", "", run(library, program, name, algorithm))
            with open(name, encoding="utf-8") as file:
                check(json.load(file), algorithm)
    text = run(library, program, "1", "eager")
    for line in ("    started                    560", "    in-flight switch            40 (7.1%)",
                 "    start serial                60 (10.7%)"):
        if line not in text.splitlines():
            sys.exit(f"no line '{line}' in:\n{text}")


main()
