# SPDX-License-Identifier: MIT
"""Reads pprof's profile.proto, in gzip or plain, as far as heap profiles use it."""

import dataclasses
import gzip
import io
import os
import re
import zlib

UNPACKED_MOST = 256 << 20  # bytes


class Malformed(Exception):
    """The file is no such profile; says why."""


@dataclasses.dataclass
class Sample:
    frames: tuple  # names of functions, innermost first
    values: tuple
    labels: dict  # name: number


@dataclasses.dataclass
class Profile:
    types: list  # names of the values of a sample
    samples: list
    interval: int
    drop_frames: str
    comments: list


def varint(data, at):
    """The number that begins there, and what comes after it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("it ends within a number, or holds one too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Each field of a message: its number, and a number or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if tag < 8:
            raise Malformed("a field of number 0")
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            if at + length > len(data):
                raise Malformed("a field is longer than what is left")
            value = data[at:at + length]
            at += length
        else:
            raise Malformed(f"a field of kind {kind}")
        yield tag >> 3, value


def numbers(message):
    """The fields of a message that are numbers; the last one where a field comes twice."""
    return {field: value for field, value in fields(message) if isinstance(value, int)}


def repeated(values):
    """A repeated number: packed, or one by one."""
    result = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            result.append(number)
    return result


def decode(data):
    """The profile in the bytes."""
    parts = {}
    for field, value in fields(data):
        parts.setdefault(field, []).append(value)
    strings = [text.decode("utf-8", "surrogateescape") for text in parts.get(6, [])]

    def text(number):
        if number >= len(strings):
            raise Malformed("it names a text that is not there")
        return strings[number]

    mappings = {one.get(1, 0): one for one in map(numbers, parts.get(3, []))}
    functions = {one.get(1, 0): text(one.get(2, 0)) for one in map(numbers, parts.get(5, []))}

    def frame(message):
        """Of a location: the function; without one the file and the place in it; else the address."""
        place = numbers(message)
        for field, value in fields(message):
            if field == 4:
                return functions.get(numbers(value).get(1, 0), "?")
        address = place.get(3, 0)
        mapping = mappings.get(place.get(2, 0))
        if mapping is None:
            return f"{address:#x}"
        return f"{os.path.basename(text(mapping.get(5, 0)))}+{address - mapping.get(2, 0) + mapping.get(4, 0):#x}"

    def sample(message):
        inner = {}
        for field, value in fields(message):
            inner.setdefault(field, []).append(value)
        labels = (numbers(label) for label in inner.get(3, []))
        try:
            places = tuple(frames[place] for place in repeated(inner.get(1, [])))
        except KeyError:
            raise Malformed("it names a location that is not there") from None
        return Sample(places, tuple(repeated(inner.get(2, []))),
                      {text(label.get(1, 0)): label.get(3, 0) for label in labels})

    frames = {numbers(place).get(1, 0): frame(place) for place in parts.get(4, [])}
    types = [text(numbers(kind).get(1, 0)) for kind in parts.get(1, [])]
    samples = [sample(message) for message in parts.get(2, [])]
    interval, drop_frames = parts.get(12, [0])[-1], text(parts.get(7, [0])[-1])
    if not isinstance(interval, int):
        raise Malformed("its period is no number")
    try:
        re.compile(drop_frames)
    except (re.error, OverflowError, RecursionError):
        raise Malformed("its drop_frames is no regular expression") from None
    if not types or any(len(one.values) != len(types) for one in samples):
        raise Malformed("its samples have not as many values as it says")
    return Profile(types, samples, interval, drop_frames, [text(number) for number in repeated(parts.get(13, []))])


def read(path):
    """The profile in the file. OSError, or Malformed."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = unpacked.read(UNPACKED_MOST + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise Malformed(f"its gzip stream is broken ({error})") from None
        if len(data) > UNPACKED_MOST:
            raise Malformed(f"it unpacks to more than {UNPACKED_MOST >> 20} MiB")
    if not data:
        raise Malformed("it is empty")
    try:
        return decode(data)
    except (TypeError, AttributeError):
        raise Malformed("its fields are not those of a profile") from None
