# SPDX-License-Identifier: MIT
"""The tables of the page, and what the points show in a sentence for each series."""

import statistics

from markup import escaped
from style import scrolled

WORST_SIZES = 5

SUMMARY_HEAD = (
    '<table><caption>Each combination over all sizes. &ldquo;The best&rdquo; is'
    " the fastest allocator under the same lock at the same size.</caption>\n"
    '<thead><tr><th>Allocator</th><th>Lock</th><th class="n">Median rate</th>'
    '<th class="n">Lowest rate</th><th class="n">at size</th>'
    '<th class="n">Sizes below half of the best</th><th class="n">of</th></tr></thead><tbody>'
)
WORST_HEAD = (
    '<table><caption>The five worst sizes of each combination, by rate relative'
    " to the best allocator under the same lock at that size.</caption>\n"
    '<thead><tr><th>Allocator</th><th>Lock</th><th class="n">Size</th><th class="n">Rate</th>'
    '<th class="n">Of the best</th><th class="n">Sets used</th>'
    '<th class="n">Most nodes in one set</th></tr></thead>'
)


def _row(series, cells):
    """A row of the table: cells of class and text."""
    names = f"<td>{escaped(series.malloc)}</td><td>{escaped(series.lock)}</td>"
    numbers = "".join(f'<td class="{kind}">{text}</td>' for kind, text in cells)
    return f"<tr>{names}{numbers}</tr>"


def _rate(rate):
    return f"{rate / 1e6:.2f} M/s"


def _rate_and_range(point):
    """The median rate, and from two runs on the quartiles."""
    if point.runs == 1:
        return _rate(point.rate)
    return f"{_rate(point.rate)} ({point.low / 1e6:.2f} to {point.high / 1e6:.2f})"


def _as_text(point):
    """Of sizes that are as bad as each other the first as text is named: 1024 before 64."""
    return str(point.size)


def _bad_sizes(series):
    """At how many sizes the rate is below half of the best."""
    return sum(point.is_bad for point in series.points)


def _summary_row(series):
    lowest = min(series.points, key=lambda point: (point.rate, _as_text(point)))
    bad = _bad_sizes(series)
    cells = (
        ("n", _rate(statistics.median(point.rate for point in series.points))),
        ("n", _rate(lowest.rate)),
        ("n", f"{lowest.size} B"),
        ("n bad" if bad else "n good", bad),
        ("n", len(series.points)),
    )
    return _row(series, cells)


def summary_table(group):
    """One row a series: where its rate lies, and at how many sizes it is bad."""
    rows = [_summary_row(series) for series in reversed(group.series)]
    return scrolled([SUMMARY_HEAD, *rows, "</tbody></table>"], "Each combination over all sizes")


def _worst_rows(series):
    """The sizes at which the series is worst. Shares that agree in six digits are the same."""

    def badness(point):
        return float(f"{point.share:.6g}"), _as_text(point)

    for point in sorted(series.points, key=badness)[:WORST_SIZES]:
        share, _ = badness(point)
        yield _row(
            series,
            (
                ("n", f"{point.size} B"),
                ("n", _rate_and_range(point)),
                ("n bad" if share < 0.5 else "n", f"{100 * share:.0f} %"),
                ("n", point.sets_used),
                ("n", point.max_per_set),
            ),
        )


def worst_table(group):
    """Of each series the sizes at which it is worst."""
    lines = [WORST_HEAD]
    for series in reversed(group.series):
        lines += ["<tbody>", *_worst_rows(series), "</tbody>"]
    return scrolled([*lines, "</table>"], "The five worst sizes of each combination")


def rate_findings(group):
    """A sentence a series; those that are bad at the fewest sizes come first."""
    return [_rate_finding(series) for series in sorted(group.series, key=_bad_sizes)]


def _rate_finding(series):
    least = min(series.points, key=lambda point: (point.share, _as_text(point)))
    bad, sizes = _bad_sizes(series), len(series.points)
    share = f"{100 * least.share:.0f} %"
    if bad:
        text = (
            f"falls below half of the best allocator at {bad} of {sizes} sizes, to {share} of it"
            f" at {least.size} B."
        )
    else:
        text = (
            f"stays above half of the best allocator at all {sizes} sizes; its worst is {share} of"
            f" it, at {least.size} B."
        )
    return f"<li><b>{escaped(series.name)}</b> {text}</li>"


def _full_sizes(series):
    """At how many sizes capacity aborts are no exception."""
    return sum(point.is_full for point in series.points)


def elision_findings(group):
    """A sentence an allocator; those with capacity aborts at the fewest sizes come first."""
    return [_elision_finding(series) for series in sorted(group.series, key=_full_sizes)]


def _elision_finding(series):
    least = min(series.points, key=lambda point: (point.elided, _as_text(point)))
    most = min(series.points, key=lambda point: (-point.capacity, _as_text(point)))
    full, sizes = _full_sizes(series), len(series.points)
    if full:
        capacity = (
            f"Capacity aborts are 1 % of the transactions or more at {full} of {sizes} sizes,"
            f" {most.capacity:.1f} % at {most.size} B."
        )
    else:
        capacity = (
            f"Capacity aborts are below 1 % of the transactions at all {sizes} sizes; the most is"
            f" {most.capacity:.2f} %, at {most.size} B."
        )
    elided = f"{least.elided:.1f} % elided at the worst size, {least.size} B"
    return f"<li><b>{escaped(series.malloc)}</b>: {elided}. {capacity}</li>"
