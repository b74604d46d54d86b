#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the program that interrupts every sequence of a library, with the list of instructions that
# it wants.
#
#   interrupted_test.sh RUNNER LIBRARY PROGRAM [ARG...]
#       RUNNER is malloc_test.sh, which makes sure that the library is really there.
set -euo pipefail

[[ $# -ge 3 ]] || {
    echo "interrupted_test.sh: wants a runner, a library and a program" >&2
    exit 2
}
command -v objdump >/dev/null || {
    echo "skipped: no objdump to find instructions with; install binutils" >&2
    exit 77
}
runner=$1
library=$2
shift 2
instructions=$(objdump -d --no-show-raw-insn "$library" | awk -F: '/^ +[0-9a-f]+:/ {print $1}')
"$runner" "$library" "$@" <<<"$instructions"
