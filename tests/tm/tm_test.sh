#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program with transactions under libtm_runtime.so, with each algorithm, and with one thread alone
# both ways.
# usage: tm_test.sh LIBRARY ALGORITHMS PROGRAM [ARGUMENT...]
# ALGORITHMS: with commas between. Exit status 1 if the program fails under one.
set -euo pipefail

[[ $# -ge 3 ]] || {
    echo "usage: tm_test.sh LIBRARY ALGORITHMS PROGRAM [ARGUMENT...]" >&2
    exit 2
}
library=$1
IFS=, read -ra algorithms <<<"$2"
shift 2
unset LD_PRELOAD "${!TM_@}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-tm.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
# LD_PRELOAD splits at blanks and colons.
ln -s -- "$(readlink -f -- "$library")" "$scratch/libtm_runtime.so"

failed=0
for algorithm in "${algorithms[@]}"; do
    for alone in 0 1; do
        env TM_ALGORITHM="$algorithm" TM_ALONE="$alone" LD_PRELOAD="$scratch/libtm_runtime.so" "$@" || {
            echo "TM_ALGORITHM=$algorithm TM_ALONE=$alone: exit status $?" >&2
            failed=1
        }
    done
done
exit "$failed"
