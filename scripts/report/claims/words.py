# SPDX-License-Identifier: MIT
"""Numbers, lists and tables as Markdown text."""


def joined(values):
    """The values as in "1, 2 and 3"; there is at least one."""
    *others, last = (str(value) for value in values)
    return f"{', '.join(others)} and {last}" if others else last


def shortened(values):
    """The same, but a list of more than 16 ends in a number: the tables have all of them."""
    if len(values) <= 16:
        return joined(values)
    return f"{', '.join(str(value) for value in values[:15])} and {len(values) - 15} more"


def ranges(sizes, tried):
    """Rising sizes, those that follow each other among the tried ones as "500 to 512"."""
    place = {size: number for number, size in enumerate(tried)}
    runs = []
    for size in sizes:
        if runs and place[size] == place[runs[-1][1]] + 1:
            runs[-1][1] = size
        else:
            runs.append([size, size])
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in runs)


def percent(share):
    """A share in per cent, three digits at most that matter."""
    return f"{100 * share:.3g} %"


def millions(rate):
    """A rate in millions."""
    return f"{rate / 1e6:.2f}"


def count(value):
    """A count that may not be there."""
    return "" if value is None else f"{value:.1f}"


def bench(setting):
    """The benchmark of a setting, at the beginning of a sentence."""
    return "Ring" if setting.bench == "ring" else "AVL tree"


def capitalised(text):
    """Text with its first letter capital and the others as they are."""
    return text[:1].upper() + text[1:]


def escaped(text):
    """Foreign text in a cell of a table, shown as it stands."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")


def table(head, rows):
    """A table; every cell is Markdown."""
    lines = [head, *rows]
    text = ["| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines]
    return "".join([text[0], "|" + "---|" * len(head) + "\n", *text[1:]])
