# SPDX-License-Identifier: MIT
"""Time under each policy over that under controller-local, as a script of gnuplot: FILE.csv."""

from banks import table
from banks.statements import LOADED, LOCAL
from plot.figures.gnuplot import Figure, quoted

WIDTH, HEIGHT = 960, 440
# Title, workload and machine of each panel.
PANELS = (
    ("composite", "composite-32-10", table.MACHINE),
    ("composite, " + LOADED, "composite-32-10", LOADED),
    ("stream", "stream-32-0", table.MACHINE),
    ("is", "is-32-0", table.MACHINE),
)


def panel(number, title, block, policies):
    """The commands of a panel."""
    left = 0.07 + 0.24 * number
    names = ", ".join(f"'{policy}' {place}" for place, policy in enumerate(policies))
    y_label = quoted("time, controller-local = 1") if number == 0 else "''"
    return f"""\
    set lmargin at screen {left:.2f}
    set rmargin at screen {left + 0.17:.2f}
    set title {quoted(title)} font ',12' offset 0, -0.5
    set ylabel {y_label}
    set ytics font ',11'
    set xtics ({names}) rotate by 60 right font ',11'
    set xrange [-0.6 : {len(policies) - 0.4}]
    plot 1 with lines linewidth 1 dashtype 2 linecolor rgb '#444444' notitle, \\
        ${block} using 1:2:3:4 with yerrorbars pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb '#0072b2' notitle
"""


def lines_of(evidence, workload, variant, policies):
    """The lines of a panel's data: the place of a policy, its mean time and the range, local's mean being 1."""
    found, local = [], evidence.runs(workload, LOCAL, variant).mean()
    for place, policy in enumerate(policies):
        runs = evidence.runs(workload, policy, variant)
        values = (runs.mean(), min(runs.cycles), max(runs.cycles))
        found.append(f"{place} " + " ".join(f"{value / local:.4f}" for value in values))
    return found


def figure(evidence):
    """The figure: a panel for each workload and machine that has rows."""
    blocks, panels = {}, []
    for title, workload, variant in PANELS:
        policies = [name for name in evidence.names("policy") if evidence.runs(workload, name, variant)]
        if LOCAL in policies:
            block = f"data{len(panels)}"
            blocks[block] = lines_of(evidence, workload, variant, policies)
            panels.append(panel(len(panels), title, block, policies))
    commands = f"""\
    set multiplot
    set label 2 'Time by policy with 32 threads: mean and range of the seeds (simulated)' at screen 0.5, screen 0.95 center font ',16'
    set tmargin at screen 0.84
    set bmargin at screen 0.24
{'    unset label 2'.join(chr(10) + one for one in panels)}
    unset multiplot
"""
    return Figure("banks-policies", WIDTH, HEIGHT, blocks, commands, ("svg",))


def main(arguments):
    """Prints the script of the figure."""
    (path,) = arguments
    evidence = table.evidence_of(path)
    if evidence is None:
        return 2
    print(figure(evidence).script(), end="")
    return 0
