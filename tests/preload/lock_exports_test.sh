#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A lock library exports the functions that it interposes and mplace.h's, unversioned, and nothing
# else; it never allocates (statistics map a table of their own); its thread-local storage is a few
# bytes that need no allocation.
# lock_exports_test.sh LIBRARY NAME...: NAME... are the expected exports.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: lock_exports_test.sh LIBRARY NAME..." >&2
    exit 2
fi
library=$1
shift

expected=$(printf '%s\n' "$@" | LC_ALL=C sort)
exported=$(nm --dynamic --defined-only --format=posix "$library" | awk '{ print $1 }' | LC_ALL=C sort)
if [ "$exported" != "$expected" ]; then
    echo "$library: exports differ from what is promised (< expected, > found):" >&2
    diff <(echo "$expected") <(echo "$exported") >&2 || true
    exit 1
fi

imported=$(nm --dynamic --undefined-only --format=posix "$library" | awk '{ print $1 }')
forbidden='^(malloc|calloc|realloc|free|printf|fprintf|fopen|__tls_get_addr)(@|$)'
if grep -E "$forbidden" <<<"$imported" >&2; then
    echo "$library: refers to these functions, which a lock must not call" >&2
    exit 1
fi

storage=$(readelf --program-headers --wide "$library" | awk '$1 == "TLS" { print $6 }')
storage=$((${storage:-0}))
if [ "$storage" -lt 1 ] || [ "$storage" -gt 64 ]; then
    echo "$library: $storage bytes of thread-local storage, expected 1 to 64" >&2
    exit 1
fi
