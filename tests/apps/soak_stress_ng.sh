#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stress-ng's mutex stressor, which checks the exclusion itself, and its thread stressor, which starts
# and ends threads that wait on condition variables, run with many more threads than CPUs to the end.
#
# Proof: stress-ng leaves its stressors by _exit, so they write no statistics; the dynamic linker
# says instead, stressor by stressor, that the mutex functions were bound to the library.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
need /usr/bin/stress-ng stress-ng

threads=$(($(nproc) * 8))
operations=3000000

# stress STRESSOR OPERATIONS ARGUMENT...: the number of operations is the work; the time is only a bound.
stress() {
    local stressor=$1 wanted=$2 line
    shift 2
    preloaded "$stressor" LD_DEBUG=bindings /usr/bin/stress-ng --verify --metrics-brief --timeout 600 \
        --temp-path "$home" --"$stressor" 2 --"$stressor"-ops "$wanted" "$@" >"$stressor.output" 2>&1 ||
        fail "stress-ng --$stressor failed: $(grep -v binding "$stressor.output" | tail -n 3)"
    if [[ -n $lock ]]; then
        for line in lock unlock; do
            grep -q "binding file .*stress-ng .*lib${lock}_lock.so .*\`pthread_mutex_$line'" \
                "$stressor.output" || fail "pthread_mutex_$line was not bound to the library"
        done
    fi
    line=$(grep -E "metrc.*\] $stressor +[0-9]" "$stressor.output") ||
        fail "stress-ng gave no metrics for $stressor"
    read -ra field <<<"${line#*] }"
    [[ ${field[1]} -ge $wanted ]] || fail "$stressor did ${field[1]} of $wanted operations"
    say "stress-ng --$stressor: ${field[1]} operations"
}

stress mutex "$operations" --mutex-procs "$threads"
stress pthread 100000 --pthread-max "$threads"
