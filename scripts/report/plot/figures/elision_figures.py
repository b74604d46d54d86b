# SPDX-License-Identifier: MIT
"""The figures of transactions: which share of the sections was elided, and why others aborted."""

from plot.figures import gnuplot
from plot.figures.rate_figures import shrinking
from plot.words import elision_text

# The columns of a curve's data.
ELIDED, CONFLICT, CAPACITY, EXPLICIT, OTHER, LEAST, GREATEST = range(2, 9)
# Where panels begin, as fractions of the drawing.
LEFT, RIGHT = 0.085, 0.585
LOWER_TOP = 0.405


def elided_curves(group):
    """A curve a series."""
    return [
        gnuplot.Curve(
            block=f"series{number}",
            rows=tuple(
                (p.size, p.elided, p.conflict, p.capacity, p.explicit, p.other, p.low, p.high)
                for p in series.points
            ),
            look=series.look,
            is_filled=True,
            point_size=point_size,
            title=series.malloc,  # the lock is the same for all
            label=series.name,
        )
        for number, (series, point_size) in enumerate(
            zip(group.series, shrinking(len(group.series))), 1
        )
    ]


def elided_figure(group):
    """The elided share of a group."""
    if group.key.bench == "ring":
        return elided_rows(group, group.figure("elided"), 1000)
    return _elided_points(group)


def _row_plots(curve, row):
    """The bars and the crosses of an allocator."""
    colour = f"linecolor rgb '{curve.look.colour}' notitle"
    yield (
        f"${curve.block} using 1:({row}):(0):(0.0075 * ${ELIDED}) with vectors nohead"
        f" linewidth 2 {colour}"
    )
    yield (
        f"${curve.block} using 1:(${ELIDED} < 50 ? {row} - 0.1 : NaN) with points"
        f" pointtype 2 pointsize 0.45 linewidth 1.5 {colour}"
    )


def elided_rows(group, name, width):
    """A row an allocator, a bar a size, as high as the share that was elided; a cross below it
    where that is less than half, for bars of close sizes hide a gap.

    With one thread a size is elided or it is not, for all allocators alike: points would coincide.
    """
    curves = elided_curves(group)[::-1]
    is_panel = width < 1000  # which needs no title, and has no room for one
    height = (80 if is_panel else 140) + 56 * len(curves)
    ticks = ", ".join(f"{gnuplot.quoted(c.title)} {row} + 0.4" for row, c in enumerate(curves))
    title = gnuplot.quoted(f"Elided sections: {elision_text(group.key)}")
    plots = [plot for row, curve in enumerate(curves) for plot in _row_plots(curve, row)]
    heading = f"""\
    set label 2 {title} at screen 0.5, screen 1 - 26.0 / {height} center noenhanced font ',16'
    set tmargin at screen 1 - 50.0 / {height}
"""
    commands = f"""\
{"    set tmargin 0.6" if is_panel else heading}
    unset key
{gnuplot.size_axis(group.sizes())}
{"    set xlabel 'Node size in bytes'" if is_panel else ""}
    set yrange [-0.2:{len(curves)} - 0.1]
    set ytics ({ticks}) noenhanced scale 0
    set grid noytics
{gnuplot.plot(plots)}"""
    blocks = gnuplot.blocks_of(curves)
    formats = ("svg",) if is_panel else ("svg", "png")
    return gnuplot.Figure(name, width, height, blocks, commands, formats)


def lowest_axis(group):
    """Where the axis of the elided share begins. All near 100 % is common: then it begins higher, in
    few fixed steps, and its ticks say so."""
    least = min(point.low for series in group.series for point in series.points)
    return 98 if least >= 99 else 88 if least >= 90 else 50 if least >= 55 else 0


def _elided_points(group):
    """A point an allocator and size."""
    curves = elided_curves(group)
    low = lowest_axis(group)
    commands = f"""\
{gnuplot.head(f"Elided sections: {elision_text(group.key)}", 460, len(curves), 4)}
{gnuplot.size_axis(group.sizes())}
    set yrange [{low}:100 + (100 - {low}) * 0.04]
    set ylabel 'Elided, % of all acquisitions'
{gnuplot.points_with_ranges(curves, (), (ELIDED, LEAST, GREATEST))}"""
    return gnuplot.Figure(group.figure("elided"), 1000, 460, gnuplot.blocks_of(curves), commands)


def _panel(curves, column, left, top, title):
    """One of four causes, its margins as fractions of the drawing.

    Only the left ones name the y axis, only the lower ones the x axis. Each has a scale of its own,
    to 1 % at the least, for causes differ by far more than allocators do.
    """
    most = max(row[column - 1] for curve in curves for row in curve.rows)
    return f"""\
    set lmargin at screen {left}
    set rmargin at screen {left} + 0.405
    set tmargin at screen {top:.6g}
    set bmargin at screen {top:.6g} - 0.31
    set yrange [0:{most * 1.08 if most > 1 else 1.04:.6g}]
    set title {gnuplot.quoted(title)} offset 0, -0.6 noenhanced
    set xlabel '{"Node size in bytes" if top == LOWER_TOP else ""}'
    set ylabel '{"Aborts, % of transactions" if left == LEFT else ""}' offset 1.2
{gnuplot.points(curves, column)}"""


def aborts_figure(group):
    """A panel a cause. The legend is a plot of its own, for it gets no wider than its panel."""
    curves = elided_curves(group)
    axis = gnuplot.size_axis(group.sizes())
    legend_rows = -(-len(curves) // 4)
    top = 1 - (90 + 21 * legend_rows) / 760  # below title and legend
    commands = f"""\
{gnuplot.head(f"Aborts by cause: {elision_text(group.key)}", 760, len(curves), 4)}
{axis}
    set yrange [0:1]
    set multiplot
    set lmargin at screen 0
    set rmargin at screen 1
    set bmargin at screen 0
    unset border
    unset tics
    unset grid
    unset xlabel
    unset ylabel
    unset title
{gnuplot.legend(curves)}
    unset key
    unset label 2
    set border 31 linecolor rgb '#444444'
    set tics nomirror out scale 0.6 textcolor rgb '#222222'
    set grid linecolor rgb '#dddddd' linewidth 1
{axis}
    set xtics nomirror
    set ytics nomirror autofreq
{_panel(curves, CAPACITY, LEFT, top, "capacity: a written line left the L1 data cache")}
{_panel(curves, CONFLICT, RIGHT, top, "conflict: two threads touched one line")}
{_panel(curves, EXPLICIT, LEFT, LOWER_TOP, "explicit: the lock was found taken")}
{_panel(curves, OTHER, RIGHT, LOWER_TOP, "other: page fault, system call, interrupt")}
    unset multiplot
"""
    return gnuplot.Figure(group.figure("aborts"), 1000, 760, gnuplot.blocks_of(curves), commands)
