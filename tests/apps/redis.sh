#!/bin/bash
# SPDX-License-Identifier: MIT
#
# redis-server with two input/output threads answers redis-benchmark without an error, and holds the
# same data set as without: after a scripted load, after forking a child that saves it, and after
# loading it again.
#
# Proof: the server reports allocations and acquisitions when SHUTDOWN ends it; redis-benchmark, run
# with two threads, does too. Debian's redis-server calls plain malloc, which its link to
# libjemalloc.so.2 provides unless a preloaded library comes first in the search order: with one, the
# server's own malloc calls reach it and jemalloc serves nothing but what the server asks of jemalloc
# by name. (From Redis 8 on, which Debian 13 has, the server gives memory that it has from there to
# free(): it crashes at its start under any other malloc, and the test is skipped.) The count required
# is far above what the start of an idle server needs, so it is the data that our library holds. INFO
# memory goes on to name jemalloc, from the time it was compiled.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/servers.bash"
start "$@"
shows "redis-server with two I/O threads, redis-benchmark; data saved by a child of fork, loaded" \
    redis-server redis-tools
need /usr/bin/redis-server redis-server
need /usr/bin/redis-benchmark redis-tools
need /usr/bin/redis-cli redis-tools
if grep -q mallocx /usr/bin/redis-server; then
    say "skipped: this redis-server asks jemalloc for memory by its own functions, and frees it by free"
    exit 77
fi

seed=20090510
keys=$(quick_or_full 5000 200000)
requests=$(quick_or_full 10000 100000)
# lrange_100 fills its list first: that counts as a test of its own.
tests=$(quick_or_full set,get,lpush,lpop,hset,zadd,mset \
    set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset)
expected_tests=$(quick_or_full 7 15)

# start_redis LAUNCH...: LAUNCH is launch, or launch_preloaded and its tag.
start_redis() {
    "$@" /usr/bin/redis-server --bind 127.0.0.1 --port "$port" --daemonize no --dir "$work/data" \
        --save '' --appendonly no --io-threads 2 --io-threads-do-reads yes \
        --enable-debug-command local >>server.err 2>&1
}

# The load: strings of many sizes, lists, hashes and sorted sets, that grow, shrink and go.
generate_load() {
    awk -v seed="$seed" -v keys="$keys" '
        '"$awk_random"'
        '"$awk_text"'
        BEGIN {
            for (i = 1; i <= keys; i++) {
                print "SET string:" i, text(1 + random(random(50) ? 200 : 20000))
                print "APPEND string:" random(i) + 1, text(random(300) + 1)
                print "HSET hash:" random(200), "field" random(400), text(random(100) + 1)
                print "RPUSH list:" random(50), text(random(60) + 1), text(random(60) + 1)
                print "ZADD sorted:" random(20), random(1000000), "member" random(3000)
                if (i % 3 == 0) print "DEL string:" random(i) + 1
                if (i % 5 == 0) print "LPOP list:" random(50)
                if (i % 1000 == 0) print "UNLINK hash:" random(200)
            }
        }'
}

digest() { redis DEBUG DIGEST; }

load() {
    redis --pipe <load >"$1.pipe" 2>&1 || fail "redis-cli --pipe failed"
    grep -q "errors: 0, replies: $(wc -l <load)\$" "$1.pipe" ||
        fail "the load was not answered as a whole: $(tail -n 1 "$1.pipe")"
    # What a client reads, not only what the server says of itself.
    {
        redis DBSIZE
        digest
        for ((i = 1; i <= keys; i += keys / 50)); do redis GET "string:$i"; done
        for ((i = 0; i < 50; i += 9)); do redis LRANGE "list:$i" 0 100; done
        redis ZRANGE sorted:3 0 -1 WITHSCORES
    } >"$1.data"
}

info_is() { redis INFO "$1" | tr -d '\r' | grep -qx "$2"; }

say "input: $keys keys, seed $seed"
generate_load >load
mkdir data
if [[ $(id -u) == 0 ]]; then chown nobody: data; fi

start_server redis_is_ours start_redis launch
load reference
stop_redis

start_server redis_is_ours start_redis launch_preloaded server
redis CONFIG RESETSTAT >/dev/null
preloaded benchmark /usr/bin/redis-benchmark -h 127.0.0.1 -p "$port" -q -n "$requests" -c 20 -P 16 \
    -r 1000 -d 100 --threads 2 -t "$tests" \
    >benchmark.output 2>benchmark.err || fail "redis-benchmark failed"
prove benchmark "$pid" 1000 100
done_tests=$(tr '\r' '\n' <benchmark.output | grep -c 'requests per second') || true
[[ $done_tests == "$expected_tests" ]] ||
    fail "redis-benchmark finished $done_tests of its $expected_tests tests"
info_is stats total_error_replies:0 || fail "the server answered redis-benchmark with errors"

redis FLUSHALL >/dev/null
load preloaded
same "the data set" reference.data preloaded.data

# A child of fork writes the data set while the server goes on allocating.
redis BGSAVE >/dev/null
redis SET after:fork 1 >/dev/null
redis DEL after:fork >/dev/null
until_true 60 info_is persistence rdb_bgsave_in_progress:0
info_is persistence rdb_last_bgsave_status:ok || fail "the child of fork did not save the data set"
digest >before
redis DEBUG RELOAD NOSAVE >/dev/null
digest >after
same "the data set that a child of fork saved and the server loaded" before after
info_is stats total_error_replies:0 || fail "the server answered with errors"
stop_redis
prove server "$server" $((keys * 3)) 100
say "redis: $done_tests benchmarks of $requests requests without an error, $(head -n 1 preloaded.data) keys" \
    "as without"
