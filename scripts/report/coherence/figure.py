# SPDX-License-Identifier: MIT
"""Time and energy delay product against the size of the directory, as scripts of gnuplot: FILE.csv cycles|edp."""

from coherence import table
from plot.figures.gnuplot import Figure, quoted

WHAT = {"cycles": "Time", "edp": "Energy delay product"}
# Name in the legend, configurations, colour and type of point.
CURVES = (
    ("sparse", "sparse-{}", "#d55e00", 7),
    ("FLASK", "flask-{}", "#0072b2", 5),
    ("FLASK, adaptive", "flask-{}-adaptive", "#009e73", 9),
)
WIDTH, HEIGHT = 960, 420


def lines_of(evidence, pattern, count, family):
    """The lines of a curve's data: the place of a size, and the ratio to token there."""
    found = []
    for place, size in enumerate(table.SIZES):
        mean = evidence.ratios(pattern.format(size), "token", count).mean(family)
        if mean is not None:
            found.append(f"{place} {mean:.4f}")
    return found


def panel(number, family, count, curves):
    """The commands of a family's panel."""
    left, right = 0.07 + 0.31 * number, 0.07 + 0.31 * number + 0.28
    ticks = ", ".join(f"'{size}' {place}" for place, size in enumerate(table.SIZES))
    plots = [
        f"${block} using 1:2 with linespoints pointtype {point} pointsize 0.9 linewidth 2 linecolor rgb '{colour}'"
        f" title {quoted(title)}"
        for title, block, colour, point in curves
    ]
    y_label = quoted(f"{WHAT[count]}, token = 1") if number == 0 else "''"
    return f"""\
    set lmargin at screen {left:.2f}
    set rmargin at screen {right:.2f}
    set title {quoted(family)} offset 0, -0.5
    set ylabel {y_label}
    set xtics ({ticks})
    set xrange [-0.3 : {len(table.SIZES) - 0.7}]
    {'set key at screen 0.5, screen 0.89 center center horizontal' if number == 0 else 'unset key'}
    plot 1 with lines linewidth 1 dashtype 2 linecolor rgb '#444444' title 'token', \\
        {(', ' + chr(92) + chr(10) + '        ').join(plots)}
"""


def figure(evidence, count):
    """The figure of a count: a panel for each family that has rows."""
    blocks, panels = {}, []
    for number, family in enumerate(table.FAMILIES):
        curves = []
        for title, pattern, colour, point in CURVES:
            lines = lines_of(evidence, pattern, count, family)
            if lines:
                block = f"data{number}_{len(curves)}"
                blocks[block] = lines
                curves.append((title, block, colour, point))
        if curves:
            panels.append(panel(len(panels), family, count, curves))
    commands = f"""\
    set multiplot
    set label 2 {quoted(f'{WHAT[count]} by size of the directory (simulated)')} at screen 0.5, screen 0.95 center font ',16'
    set label 3 'directory, entries in % of the private blocks' at screen 0.5, screen 0.04 center
    set tmargin at screen 0.78
    set bmargin at screen 0.16
{'    unset label 2; unset label 3'.join(chr(10) + one for one in panels)}
    unset multiplot
"""
    return Figure(f"coherence-{count}", WIDTH, HEIGHT, blocks, commands, ("svg",))


def main(arguments):
    """Prints the script of the figure that is named."""
    path, count = arguments
    evidence = table.evidence_of(path)
    if evidence is None:
        return 2
    print(figure(evidence, count).script(), end="")
    return 0
