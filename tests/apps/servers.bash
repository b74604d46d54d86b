# SPDX-License-Identifier: MIT
#
# How to talk to the servers under test, and how to know that it is ours that answers on a port. To
# be sourced after common.bash.

# shellcheck shell=bash

# ask PORT: sends standard input and the end of the conversation to memcached, prints the answers.
ask() {
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    {
        cat
        printf 'quit\r\n'
    } <&0 >&3 &
    timeout 60 cat <&3
    wait $!
    exec 3>&-
}

# memcached_is_ours PORT PID, redis_is_ours PORT PID: for start_server.
memcached_is_ours() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 1
    ask "$1" <<<$'stats\r' 2>/dev/null | tr -d '\r' | grep -qx "STAT pid $2"
}

redis_is_ours() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 1
    plainly /usr/bin/redis-cli -h 127.0.0.1 -p "$1" INFO server 2>/dev/null | tr -d '\r' |
        grep -qx "process_id:$2"
}

# redis COMMAND [ARG...]: to the server on the variable port.
redis() { plainly /usr/bin/redis-cli -h 127.0.0.1 -p "$port" "$@"; }

stop_memcached() {
    kill -TERM "$server"
    finish "$server" || fail "memcached ended with status $? after SIGTERM"
}

stop_redis() {
    redis SHUTDOWN NOSAVE >/dev/null 2>&1 || true
    finish "$server" || fail "redis-server ended with status $? after SHUTDOWN"
}
