# SPDX-License-Identifier: MIT
"""The judgement as a page, made from its Markdown. Of that it knows what the judgement uses: headings, paragraphs,
lists, tables, *, ** and `.

A paragraph or list item goes on until a blank line or the next one.
"""

import re

import style
from markup import escaped

MORE = """\
td.n, th.n { text-align: right; white-space: nowrap; }
td.holds { color: var(--good); font-weight: 600; } td.differs { color: var(--bad); font-weight: 600; }
td.open { color: var(--soft); }
"""
# A character that a backslash takes its meaning, code, strong, emphasis; in this order.
INLINE = re.compile(r"\\([\\|`])|`([^`]*)`|\*\*(.+?)\*\*|\*(\S(?:.*?\S)?)\*")
CELL_END = re.compile(r"(?<!\\)(?:\\\\)*\|")


def inline(text):
    """A run of text, escaped, with its marks as elements."""
    parts, at = [], 0
    for found in INLINE.finditer(text):
        character, code, strong, emphasis = found.groups()
        parts.append(escaped(text[at : found.start()]))
        if character:
            parts.append(escaped(character))
        elif code is not None:
            parts.append(f"<code>{escaped(code)}</code>")
        elif strong:
            parts.append(f"<strong>{inline(strong)}</strong>")
        else:
            parts.append(f"<em>{inline(emphasis)}</em>")
        at = found.end()
    return "".join(parts) + escaped(text[at:])


def cells_of(line):
    """The cells of a line of a table."""
    cells, at = [], 1
    for end in CELL_END.finditer(line, 1):
        cells.append(line[at : end.end() - 1].strip())
        at = end.end()
    return cells


def verdict_class(text):
    """The class of a cell of verdicts."""
    return next((name for name in ("holds", "differs") if text.startswith(name)), "open")


def is_number(text):
    """Whether a cell is a number, or one in per cent."""
    return bool(re.fullmatch(r"[-0-9.,]+( %)?", text))


def cell_line(head, text):
    """A cell under its heading: numbers to the right, verdicts in their colour, a claim's number a link to it."""
    if not head and text:
        return f'<td><a href="#claim-{escaped(text)}">{inline(text)}</a></td>'
    kind = verdict_class(text) if head == "verdict" else "n" if is_number(text) else ""
    return f'<td class="{kind}">{inline(text)}</td>' if kind else f"<td>{inline(text)}</td>"


def head_line(text, column):
    """A heading, to the right above numbers."""
    kind = ' class="n"' if text and column and all(map(is_number, column)) else ""
    return f"<th{kind}>{inline(text)}</th>"


def table_lines(lines, label):
    """A table that scrolls where the page is narrow."""
    head, rows = cells_of(lines[0]), [cells_of(line) for line in lines[2:]]
    columns = [[row[at] for row in rows] for at in range(len(head))]
    heads = "".join(map(head_line, head, columns))
    body = ("<tr>" + "".join(map(cell_line, head, row)) + "</tr>" for row in rows)
    return style.scrolled(
        [f"<table><thead><tr>{heads}</tr></thead><tbody>", *body, "</tbody></table>"], label
    )


def blocks_of(markdown):
    """The blocks: runs of lines without a blank one between them; a heading and a list item begin one."""
    block = []
    for line in markdown.split("\n"):
        if block and (not line or line.startswith(("#", "* ")) or block[0].startswith("#")):
            yield block
            block = []
        if line:
            block.append(line)
    if block:
        yield block


def heading_line(text):
    """A heading; that of a claim can be linked to by its number."""
    level, _, text = text.partition(" ")
    number = re.match(r"([0-9]+)\. ", text)
    name = f' id="claim-{number[1]}"' if number else ""
    return f"<h{len(level)}{name}>{inline(text)}</h{len(level)}>"


def body(markdown):
    """The lines of the text as HTML."""
    heading = ""
    in_list = False
    for block in blocks_of(markdown):
        is_item = block[0].startswith("* ")
        if is_item != in_list:
            yield "<ul>" if is_item else "</ul>"
            in_list = is_item
        if block[0].startswith("#"):
            heading = block[0].lstrip("# ")
            yield heading_line(block[0])
        elif block[0].startswith("|"):
            yield from table_lines(block, heading)
        elif is_item:
            yield f"<li>{inline(' '.join(block)[2:])}</li>"
        else:
            yield f"<p>{inline(' '.join(block))}</p>"
    if in_list:
        yield "</ul>"


def lines(markdown):
    """The lines of the page."""
    yield from style.opening("mplace: the claims of the paper, judged", style.sheet(MORE))
    yield '<p><a href="index.html">The figures of these rows</a></p>'
    yield from body(markdown)
    yield "</body></html>"
