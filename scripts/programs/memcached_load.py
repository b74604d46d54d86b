# SPDX-License-Identifier: MIT
"""Sets and gets random keys of a memcached behind a local socket, and shuts it down (memcached -A allows that).

Arguments: SOCKET CONNECTIONS REQUESTS KEYS SEED. Prints how many requests were answered. The connections take
turns, a batch of requests each; low keys are asked for more often than high ones; one request of eight is a set.
"""

import random
import socket
import sys

BATCH = 8


def connect(path):
    """A connection to the socket."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    return connection, connection.makefile("rb")


def requests_of(generator, keys):
    """A batch: the bytes to send, and for each request whether it is a get."""
    text, gets = [], []
    for _ in range(BATCH):
        key = int(keys * generator.random() ** 2)
        gets.append(generator.random() >= 1 / 8)
        if gets[-1]:
            text.append(f"get key-{key}\r\n")
        else:
            value = "v" * generator.randrange(100, 108)
            text.append(f"set key-{key} 0 0 {len(value)}\r\n{value}\r\n")
    return "".join(text).encode(), gets


def take_answer(answers, is_get):
    """Reads the answer to a request; whether there was one."""
    line = answers.readline()
    while is_get and line.startswith(b"VALUE"):
        answers.read(int(line.split()[3]) + 2)
        line = answers.readline()
    return line != b""


def main(path, *numbers):
    """Makes the requests; how many were answered."""
    connections, requests, keys, seed = map(int, numbers)
    generator = random.Random(seed)
    open_ones = [connect(path) for _ in range(connections)]
    answered = 0
    while answered < requests:
        for connection, answers in open_ones:
            text, gets = requests_of(generator, keys)
            connection.sendall(text)
            for is_get in gets:
                if not take_answer(answers, is_get):
                    return answered
                answered += 1
    open_ones[0][0].sendall(b"shutdown graceful\r\n")
    return answered


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
