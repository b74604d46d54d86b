#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stress-ng's malloc stressor (malloc, calloc, realloc, memalign and free in processes of several
# threads), mutex stressor (which checks the exclusion itself), pthread stressor (condition variables,
# threads that come and go) and fork stressor end without a finding.
#
# Proof: stress-ng leaves its stressors by _exit, so that only their parent writes statistics; of the
# stressors the dynamic linker says that the functions they call were bound to the libraries.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "stressors malloc, mutex, pthread, fork, with --verify (it has none of condition variables alone)" \
    stress-ng
need /usr/bin/stress-ng stress-ng

# stress STRESSOR OPERATIONS ARGUMENT...: the number of operations is the work; the time is only a bound, in seconds.
# The stressor mutex of newer stress-ng goes on for all of it, with or without a library.
stress() {
    local stressor=$1 wanted=$2 seconds=1500 line field
    shift 2
    [[ $stressor != mutex ]] || seconds=$(quick_or_full 25 120)
    preloaded "$stressor" LD_DEBUG=bindings /usr/bin/stress-ng --verify --metrics-brief \
        --timeout "$seconds" --temp-path "$home" --"$stressor" 2 --"$stressor"-ops "$wanted" "$@" \
        >"$stressor.output" 2>&1 ||
        fail "stress-ng --$stressor failed: $(grep -v binding "$stressor.output" | tail -n 3)"
    grep 'binding file' "$stressor.output" >bindings || true
    prove "$stressor" "$pid" 100 0
    bound stress-ng bindings malloc calloc realloc memalign posix_memalign free \
        pthread_mutex_lock pthread_mutex_unlock
    line=$(grep -E "metrc.*\] $stressor +[0-9]" "$stressor.output") ||
        fail "stress-ng gave no metrics for $stressor"
    read -ra field <<<"${line#*] }"
    [[ ${field[1]} -ge $wanted ]] || fail "$stressor did ${field[1]} of $wanted operations"
    say "stress-ng --$stressor: ${field[1]} operations"
}

stress malloc "$(quick_or_full 5000 200000)" --malloc-pthreads 3 --malloc-touch
stress mutex "$(quick_or_full 20000 500000)" --mutex-procs 4
stress pthread "$(quick_or_full 300 20000)" --pthread-max 100
stress fork "$(quick_or_full 200 5000)"
