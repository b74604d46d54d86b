# SPDX-License-Identifier: MIT
"""The figures of docs/persistence.md as scripts of gnuplot: FILE.csv protocols|sizes.

protocols: normalised throughput by protocol, by speculation degree and by latency of memory. sizes: what goes
to the log early, and normalised throughput, against the size of nodes under each allocator.
"""

from persistence import table
from plot.figures.gnuplot import Figure, quoted

WIDTH, HEIGHT = 960, 420
COLOURS = ("#0072b2", "#d55e00", "#009e73")
POINTS = (7, 5, 9)


def panel(place, title, curves, more):
    """The commands of a panel: where it is on the screen, from left to right, and its curves of title and block."""
    left, right = place
    plots = [
        f"${block} using 1:2 with linespoints pointtype {point} pointsize 0.9 linewidth 2 linecolor rgb '{colour}'"
        f" title {quoted(name)}"
        for (name, block), colour, point in zip(curves, COLOURS, POINTS)
    ]
    return f"""\
    set lmargin at screen {left:.3f}
    set rmargin at screen {right:.3f}
    set title {quoted(title)} font ',12' offset 0, -0.5
{more}
    plot {(', ' + chr(92) + chr(10) + '        ').join(plots)}
"""


def ticks(names, rotated=False):
    """The x axis of a panel whose points are at 0, 1, 2 ..."""
    places = ", ".join(f"{quoted(str(name))} {place}" for place, name in enumerate(names))
    rotation = " rotate by 60 right" if rotated else " norotate"
    return f"    set xtics ({places}){rotation} font ',11'\n    set xrange [-0.4 : {len(names) - 0.6}]"


def means_of(evidence, configurations):
    """The lines of a curve: the place of a configuration and its mean."""
    found = [(place, evidence.means([name])) for place, name in enumerate(configurations)]
    return [f"{place} {means[0]:.4f}" for place, means in found if means is not None]


def multiplot(name, title, blocks, panels):
    """The figure of some panels below a title."""
    commands = f"""\
    set multiplot
    set label 2 {quoted(title + ' (simulated)')} at screen 0.5, screen 0.95 center font ',16'
    set tmargin at screen 0.84
    set bmargin at screen 0.2
    set yrange [0:*]
{'    unset label 2'.join(chr(10) + one for one in panels)}
    unset multiplot
"""
    return Figure(name, WIDTH, HEIGHT, blocks, commands, ("svg",))


def protocols(evidence):
    """Figures 6, 8 and 9 of the paper, means of the workloads."""
    blocks = {
        "protocols": means_of(evidence, table.PROTOCOLS),
        "degrees": means_of(evidence, [table.with_degree("loc-wal", degree) for degree in table.DEGREES]),
        "wal": means_of(evidence, [table.with_latency("h-wal", latency) for latency in table.LATENCIES]),
        "loc": means_of(evidence, [table.with_latency("loc-wal", latency) for latency in table.LATENCIES]),
    }
    panels = [
        ("protocol", [("", "protocols")], ticks(table.PROTOCOLS, True) + "\n    unset key\n    set yrange [0:1]"),
        ("speculation degree of LOC-WAL", [("", "degrees")], ticks(table.DEGREES)),
        (
            "latency of memory, cycles",
            [("H-WAL", "wal"), ("LOC-WAL", "loc")],
            ticks(table.LATENCIES) + "\n    set key bottom left\n    set yrange [0:1]",
        ),
    ]
    drawn = [
        panel((0.06 + 0.32 * place, 0.32 + 0.32 * place), title, curves, more)
        for place, (title, curves, more) in enumerate(panels)
        if all(blocks[block] for _, block in curves)
    ]
    return multiplot("persistence-protocols", "Throughput over that without transactions", blocks, drawn)


def sizes(evidence):
    """What goes to the log early, and throughput, of LOC-WAL against node size: of the first workload with rows."""
    points = evidence.sizes()
    workload = points[0][0] if points else ""
    blocks, curves = {}, {"early": [], "throughput": []}
    for allocator in table.ALLOCATORS:
        for what in curves:
            lines = []
            for size in (size for name, size in points if name == workload):
                name = f"{workload}:{size}:{allocator}"
                row = evidence.row(name, "loc-wal")
                value = evidence.normalised(name, "loc-wal")
                if what == "early" and row is not None:
                    value = row.each(*table.EARLY)
                if value is not None:
                    lines.append(f"{size} {value:.4f}")
            if lines:
                blocks[f"{what}_{allocator}"] = lines
                curves[what].append((allocator, f"{what}_{allocator}"))
    axis = "    set logscale x 2\n    set xtics font ',11'\n    set xlabel 'node size, bytes'\n"
    panels = []
    if points:
        left, right = "overflows and forced evictions a transaction", "throughput over that without transactions"
        panels = [
            panel((0.06, 0.48), left, curves["early"], axis + "    set key top left"),
            panel((0.55, 0.97), right, curves["throughput"], axis + "    unset key"),
        ]
    return multiplot("persistence-sizes", f"LOC-WAL on {workload} by node size and allocator", blocks, panels)


FIGURES = {"protocols": protocols, "sizes": sizes}


def main(arguments):
    """Prints the script of the figure that is named."""
    path, name = arguments
    evidence = table.evidence_of(path)
    if evidence is None:
        return 2
    print(FIGURES[name](evidence).script(), end="")
    return 0
