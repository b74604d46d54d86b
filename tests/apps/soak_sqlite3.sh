#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Many threads in SQLite at once: half of them share one connection, whose recursive mutex then
# serializes them; half have databases of their own, and meet the others in the library's global
# mutexes (memory, page cache). All insert, update, delete and read their own rows; what is in the
# tables at the end does not depend on the order of the threads, and is what it was without a library.
#
# Proof: the process reports acquisitions, at least one a row.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
need /usr/bin/python3 python3

threads=$(($(nproc) * 4))
rows=5000

cat >storm.py <<'END'
import hashlib
import sqlite3
import sys
import threading

path, threads, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
assert sqlite3.threadsafety == 3, "this SQLite is not serialized"
errors = []


def connect(name):
    connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA cache_size = 50")
    connection.execute("CREATE TABLE item (owner INTEGER, id INTEGER, body TEXT,"
                       " PRIMARY KEY (owner, id))")
    return connection


def work(number, connection, batch):
    try:
        seed = number + 1
        for first in range(0, rows, batch):
            # Without a transaction on the shared connection: it would be everybody's.
            if batch > 1:
                connection.execute("BEGIN IMMEDIATE")
            for row in range(first, min(first + batch, rows)):
                seed = seed * 16807 % 2147483647
                connection.execute("INSERT INTO item VALUES (?, ?, ?)",
                                   (number, row, f"{seed:x}" * (1 + seed % 40)))
                if row % 5 == 3:
                    connection.execute("UPDATE item SET body = body || ? WHERE owner = ? AND id = ?",
                                       (str(seed), number, seed % (row + 1)))
                if row % 11 == 7:
                    connection.execute("DELETE FROM item WHERE owner = ? AND id = ?",
                                       (number, seed % row))
                if row % 7 == 1:
                    connection.execute("SELECT count(*), max(body) FROM item WHERE owner = ?",
                                       (number,)).fetchall()
            if batch > 1:
                connection.execute("COMMIT")
    except BaseException as error:
        errors.append(repr(error))


shared = connect(path)
own = [connect(f"{path}.{number}") for number in range(threads // 2)]
storm = [threading.Thread(target=work, args=(n, shared, 1)) for n in range(threads // 2)]
storm += [threading.Thread(target=work, args=(threads // 2 + n, connection, 50))
          for n, connection in enumerate(own)]
for thread in storm:
    thread.start()
for thread in storm:
    thread.join()
if errors:
    sys.exit("\n".join(errors))
digest = hashlib.sha256()
for connection in (shared, *own):
    for row in connection.execute("SELECT * FROM item ORDER BY owner, id"):
        digest.update(repr(row).encode())
    print(connection.execute("SELECT count(*), sum(length(body)) FROM item").fetchone(),
          connection.execute("PRAGMA integrity_check").fetchone()[0])
print(digest.hexdigest())
END

plainly /usr/bin/python3 storm.py "$work/home/reference.db" "$threads" "$rows" >reference.answers \
    2>reference.err || fail "the threads failed without any library"
for round in 1 2 3; do
    preloaded storm /usr/bin/python3 storm.py "$work/home/preloaded$round.db" "$threads" "$rows" \
        >preloaded.answers 2>storm.err || fail "the threads failed under the library, round $round"
    prove storm "$pid" $((threads * rows)) $((threads * rows))
    same "what the tables hold" reference.answers preloaded.answers
done
[[ $(grep -c ' ok$' preloaded.answers) == $((threads / 2 + 1)) ]] || fail "a database is not sound"
say "sqlite3, $threads threads: 3 rounds, $(tail -n 1 preloaded.answers) as without"
