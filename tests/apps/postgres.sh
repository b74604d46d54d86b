#!/bin/bash
# SPDX-License-Identifier: MIT
#
# PostgreSQL: initdb makes a cluster, a server answers a scripted session as it does without (sorts
# and joins by parallel workers, functions, JSON, rolled back and prepared transactions), and pgbench
# with two threads moves money between accounts: no transaction fails and the sums agree afterwards,
# also when the server was killed and recovered.
#
# Proof: every process that ends in order reports allocations; initdb's and pgbench's report acquisitions
# too. The server's own locks lie in shared memory and are no mutexes: of the lock libraries only their
# presence to the end of its processes can be shown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "initdb, a session with parallel workers, pgbench with two threads, kill and recovery" \
    postgresql-15 postgresql-client-15
binaries=
for folder in /usr/lib/postgresql/*/bin; do binaries=$folder; done
need "$binaries/postgres" postgresql
need "$binaries/pgbench" postgresql-contrib

rows=$(quick_or_full 3000 100000)
transactions=$(quick_or_full 40 1000)

postgres_is_ours() {
    [[ $(head -n 1 "$data/postmaster.pid" 2>/dev/null) == "$2" ]] &&
        "$binaries/pg_isready" -q -h 127.0.0.1 -p "$1"
}
start_postgres() {
    "$@" "$binaries/postgres" -D "$data" -c "port=$port" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= -c shared_buffers=16MB -c max_connections=20 \
        -c full_page_writes=on -c fsync=off >>server.err 2>&1
}
# A smart shutdown: every process ends in order.
stop_postgres() {
    kill -TERM "$server"
    finish "$server" || fail "postgres ended with status $? after SIGTERM"
}
sql() {
    plainly "$binaries/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U tester \
        -d postgres "$@"
}

cat >session.sql <<SQL
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET work_mem = '256kB';
CREATE TABLE item AS SELECT i AS id, i * 48271::bigint % 2147483647 AS key, i % 97 AS bucket,
    repeat('text ' || i % 1009, 1 + i % 30) AS body FROM generate_series(1, $rows) i;
CREATE INDEX item_key ON item (key);
CREATE INDEX item_body ON item (md5(body));
ANALYZE item;
SELECT count(*), sum(key), sum(length(body)) FROM item;
SELECT bucket, count(*), min(md5(body)), max(key) FROM item GROUP BY bucket ORDER BY bucket;
SELECT a.id, b.id FROM item a JOIN item b ON a.key % 5003 = b.id AND a.bucket = b.bucket
    ORDER BY 1, 2 LIMIT 50;
SELECT md5(string_agg(body, ',' ORDER BY key)) FROM item;
SELECT json_agg(row_to_json(t)) FROM (SELECT id, bucket, key FROM item ORDER BY key LIMIT 20) t;
SELECT id, sum(key) OVER (PARTITION BY bucket ORDER BY id ROWS 3 PRECEDING) FROM item
    ORDER BY id LIMIT 30;
CREATE FUNCTION fib(n int) RETURNS bigint LANGUAGE plpgsql AS
    \$\$ BEGIN IF n < 2 THEN RETURN n; END IF; RETURN fib(n - 1) + fib(n - 2); END \$\$;
SELECT fib(12);
DO \$\$ BEGIN
    FOR i IN 1..200 LOOP
        BEGIN PERFORM 1 / (i % 3); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP;
END \$\$;
BEGIN;
UPDATE item SET body = upper(body) WHERE bucket = 5;
DELETE FROM item WHERE bucket = 6;
ROLLBACK;
UPDATE item SET key = key + 1 WHERE bucket = 7;
VACUUM item;
SELECT md5(string_agg(item::text, ',' ORDER BY id)) FROM item;
SELECT regexp_replace(body, '(\d+)', '<\1>', 'g') FROM item WHERE id % 501 = 3 ORDER BY id LIMIT 10;
SQL

data=$work/data
preloaded initdb "$binaries/initdb" -D "$data" -U tester -A trust --no-sync -E UTF8 --no-locale \
    >initdb.output 2>&1 || fail "initdb failed under the library: $(tail -n 3 initdb.output)"
prove initdb all 10000 1000
cp -a "$data" "$work/reference-data"

data=$work/reference-data
start_server postgres_is_ours start_postgres launch
sql -f session.sql >reference.answers 2>reference.err || fail "the session failed without any library"
stop_postgres

data=$work/data
start_server postgres_is_ours start_postgres launch_preloaded server
sql -f session.sql >preloaded.answers 2>session.err || fail "the session failed under the library"
same "what postgres answers" reference.answers preloaded.answers
plainly "$binaries/pgbench" -i -q -h 127.0.0.1 -p "$port" -U tester postgres >pgbench.init 2>&1 ||
    fail "pgbench -i failed"
preloaded pgbench "$binaries/pgbench" -h 127.0.0.1 -p "$port" -U tester -c 4 -j 2 -n \
    -t "$transactions" postgres >pgbench.output 2>pgbench.err || fail "pgbench failed"
# Its mutexes are those of setting up its connections; a transaction takes none.
prove pgbench "$pid" 1000 100
grep -q "processed: $((transactions * 4))/$((transactions * 4))" pgbench.output ||
    fail "pgbench did not do all its transactions"
grep -q 'failed transactions: 0 ' pgbench.output || fail "a transaction of pgbench failed"
sums() {
    sql -c "SELECT sum(abalance), (SELECT sum(tbalance) FROM pgbench_tellers),
        (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history),
        (SELECT count(*) FROM pgbench_history) FROM pgbench_accounts" >"$1"
    IFS='|' read -r -a sum <"$1"
    [[ ${#sum[@]} == 5 && ${sum[0]} == "${sum[1]}" && ${sum[0]} == "${sum[2]}" &&
        ${sum[0]} == "${sum[3]}" && ${sum[4]} == $((transactions * 4)) ]] ||
        fail "the accounts do not add up: ${sum[*]}"
}
sums sums.before
stop_postgres
prove server all 10000 0

# Killed with a transaction in flight, the server recovers from its log at the next start.
start_server postgres_is_ours start_postgres launch_preloaded killed
sql -c 'CREATE TABLE survivor AS SELECT * FROM item'
sql -c 'BEGIN; DELETE FROM survivor; SELECT pg_sleep(600)' >/dev/null 2>&1 &
deleting() {
    [[ $(sql -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == 1 ]]
}
until_true 60 deleting
kill -KILL -- "-$server"
finish "$server" 2>/dev/null || true
rm -f "$data/postmaster.pid"
start_server postgres_is_ours start_postgres launch_preloaded recovered
[[ $(sql -c 'SELECT count(*) FROM survivor') == "$rows" ]] || fail "recovery lost rows"
sums sums.after
same "the sums after recovery" sums.before sums.after
stop_postgres
prove recovered all 1000 0
say "postgres: $(wc -l <preloaded.answers) lines of answers as without," \
    "$((transactions * 4)) transactions whose sums agree"
