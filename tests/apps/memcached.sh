#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memcached with four worker threads serves memcaslap without a failed verification, and answers a
# scripted conversation byte for byte as it does without a library.
#
# Proof: the server reports allocations and acquisitions when SIGTERM has made it shut down in order;
# memcaslap, run with two threads, reports its own when it ends. memcached keeps items in slabs of a
# megabyte that it allocates as they fill, so its allocations are few; its mutexes are taken several
# times a request.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/servers.bash"
start "$@"
shows "four worker threads, a scripted conversation, memcaslap with two threads" \
    memcached libmemcached-tools
need /usr/bin/memcached memcached
need /usr/bin/memcaslap libmemcached-tools

seed=20030522
operations=$(quick_or_full 20000 1000000)
keys=$(quick_or_full 1000 30000)

# Room for all that the longest run stores, some 550 MB: an item that is evicted is a miss later on,
# with or without a library.
start_memcached() {
    "$@" /usr/bin/memcached -l 127.0.0.1 -p "$port" -U 0 -t 4 -m 2048 >>server.err 2>&1
}

# Values of many sizes are set, appended to, counted, replaced, deleted and read.
generate_conversation() {
    awk -v seed="$seed" -v keys="$keys" '
        '"$awk_random"'
        '"$awk_text"'
        function store(verb, key, length_wanted) {
            printf "%s %s %d 0 %d\r\n%s\r\n", verb, key, random(60000), length_wanted,
                text(length_wanted)
        }
        BEGIN {
            for (i = 1; i <= keys; i++) {
                store("set", "key" i, 1 + random(random(40) ? 300 : 30000))
                store("append", "key" random(i) + 1, 1 + random(100))
                store("replace", "key" random(keys) + 1, 1 + random(500))
                if (i % 4 == 0) printf "delete key%d\r\n", random(i) + 1
                printf "get key%d key%d\r\n", random(i) + 1, random(i) + 1
                if (i % 10 == 0)
                    printf "set number%d 0 0 2\r\n10\r\nincr number%d %d\r\n", i, i, random(1000)
            }
            for (i = 1; i <= keys; i++) printf "get key%d number%d\r\n", i, i
        }'
}

say "input: $keys keys, seed $seed"
generate_conversation >conversation

start_server memcached_is_ours start_memcached launch
ask "$port" <conversation >reference.answers
stop_memcached

start_server memcached_is_ours start_memcached launch_preloaded server
ask "$port" <conversation >preloaded.answers
same "what memcached answers" reference.answers preloaded.answers

# memcaslap would else write this file into the home folder that the user data base names.
cat >client.config <<'END'
key
17 60 0.5
61 120 0.5
value
1 1000 0.7
1001 8000 0.3
cmd
0 0.3
1 0.7
END
preloaded client /usr/bin/memcaslap -s "127.0.0.1:$port" -F client.config -T 2 -c 16 \
    -x "$operations" -w 1k -v 0.3 >client.output 2>client.err || fail "memcaslap failed"
prove client "$pid" 100 100
# It counts what went wrong and ends with status 0 all the same. (Its option to overwrite objects is
# left out: with it, its own verification fails against any server, without a library too.)
for count in get_misses verify_misses verify_failed; do
    grep -qx "$count: 0" client.output || fail "memcaslap: $(grep "$count" client.output)"
done
grep -q "Ops: $operations " client.output || fail "memcaslap did not finish: $(tail -n 1 client.output)"
stop_memcached
prove server "$server" 100 "$operations"
say "memcached: $operations operations without an error, $(wc -l <preloaded.answers) lines of answers" \
    "as without"
