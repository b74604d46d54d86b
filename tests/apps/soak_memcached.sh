#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memcached with more worker threads than CPUs serves memcaslap, which has more threads than CPUs
# too, for a while: no object is missing and none fails its verification.
#
# Proof: the server reports at least one acquisition an operation when SIGTERM has made it shut down
# in order; the client reports its own.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/servers.bash"
start "$@"
need /usr/bin/memcached memcached
need /usr/bin/memcaslap libmemcached-tools

operations=600000
threads=$(($(nproc) * 4))

# Room for all that is stored: an item that is evicted is a miss, with or without a library.
start_memcached() {
    "$@" /usr/bin/memcached -l 127.0.0.1 -p "$port" -U 0 -t "$threads" -m 1024 >>server.err 2>&1
}

cat >client.config <<'END'
key
17 60 1
value
1 800 1
cmd
0 0.3
1 0.7
END

start_server memcached_is_ours start_memcached launch_preloaded server
for round in 1 2; do
    preloaded client /usr/bin/memcaslap -s "127.0.0.1:$port" -F client.config -T "$threads" \
        -c $((threads * 8)) -x "$operations" -w 1k -v 0.3 >client.output 2>client.err ||
        fail "memcaslap failed in round $round"
    prove client "$pid" 100 100
    # It counts what went wrong and ends with status 0 all the same.
    for count in get_misses verify_misses verify_failed; do
        grep -qx "$count: 0" client.output || fail "memcaslap: $(grep "$count" client.output)"
    done
    grep -q "Ops: $operations " client.output ||
        fail "memcaslap did not finish: $(tail -n 1 client.output)"
done
stop_memcached
prove server "$server" 100 $((operations * 2))
say "memcached, $threads threads: $((operations * 2)) operations without an error"
