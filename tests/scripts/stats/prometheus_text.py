#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads Prometheus's text format strictly, and compares it with the JSON of the same process.

usage: prometheus_text.py FILE PROCESS JSON      one process, as in the JSON
       prometheus_text.py FILE PROCESS NAME...   one of these programs for each process with a label

Exit status: 0, or 1 after a line that says what is wrong.
"""
import json
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
# What a name may end in, behind "_total" if it counts; figures without a unit are numbers of things.
UNITS = ("_bytes", "_seconds")
NOT_BASE = re.compile(r"_(ms|ns|us|milliseconds|microseconds|nanoseconds|kib|mib|kilobytes|megabytes|percent)(_|$)")


class Wrong(Exception):
    pass


def read_labels(text):
    labels = {}
    at = 0
    while at < len(text):
        match = LABEL.match(text, at)
        if match is None:
            raise Wrong(f"no label: {text[at:]}")
        if match[1] in labels:
            raise Wrong(f"label {match[1]} twice: {text}")
        labels[match[1]] = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], match[2])
        at = match.end()
        if (match[3] == ",") != (at < len(text)):
            raise Wrong(f"a comma at the end: {text}")
    return labels


def read(text):
    """{name: (type, {labels: value})}; the order of lines is checked."""
    if not text.endswith("\n"):
        raise Wrong("the last line has no end")
    metrics = {}
    current = None
    for line in text[:-1].split("\n"):
        head = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
        if head is not None and head[1] == "HELP":
            if head[2] in metrics:
                raise Wrong(f"two heads, or samples apart from it: {head[2]}")
            current = head[2]
            metrics[current] = [None, {}]
        elif head is not None:
            if head[2] != current or metrics[current][0] is not None or metrics[current][1]:
                raise Wrong(f"TYPE is not behind its HELP: {line}")
            if head[3] not in ("counter", "gauge"):
                raise Wrong(f"type {head[3]}")
            metrics[current][0] = head[3]
        else:
            sample = re.fullmatch(rf"({NAME})(?:\{{(.*)\}})? (\d+(?:\.\d+)?)", line)
            if sample is None:
                raise Wrong(f"no sample: {line}")
            if sample[1] != current or metrics[current][0] is None:
                raise Wrong(f"a sample apart from its head: {line}")
            labels = tuple(sorted(read_labels(sample[2] or "").items()))
            if labels in metrics[current][1]:
                raise Wrong(f"twice: {line}")
            metrics[current][1][labels] = float(sample[3])
    return metrics


def check_names(metrics):
    for name, (kind, samples) in metrics.items():
        if not samples:
            raise Wrong(f"{name} has no sample")
        if not name.startswith("mplace_"):
            raise Wrong(f"{name} is not ours")
        if (kind == "counter") != name.endswith("_total"):
            raise Wrong(f"{name} is a {kind}")
        if NOT_BASE.search(name):
            raise Wrong(f"{name}: the unit is not a base unit")
        if re.search("bytes|seconds", name) and not name.removesuffix("_total").endswith(UNITS):
            raise Wrong(f"{name}: the unit is not at the end")


def of_process(metrics, process):
    """{name: [(labels beside process and program, value)]}"""
    found = {}
    for name, (_, samples) in metrics.items():
        for labels, value in samples.items():
            labels = dict(labels)
            if labels.pop("process", None) == process:
                labels.pop("program")
                found.setdefault(name, []).append((labels, value))
    return found


def single(found, name):
    (labels, value), = found[name]
    if labels:
        raise Wrong(f"{name} has labels: {labels}")
    return value


def same(what, left, right):
    if left != right:
        raise Wrong(f"{what}: {left} here, {right} in the JSON")


def check_against(found, report):
    malloc, locks = report["malloc"], report["locks"]
    for key, value in malloc.items():
        # The kernel may join pages at any time.
        if isinstance(value, int) and key not in ("version", "process", "anon_huge_page_bytes"):
            name = f"mplace_malloc_{key}" + ("_total" if key == "allocations" else "")
            same(name, single(found, name), value)
    for name, key in (("served_total", "served"), ("live_blocks", "live"), ("free_blocks", "free")):
        name = f"mplace_malloc_class_{name}"
        same(name, {int(labels["block_bytes"]): value for labels, value in found[name]},
             {size["block_bytes"]: size[key] for size in malloc["classes"]})
    totals = locks["totals"]
    for name, value in (("acquisitions_total", totals["acquisitions"]), ("slow_path_total", totals["slow_path"]),
                        ("elided_nested_total", totals["elided_nested"]), ("waits_total", totals["waits"]),
                        ("wait_seconds_total", totals["wait_ns"] / 1e9),
                        ("longest_wait_seconds", totals["longest_wait_ns"] / 1e9),
                        ("transactions_started_total", totals["tx_started"]),
                        ("transactions_committed_total", totals["tx_committed"])):
        same(name, single(found, f"mplace_lock_{name}"), value)
    same("aborts", {labels["cause"]: value for labels, value in found["mplace_lock_aborts_total"]}, totals["aborts"])
    (labels, one), = found["mplace_lock_info"]
    same("lock info", (one, labels), (1, {"library": locks["library"], "htm": locks["htm"], "wait": locks["wait"],
                                          "policy": locks["policy"] or ""}))
    name = "mplace_single_lock_acquisitions_total"
    same(name, {labels["lock"]: (labels["kind"], value) for labels, value in found[name]},
         {lock["address"]: (lock["kind"], lock["acquisitions"]) for lock in locks["locks"]})


def main():
    file, process, *rest = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        metrics = read(text.read())
    check_names(metrics)
    if rest[0].endswith(".json"):
        with open(rest[0], encoding="utf-8") as report:
            check_against(of_process(metrics, process), json.load(report))
        return
    programs = {dict(labels)["program"] for _, samples in metrics.values()
                for labels in samples if dict(labels).get("process") == process}
    if programs != set(rest):
        raise Wrong(f"process {process} is {programs}, not {rest}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"prometheus_text.py: {wrong}")
