#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program under the emulator must succeed and have committed transactions: otherwise it may have
# passed because nothing ran as one.
#
#   usage: committed.sh LEAST VALGRIND_OPTION... -- PROGRAM [ARGUMENT...]
#
# PRELOAD, if set, is preloaded into the program alone; HTM_SETTINGS are NAME=VALUE words for it.
set -euo pipefail

least=$1
shift
options=()
while [[ $1 != -- ]]; do
    options+=("$1")
    shift
done
shift

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
read -ra settings <<<"${HTM_SETTINGS-}"
status=0
MPLACE_HTM=emulated env "${settings[@]}" ${PRELOAD:+"LD_PRELOAD=$PRELOAD"} \
    valgrind -q --tool=rtmgrind "--rtm-out=$work/report.json" "${options[@]}" "$@" || status=$?
[[ $status == 0 ]] || exit "$status"
committed=$(sed -n 's/.*"committed": \([0-9]*\).*/\1/p' "$work/report.json" | head -n 1)
echo "${committed:-0} transactions committed"
if [[ ${committed:-0} -lt $least ]]; then
    echo "committed.sh: at least $least were expected" >&2
    exit 1
fi
