# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Running a command so that a signal ends it, with all that it started. Sourced after mplace.bash.

# wait_for PROCESS: waits for the end of this child. Sets result to its status, which bash would otherwise say the signal
# of, with the text of the script that started it.
wait_for()
{
    # A signal for this script ends a wait early.
    while :; do
        result=0
        wait "$1" 2>/dev/null || result=$?
        kill -0 "$1" 2>/dev/null || break
    done
}

# tell_signal STATUS: says so if that is the status of a program which a signal ended.
tell_signal()
{
    local name

    (($1 <= 128)) || ! name=$(kill -l "$1" 2>/dev/null) || note "the program ended with status $1, as by signal $name"
}

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
    wait_for "$attended"
    attended=
    return "$result"
}

# children_of PROCESS...: the ids of their children. By grep, for a small system has no ps.
children_of()
{
    local IFS='|'

    { grep -slE "^PPid:[[:space:]]+($*)\$" /proc/[0-9]*/status || true; } | cut -d/ -f3
}

# any_runs PROCESS...: whether one of them has not ended.
any_runs()
{
    local process

    for process; do
        ! grep -qsE '^State:[[:space:]]+[^Z]' "/proc/$process/status" || return 0
    done
    return 1
}

# stop_attended: ends what runs under attend, if anything does, with all that it started: by TERM, and what has not ended
# 5 s later by KILL.
stop_attended()
{
    local all=("$attended") level=("$attended") i

    [[ -n $attended ]] || return 0
    while mapfile -t level < <(children_of "${level[@]}") && [[ ${#level[@]} -gt 0 ]]; do
        all+=("${level[@]}")
    done
    kill -TERM "${all[@]}" 2>/dev/null || true
    for ((i = 0; i < 50; i++)); do
        any_runs "${all[@]}" || return 0
        sleep 0.1
    done
    kill -KILL "${all[@]}" 2>/dev/null || true
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
