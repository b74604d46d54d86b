#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program with transactions under TM_ALGORITHM=htm and the emulator of hardware transactions. It
# must succeed, and some must have committed in hardware.
# usage: htm_test.sh VALGRIND_LIB LIBRARY PROGRAM [ARGUMENT...]
set -euo pipefail

[[ $# -ge 3 ]] || {
    echo "usage: htm_test.sh VALGRIND_LIB LIBRARY PROGRAM [ARGUMENT...]" >&2
    exit 2
}
export VALGRIND_LIB=$1
library=$2
shift 2
unset LD_PRELOAD "${!TM_@}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-tm.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
ln -s -- "$(readlink -f -- "$library")" "$scratch/libtm_runtime.so"
TM_ALGORITHM=htm TM_STATS=$scratch/report.json LD_PRELOAD=$scratch/libtm_runtime.so \
    valgrind -q --tool=rtmgrind "$@"
totals=$(grep '"totals"' "$scratch/report.json")
[[ $totals == *'"committed_in_hardware": '[1-9]* ]] || {
    echo "none committed in hardware: $totals" >&2
    exit 1
}
