#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the libraries take of what a process has once: bytes of static thread-local storage, of which
# libc keeps few for libraries that come late, and none that the dynamic linker would have to provide
# in the middle of a call; and the kernel's one registration of restartable sequences a thread, which
# is libc's.
#
#   footprint_test.sh SOURCE_FOLDER LIBRARY...
set -euo pipefail

most=64 # of libc's 1664 for all libraries that a program loads
[[ $# -ge 2 ]] || {
    echo "footprint_test.sh: wants the source folder and libraries" >&2
    exit 2
}
command -v readelf >/dev/null || {
    echo "skipped: no readelf; install binutils"
    exit 77
}
source_folder=$1
shift
failed=0
for library; do
    bytes=0
    while read -r type _ _ _ _ size _; do
        [[ $type != TLS ]] || bytes=$((size))
    done < <(readelf -lW "$library")
    if ((bytes > most)); then
        echo "${library##*/} takes $bytes bytes of static thread-local storage; $most are allowed" >&2
        failed=1
    fi
    if readelf -rW "$library" | grep -E 'R_X86_64_(DTPMOD|TLSDESC)' >&2; then
        echo "${library##*/} asks the dynamic linker for thread-local storage, which may call malloc" >&2
        failed=1
    fi
done
if grep -rnE '(SYS|__NR)_rseq\b|RSEQ_FLAG_UNREGISTER' "$source_folder/src" >&2; then
    echo "the libraries use libc's registration of restartable sequences and never one of their own" >&2
    failed=1
fi
exit "$failed"
