#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs one malloc_* program under the given libraries, and makes sure that they were really there: a
# library that the loader could not preload is one line on stderr, and else a pass of glibc's.
#
#   malloc_test.sh LIBRARY[:LIBRARY...]|"" PROGRAM [ARG...]      exit status: the program's
set -euo pipefail

[[ $# -ge 2 ]] || {
    echo "malloc_test.sh: wants the libraries and a program" >&2
    exit 2
}
libraries=$1
shift
# LD_PRELOAD splits at blanks and colons: links without blanks stand in for the real paths.
base=${TMPDIR:-/tmp}
if [[ $base == *[[:space:]:]* || ! -w $base ]]; then base=/tmp; fi
folder=$(mktemp -d "$base/mplace-malloc.XXXXXX")
trap 'rm -rf -- "$folder"' EXIT

preload=
IFS=: read -r -a paths <<<"$libraries"
for path in ${paths[@]+"${paths[@]}"}; do
    link=$folder/${path##*/}
    ln -s -- "$path" "$link"
    preload+="${preload:+:}$link"
done
if [[ -n $preload ]]; then
    missing=$(LD_PRELOAD=$preload /bin/true 2>&1)
    [[ -z $missing ]] || {
        printf '%s\n' "$missing" >&2
        exit 1
    }
fi
LD_PRELOAD=$preload "$@"
