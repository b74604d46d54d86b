# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Running a command so that a signal ends it, with all that it started. Sourced after mplace.bash.

# attend COMMAND [ARGUMENT]...: runs the command, or function, as in the foreground and returns its status, but a trap for
# a signal does not wait for its end. Sets attended to its process id while it runs.
attended=
attend()
{
    local result

    (
        trap - ERR EXIT INT QUIT TERM HUP
        if declare -F "$1" >/dev/null; then "$@"; else exec "$@"; fi
    ) <&0 &
    attended=$!
    # A signal ends a wait early.
    while :; do
        result=0
        wait "$attended" || result=$?
        kill -0 "$attended" 2>/dev/null || break
    done
    attended=
    return "$result"
}

# stop_attended: ends what runs under attend, if anything does, with all that it started: by TERM, and what has not ended
# 5 s later by KILL.
stop_attended()
{
    local all=$attended level=$attended i

    [[ -n $attended ]] || return 0
    while level=$(ps -o pid= --ppid "$level" 2>/dev/null | tr -d ' ' | paste -sd,) || true; [[ -n $level ]]; do
        all+=,$level
    done
    # shellcheck disable=SC2086 # words
    kill -TERM ${all//,/ } 2>/dev/null || true
    for ((i = 0; i < 50; i++)); do
        ps -o stat= -p "$all" 2>/dev/null | grep -qv '^Z' || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2086
    kill -KILL ${all//,/ } 2>/dev/null || true
    # Or the shell tells of it.
    wait "$attended" 2>/dev/null || true
}

# end_attended STATUS: the same, and the end of this script.
end_attended()
{
    trap '' INT TERM HUP
    stop_attended
    exit "$1"
}

# For a subcommand that runs others by attend: a signal ends them, too.
end_attended_on_signals()
{
    trap 'end_attended 130' INT
    trap 'end_attended 143' TERM
    trap 'end_attended 129' HUP
}
