#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the includes of a source tree and checks that they go one way.

usage: include_order.py ROOT [--folder NAME=UPPER,...,LOWER]...

Reads src, bench and sim, where include paths begin. A unit is a .c file with the .h file of its
name. No units may include each other in a circle. With --folder, a file in one of the named
sub-folders of NAME may include only files of its own sub-folder and of those to its right, and each
sub-folder of NAME must be named; "." is NAME without them. Paths are relative to ROOT.
Prints a line for each violation. Exit status: 0 none, 1 some, 2 bad arguments.
"""
import argparse
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TOPS = ("src", "bench", "sim")


def files_of(root):
    """Paths of all C files, relative to the root."""
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes_of(root, path, known):
    """The files of the tree that one file includes."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for name in INCLUDE.findall(file.read()):
            places = [os.path.join(os.path.dirname(path), name)]
            places += [os.path.join(top, name) for top in TOPS]
            yield from [place for place in map(os.path.normpath, places) if place in known][:1]


def circles(graph):
    """Each circle of units once, by Tarjan's strongly connected components."""
    index, low, stack, found = {}, {}, [], []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in sorted(graph[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            component = stack[stack.index(unit):]
            del stack[stack.index(unit):]
            if len(component) > 1:
                found.append(sorted(component))

    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return found


def against_order(folder, order, arrows):
    """The includes within a folder that go against the order of its sub-folders."""
    for source, target in arrows:
        if not (source.startswith(folder + "/") and target.startswith(folder + "/")):
            continue
        upper, lower = (os.path.dirname(path[len(folder) + 1:]).split("/")[0] or "."
                        for path in (source, target))
        for name in (upper, lower):
            if name not in order:
                yield f"{folder}: {name} is not in the order {' > '.join(order)}"
                return
        if order.index(upper) > order.index(lower):
            yield f"{source} includes {target}: {lower} is above {upper}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--folder", action="append", default=[], metavar="NAME=UPPER,...,LOWER")
    arguments = parser.parse_args()
    known = set(files_of(arguments.root))
    if not known:
        parser.error(f"no C files in {arguments.root}")
    arrows = [(path, other) for path in sorted(known)
              for other in includes_of(arguments.root, path, known)]
    graph = {os.path.splitext(path)[0]: set() for path in known}
    for source, target in arrows:
        source, target = os.path.splitext(source)[0], os.path.splitext(target)[0]
        if source != target:
            graph[source].add(target)
    violations = ["a circle of includes: " + ", ".join(units) for units in circles(graph)]
    for given in arguments.folder:
        folder, equals, order = given.partition("=")
        if not equals:
            parser.error(f"--folder '{given}': NAME=UPPER,...,LOWER is wanted")
        violations += against_order(folder, order.split(","), arrows)
    print(*violations, sep="\n", end="\n" if violations else "")
    return 1 if violations else 0


sys.exit(main())
