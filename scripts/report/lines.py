# SPDX-License-Identifier: MIT
"""Reports of libtm_runtime.so with lines of the source: text or JSON, standard input to standard output.

The library tells a place in the code as a function, and as a file with an offset for addr2line. What addr2line
knows of it is put in the file's place in text, and added in JSON; what it does not know stays as it was.

The innermost place of a switch is a call of the runtime that the compiler put in front of what cannot be undone,
and gave no line of its own: there the line is that of the instruction behind the call. Offsets are those of a call's
last byte.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from doctor.as_json import plain_text

ROLES = r"transaction|switch, \d+ times, of the transaction|calls without a clone|in|by"
PLACE = re.compile(rf"^( +(?:{ROLES})) (?:(\S+\+0x[0-9a-f]+)  )?(/.*)\+(0x[0-9a-f]+)$")
ADDRESS = re.compile(r"0x[0-9a-f]{16}")
LINE = re.compile(r"(.*):(\d+)(?: \(discriminator \d+\))?")


@dataclass(frozen=True)
class Frame:
    """A function, and where in the source it is; a function that was inlined is a frame of its own."""

    function: str
    file: str
    line: int


def frames_in(output):
    """The frames of each address, the innermost first, that "addr2line -a -f -i" tells in these lines."""
    frames, address = {}, None
    lines = iter(output)
    for line in lines:
        if ADDRESS.fullmatch(line):
            address = int(line, 16)
            frames[address] = []
            continue
        place = LINE.fullmatch(next(lines, ""))
        if address is not None and place and int(place[2]) > 0 and place[1] != "??":
            frames[address].append(Frame(plain_text(line), plain_text(place[1]), int(place[2])))
    return frames


def ask_addr2line(path, offsets):
    """{offset: frames} of a file; what is not known is missing."""
    if not path.startswith("/") or not os.path.isfile(path):  # a long path has lost its beginning
        return {}
    command = ["addr2line", "-a", "-f", "-i", "-C", "-e", path, *map(hex, sorted(offsets))]
    asked = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return frames_in(asked.stdout.decode("utf-8", "surrogateescape").splitlines())


def find(places, ask):
    """{(path, offset): frames}, each file asked for once."""
    offsets = {}
    for path, offset in places:
        offsets.setdefault(path, set()).add(offset)
    return {
        (path, offset): frames
        for path, wanted in offsets.items()
        for offset, frames in ask(path, wanted).items()
        if frames
    }


def told(frames):
    """Frames of one place as text."""
    text = f"{frames[0].file}:{frames[0].line}"
    for inner, outer in zip(frames, frames[1:]):
        text += f" in {inner.function}, inlined at {outer.file}:{outer.line}"
    return text


def of_text(text, ask):
    """The text with lines of the source."""
    lines = text.split("\n")
    matches = [PLACE.match(line) for line in lines]
    places = [match and (match[3], int(match[4], 16) + match[1].endswith(" in")) for match in matches]
    known = find([place for place in places if place], ask)
    for at, (match, place) in enumerate(zip(matches, places)):
        frames = known.get(place)
        if frames:
            lines[at] = f"{match[1]} {match[2] or frames[-1].function}  {told(frames)}"
    return "\n".join(lines)


def places_of(value):
    """All places in a report, as they stand in it."""
    if isinstance(value, dict):
        if "file_offset" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from places_of(item)


def of_json(text, ask):
    """The JSON objects with the frames of each place; those of other libraries stay as they were."""
    decoder, at, pieces = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        report, end = decoder.raw_decode(text, at)
        piece, at = text[at:end], end
        if isinstance(report, dict) and report.get("library") == "libtm_runtime":
            innermost = {id(switch["frames"][0]["call"]) for switch in report["switches"] if switch["frames"]}
            places = [
                (fields, (fields["file"], fields["file_offset"] + (id(fields) in innermost)))
                for fields in places_of(report)
            ]
            known = find([place for _, place in places], ask)
            for fields, place in places:
                fields["source"] = [vars(frame) for frame in known.get(place, [])]
            piece = json.dumps(report, ensure_ascii=False)
        pieces.append(piece + "\n")
    return "".join(pieces)


def with_lines(text, ask):
    """The reports, text or JSON, with lines; as they were if they are neither."""
    if not text.lstrip().startswith("{"):
        return of_text(text, ask)
    try:
        return of_json(text, ask)
    except (ValueError, TypeError, KeyError, AttributeError):  # one was cut short
        return text


def main(_arguments):
    """No arguments. Reports get through whatever happens to their lines."""
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    try:
        result = with_lines(text, ask_addr2line)
    except OSError as error:
        print(f"mplace run: no lines of the source: addr2line (binutils): {error.strerror}", file=sys.stderr)
        result = text
    sys.stdout.write(result)
    return 0
