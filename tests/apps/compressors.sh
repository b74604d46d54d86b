#!/bin/bash
# SPDX-License-Identifier: MIT
#
# zstd, pigz, pbzip2 and lbzip2 compress with several threads to the same bytes as without, and give
# the input back.
#
# Proof: the one process of each run reports allocations and mutex acquisitions. lbzip2 leaves by
# _exit; of it the dynamic linker says that its calls were bound to the libraries.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "each compresses with four threads, and back" zstd pigz pbzip2 lbzip2
for program in zstd pigz pbzip2 lbzip2; do need "/usr/bin/$program" "$program"; done

lines=$(quick_or_full 50000 1500000)
awk -v seed=20150123 -v lines="$lines" '
    '"$awk_random"'
    BEGIN { for (i = 0; i < lines; i++) print "line", random(100000), "of", random(50), i * 7919 % 977 }' >input

# pack_and_back NAME OPTIONS...: the options compress standard input to standard output.
pack_and_back() {
    local name=$1
    shift
    plainly "/usr/bin/$name" "$@" <input >"reference.$name" 2>reference.err ||
        fail "$name failed without any library"
    preloaded "$name" LD_DEBUG=bindings "/usr/bin/$name" "$@" <input >"preloaded.$name" \
        2>"$name.err" || fail "$name failed under the library"
    if [[ $name == lbzip2 ]]; then
        bound lbzip2 lbzip2.err malloc free pthread_mutex_lock pthread_mutex_unlock
    else
        prove "$name" "$pid" 20 50
    fi
    same "the output of $name" "reference.$name" "preloaded.$name"
    preloaded "$name-back" "/usr/bin/$name" -dc <"preloaded.$name" >output 2>"$name-back.err" ||
        fail "$name -d failed under the library"
    if [[ $name != lbzip2 ]]; then prove "$name-back" "$pid" 2 0; fi
    same "what $name -d gave back" input output
    say "$name: $(stat -c %s input) bytes to $(stat -c %s "preloaded.$name") and back"
}

pack_and_back zstd -T4 -6 -q -c
pack_and_back pigz -p 4 -n -c
pack_and_back pbzip2 -p4 -b1 -c
pack_and_back lbzip2 -n 4 -c
