# SPDX-License-Identifier: MIT
"""mplace plot: "figures" prints what gnuplot draws, "narrow" the drawings for phones, "page" the HTML that shows them."""

import argparse
import os
import sys

from plot.figures import panels
from plot.figures.elision_figures import aborts_figure, elided_figure
from plot.measured import read_measured
from plot.page import Page
from plot.figures.rate_figures import rate_figure, sets_used_figure
from plot.figures.sets_figure import sets_figure
from rows import Refused, read_text


def figures_of(measured):
    """Every figure of what was measured."""
    for group in measured.rates:
        yield rate_figure(measured, group)
        if group.key.bench == "ring":
            yield sets_used_figure(measured, group)
    for group in measured.elision:
        yield elided_figure(group)
        yield aborts_figure(group)
    for size in measured.sets_sizes:
        yield sets_figure(measured, size)


def panels_of(measured):
    """Every small chart of the page, in its order."""
    for group in measured.rates:
        yield from panels.rate_panels(group)
        if group.key.bench == "ring":
            yield from panels.sets_used_panels(group, measured.sets_of(group.key.cpu))
    for group in measured.elision:
        yield from panels.elided_panels(group)
        yield from panels.aborts_panels(group)
    for size in measured.sets_sizes:
        yield panels.sets_panel(measured, size)


def write_figures(measured, _):
    """Prints how many rows are drawn, then the name and script of each figure and panel, a NUL after each."""
    print(len(measured.shown()), end="\0")
    for figure in (*figures_of(measured), *(panel.figure for panel in panels_of(measured))):
        print(figure.name, figure.script().replace("\0", ""), sep="\0", end="\0")


def page_of(measured, folder):
    """The page of the figures in the folder. It links claims.html where the folder has one."""

    def drawing(name):
        return read_text(os.path.join(folder, f"{name}.svg"))

    return Page(measured, drawing, os.path.exists(os.path.join(folder, "claims.html")))


def write_narrow(measured, folder):
    """Prints the name and the narrow drawing of each figure, a NUL after each."""
    for name, drawing in page_of(measured, folder).narrow_drawings():
        print(f"{name}-narrow", drawing, sep="\0", end="\0")


def write_page(measured, folder):
    """Prints the page."""
    for line in page_of(measured, folder).lines():
        print(line)


WRITERS = {"figures": write_figures, "narrow": write_narrow, "page": write_page}


def sizes_of(text):
    """The sizes of a list with commas, which may be empty."""
    return [int(size) for size in text.split(",")] if text else []


def main(arguments):
    """The exit status: 0, or 2 where a result is refused; one line says which, and why."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("writer", choices=WRITERS)
    parser.add_argument("--as", dest="program", required=True)
    parser.add_argument("--drawn-in", dest="folder", default=".")
    parser.add_argument("--sets-size", dest="sizes", type=sizes_of, default=[])
    parser.add_argument("files", nargs="+")
    options = parser.parse_args(arguments)
    try:
        measured = read_measured(options.files, options.sizes)
    except Refused as refusal:
        print(f"{options.program}: {refusal}", file=sys.stderr)
        return 2
    WRITERS[options.writer](measured, options.folder)
    return 0
