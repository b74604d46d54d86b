# SPDX-License-Identifier: MIT
"""The figures of rates over node sizes, and of the cache sets that these nodes begin in."""

from plot.figures import gnuplot
from plot.words import bench_text, machine_text, why_no_ttstle

RANGE_NOTE = "The line through a point reaches from quartile to quartile of its runs."
LONGEST_NAME_IN_FOUR_COLUMNS = 13  # of allocator and lock together


def shrinking(count):
    """The sizes of points of which many coincide: each series is smaller than the one below it."""
    return [1.15 * 0.85**index for index in range(count)]


def has_ranges(group):
    """Whether any point stands for more than one run."""
    return any(point.runs > 1 for series in group.series for point in series.points)


def rate_curves(group):
    """A curve a series. The last of pthread, tts and ttstle that is there is filled, the one before it open, and the
    one before that open and small."""
    locks = sorted({series.lock for series in group.series})
    return [
        gnuplot.Curve(
            block=f"series{number}",
            rows=tuple(
                (point.size, point.rate / 1e6, point.low / 1e6, point.high / 1e6)
                for point in series.points
            ),
            look=series.look,
            is_filled=series.lock == locks[-1],
            point_size=0.35 if len(locks) > 2 and series.lock == locks[0] else 0.7,
            title=series.name,
            label=series.name,
        )
        for number, series in enumerate(group.series, 1)
    ]


def rate_title(measured, key):
    """What rates are of."""
    return f"{bench_text(key)} on {machine_text(measured, key.cpu)}"


def sets_used_title(key, sets):
    """What sets are counted."""
    return f"L1 data cache sets that {key.nodes} nodes begin in, of {sets}"


def rate_figure(measured, group):
    """The rates of a group."""
    key = group.key
    curves = rate_curves(group)
    longest = max(len(series.malloc + series.lock) for series in group.series)
    columns = 4 if longest <= LONGEST_NAME_IN_FOUR_COLUMNS else 3
    title = rate_title(measured, key)
    # Where there is room: the ring's points are at the top, the tree's fall to the right.
    is_ring = key.bench == "ring"
    places = ("0.01, graph 0.035 left", "0.01, graph 0.08 left") if is_ring else (
        "0.99, graph 0.965 right", "0.99, graph 0.92 right")
    notes = (why_no_ttstle(measured, key.cpu), RANGE_NOTE if has_ranges(group) else "")
    labels = "".join(f"""\
    set label {number} {gnuplot.quoted(note)} at graph {place} noenhanced font ',12' textcolor rgb '#555555' front
""" for number, place, note in zip((1, 3), places, notes))
    commands = f"""\
{gnuplot.head(title, 600, len(curves), columns)}
{labels}\
{gnuplot.size_axis(group.sizes())}
    set yrange [0:*]
    set ylabel {gnuplot.quoted(f"Million {key.what}")}
{gnuplot.points_with_ranges(curves)}"""
    return gnuplot.Figure(group.figure("rate"), 1000, 600, gnuplot.blocks_of(curves), commands)


def sets_used_curves(group):
    """Series and curve of each allocator. Placement does not depend on the lock: one series is enough."""
    first = {}
    for series in group.series:
        first.setdefault(series.malloc, series)
    last_lock = max(series.lock for series in first.values())
    return [
        (
            series,
            gnuplot.Curve(
                block=f"series{number}",
                rows=tuple((point.size, point.sets_used or "-") for point in series.points),
                look=series.look,
                is_filled=series.lock == last_lock,
                point_size=point_size,
                title=series.malloc,
                label=series.name,
            ),
        )
        for number, (series, point_size) in enumerate(zip(first.values(), shrinking(len(first))), 1)
    ]


def sets_used_figure(measured, group):
    """The sets that the nodes of a ring begin in."""
    sets = measured.sets_of(group.key.cpu)
    curves = [curve for _, curve in sets_used_curves(group)]
    title = sets_used_title(group.key, sets)
    commands = f"""\
{gnuplot.head(title, 460, len(curves), 4)}
{gnuplot.size_axis(group.sizes())}
    set yrange [0:{sets} * 1.05]
    set ytics 0, {max(sets // 8, 1)}
    set ylabel 'Sets used'
{gnuplot.points(curves, 2)}"""
    blocks = gnuplot.blocks_of(curves)
    return gnuplot.Figure(group.figure("sets-used"), 1000, 460, blocks, commands)
