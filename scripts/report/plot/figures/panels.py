# SPDX-License-Identifier: MIT
"""Small charts, one an allocator, all at one scale: no point hides another allocator's, and a phone shows them whole.

They are for the page alone; each has its allocator's name above it there, and the page has one key for all of them.
"""

from dataclasses import dataclass, replace

from plot.figures import gnuplot
from plot.figures.elision_figures import elided_curves, elided_rows, lowest_axis
from plot.figures.rate_figures import rate_curves, sets_used_curves
from plot.figures.sets_figure import sets_figure

WIDTH, HEIGHT = 420, 250
ABORTS_HEIGHT = 330
CIRCLE, DISC = 6, 7  # gnuplot's point types
REFERENCE = "linewidth 3 linecolor rgb '#c3c8ce' notitle"  # what points are compared with
# The causes of aborts from above: their column in a curve's data, and what the page calls them.
CAUSES = ((3, "capacity"), (2, "conflict"), (4, "explicit"), (5, "other"))


@dataclass(frozen=True)
class Panel:
    """A small chart and what stands above it."""

    title: str
    figure: gnuplot.Figure


def _panels(group, kind, curves, height, commands_of, more_blocks=()):
    """A panel for each allocator that curves are of."""
    of_malloc = {}
    for series, curve in curves:
        look = replace(curve.look, open=CIRCLE, filled=DISC)
        small = replace(curve, look=look, point_size=min(curve.point_size, 0.45))
        of_malloc.setdefault(series.malloc, []).append(small)
    for number, (malloc, drawn) in enumerate(of_malloc.items(), 1):
        name = f"panel-{group.figure(kind)}-{number}"
        blocks = {**dict(more_blocks), **gnuplot.blocks_of(drawn)}
        commands = _axis(group) + commands_of(drawn)
        yield Panel(malloc, gnuplot.Figure(name, WIDTH, height, blocks, commands, ("svg",)))


def _axis(group):
    return f"""\
    unset key
    set rmargin 2
    set tmargin 0.6
{gnuplot.size_axis(group.sizes())}
    set xlabel 'Node size in bytes'
"""


def fastest_of_all(group):
    """The lock whose rates are compared, and of each size the greatest median under it."""
    lock = max(series.lock for series in group.series)
    fastest = {}
    for series in group.series:
        if series.lock == lock:
            fastest |= {point.size: point.best for point in series.points}
    return lock, dict(sorted(fastest.items()))


def rate_panels(group):
    """The rates of a group, each panel with the fastest allocator's beside them."""
    curves = rate_curves(group)
    greatest = max(row[3] for curve in curves for row in curve.rows)
    _, fastest = fastest_of_all(group)
    lines = [f"{size} {rate / 1e6}" for size, rate in fastest.items()]

    def commands(drawn):
        return f"""\
    set yrange [0:{1.05 * greatest or 1:.6g}]
    set ylabel {gnuplot.quoted(f"Million {group.key.what}")} offset 1.5
{gnuplot.points_with_ranges(drawn, [f"$fastest using 1:2 with lines {REFERENCE}"])}"""

    yield from _panels(group, "rate", zip(group.series, curves), HEIGHT, commands, {"fastest": lines}.items())


def sets_used_panels(group, sets):
    """The sets that nodes begin in, each panel with the line of all sets."""

    def commands(drawn):
        return f"""\
    set yrange [0:{sets} * 1.08]
    set ytics 0, {max(sets // 4, 1)}
    set ylabel 'Sets used' offset 1
{gnuplot.points(drawn, 2, [f"{sets} with lines {REFERENCE}"])}"""

    curves = [(series, replace(curve, is_filled=True)) for series, curve in sets_used_curves(group)]
    yield from _panels(group, "sets-used", curves, 200, commands)


def elided_panels(group):
    """The elided share: of the ring all rows in one panel, of the tree an allocator each."""
    if group.key.bench == "ring":
        yield Panel("", elided_rows(group, f"panel-{group.figure('elided')}-1", WIDTH))
        return
    low = lowest_axis(group)

    def commands(drawn):
        return f"""\
    set yrange [{low}:100 + (100 - {low}) * 0.04]
    set ylabel 'Elided, %' offset 1
{gnuplot.points_with_ranges(drawn, (), (2, 7, 8))}"""

    yield from _panels(group, "elided", zip(group.series, elided_curves(group)), HEIGHT, commands)


def aborts_panels(group):
    """The aborts: a row a cause, a bar a size. A cause has the same scale in all panels, to 1 % at the least."""
    curves = elided_curves(group)
    most = {column: max(1, *(row[column] for c in curves for row in c.rows)) for column, _ in CAUSES}

    def commands(drawn):
        (curve,) = drawn
        text, plots = "", []
        for row, (column, cause) in enumerate(reversed(CAUSES)):
            scale = gnuplot.quoted(f"{cause}, full height {most[column]:.3g} %")
            text += f"    set arrow from graph 0, first {row} to graph 1, first {row} nohead linecolor rgb '#b4bac1'\n"
            text += f"    set label {row + 10} {scale} at graph 0.015, first {row} + 0.83 noenhanced font ',13' front\n"
            plots += gnuplot.bars(curve, row, 0.7 / most[column], column + 1, cause)
        return f"""\
{text}    unset ytics
    set grid noytics
    set lmargin 2
    set yrange [0:{len(CAUSES)}]
{gnuplot.plot(plots)}    unset arrow
    unset label
"""

    yield from _panels(group, "aborts", zip(group.series, curves), ABORTS_HEIGHT, commands)


def sets_panel(measured, size):
    """How many nodes of one size begin in each set, all allocators in one panel."""
    return Panel("", sets_figure(measured, size, is_panel=True))
