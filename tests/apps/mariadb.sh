#!/bin/bash
# SPDX-License-Identifier: MIT
#
# MariaDB: a server of a thread for each connection answers a scripted session as it does without a
# library (joins, window functions, full text, procedures, JSON, transactions in two engines), and
# serves eight clients at once that move money between accounts: the sums agree afterwards, also when
# the server was killed and recovered.
#
# Proof: the server reports allocations and acquisitions when SIGTERM has made it end in order, and so
# does the client of the load. The server takes mutexes of libpthread for connections, tables and its
# log; InnoDB's own latches are futexes.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "a session in InnoDB and Aria, eight clients that move money, kill and recovery" \
    mariadb-server mariadb-client mariadb-server-core mariadb-client-core
need /usr/sbin/mariadbd mariadb-server
need /usr/bin/mariadb-slap mariadb-client

rows=$(quick_or_full 3000 20000)
transfers=$(quick_or_full 800 20000)

mariadb_is_ours() {
    [[ $(cat pid 2>/dev/null) == "$2" ]] && sql -e 'SELECT 1' >/dev/null 2>&1
}
start_mariadb() {
    "$@" /usr/sbin/mariadbd --no-defaults --datadir="$data" --port="$port" --bind-address=127.0.0.1 \
        --socket="$work/socket" --pid-file="$work/pid" --innodb-buffer-pool-size=32M \
        --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=2 --tmp-table-size=256K \
        --sort-buffer-size=64K --innodb-use-native-aio=0 --silent-startup >>server.err 2>&1
}
stop_mariadb() {
    kill -TERM "$server"
    finish "$server" || fail "mariadbd ended with status $? after SIGTERM"
}
sql() {
    plainly /usr/bin/mariadb --no-defaults --batch --skip-column-names --host=127.0.0.1 \
        --port="$port" --user=root "$@"
}

cat >session.sql <<SQL
CREATE DATABASE test_of; USE test_of;
CREATE TABLE item (id INT PRIMARY KEY, k BIGINT, bucket INT, body TEXT, KEY (k), FULLTEXT (body))
    ENGINE=InnoDB;
INSERT INTO item SELECT seq, seq * 48271 % 2147483647, seq % 97,
    CONCAT(REPEAT(CONCAT('text ', seq % 1009, ' '), 1 + seq % 30), 'word', seq % 211)
    FROM seq_1_to_$rows;
CREATE TABLE copy ENGINE=Aria AS SELECT * FROM item;
ANALYZE TABLE item, copy;
SELECT COUNT(*), SUM(k), SUM(LENGTH(body)) FROM item;
SELECT bucket, COUNT(*), MIN(MD5(body)), MAX(k) FROM item GROUP BY bucket ORDER BY bucket;
SELECT a.id, b.id FROM item a JOIN copy b ON a.k % 5003 = b.id AND a.bucket = b.bucket
    ORDER BY 1, 2 LIMIT 50;
SELECT id, SUM(k) OVER (PARTITION BY bucket ORDER BY id ROWS 3 PRECEDING) FROM item ORDER BY id LIMIT 30;
SELECT id FROM item WHERE MATCH (body) AGAINST ('word17') ORDER BY id LIMIT 20;
SELECT JSON_ARRAYAGG(JSON_OBJECT('id', id, 'k', k)) FROM (SELECT id, k FROM item ORDER BY k LIMIT 20) t;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT SUM(i) FROM n;
SELECT MD5(GROUP_CONCAT(body ORDER BY k)) FROM item WHERE id < 500;
DELIMITER //
CREATE FUNCTION collatz(n BIGINT) RETURNS INT DETERMINISTIC BEGIN
    DECLARE steps INT DEFAULT 0;
    WHILE n > 1 DO SET n = IF(n % 2, 3 * n + 1, n DIV 2), steps = steps + 1; END WHILE;
    RETURN steps;
END//
DELIMITER ;
SELECT MAX(collatz(seq)) FROM seq_1_to_300;
START TRANSACTION;
UPDATE item SET body = UPPER(body) WHERE bucket = 5;
DELETE FROM item WHERE bucket = 6;
ROLLBACK;
UPDATE item SET k = k + 1 WHERE bucket = 7;
ALTER TABLE item ADD COLUMN extra VARCHAR(40) DEFAULT 'x', ADD KEY (bucket);
SELECT BIT_XOR(CRC32(CONCAT_WS(',', id, k, bucket, body, extra))) FROM item;
SELECT REGEXP_REPLACE(body, '([0-9]+)', '<\\\\1>') FROM item WHERE id % 501 = 3 ORDER BY id LIMIT 10;
CHECK TABLE item, copy;

CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL) ENGINE=InnoDB;
INSERT INTO account SELECT seq, 1000 FROM seq_1_to_100;
CREATE TABLE history (id INT AUTO_INCREMENT PRIMARY KEY, amount INT) ENGINE=InnoDB;
DELIMITER //
-- The lower number first, so that no two transactions wait for each other.
CREATE PROCEDURE transfer() BEGIN
    DECLARE a, b, amount INT;
    SET a = 1 + FLOOR(RAND() * 100), b = 1 + FLOOR(RAND() * 100), amount = FLOOR(RAND() * 50) - 25;
    START TRANSACTION;
    UPDATE account SET balance = balance - amount WHERE id = LEAST(a, b);
    UPDATE account SET balance = balance + amount WHERE id = GREATEST(a, b);
    INSERT INTO history (amount) VALUES (amount);
    COMMIT;
END//
DELIMITER ;
SQL

prepare() {
    "$@" /usr/bin/mariadb-install-db --no-defaults --datadir="$data" --skip-test-db \
        --auth-root-authentication-method=normal --innodb-log-file-size=16M
}

data=$work/reference-data
prepare plainly >install.reference 2>&1 || fail "mariadb-install-db failed without any library"
start_server mariadb_is_ours start_mariadb launch
sql <session.sql >reference.answers 2>reference.err || fail "the session failed without any library"
stop_mariadb

data=$work/data
prepare preloaded install >install.output 2>&1 ||
    fail "mariadb-install-db failed under the library: $(tail -n 3 install.output)"
prove install all 10000 1000
start_server mariadb_is_ours start_mariadb launch_preloaded server
sql <session.sql >preloaded.answers 2>session.err || fail "the session failed under the library"
same "what mariadbd answers" reference.answers preloaded.answers

preloaded client /usr/bin/mariadb-slap --no-defaults --host=127.0.0.1 --port="$port" --user=root \
    --create-schema=test_of --no-drop --concurrency=8 --iterations=1 \
    --number-of-queries="$transfers" --query='CALL transfer()' >client.output 2>client.err ||
    fail "mariadb-slap failed"
prove client "$pid" 1000 100
sums() {
    sql test_of -e 'SELECT SUM(balance), (SELECT COUNT(*) FROM history) FROM account' >"$1"
    [[ $(cat "$1") == $'100000\t'"$transfers" ]] || fail "the accounts do not add up: $(cat "$1")"
}
sums sums.before
stop_mariadb
prove server "$server" 100000 10000

# Killed with a transaction in flight, the server recovers from its log at the next start.
start_server mariadb_is_ours start_mariadb launch_preloaded killed
sql test_of -e 'START TRANSACTION; UPDATE account SET balance = 0; SELECT SLEEP(600)' >/dev/null 2>&1 &
updating() {
    [[ $(sql -e "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'") == 1 ]]
}
until_true 60 updating
kill -KILL -- "-$server"
finish "$server" 2>/dev/null || true
start_server mariadb_is_ours start_mariadb launch_preloaded recovered
sums sums.after
same "the sums after recovery" sums.before sums.after
stop_mariadb
prove recovered "$server" 1000 100
say "mariadb: $(wc -l <preloaded.answers) lines of answers as without, $transfers transfers that add up"
