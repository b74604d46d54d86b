#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A load for memcached in its binary protocol: memcached_load.py PORT CONNECTIONS OPERATIONS SEED [SETS]

Each connection has a thread, which sets keys of its own and gets those of all: SETS percent (10) of its OPERATIONS are
sets. A key has 16 to 64 bytes, a value 1024, which follow from the key. Prints "gets N found N sets N"; exit status 1
if a value is not that of its key.
"""
import random
import socket
import struct
import sys
import threading

HEADER = struct.Struct(">BBHBBHIIQ")
REQUEST, ANSWER, GET, SET = 0x80, 0x81, 0x00, 0x01
OK, NOT_FOUND = 0, 1
KEYS, VALUE_SIZE = 1000, 1024


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def ask(self, opcode, key, extras=b"", value=b""):
        """Returns the status and the value of the answer."""
        length = len(extras) + len(key) + len(value)
        self.socket.sendall(HEADER.pack(REQUEST, opcode, len(key), len(extras), 0, 0, length, 0, 0)
                            + extras + key + value)
        magic, answered, key_length, extras_length, _, status, length, _, _ = HEADER.unpack(
            self.stream.read(HEADER.size))
        if (magic, answered) != (ANSWER, opcode):
            raise ValueError(f"not an answer to {opcode}")
        return status, self.stream.read(length)[extras_length + key_length:]


def key_of(number):
    return (b"key%013d" % number).ljust(16 + number % 49, b"k")


def value_of(number):
    return (b"%d," % number * VALUE_SIZE)[:VALUE_SIZE]


def load(connection, generator, operations, sets, counts):
    for _ in range(operations):
        number = generator.randrange(KEYS)
        if generator.randrange(100) < sets:
            status, _ = connection.ask(SET, key_of(number), struct.pack(">II", 0, 0), value_of(number))
            if status != OK:
                raise ValueError(f"set answered {status}")
            counts["sets"] += 1
        else:
            status, value = connection.ask(GET, key_of(number))
            counts["gets"] += 1
            if status == OK:
                counts["found"] += 1
                if value != value_of(number):
                    raise ValueError(f"key {number} has another value")
            elif status != NOT_FOUND:
                raise ValueError(f"get answered {status}")


def main(port, connections, operations, seed, sets=10):
    counts = [{"gets": 0, "found": 0, "sets": 0} for _ in range(connections)]
    failures = []

    def work(number):
        try:
            load(Connection(port), random.Random(seed * 1000 + number), operations, sets, counts[number])
        except (OSError, ValueError, struct.error) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*(f"{name} {sum(count[name] for count in counts)}" for name in ("gets", "found", "sets")))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
