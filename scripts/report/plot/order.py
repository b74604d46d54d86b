# SPDX-License-Identifier: MIT
"""The orders of names: as bytes, and as "sort -V" has them, where numbers count as such."""

import re

END, DIGIT, TILDE = -1, 0, -2


def as_bytes(text):
    """The bytes of a text, by which names are ordered whatever the locale."""
    return text.encode("utf-8", "surrogateescape")


def _character_order(byte):
    """Letters come before everything else, and a tilde before the end of the name."""
    if byte == ord("~"):
        return TILDE
    return byte if chr(byte).isascii() and chr(byte).isalpha() else byte + 256


def _parts(name):
    """The orders of a name's characters and the values of its numbers, comparable as a whole."""
    parts = []
    for number, character in re.findall(rb"([0-9]+)|([^0-9])", name, re.DOTALL):
        parts += [DIGIT, int(number)] if number else [_character_order(character[0])]
    if parts[-2:] == [DIGIT, 0]:
        del parts[-2:]  # a zero at the end of a name counts as nothing
    return (*parts, END)


def by_version(text):
    """The key by which "sort -V" orders names: 64x8 before 64x12, host2.org before host10.org.

    What looks like a suffix of file names decides only between names that are the same before it.
    """
    name = as_bytes(text)
    suffix = re.search(rb"(\.[A-Za-z~][A-Za-z0-9~]*)*\Z", name)
    stem = name[: suffix.start()] or name
    return _parts(stem), _parts(name), name
