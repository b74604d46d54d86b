#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sqlite3 builds a database, indexes it with two sorter threads, updates, deletes, vacuums, and the
# file is byte for byte the one made without a library; so are the answers to the queries.
#
# Proof: the one process of each run reports allocations and mutex acquisitions (Debian's libsqlite3
# is built thread-safe: every connection has a recursive mutex, the page cache and the memory
# statistics have their own).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "builds, indexes with two threads, updates, vacuums and queries a database" \
    sqlite3 libsqlite3-0
need /usr/bin/sqlite3 sqlite3

rows=$(quick_or_full 12000 250000)

# Contents come from a row's number alone, by multiplication modulo a prime; no random(), no time.
# The small cache makes the sorters of the index builds spill and hand over to their threads.
cat >build.sql <<END
PRAGMA threads = 2;
PRAGMA cache_size = 200;
PRAGMA journal_mode = WAL;
CREATE TABLE item (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, name TEXT, body BLOB, price REAL);
BEGIN;
INSERT INTO item
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $rows)
    SELECT i, i * 48271 % 2147483647,
           printf('item %08x of %d', i * 69621 % 2147483647, i % 977),
           substr(hex(printf('%0*d', 10 + i * 16807 % 300, i)), 1, 20 + i * 40692 % 400),
           (i * 39373 % 100000) / 100.0
    FROM n;
COMMIT;
CREATE INDEX item_name ON item (name);
CREATE UNIQUE INDEX item_key ON item (key, name);
CREATE INDEX item_body ON item (body);
BEGIN;
UPDATE item SET name = upper(name), price = price * 2 WHERE id % 7 = 3;
DELETE FROM item WHERE id % 11 = 5;
INSERT INTO item SELECT id + $rows, key + 1, name || ' copy', body, price FROM item
    WHERE id % 13 = 1;
COMMIT;
VACUUM;
ANALYZE;
PRAGMA journal_mode = DELETE;
END

cat >query.sql <<'END'
PRAGMA integrity_check;
PRAGMA page_count;
SELECT count(*), sum(key), sum(length(body)), total(price) FROM item;
SELECT id % 10 AS bucket, count(*), min(name), max(name), group_concat(DISTINCT length(name))
    FROM item GROUP BY bucket ORDER BY bucket;
SELECT a.id, b.id, a.name FROM item a JOIN item b ON a.body = b.body AND a.id < b.id
    ORDER BY a.id, b.id LIMIT 500;
SELECT name, sum(price) OVER (ORDER BY name ROWS 20 PRECEDING) FROM item ORDER BY name LIMIT 500;
SELECT count(*), count(DISTINCT lower(substr(name, 6, 5))) FROM item WHERE name LIKE '%7f%';
END

plainly /usr/bin/sqlite3 -batch -bail reference.db <build.sql >reference.log 2>reference.err ||
    fail "sqlite3 failed to build the database without any library"
plainly /usr/bin/sqlite3 -batch -bail reference.db <query.sql >reference.answers 2>>reference.err
[[ $(head -n 1 reference.answers) == ok ]] || fail "the reference database is not sound"

preloaded build /usr/bin/sqlite3 -batch -bail preloaded.db <build.sql >preloaded.log 2>build.err ||
    fail "sqlite3 failed to build the database under the library"
prove build "$pid" "$rows" "$rows"
preloaded query /usr/bin/sqlite3 -batch -bail preloaded.db <query.sql >preloaded.answers 2>query.err ||
    fail "sqlite3 failed to query the database under the library"
prove query "$pid" 1000 1000

same "what sqlite3 said while building" reference.log preloaded.log
same "what the queries answered" reference.answers preloaded.answers
same "the database file" reference.db preloaded.db
bytes=$(stat -c %s preloaded.db)
if [[ $full == 1 && $bytes -lt 100000000 ]]; then fail "the database has only $bytes bytes"; fi
say "sqlite3: a database of $bytes bytes and $(wc -l <preloaded.answers) lines of answers as without"
