# SPDX-License-Identifier: MIT
"""Time under each policy over that under controller-local, as a script of gnuplot: FILE.csv."""

from banks import table
from banks.main import order, told_workload
from banks.statements import LOCAL
from plot.gnuplot import Figure, quoted

WIDTH, HEIGHT = 960, 460
PANELS = ("composite-32-2", "composite-32-10", "stream-32-0", "is-32-0")


def panel(number, evidence, workload, block, count):
    """The commands of a workload's panel."""
    left = 0.06 + number * 0.94 / count
    names = ", ".join(f"'{policy}' {place}" for place, policy in enumerate(policies_of(evidence, workload)))
    y_label = quoted("time, controller-local = 1") if number == 0 else "''"
    return f"""\
    set lmargin at screen {left:.3f}
    set rmargin at screen {left + 0.94 / count - 0.05:.3f}
    set title {quoted(told_workload(workload))} offset 0, -0.5
    set ylabel {y_label}
    set xtics ({names}) rotate by 60 right
    set xrange [-0.6 : {len(policies_of(evidence, workload)) - 0.4}]
    plot 1 with lines linewidth 1 dashtype 2 linecolor rgb '#444444' notitle, \\
        ${block} using 1:2:3:4 with yerrorbars pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb '#0072b2' notitle
"""


def policies_of(evidence, workload):
    """The policies that a workload was run under."""
    return [policy for policy in evidence.names("policy") if evidence.runs(workload, policy)]


def figure(evidence):
    """The figure: a panel for each workload that has rows, mean and range of the runs."""
    blocks, drawn = {}, []
    for workload in sorted(evidence.names("workload"), key=order):
        local = evidence.runs(workload, LOCAL)
        if workload not in PANELS or local is None:
            continue
        block = f"data{len(drawn)}"
        blocks[block] = []
        for place, policy in enumerate(policies_of(evidence, workload)):
            runs = evidence.runs(workload, policy)
            values = [value / local.mean() for value in (runs.mean(), min(runs.cycles), max(runs.cycles))]
            blocks[block].append(f"{place} " + " ".join(f"{value:.4f}" for value in values))
        drawn.append((workload, block))
    panels = "".join(
        panel(number, evidence, workload, block, len(drawn)) for number, (workload, block) in enumerate(drawn)
    )
    commands = f"""\
    set multiplot
    set label 2 'Time by policy, mean and range of the seeds (simulated)' at screen 0.5, screen 0.95 center font ',16'
    set tmargin at screen 0.84
    set bmargin at screen 0.24
{panels.replace(chr(10) + '    set lmargin', chr(10) + '    unset label 2' + chr(10) + '    set lmargin')}
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
