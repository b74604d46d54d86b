# SPDX-License-Identifier: MIT
"""The figure of the cache sets: a row an allocator, a column a set, the darker the more nodes."""

from plot.figures import gnuplot
from plot.figures.looks import look_of


IN_PANEL = """\
    unset title
    unset colorbox
    set tmargin 0.6
    set rmargin 1.5
"""


def sets_figure_name(size):
    """The name of the figure for nodes of that size."""
    return f"figure1-sets-{size}"


def sets_figure(measured, size, is_panel=False):
    """How many nodes of one size begin in each set; as a panel narrow, its title and key left to the page."""
    first = {}
    for occupancy in measured.occupancies:
        if occupancy.size == size:
            first.setdefault(occupancy.malloc, occupancy)
    drawn = sorted(first.values(), key=lambda o: (look_of(o.malloc).order, o.malloc), reverse=True)
    cells = [
        f"{column} {row} {count}"
        for row, occupancy in enumerate(drawn)
        for column, count in enumerate(occupancy.counts)
    ]
    mallocs = [occupancy.malloc for occupancy in drawn]
    commands = _commands(size, mallocs, drawn[0], IN_PANEL if is_panel else "")
    name, blocks = sets_figure_name(size), {"cells": cells}
    if is_panel:
        return gnuplot.Figure(
            f"panel-{name}", 420, 70 + 42 * len(drawn), blocks, commands, ("svg",)
        )
    return gnuplot.Figure(name, 1000, 150 + 46 * len(drawn), blocks, commands)


def _commands(size, mallocs, geometry, more):
    """Blue up to the ways, red beyond, for more than the ways cannot all stay: dark enough against
    each other in grey as well."""
    sets, ways = geometry.sets, geometry.ways
    title = (
        f"Nodes of {size} B that begin in each of the {sets} sets of the L1 data cache"
        f" ({ways} ways)"
    )
    ticks = ", ".join(f"{gnuplot.quoted(malloc)} {row}" for row, malloc in enumerate(mallocs))
    return f"""\
    set title {gnuplot.quoted(title)} noenhanced font ',16'
    unset key
    unset grid
    unset border
    set xrange [-0.5:{sets} - 0.5]
    set yrange [{len(mallocs)} - 0.5:-0.5]
    set xtics 0, {max(sets // 8, 1)} scale 0
    set ytics ({ticks}) noenhanced scale 0
    set xlabel 'Set'
    set palette defined (0 '#f7fbff', 0.001 '#deebf7', 0.499 '#08519c', \\
        0.501 '#f4a582', 1 '#a50f15')
    set cbrange [0:2 * {ways}]
    set cbtics ('0' 0, '{ways} (all ways)' {ways}, '{2 * ways} or more' {2 * ways}) scale 0
    set rmargin at screen 0.82
    set colorbox noborder
{more}    plot $cells using 1:2:($1 - 0.46):($1 + 0.46):($2 - 0.42):($2 + 0.42):3 \\
            with boxxyerror fillstyle solid 1 noborder linecolor palette notitle, \\
        $cells using 1:($3 > {ways} ? $2 : NaN):(sprintf('%d', $3)) \\
            with labels rotate by 90 textcolor rgb 'white' font ',11' notitle
"""
