#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program under the emulator with one interleaving after another: its last argument and the
# emulator's seed count from FIRST to LAST. A failure names the command that repeats it.
#
#   usage: seeds.sh FIRST LAST VALGRIND_OPTION... -- PROGRAM [ARGUMENT...]
#
# PRELOAD, if set, is preloaded into the program alone.
set -euo pipefail

first=$1
last=$2
shift 2
options=()
while [[ $1 != -- ]]; do
    options+=("$1")
    shift
done
shift
for ((seed = first; seed <= last; seed++)); do
    command=(valgrind -q --tool=rtmgrind "--seed=$seed" "${options[@]}" "$@" "$seed")
    status=0
    MPLACE_HTM=emulated env ${PRELOAD:+"LD_PRELOAD=$PRELOAD"} "${command[@]}" >/dev/null || status=$?
    if [[ $status != 0 ]]; then
        echo "seeds.sh: exit status $status from: ${PRELOAD:+LD_PRELOAD=$PRELOAD }${command[*]}" >&2
        exit 1
    fi
done
echo "seeds $first to $last"
