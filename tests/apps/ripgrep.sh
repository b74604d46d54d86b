#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ripgrep, a Rust program, searches a tree of files with four threads and finds the lines that it
# finds without a library.
#
# Proof: its processes report allocations: Rust's default allocator is malloc. Rust's standard library
# waits on futexes of its own and takes no mutex of libpthread, so of the lock libraries only their
# presence to the end can be shown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "searches a tree with four threads, patterns with captures, JSON output" ripgrep
need /usr/bin/rg ripgrep

files=$(quick_or_full 100 2000)
mkdir -p tree
awk -v seed=20160923 -v files="$files" '
    '"$awk_random"'
    BEGIN {
        for (f = 0; f < files; f++) {
            file = "tree/" f % 20 "-" f ".txt"
            for (i = random(150); i >= 0; i--) {
                line = ""
                for (w = random(12); w >= 0; w--) line = line sprintf("%c%c%d ", 97 + random(26), 97 + random(26), random(300))
                print line >file
            }
            close(file)
        }
    }'
preloaded_rg() {
    local name=$1
    shift
    plainly /usr/bin/rg "$@" | sort >"$name.reference"
    preloaded "$name" /usr/bin/rg "$@" >"$name.unsorted" || fail "rg $name failed under the library"
    prove "$name" "$pid" 1000 0
    sort "$name.unsorted" >"$name.found"
    [[ -s $name.found ]] || fail "rg $name found nothing"
    same "what rg finds ($name)" "$name.reference" "$name.found"
}
preloaded_rg words -j 4 --no-heading -n 'a[b-f]\d{2} .*z[a-c]' tree
preloaded_rg counts -j 4 -c -i '(Q|R)\w+7' tree
# shellcheck disable=SC2016 # not the shell's variables
preloaded_rg replace -j 4 --no-heading -o -r '$2-$1' '(k[a-m]\d+) (\w+)' tree
say "ripgrep: $(cat ./*.found | wc -l) lines as without"
