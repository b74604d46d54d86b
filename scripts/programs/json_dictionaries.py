# SPDX-License-Identifier: MIT
"""Writes and reads records as JSON, and sorts them into dictionaries. Arguments: RECORDS SEED."""

import json
import random
import sys


def record(number, draw):
    """A record as other programs store them."""
    return {
        "id": number,
        "name": f"record {draw.randrange(10**9)}",
        "tags": [f"tag{draw.randrange(1000)}" for _ in range(5)],
        "position": {"x": draw.random(), "y": draw.random()},
    }


def main(count, seed):
    """Prints what the work came to."""
    draw = random.Random(seed)
    text = json.dumps([record(number, draw) for number in range(count)])
    found = {}
    for entry in json.loads(text):
        for tag in entry["tags"]:
            found.setdefault(tag, []).append(entry["name"])
        found[entry["name"]] = dict(entry["position"])
    for name in [name for name in found if name.endswith("7")]:
        del found[name]
    print(len(text), len(found))


main(int(sys.argv[1]), int(sys.argv[2]))
