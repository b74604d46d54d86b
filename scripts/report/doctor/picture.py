# SPDX-License-Identifier: MIT
"""A picture of how hot blocks lie: a bar for each cache set, as SVG.

What is above the ways is in another colour and hatched as well, so that it can be told in grey. The
page that a picture is in has the pattern "hatch" and the style of the classes.
"""

from doctor.markup import escaped
from doctor.wording import plural

# In units of the picture, which is as wide as a phone.
LEFT, SETS_WIDTH = 32, 360
BASE, FULL_HEIGHT = 106, 88

BAR_SHARE = 0.8  # of the room of a set; the rest parts the bars


def scale(geometry, spreads):
    """The number of blocks that is as high as a picture: one for all of these, and for the ways."""
    return max([1.25 * geometry.ways, *(spread.most_in_one_set for spread in spreads)])


def _rectangle(attribute, x, y, width, height):
    return (
        f'<rect {attribute} x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"/>'
    )


def _bar(number, sets, blocks, ways, high):
    """The bar of a set with some hot blocks."""
    room = SETS_WIDTH / sets
    x = LEFT + number * room
    width = room * BAR_SHARE
    top = FULL_HEIGHT * blocks / high
    fits = FULL_HEIGHT * ways / high if blocks > ways else top
    shapes = [_rectangle('class="fits"', x, BASE - fits, width, fits)]
    if top > fits:
        shapes += [
            _rectangle(attribute, x, BASE - top, width, top - fits)
            for attribute in ('class="over"', 'fill="url(#hatch)"')
        ]
    title = f"set {number}: {plural(blocks, 'hot block', 'hot blocks')}"
    return f"<g><title>{title}</title>{''.join(shapes)}</g>"


def bars(spread, geometry, high, allocator, label):
    """The picture, with the label for who cannot see it; high is from scale()."""
    sets, ways = len(spread.hot_by_set), geometry.ways
    line = FULL_HEIGHT * ways / high
    lines = [
        f'<svg viewBox="0 0 400 137" role="img" aria-label="{escaped(label)}">',
        f'<text x="30" y="11">hot blocks in each set, under {escaped(allocator)}</text>',
    ]
    lines += [
        _bar(number, sets, blocks, ways, high)
        for number, blocks in enumerate(spread.hot_by_set)
        if blocks
    ]
    lines += [
        f'<path class="axis" d="M30 {BASE}H394"/>',
        f'<path class="ways" d="M30 {BASE - line:.2f}H394"/>'
        f'<text x="27" y="{BASE + 4 - line:.2f}" text-anchor="end">{ways}</text>',
    ]
    if high > 1.6 * ways:
        lines.append(f'<text x="27" y="22" text-anchor="end">{int(high)}</text>')
    lines += [
        '<text x="32" y="119">set 0</text>'
        f'<text x="394" y="119" text-anchor="end">set {sets - 1}</text>',
        f'<text x="213" y="133" text-anchor="middle">dashed: the {ways} ways of a set;'
        " what is above evicts what is below</text></svg>",
    ]
    return "\n".join(lines)
