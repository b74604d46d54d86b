#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the input of a program of mplace compare to standard output: the same for the same seed.

usage: inputs.py functions|rows|text|history SIZE SEED
"""

import random
import sys

WORDS = (
    "allocator block cache chunk class colour page heap list lock free line magazine map queue run set size "
    "span thread the a of and to in is that it was for on are as with at by from or an be this which"
).split()


def sentence(draw, words):
    """A line of so many words, some of them numbers."""
    chosen = draw.choices(WORDS, k=words)
    chosen[draw.randrange(words)] = str(draw.randrange(10**6))
    return " ".join(chosen)


def functions(size, draw):
    """A file of C with so many functions."""
    for number in range(size):
        index, factor = draw.randrange(2, 999), draw.randrange(2, 999)
        operator = draw.choice("+-^|&")
        yield f"int f{number}(int *n, int k) {{ return n[{index}] {operator} k * {factor}; }}"


def rows(size, draw):
    """Statements for sqlite3: a table of so many rows, an index on it, queries and deletions."""
    text = sentence(draw, 12)
    yield "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, note TEXT);"
    yield (
        f"WITH RECURSIVE draw(i, s) AS (VALUES(1, {draw.randrange(1, 10**6)}) UNION ALL"
        f" SELECT i + 1, (s * 16807) % 2147483647 FROM draw WHERE i < {size})"
        f" INSERT INTO item SELECT i, 'name ' || s, s % 1000, substr('{text}', 1, s % 57) FROM draw;"
    )
    yield "CREATE INDEX by_name ON item(name);"
    yield "SELECT count(*), sum(amount) FROM item WHERE name LIKE 'name 1%';"
    yield "SELECT amount, count(*), max(note) FROM item GROUP BY amount ORDER BY 2 DESC, 1 LIMIT 3;"
    yield "DELETE FROM item WHERE id % 3 = 0;"
    yield "SELECT count(*) FROM item;"


def text(size, draw):
    """So many KiB of text, at least."""
    left = size * 1024
    while left > 0:
        line = sentence(draw, draw.randrange(4, 14))
        left -= len(line) + 1
        yield line


def history(size, draw):
    """A stream for git fast-import: so many commits, each of which changes some of 100 files."""
    files = [[sentence(draw, 8) for _ in range(100)] for _ in range(100)]
    for number in range(1, size + 1):
        yield "commit refs/heads/main"
        yield f"committer A <a@example.org> {10**9 + number * 60} +0000"
        message = sentence(draw, 8)
        yield f"data {len(message)}"
        yield message
        for name in draw.sample(range(100), 4):
            lines = files[name]
            for _ in range(3):
                lines[draw.randrange(len(lines))] = sentence(draw, 8)
            content = "\n".join(lines)
            yield f"M 100644 inline folder{name % 10}/file{name}"
            yield f"data {len(content)}"
            yield content
    yield "done"


KINDS = {"functions": functions, "rows": rows, "text": text, "history": history}


def main(arguments):
    """Writes the input; the exit status."""
    if len(arguments) != 3 or arguments[0] not in KINDS:
        sys.exit(__doc__.strip().splitlines()[-1])
    kind, size, seed = arguments
    for line in KINDS[kind](int(size), random.Random(f"{kind} {seed}")):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
