#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the fuzzer twice with the same arguments, under glibc and under a preloaded library. Both
# must keep every promise, glibc but for errno after a success, and every call must have the same
# outcome in both.
#
#   fuzz_test.sh RUNNER LIBRARY PROGRAM [ARG...]
#       RUNNER is malloc_test.sh, which makes sure that the library is really there.
set -euo pipefail

[[ $# -ge 3 ]] || {
    echo "fuzz_test.sh: wants a runner, a library and a program" >&2
    exit 2
}
runner=$1
library=$2
shift 2
expected=$("$runner" "" "$1" --reference "${@:2}")
found=$("$runner" "$library" "$@")
printf '%s\n' "$found"
[[ $found == "$expected" ]] || {
    printf 'fuzz_test.sh: %s differs from glibc (--trace shows where):\n%s\n' \
        "${library##*/}" "$expected" >&2
    exit 1
}
