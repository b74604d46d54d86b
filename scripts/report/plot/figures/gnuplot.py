# SPDX-License-Identifier: MIT
"""gnuplot's language: a figure with its data as one script, and the parts that figures share."""

from dataclasses import dataclass

from plot.figures.looks import Look


@dataclass(frozen=True)
class Figure:
    """A drawing: its name, its size in pixels, the lines of its data blocks, its commands, and its formats."""

    name: str
    width: int
    height: int
    blocks: dict[str, list[str]]
    commands: str
    formats: tuple[str, ...] = ("svg", "png")

    def script(self):
        """The script that draws the figure in the current folder: a file for each format, NAME.svg and NAME.png."""
        data = "".join(
            "".join(f"{line}\n" for line in (f"${block} << END_OF_DATA", *lines, "END_OF_DATA"))
            for block, lines in self.blocks.items()
        )
        return f"""\
{data}set encoding utf8
set border linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid linecolor rgb '#dddddd' linewidth 1
do for [format in {quoted(' '.join(self.formats))}] {{
    if (format eq 'svg') {{
        set terminal svg size {self.width},{self.height} dynamic enhanced background rgb 'white' \\
            font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' name 'mplace'
    }} else {{
        set terminal pngcairo size 2*{self.width},2*{self.height} enhanced font 'DejaVu Sans,14' \\
            fontscale 2 linewidth 2 pointscale 2 background rgb 'white'
    }}
    set output {quoted(self.name + ".")}.format
{self.commands}
    unset output
}}
"""


@dataclass(frozen=True)
class Curve:
    """A series as it is drawn: rows of size and values, "-" where there is no value."""

    block: str  # the name of its data block
    rows: tuple[tuple, ...]
    look: Look
    is_filled: bool
    point_size: float
    title: str  # in the legend
    label: str  # of a point's values, where the mouse rests on it

    def lines(self):
        """The lines of its data block."""
        return [" ".join(map(str, row)) for row in self.rows]


def quoted(text):
    """A text between quotes, taken as it stands."""
    return "'" + text.replace("'", "''") + "'"


def blocks_of(curves):
    """The data blocks of curves."""
    return {curve.block: curve.lines() for curve in curves}


def size_axis(sizes):
    """The x axis: it doubles, for sizes are read in powers of two, and there allocators fail."""
    least, greatest = min(sizes), max(sizes)
    powers = [2**exponent for exponent in range(4, greatest.bit_length())]
    ticks = ", ".join(
        f"'{power}' {power}" if power < 1024 else f"'{power // 1024} Ki' {power}"
        for power in powers
        if least <= power <= greatest
    )
    return f"""\
    set logscale x 2
    set xrange [{least} / 1.1 : {greatest} * 1.1]
    set xtics ({ticks})
    set xlabel 'Node size in bytes (what each node asks malloc for)'
"""


def head(title, height, names, columns):
    """The title of a figure of that height; below it the legend of so many names in columns."""
    rows = -(-names // columns)
    legend_height = 21 * rows
    return f"""\
    set label 2 {quoted(title)} at screen 0.5, screen 1 - 26.0 / {height} center noenhanced \\
        font ',16'
    set tmargin at screen 1 - (62.0 + {legend_height}) / {height}
    set key at screen 0.5, screen 1 - (44.0 + {legend_height} / 2.0) / {height} \\
        center center horizontal maxcols {columns} maxrows {rows} \\
        Left reverse samplen 1 spacing 1.2 width 1 noenhanced
"""


def plot(plots):
    """The command of these plots in one drawing, a line each."""
    return "    plot " + ", \\\n        ".join(plots) + "\n"


def points(curves, column, under=()):
    """The command that draws a column of curves, above the plots under them.

    Each point's values come up where the mouse rests on it: an invisible point, larger than the
    visible one, has them.
    """
    visible = [_visible(curve, column) for curve in curves]
    return plot([*under, *visible, *(_values(curve, column) for curve in curves)])


def points_with_ranges(curves, under=(), columns=(2, 3, 4)):
    """The command that draws points with their ranges: columns of the value and of both ends.

    The lines lie below all points, and above the plots under them.
    """
    value, low, high = columns
    ranges = [
        f"${curve.block} using 1:{low}:(0):(${high}-${low}) with vectors nohead linewidth 1.5"
        f" linecolor rgb '#90{curve.look.colour.removeprefix('#')}' notitle"
        for curve in curves
    ]
    visible = [_visible(curve, value) for curve in curves]
    values = [_values_and_range(curve, *columns) for curve in curves]
    return plot([*under, *ranges, *visible, *values])


def bars(curve, base, scale, column, what):
    """The plots of a column of a curve as bars from a base; their values come up as those of points do."""
    yield (
        f"${curve.block} using 1:({base}):(0):({scale:.6g} * ${column}) with vectors nohead"
        f" linewidth 2 linecolor rgb '{curve.look.colour}' notitle"
    )
    text = f"sprintf({quoted(f'{curve.label}, {what}: %d B, %.4g %%')}, $1, ${column})"
    yield _label(curve, f"({base} + {scale:.6g} * ${column})", text)


def legend(curves):
    """The command that draws the legend of curves and no point.

    It has no values to come up: labels that are all undefined end gnuplot 5.4.
    """
    return plot(_visible(curve, "(NaN)") for curve in curves)


def _visible(curve, column):
    point = curve.look.filled if curve.is_filled else curve.look.open
    return (
        f"${curve.block} using 1:{column} with points pointtype {point}"
        f" pointsize {curve.point_size:.6g} linewidth 1.5 linecolor rgb '{curve.look.colour}'"
        f" title {quoted(curve.title)}"
    )


def _values(curve, column):
    return _label(curve, column, f"sprintf({quoted(curve.label + ': %d B, %.4g')}, $1, ${column})")


def _values_and_range(curve, value, low, high):
    numbers = f"$1, ${value}, ${low}, ${high}"
    text = f"sprintf({quoted(curve.label + ': %d B, %.4g (%.4g to %.4g)')}, {numbers})"
    return _label(curve, value, text)


def _label(curve, column, text):
    return (
        f"${curve.block} using 1:{column}:({text}) with labels hypertext noenhanced"
        " point pointtype 7 pointsize 1.3 linecolor rgb '#ff000000' notitle"
    )
