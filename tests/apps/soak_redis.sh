#!/bin/bash
# SPDX-License-Identifier: MIT
#
# redis-server with more input/output threads than CPUs answers redis-benchmark, itself with more
# threads than CPUs, while children of fork save the data set: every increment and every push
# arrived exactly once, and a child's snapshot is the data set.
#
# Proof: the server reports acquisitions when SHUTDOWN ends it, redis-benchmark when it is through.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/servers.bash"
start "$@"
need /usr/bin/redis-server redis-server
need /usr/bin/redis-benchmark redis-tools
need /usr/bin/redis-cli redis-tools

requests=60000
rounds=2
threads=$(($(nproc) * 2))

start_redis() {
    "$@" /usr/bin/redis-server --bind 127.0.0.1 --port "$port" --daemonize no --dir "$work/data" \
        --save '' --appendonly no --io-threads "$threads" --io-threads-do-reads yes \
        --enable-debug-command local >>server.err 2>&1
}

info_is() { redis INFO "$1" | tr -d '\r' | grep -qx "$2"; }

mkdir data
if [[ $(id -u) == 0 ]]; then chown nobody: data; fi
start_server redis_is_ours start_redis launch_preloaded server
redis CONFIG RESETSTAT >/dev/null
for ((round = 1; round <= rounds; round++)); do
    launch_preloaded benchmark /usr/bin/redis-benchmark -h 127.0.0.1 -p "$port" -q -n "$requests" \
        -c 64 -P 8 -d 100 --threads "$((threads * 2))" -t set,get,incr,lpush,rpush \
        >benchmark.output 2>benchmark.err
    benchmark=$pid
    while alive "$benchmark"; do
        redis BGSAVE >/dev/null
        until_true 120 info_is persistence rdb_bgsave_in_progress:0
        info_is persistence rdb_last_bgsave_status:ok || fail "a child of fork did not save"
        sleep 1 &
        wait $!
    done
    finish "$benchmark" || fail "redis-benchmark failed in round $round"
    prove benchmark "$benchmark" 100 100
    got=$(redis GET counter:__rand_int__)
    # redis-benchmark may send a few beyond its number, those that were in the pipeline: the server
    # counts the calls, and each of them must have had its effect.
    for command in incr:"$got" "lpush+rpush:$(redis LLEN mylist)"; do
        calls=0
        for verb in $(tr '+' ' ' <<<"${command%%:*}"); do
            counted_calls=$(redis INFO commandstats | sed -nE "s/^cmdstat_$verb:calls=([0-9]+).*/\1/p")
            calls=$((calls + counted_calls))
        done
        [[ $calls -ge $requests ]] || fail "only $calls calls of ${command%%:*} reached the server"
        [[ ${command##*:} == "$calls" ]] ||
            fail "$calls calls of ${command%%:*} had the effect of ${command##*:}"
    done
done
info_is stats total_error_replies:0 || fail "the server answered with errors"
redis DEBUG DIGEST >before
redis BGSAVE >/dev/null
until_true 120 info_is persistence rdb_bgsave_in_progress:0
redis DEBUG RELOAD NOSAVE >/dev/null
redis DEBUG DIGEST >after
same "the data set that a child of fork saved and the server loaded" before after
stop_redis
prove server "$server" 1000 100
say "redis, $threads threads: $rounds rounds of $requests requests of 5 kinds, each served exactly once"
